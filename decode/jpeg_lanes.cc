// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_lanes.h"

#include <array>
#include <cstring>

#include "features/algo/jpeg_zigzag.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/jpeg_lanes.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef ORBSERVE_DECODE_JPEG_LANES_ONCE
#define ORBSERVE_DECODE_JPEG_LANES_ONCE
namespace orbserve {
namespace jpeg_lanes {

// [number of a coefficient in zigzag order, plus 1]: its place in the rows of its block. Larger
// numbers, to which advances may add up, have the place behind the block, which is written to and
// never read.
constexpr int kPlaces = 256;
struct Places {
  uint8_t at[kPlaces];
};
constexpr Places MakePlaces() {
  Places places = {};
  for (int i = 0; i < kPlaces; ++i) places.at[i] = kJpegBlockCoefficients;
  for (int i = 0; i < kJpegBlockCoefficients; ++i) places.at[i + 1] = kJpegZigzag.place[i];
  return places;
}
alignas(64) constexpr Places kPlaceInRows = MakePlaces();

// The next bits, at least 57, from the highest on.
inline uint64_t WindowAt(uint64_t bit) {
  uint64_t window;
  std::memcpy(&window, JpegByteOf(bit), sizeof(window));
  return __builtin_bswap64(window) << (bit & 7);
}

// The bits from `bit` on, all 64, given those of WindowAt(bit + 64) for the bits that come in
// behind when the window of 64 bits at `bit` has been moved up by `used`, at most 57.
inline uint64_t BitsBehind(uint64_t next, uint32_t used) { return next >> 1 >> (~used & 63); }
inline uint64_t WholeWindowAt(uint64_t bit) {
  return WindowAt(bit) | BitsBehind(WindowAt((bit & ~uint64_t{7}) + 64), bit & 7);
}

// A symbol and its value, as the second look finds them. A length of 0: there is no such symbol.
struct Step {
  uint32_t length;
  uint32_t advance;
  int value;
};
// The symbol at the top of `window`.
HWY_INLINE Step StepOf(JpegSymbol found, uint64_t window) {
  const int run = found.symbol >> 4;
  const int size = found.symbol & 15;
  if (size == 0 && run != 15) {
    // Runs without a value other than 16 zeros belong to progressive files.
    return {run == 0 ? static_cast<uint32_t>(found.code_length) : 0, kJpegEndAdvance, 0};
  }
  return {static_cast<uint32_t>(found.code_length + size), static_cast<uint32_t>(run + 1),
          JpegValue(window << found.code_length, size)};
}
// Search codes that the first look does not tell.
JpegSymbol LongDc(const JpegTable& table, uint64_t window);
JpegSymbol LongAc(const JpegTable& table, uint64_t window);
// Finds the symbol that the first look could not tell.
HWY_INLINE Step SecondLook(const JpegTable* table, JpegLook look, uint64_t window) {
  const int code = JpegLookCode(look) - 1;
  return StepOf(HWY_LIKELY(code >= 0) ? JpegSymbol{table->code_lengths[code], table->symbols[code]}
                                      : LongAc(*table, window),
                window);
}

// The number of bits at the top of `window` that show that no symbol of a sequential file begins
// there.
int BadCodeBits(const JpegTable& table, uint64_t window);

// Goes over the block that begins at `bit`, symbol by symbol.
struct Skipped {
  uint64_t bit;  // after it, or where it stopped
  JpegStop stop;
  int bad_code_bits = 0;  // as in JpegLane
};
Skipped SkipBlock(const JpegBlockKind& block, uint64_t bit);

}  // namespace jpeg_lanes
}  // namespace orbserve
#endif  // ORBSERVE_DECODE_JPEG_LANES_ONCE

HWY_BEFORE_NAMESPACE();
namespace orbserve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bits of a window that count, and first looks that they suffice for.
constexpr int kWindowBits = 57;
constexpr int kLooks = kWindowBits / kJpegLookBits;
// After a DC difference there are bits for one look less, unless it was a very long one.
constexpr int kLooksAfterCorner = kLooks - 1;
// AC looks at a block that is not kept, between two times that the window is filled.
constexpr int kSkipLooks = 3;
// A corner is where a run of plain symbols ends. Set in a state whose place is 64 or more.
constexpr uint32_t kCorner = 0xC000;

// The state of one lane while it is in a kept block. All functions are inlined into the loops,
// which keep the states of the lanes in registers as far as there are any.
struct Runner {
  uint64_t bit;     // where the window began
  uint64_t window;  // the 64 bits there, moved up by those that were used
  uint32_t state;   // sum of looks: bits of the window that were used, and the next place
  const JpegLook* look;
  JpegLook last;          // the look that was taken last
  int16_t* coefficients;  // of the present block
  const JpegBlockKind* block;
};

HWY_INLINE uint32_t PlaceOf(const Runner& runner) { return runner.state >> 8 & 255; }

// Fills the window up again. The bits that come in lie at a place that was known when the last
// looks began: no look waits for memory.
HWY_INLINE void Refill(Runner& runner) {
  const uint64_t next = jpeg_lanes::WindowAt(runner.bit + 64);
  runner.window |= jpeg_lanes::BitsBehind(next, runner.state);
  runner.bit += runner.state & 63;
  runner.state &= 0xFF00;
}

// One symbol or two, as far as the first look can tell.
HWY_INLINE void TakeSymbols(Runner& runner) {
  const JpegLook look = runner.look[runner.window >> (64 - kJpegLookBits)];
  runner.last = look;
  runner.window <<= look & 63;
  const uint32_t first = PlaceOf(runner) + (look >> 16 & 15);
  runner.state += look;
  // A single symbol has both places, and is written last.
  runner.coefficients[jpeg_lanes::kPlaceInRows.at[PlaceOf(runner)]] =
      static_cast<int16_t>(JpegSecondValue(look));
  runner.coefficients[jpeg_lanes::kPlaceInRows.at[first + 1]] =
      static_cast<int16_t>(JpegFirstValue(look));
}

// Blocks from `block` on that are not kept, up to the next kept one or the end of the MCU; other
// lanes wait meanwhile. The last of them and the bit after it; a null block if the lane stops.
struct SkippedBlocks {
  const JpegBlockKind* last;
  uint64_t bit;
  uint64_t window;  // at `bit`
};

// The look at the DC difference of a block that is not kept, one place with it. Unknown if there is
// no such code.
HWY_INLINE JpegLook SkipDc(const JpegTable& dc, uint64_t window) {
  uint32_t length = dc.look[window >> (64 - kJpegDcLookBits)] & 63;
  if (HWY_UNLIKELY(length == 0)) {
    const JpegSymbol found = jpeg_lanes::LongDc(dc, window);
    if (found.code_length == 0) return kJpegUnknownBit;
    length = static_cast<uint32_t>(found.code_length + found.symbol);
  }
  return length | 1 << 8;
}

// Goes over one block, `window` being at `bit`. Looks of `kBits` bits come in fixed numbers, of
// which those after the end add nothing: to guess their number would take longer.
template <int kBits, bool kSkips>
HWY_INLINE jpeg_lanes::Skipped SkipOne(const JpegBlockKind& block, uint64_t bit, uint64_t* window) {
  static_assert((kSkipLooks + 1) * kBits <= kWindowBits);
  const JpegLook* const looks = kSkips ? block.skips->look : block.ac->look;
  const uint64_t begin = bit;
  uint64_t next = jpeg_lanes::WindowAt(bit + 64);
  JpegLook state = kJpegUnknownBit;
  if (kSkips) state = block.skips->begin[*window >> (64 - kBits)];
  if (HWY_UNLIKELY(!kSkips || (state & kJpegUnknownBit) != 0)) {
    state = SkipDc(*block.dc, *window);
    if (HWY_UNLIKELY((state & kJpegUnknownBit) != 0)) {
      return {bit, JpegStop::kBadCode, kJpegMaxCodeBits};
    }
    if (HWY_UNLIKELY((state & 63) > kWindowBits - kSkipLooks * kBits)) {
      bit += state & 63;
      *window = jpeg_lanes::WholeWindowAt(bit);
      next = jpeg_lanes::WindowAt(bit + 64);
      state &= 0xFF00;
    }
  }
  *window <<= state & 63;
  uint32_t place;
  while (true) {
    HWY_UNROLL(kSkipLooks)
    for (int i = 0; i < kSkipLooks; ++i) {
      JpegLook look = looks[*window >> (64 - kBits)];
      look = (state & kCorner) != 0 ? 0 : look;
      *window <<= look & 63;
      state += look;
    }
    *window |= jpeg_lanes::BitsBehind(next, state);
    bit += state & 63;
    place = state >> 8 & 255;
    if (HWY_UNLIKELY((state & kJpegUnknownBit) != 0)) {
      place -= kJpegUnknownAdvance;
      const JpegLook look = block.ac->look[*window >> (64 - kJpegLookBits)];
      if ((look & kJpegUnknownBit) == 0) {
        bit += look & 63;
        place += look >> 8 & 255;
      } else {
        const jpeg_lanes::Step step = jpeg_lanes::SecondLook(block.ac, look, *window);
        if (HWY_UNLIKELY(step.length == 0)) {
          return {bit, JpegStop::kBadCode, jpeg_lanes::BadCodeBits(*block.ac, *window)};
        }
        bit += step.length;
        place += step.advance;
      }
      *window = jpeg_lanes::WholeWindowAt(bit);
    }
    if (place >= kJpegBlockCoefficients) break;
    next = jpeg_lanes::WindowAt(bit + 64);
    state = place << 8;
  }
  if (HWY_LIKELY(JpegBlockHasEnded(place))) return {bit, JpegStop::kNone};
  const jpeg_lanes::Skipped skipped = jpeg_lanes::SkipBlock(block, begin);
  *window = jpeg_lanes::WholeWindowAt(skipped.bit);
  return skipped;
}

HWY_NOINLINE SkippedBlocks SkipBlocks(const JpegBlockKind* block, uint64_t bit, uint64_t window,
                                      JpegLane& lane) {
  while (true) {
    const jpeg_lanes::Skipped skipped = HWY_LIKELY(block->skips != nullptr)
                                            ? SkipOne<kJpegSkipBits, true>(*block, bit, &window)
                                            : SkipOne<kJpegLookBits, false>(*block, bit, &window);
    bit = skipped.bit;
    if (HWY_UNLIKELY(skipped.stop != JpegStop::kNone)) {
      lane.stop = skipped.stop;
      lane.bad_code_bits = skipped.bad_code_bits;
      return {nullptr, bit, 0};
    }
    if (block->last || block[1].kept) return {block, bit, window};
    ++block;
  }
}

// To the next block. False if the lane pauses.
HWY_INLINE bool NextBlock(Runner& runner, JpegLane& lane) {
  if (!runner.block->last) {
    ++runner.block;
    return true;
  }
  runner.block = lane.blocks;
  if (lane.starts != nullptr) *++lane.starts = runner.bit;
  if (HWY_LIKELY(--lane.mcus != 0 && runner.bit < lane.end_bit)) return true;
  runner.block = nullptr;
  lane.stop = JpegStop::kPause;
  return false;
}

// Goes to the next block that is kept, and begins it with its DC difference. Nothing of the window
// is used. False if the lane stops.
HWY_INLINE bool BeginBlock(Runner& runner, JpegLane& lane) {
  while (!runner.block->kept) {
    const SkippedBlocks skipped = SkipBlocks(runner.block, runner.bit, runner.window, lane);
    runner.block = skipped.last;
    runner.bit = skipped.bit;
    runner.window = skipped.window;
    if (HWY_UNLIKELY(skipped.last == nullptr)) return false;
    if (!NextBlock(runner, lane)) return false;
  }
  const hn::CappedTag<int16_t, kJpegBlockCoefficients> d;
  for (size_t i = 0; i < kJpegBlockCoefficients; i += hn::Lanes(d)) {
    hn::StoreU(hn::Zero(d), d, runner.coefficients + i);
  }
  runner.look = runner.block->looks;
  const JpegTable& dc = *runner.block->dc;
  const uint64_t window = runner.window;
  JpegLook look = dc.look[window >> (64 - kJpegDcLookBits)];
  if (HWY_UNLIKELY((look & kJpegUnknownBit) != 0)) {
    const JpegSymbol found = jpeg_lanes::LongDc(dc, window);
    if (found.code_length == 0) {
      lane.stop = JpegStop::kBadCode;
      lane.bad_code_bits = kJpegMaxCodeBits;
      return false;
    }
    look = JpegLookOfDc(found.code_length, found.symbol);
  }
  runner.coefficients[0] = static_cast<int16_t>(JpegDcValue(look, window));
  const uint32_t length = look & 63;
  runner.window = window << length;
  runner.state = 1 << 8 | length;
  if (HWY_UNLIKELY(length > kWindowBits - kLooksAfterCorner * kJpegLookBits)) Refill(runner);
  return true;
}

// The place after the last look's symbols, one by one: the first of two was the last of its block,
// or a run is too long.
HWY_NOINLINE uint32_t TakeSingly(const JpegTable& table, uint32_t place, int16_t* coefficients,
                                 uint64_t* bit) {
  while (place < kJpegBlockCoefficients) {
    const uint64_t window = jpeg_lanes::WindowAt(*bit);
    const jpeg_lanes::Step step = jpeg_lanes::StepOf(FindJpegSymbol(table, window), window);
    *bit += step.length;
    place += step.advance;
    coefficients[jpeg_lanes::kPlaceInRows.at[place]] = static_cast<int16_t>(step.value);
  }
  return place;
}

// After a symbol that was not a plain one: its second look, or the end of its block and the
// beginning of the next. The window then has bits for kLooksAfterCorner looks. Returns false if the
// lane stops.
HWY_INLINE bool TurnCorner(Runner& runner, JpegLane& lane) {
  const uint32_t state = runner.state;
  uint32_t place = PlaceOf(runner);
  Refill(runner);
  if ((state & kJpegUnknownBit) != 0) {
    place -= kJpegUnknownAdvance;
    const uint64_t window = runner.window;
    const jpeg_lanes::Step step = jpeg_lanes::SecondLook(runner.block->ac, runner.last, window);
    if (HWY_UNLIKELY(step.length == 0)) {
      lane.stop = JpegStop::kBadCode;
      lane.bad_code_bits = jpeg_lanes::BadCodeBits(*runner.block->ac, window);
      return false;
    }
    place += step.advance;
    runner.coefficients[jpeg_lanes::kPlaceInRows.at[place]] = static_cast<int16_t>(step.value);
    runner.window <<= step.length;
    runner.state = place << 8 | step.length;
    Refill(runner);
    if (place < kJpegBlockCoefficients) return true;
  }
  if (HWY_UNLIKELY(!JpegBlockHasEnded(place))) {
    // Not after a second look, which sees one symbol.
    if ((state & kJpegUnknownBit) == 0) {
      uint64_t bit = runner.bit - (runner.last & 63);
      place = TakeSingly(*runner.block->ac, place - JpegLookAdvance(runner.last),
                         runner.coefficients, &bit);
      runner.bit = bit;
      runner.window = jpeg_lanes::WholeWindowAt(bit);
    }
    if (!JpegBlockHasEnded(place)) {
      lane.stop = JpegStop::kLongRun;
      return false;
    }
  }
  runner.coefficients += kJpegBlockCoefficients;
  return NextBlock(runner, lane) && BeginBlock(runner, lane);
}

// False if the lane stops at once.
HWY_INLINE bool Load(JpegLane& lane, Runner& runner) {
  lane.stop = JpegStop::kNone;
  runner.bit = lane.bit;
  runner.window = jpeg_lanes::WholeWindowAt(lane.bit);
  runner.coefficients = lane.coefficients;
  runner.state = lane.next_place << 8;
  runner.block = lane.block;
  if (lane.block != nullptr) {
    runner.look = lane.block->looks;
    return true;
  }
  runner.block = lane.blocks;
  return BeginBlock(runner, lane);
}

HWY_INLINE void Store(const Runner& runner, JpegLane& lane) {
  lane.bit = runner.bit + (runner.state & 63);
  lane.coefficients = runner.coefficients;
  lane.block = runner.block;
  lane.next_place = PlaceOf(runner);
}

HWY_INLINE bool IsAtCorner(const Runner& runner) { return (runner.state & kCorner) != 0; }

void RunOne(JpegLane* const* lanes) {
  Runner a = {};
  bool running = Load(*lanes[0], a);
  const auto take = [&]() HWY_ATTR {
    TakeSymbols(a);
    return HWY_UNLIKELY(IsAtCorner(a));
  };
  while (HWY_LIKELY(running)) {
    static_assert(kLooksAfterCorner == 3);
    while (!take() && !take() && !take()) {
      Refill(a);
      if (take()) break;
    }
    running = TurnCorner(a, *lanes[0]);
  }
  Store(a, *lanes[0]);
}

// Each lane's state is a variable of its own: compilers leave arrays of them in memory. Each lane's
// corner has a branch of its own: processors guess them better than one for both and then which.
void RunTwo(JpegLane* const* lanes) {
  enum Corner { kNone, kOfA, kOfB };
  Runner a = {};
  Runner b = {};
  bool running = Load(*lanes[0], a);
  running &= Load(*lanes[1], b);
  Corner corner = kNone;
  const auto take = [&]() HWY_ATTR {
    TakeSymbols(a);
    TakeSymbols(b);
    if (HWY_UNLIKELY(IsAtCorner(a))) {
      corner = kOfA;
      return true;
    }
    if (HWY_UNLIKELY(IsAtCorner(b))) {
      corner = kOfB;
      return true;
    }
    return false;
  };
  while (HWY_LIKELY(running)) {
    while (!take() && !take() && !take()) {
      Refill(a);
      Refill(b);
      if (take()) break;
    }
    if (corner == kOfA) {
      running = TurnCorner(a, *lanes[0]);
      if (HWY_LIKELY(!IsAtCorner(b))) {
        Refill(b);
        continue;
      }
    } else {
      Refill(a);
    }
    running &= TurnCorner(b, *lanes[1]);
  }
  Store(a, *lanes[0]);
  Store(b, *lanes[1]);
}

#if HWY_TARGET != HWY_SCALAR
using D8 = hn::CappedTag<uint8_t, 32>;
HWY_INLINE size_t StepBytes() { return hn::Lanes(D8()); }
HWY_INLINE intptr_t FirstMarkerByte(const uint8_t* from, uint8_t* to) {
  const D8 d;
  const auto bytes = hn::LoadU(d, from);
  hn::StoreU(bytes, d, to);
  return hn::FindFirstTrue(d, hn::Eq(bytes, hn::Set(d, 0xFF)));
}
// True if one of these bytes is 0xFF, and the byte after it is not 0.
HWY_INLINE bool HasMarker(const uint8_t* from) {
  const D8 d;
  const auto is_ff = hn::Eq(hn::LoadU(d, from), hn::Set(d, 0xFF));
  return !hn::AllFalse(d, hn::AndNot(hn::Eq(hn::LoadU(d, from + 1), hn::Zero(d)), is_ff));
}
#else
HWY_INLINE bool HasMarker(const uint8_t* from) { return from[0] == 0xFF && from[1] != 0; }
HWY_INLINE size_t StepBytes() { return 1; }
HWY_INLINE intptr_t FirstMarkerByte(const uint8_t* from, uint8_t* to) {
  *to = *from;
  return *from == 0xFF ? 0 : -1;
}
#endif

bool CopyBytes(const uint8_t** from_in, const uint8_t* from_end, uint8_t** to_in,
               const uint8_t* to_end) {
  const uint8_t* from = *from_in;
  uint8_t* to = *to_in;
  const size_t step = StepBytes();
  bool at_end = false;
  while (to < to_end) {
    if (static_cast<size_t>(from_end - from) >= step) {
      const intptr_t found = FirstMarkerByte(from, to);
      if (found < 0) {
        from += step;
        to += step;
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
    if (from_end - from < 2 || from[1] != 0) {
      at_end = true;
      break;
    }
    *to++ = 0xFF;
    from += 2;
  }
  *from_in = from;
  *to_in = to;
  return at_end;
}

const uint8_t* FindMarker(const uint8_t* from, const uint8_t* end) {
  const size_t step = StepBytes();
  while (static_cast<size_t>(end - from) > step && !HasMarker(from)) from += step;
  while (from < end && (*from != 0xFF || (end - from > 1 && from[1] == 0))) ++from;
  return from;
}

}  // namespace HWY_NAMESPACE
}  // namespace orbserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve {
namespace jpeg_lanes {

JpegSymbol LongDc(const JpegTable& table, uint64_t window) {
  return FindJpegSymbol(table, window, kJpegDcLookBits + 1);
}

JpegSymbol LongAc(const JpegTable& table, uint64_t window) { return FindJpegSymbol(table, window); }

int BadCodeBits(const JpegTable& table, uint64_t window) {
  const int code_length = FindJpegSymbol(table, window).code_length;
  return code_length > 0 ? code_length : kJpegMaxCodeBits;
}

Skipped SkipBlock(const JpegBlockKind& block, uint64_t bit) {
  // The DC difference was good.
  const JpegSymbol dc = FindJpegSymbol(*block.dc, WindowAt(bit));
  bit += static_cast<uint32_t>(dc.code_length + dc.symbol);
  for (int place = 1; place < kJpegBlockCoefficients;) {
    const uint64_t window = WindowAt(bit);
    const JpegSymbol ac = FindJpegSymbol(*block.ac, window);
    const int run = ac.symbol >> 4;
    const int size = ac.symbol & 15;
    if (ac.code_length == 0 || (size == 0 && run != 0 && run != 15)) {
      return {bit, JpegStop::kBadCode, BadCodeBits(*block.ac, window)};
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
HWY_EXPORT(CopyBytes);
HWY_EXPORT(FindMarker);

void RunJpegLanes(absl::Span<JpegLane* const> lanes) {
  static_assert(kJpegMaxLanes == 2);
  if (lanes.size() == 1) return HWY_DYNAMIC_DISPATCH(RunOne)(lanes.data());
  return HWY_DYNAMIC_DISPATCH(RunTwo)(lanes.data());
}

bool CopyJpegBytes(const uint8_t** from, const uint8_t* from_end, uint8_t** to,
                   const uint8_t* to_end) {
  return HWY_DYNAMIC_DISPATCH(CopyBytes)(from, from_end, to, to_end);
}

const uint8_t* FindJpegMarker(const uint8_t* from, const uint8_t* end) {
  return HWY_DYNAMIC_DISPATCH(FindMarker)(from, end);
}

}  // namespace orbserve
#endif  // HWY_ONCE
