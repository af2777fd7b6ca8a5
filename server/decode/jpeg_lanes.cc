// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/decode/jpeg_lanes.h"

#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "server/decode/jpeg_lanes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef ORBSERVE_SERVER_DECODE_JPEG_LANES_ONCE
#define ORBSERVE_SERVER_DECODE_JPEG_LANES_ONCE
namespace orbserve {
namespace jpeg_lanes {

// By the place after a coefficient's, 1..64, where it lies in its block. Places that no coefficient
// has, up to the sum of some advances, give the block's end, which is written to and never read.
constexpr int kPlaces = 256;
struct Places {
  uint8_t at[kPlaces];
};
constexpr Places MakePlaces() {
  Places places = {};
  for (int i = 0; i < kPlaces; ++i) places.at[i] = kJpegBlockCoefficients;
  int x = 0;
  int y = 0;
  for (int i = 0; i < kJpegBlockCoefficients; ++i) {
    places.at[i + 1] = static_cast<uint8_t>(8 * y + x);
    const bool up = (x + y) % 2 == 0;
    if (up ? x == 7 : y == 7) {
      ++(up ? y : x);
    } else if (up ? y == 0 : x == 0) {
      ++(up ? x : y);
    } else {
      x += up ? 1 : -1;
      y += up ? -1 : 1;
    }
  }
  return places;
}
alignas(64) constexpr Places kPlaceInRows = MakePlaces();

// The next bits, at least 57, from the highest on.
inline uint64_t WindowAt(uint64_t bit) {
  uint64_t window;
  std::memcpy(&window, reinterpret_cast<const void*>(bit >> 3), sizeof(window));
  return __builtin_bswap64(window) << (bit & 7);
}

// The second look. A length of 0: there is no such symbol.
struct Step {
  int length;
  int advance;
  int value;
};
Step SlowDc(const JpegTable& table, uint64_t bit);
Step SlowAc(const JpegTable& table, uint64_t bit);
// Goes over the block that begins at `bit`, symbol by symbol. (A pointer to a lane's place instead
// of the result would keep the place in memory all the time.)
struct Skipped {
  uint64_t bit;  // after it, or where it stopped
  JpegStop stop;
};
Skipped SkipBlock(const JpegBlockKind& block, uint64_t bit);

}  // namespace jpeg_lanes
}  // namespace orbserve
#endif  // ORBSERVE_SERVER_DECODE_JPEG_LANES_ONCE

HWY_BEFORE_NAMESPACE();
namespace orbserve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The state of one lane while it runs. All functions are inlined into Run(), which keeps the state
// of each lane in registers as far as there are any.
struct Runner {
  uint64_t bit;
  uint32_t next_place;  // 1..63; from 64 on see jpeg_huffman.h
  const JpegLook* look;
  int16_t* coefficients;  // of the present block
  const JpegBlockKind* block;
  int16_t* next;       // where the next kept block goes
  uint64_t block_bit;  // where the block begins
};

// Begins a block with its DC difference. False: no such code.
HWY_INLINE bool BeginBlock(Runner& runner) {
  const hn::CappedTag<int16_t, kJpegBlockCoefficients> d;
  for (size_t i = 0; i < kJpegBlockCoefficients; i += hn::Lanes(d)) {
    hn::StoreU(hn::Zero(d), d, runner.next + i);
  }
  runner.coefficients = runner.next;
  runner.block_bit = runner.bit;
  const JpegTable& dc = *runner.block->dc;
  const JpegLook look = dc.look[jpeg_lanes::WindowAt(runner.bit) >> (64 - kJpegDcLookBits)];
  int length = JpegLookLength(look);
  int value = JpegLookValue(look);
  if (HWY_UNLIKELY(length == 0)) {
    const jpeg_lanes::Step step = jpeg_lanes::SlowDc(dc, runner.bit);
    if (step.length == 0) return false;
    length = step.length;
    value = step.value;
  }
  runner.bit += static_cast<uint32_t>(length);
  runner.coefficients[0] = static_cast<int16_t>(value);
  runner.next_place = 1;
  runner.look = runner.block->look;
  return true;
}

// One symbol, as far as the first look can tell.
HWY_INLINE void TakeSymbol(Runner& runner) {
  const JpegLook look = runner.look[jpeg_lanes::WindowAt(runner.bit) >> (64 - kJpegLookBits)];
  runner.bit += look & 255;
  runner.next_place += look >> 8 & 255;
  runner.coefficients[jpeg_lanes::kPlaceInRows.at[runner.next_place]] =
      static_cast<int16_t>(JpegLookValue(look));
}

// After a symbol that was not a plain one: its second look, or the end of its block and the
// beginning of the next. Returns false if the lane stops.
HWY_INLINE bool TurnCorner(Runner& runner, JpegLane& lane) {
  if (HWY_UNLIKELY(!JpegBlockHasEnded(runner.next_place))) {
    if (!runner.block->kept) {
      const jpeg_lanes::Skipped skipped = jpeg_lanes::SkipBlock(*runner.block, runner.block_bit);
      runner.bit = skipped.bit;
      if (skipped.stop != JpegStop::kNone) {
        lane.stop = skipped.stop;
        return false;
      }
    } else {
      if (runner.next_place < kJpegUnknownAdvance) {
        lane.stop = JpegStop::kLongRun;
        return false;
      }
      const jpeg_lanes::Step step = jpeg_lanes::SlowAc(*runner.block->ac, runner.bit);
      if (step.length == 0) {
        lane.stop = JpegStop::kBadCode;
        return false;
      }
      runner.bit += static_cast<uint32_t>(step.length);
      runner.next_place += static_cast<uint32_t>(step.advance - kJpegUnknownAdvance);
      runner.coefficients[jpeg_lanes::kPlaceInRows.at[runner.next_place]] =
          static_cast<int16_t>(step.value);
      if (runner.next_place < kJpegBlockCoefficients) return true;
      if (!JpegBlockHasEnded(runner.next_place)) {
        lane.stop = JpegStop::kLongRun;
        return false;
      }
    }
  }
  if (runner.block->kept) runner.next += kJpegBlockCoefficients;
  if (runner.block->last) {
    runner.block = lane.blocks;
    if (lane.starts != nullptr) *++lane.starts = runner.bit;
    if (HWY_UNLIKELY(--lane.mcus == 0 || runner.bit >= lane.end_bit)) {
      runner.block = nullptr;
      lane.stop = JpegStop::kPause;
      return false;
    }
  } else {
    ++runner.block;
  }
  if (HWY_UNLIKELY(!BeginBlock(runner))) {
    lane.stop = JpegStop::kBadCode;
    return false;
  }
  return true;
}

// False if the lane stops at once.
HWY_INLINE bool Load(JpegLane& lane, Runner& runner) {
  lane.stop = JpegStop::kNone;
  runner.bit = lane.bit;
  runner.next = lane.coefficients;
  runner.next_place = lane.next_place;
  runner.coefficients = lane.block_coefficients;
  runner.block = lane.block;
  if (lane.block != nullptr) {
    runner.look = lane.block->look;
    runner.block_bit = lane.block_bit;
    return true;
  }
  runner.block = lane.blocks;
  if (BeginBlock(runner)) return true;
  lane.stop = JpegStop::kBadCode;
  return false;
}

HWY_INLINE void Store(const Runner& runner, JpegLane& lane) {
  lane.bit = runner.bit;
  lane.coefficients = runner.next;
  lane.block = runner.block;
  lane.block_coefficients = runner.coefficients;
  lane.next_place = runner.next_place;
  lane.block_bit = runner.block_bit;
}

// Each lane's state is a variable of its own: compilers leave arrays of them in memory.
template <int kLanes>
HWY_INLINE void Run(JpegLane* const* lanes) {
  Runner a = {};
  Runner b = {};
  Runner c = {};
  bool running = Load(*lanes[0], a);
  if constexpr (kLanes > 1) running &= Load(*lanes[1], b);
  if constexpr (kLanes > 2) running &= Load(*lanes[2], c);
  const auto corner = [&](Runner& runner, int i) HWY_ATTR {
    if (HWY_UNLIKELY(runner.next_place >= kJpegBlockCoefficients)) {
      running &= TurnCorner(runner, *lanes[i]);
    }
  };
  while (HWY_LIKELY(running)) {
    TakeSymbol(a);
    if constexpr (kLanes > 1) TakeSymbol(b);
    if constexpr (kLanes > 2) TakeSymbol(c);
    corner(a, 0);
    if constexpr (kLanes > 1) corner(b, 1);
    if constexpr (kLanes > 2) corner(c, 2);
  }
  Store(a, *lanes[0]);
  if constexpr (kLanes > 1) Store(b, *lanes[1]);
  if constexpr (kLanes > 2) Store(c, *lanes[2]);
}

void RunOne(JpegLane* const* lanes) { Run<1>(lanes); }
void RunTwo(JpegLane* const* lanes) { Run<2>(lanes); }
void RunThree(JpegLane* const* lanes) { Run<3>(lanes); }

#if HWY_TARGET != HWY_SCALAR
constexpr size_t kStep = 16;
HWY_INLINE intptr_t FirstMarkerByte(const uint8_t* from, uint8_t* to) {
  const hn::CappedTag<uint8_t, kStep> d;
  const auto bytes = hn::LoadU(d, from);
  hn::StoreU(bytes, d, to);
  return hn::FindFirstTrue(d, hn::Eq(bytes, hn::Set(d, 0xFF)));
}
#else
constexpr size_t kStep = 1;
HWY_INLINE intptr_t FirstMarkerByte(const uint8_t* from, uint8_t* to) {
  *to = *from;
  return *from == 0xFF ? 0 : -1;
}
#endif

bool CopyBytes(const uint8_t** from_in, const uint8_t* from_end, uint8_t** to_in,
               const uint8_t* to_end) {
  const uint8_t* from = *from_in;
  uint8_t* to = *to_in;
  bool at_end = false;
  while (to < to_end) {
    if (static_cast<size_t>(from_end - from) >= kStep) {
      const intptr_t found = FirstMarkerByte(from, to);
      if (found < 0) {
        from += kStep;
        to += kStep;
        continue;
      }
      from += found;
      to += found;
    } else if (from == from_end) {
      at_end = true;
      break;
    } else if (*from != 0xFF) {
      *to++ = *from++;
      continue;
    }
    const uint8_t* after = from + 1;
    while (after < from_end && *after == 0xFF) ++after;
    if (after == from_end || *after != 0) {
      at_end = true;
      break;
    }
    *to++ = 0xFF;
    from = after + 1;
  }
  *from_in = from;
  *to_in = to;
  return at_end;
}

}  // namespace HWY_NAMESPACE
}  // namespace orbserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve {
namespace jpeg_lanes {

Step SlowDc(const JpegTable& table, uint64_t bit) {
  const uint64_t window = WindowAt(bit);
  const JpegSymbol found = SecondJpegLook(table, kJpegDcLookBits, window);
  if (found.code_length == 0) return {0, 0, 0};
  return {found.code_length + found.symbol, 1,
          JpegValue(window << found.code_length, found.symbol)};
}

Step SlowAc(const JpegTable& table, uint64_t bit) {
  const uint64_t window = WindowAt(bit);
  const JpegSymbol found = SecondJpegLook(table, kJpegLookBits, window);
  if (found.code_length == 0) return {0, 0, 0};
  const int run = found.symbol >> 4;
  const int size = found.symbol & 15;
  if (size == 0 && run == 0) return {found.code_length, kJpegEndAdvance, 0};
  if (size == 0 && run != 15) return {0, 0, 0};  // only progressive files have such symbols
  return {found.code_length + size, run + 1, JpegValue(window << found.code_length, size)};
}

Skipped SkipBlock(const JpegBlockKind& block, uint64_t bit) {
  // The DC difference was good.
  const JpegSymbol dc = FindJpegSymbol(*block.dc, WindowAt(bit));
  bit += static_cast<uint32_t>(dc.code_length + dc.symbol);
  for (int place = 1; place < kJpegBlockCoefficients;) {
    const JpegSymbol ac = FindJpegSymbol(*block.ac, WindowAt(bit));
    const int run = ac.symbol >> 4;
    const int size = ac.symbol & 15;
    if (ac.code_length == 0 || (size == 0 && run != 0 && run != 15)) {
      return {bit, JpegStop::kBadCode};
    }
    bit += static_cast<uint32_t>(ac.code_length + size);
    if (size == 0 && run == 0) break;
    place += run + 1;
    if (place > kJpegBlockCoefficients) return {bit, JpegStop::kLongRun};
  }
  return {bit, JpegStop::kNone};
}

}  // namespace jpeg_lanes

HWY_EXPORT(RunOne);
HWY_EXPORT(RunTwo);
HWY_EXPORT(RunThree);
HWY_EXPORT(CopyBytes);

void RunJpegLanes(absl::Span<JpegLane* const> lanes) {
  static_assert(kJpegMaxLanes == 3);
  switch (lanes.size()) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(RunOne)(lanes.data());
    case 2:
      return HWY_DYNAMIC_DISPATCH(RunTwo)(lanes.data());
    default:
      return HWY_DYNAMIC_DISPATCH(RunThree)(lanes.data());
  }
}

bool CopyJpegBytes(const uint8_t** from, const uint8_t* from_end, uint8_t** to,
                   const uint8_t* to_end) {
  return HWY_DYNAMIC_DISPATCH(CopyBytes)(from, from_end, to, to_end);
}

}  // namespace orbserve
#endif  // HWY_ONCE
