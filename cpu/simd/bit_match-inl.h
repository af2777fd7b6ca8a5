// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force matching of strings of bits by Hamming distance, one descriptor of the train set per
// lane. Included once per target by match_simd.cc.
//
// In: query rows and a train set that prepare_train has transposed, once. Out: per query the k
// nearest, ascending. A lane sums up the distance to its own descriptor, so nothing is ever added
// across a vector; descriptors that may be among the k nearest are picked out of the sums by a
// bound that nearly none of the others passes, and only those are measured one by one. Two layouts:
//
// - Bit slices, for 512-bit vectors: a lane is one bit, a vector holds one bit of 512 descriptors.
//   A query selects for each of its bits the slice or its complement, which is where the
//   descriptors differ from it, and a tree of carry-save adders counts 256 such slices into 9.
//   vpternlog makes a full adder two instructions, so one distance costs one instruction, less than
//   counting bits with VPOPCNTDQ (three for 64 bits: xor, count, add), and processors without that
//   gain as much.
// - Bytes, for smaller vectors: a lane is a byte. Per row (a byte of 64 descriptors where the
//   target counts bits itself, else a nibble) that is xor, count, add; for nibbles the query's
//   nibble is folded into the lookup table, so that one shuffle gives the count of differing bits.
//   Parts of a descriptor differ in at most 128 bits and are added with saturation: only distances
//   from 255 on look equal, and are told apart when one of them is near enough to be taken.

#if defined(ORBSERVE_CPU_SIMD_BIT_MATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_BIT_MATCH_INL_H_
#undef ORBSERVE_CPU_SIMD_BIT_MATCH_INL_H_
#else
#define ORBSERVE_CPU_SIMD_BIT_MATCH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Distance of two rows, exact, for the few descriptors that reach a list. It is not in a header
// for all targets: only inside this namespace does the compiler count bits with one instruction.
template <int kDescriptorBytes>
HWY_INLINE uint32_t BitDistance(const uint8_t* a, const uint8_t* b) {
  uint32_t distance = 0;
  for (int i = 0; i < kDescriptorBytes; i += 4) {
    uint32_t word_a;
    uint32_t word_b;
    std::memcpy(&word_a, a + i, sizeof(word_a));
    std::memcpy(&word_b, b + i, sizeof(word_b));
    distance += static_cast<uint32_t>(__builtin_popcount(word_a ^ word_b));
  }
  return distance;
}

#if HWY_TARGET == HWY_SCALAR

// One lane: words of 64 bits straight from the rows are faster than any transposed layout.
void PrepareBits(const uint8_t*, int, int, uint8_t*) {}

void NearestBits(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                 int train_count, int descriptor_bytes, int k, const uint8_t*, Neighbour* nearest) {
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    uint64_t query_words[8] = {};
    std::memcpy(query_words, query + static_cast<ptrdiff_t>(q) * descriptor_bytes,
                static_cast<size_t>(descriptor_bytes));
    for (int t = 0; t < train_count; ++t) {
      uint64_t words[8] = {};
      std::memcpy(words, train + static_cast<ptrdiff_t>(t) * descriptor_bytes,
                  static_cast<size_t>(descriptor_bytes));
      uint32_t distance = 0;
      for (int i = 0; i < 8; ++i) {
        distance += static_cast<uint32_t>(hwy::PopCount(words[i] ^ query_words[i]));
      }
      const Neighbour candidate = MakeNeighbour(distance, static_cast<uint32_t>(t));
      if (candidate < list[k - 1]) Insert(candidate, k, list);
    }
  }
}

#else  // HWY_TARGET != HWY_SCALAR

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// ---- Bit slices: 512 train descriptors at a time, one bit of each in a vector

constexpr int kBlock = 512;  // train descriptors: the bits of a vector
constexpr int kWords = kBlock / 64;
constexpr int kSliceBytes = kBlock / 8;
constexpr int kQueryBlock = 8;  // queries that share a block while it is in L1

template <int kDescriptorBytes>
constexpr int kBits = 8 * kDescriptorBytes;
// Bits of a distance: 10 for 0..512, 6 for 0..32.
template <int kDescriptorBytes>
constexpr int kPlanes = std::bit_width(8u * kDescriptorBytes);

using Slice = __m512i;  // one bit of each of the 512 descriptors

// Full adder in every bit: sum + a + b = 2 * carry + new sum. The carry is worked out from the new
// sum, and not from the old, so that each of the two instructions may overwrite an operand that is
// not needed any more; otherwise every adder costs a register copy.
HWY_INLINE Slice AddWithCarry(Slice a, Slice b, Slice& sum) {
  sum = _mm512_ternarylogic_epi64(sum, a, b, 0x96);   // sum ^ a ^ b
  return _mm512_ternarylogic_epi64(a, b, sum, 0xD4);  // a == b ? a : ~sum
}

HWY_INLINE Slice LoadSlice(const uint8_t* p) { return _mm512_load_si512(p); }

// [block][bit][2][64 bytes]: bit b of the block's descriptors, and its complement.
void PrepareBits(const uint8_t* train, int train_count, int descriptor_bytes, uint8_t* scratch) {
  alignas(64) uint8_t bytes[64][64];
  for (int begin = 0; begin < train_count; begin += 64) {
    uint8_t* const word = scratch +
                          static_cast<ptrdiff_t>(begin / kBlock) * kBlock * descriptor_bytes * 2 +
                          begin % kBlock / 8;
    for (int lane = 0; lane < 64; ++lane) {
      // Lanes past the end repeat the last descriptor, whole words past the end are not written;
      // both are masked out later.
      const uint8_t* const row =
          train +
          static_cast<ptrdiff_t>(std::min(begin + lane, train_count - 1)) * descriptor_bytes;
      for (int i = 0; i < descriptor_bytes; ++i) bytes[i][lane] = row[i];
    }
    for (int i = 0; i < descriptor_bytes; ++i) {
      const Slice values = LoadSlice(bytes[i]);
      for (int b = 0; b < 8; ++b) {
        const uint64_t bits =
            _mm512_test_epi8_mask(values, _mm512_set1_epi8(static_cast<char>(1 << b)));
        const uint64_t complement = ~bits;
        uint8_t* const slices = word + (8 * i + b) * 2 * kSliceBytes;
        std::memcpy(slices, &bits, sizeof(bits));
        std::memcpy(slices + kSliceBytes, &complement, sizeof(complement));
      }
    }
  }
}

// Offsets of the slices that tell, for each bit of a query, which descriptors differ:
// the slice itself where its bit is 0, the complement where it is 1. Byte offsets inside a block.
template <int kDescriptorBytes>
HWY_INLINE void PrepareQuery(const uint8_t* query, uint16_t* offsets) {
  const hn::CappedTag<uint16_t, 32> d;
  const auto lanes = hn::Iota(d, 0);
  for (int i = 0; i < kDescriptorBytes; i += 4) {
    const auto base = hn::ShiftLeft<7>(hn::Add(lanes, hn::Set(d, static_cast<uint16_t>(8 * i))));
    uint32_t bits;
    std::memcpy(&bits, query + i, sizeof(bits));
    const __m512i step = _mm512_maskz_set1_epi16(bits, kSliceBytes);
    _mm512_store_si512(offsets + 8 * i, _mm512_add_epi16(base.raw, step));
  }
}

// Adds up 2^kLevel slices from the kFirst-th bit on. `planes[0..kLevel)`: the sum so far in binary,
// one slice a digit; what does not fit is returned, with weight 2^kLevel. Two operations for each
// slice in all, whatever the level (Harley and Seal's carry-save counter).
template <int kLevel, int kFirst>
HWY_INLINE Slice AddSlices(const uint8_t* HWY_RESTRICT block, const uint16_t* HWY_RESTRICT offsets,
                           Slice* planes) {
  if constexpr (kLevel == 0) {
    return LoadSlice(block + offsets[kFirst]);
  } else {
    const Slice a = AddSlices<kLevel - 1, kFirst>(block, offsets, planes);
    const Slice b = AddSlices<kLevel - 1, kFirst + (1 << (kLevel - 1))>(block, offsets, planes);
    return AddWithCarry(a, b, planes[kLevel - 1]);
  }
}

// The k-th smallest of the numbers in `planes` among the lanes of `valid`, which are at least k.
template <int kPlaneCount>
HWY_INLINE uint32_t KthSmallest(const Slice* planes, Slice valid, int k) {
  Slice candidates = valid;
  uint32_t value = 0;
  for (int b = kPlaneCount - 1; b >= 0; --b) {
    const Slice zeros = _mm512_andnot_si512(planes[b], candidates);
    alignas(64) uint64_t words[kWords];
    _mm512_store_si512(words, zeros);
    int count = 0;
    for (const uint64_t word : words) count += __builtin_popcountll(word);
    // No branch: the digits of a distance cannot be predicted.
    const int64_t with_one = count < k ? -1 : 0;
    candidates = _mm512_ternarylogic_epi64(_mm512_set1_epi64(with_one), zeros, candidates, 0x6C);
    k -= count & static_cast<int>(with_one);
    value |= static_cast<uint32_t>(with_one) & (1u << b);
  }
  return value;
}

// Lanes whose number in `planes` is at most `limit`, given as one mask of all ones or zeros per
// binary digit.
template <int kPlaneCount>
HWY_INLINE Slice LanesUpTo(const Slice* planes, const int64_t* limit_digits) {
  Slice lanes = _mm512_set1_epi64(-1);
  for (int b = 0; b < kPlaneCount; ++b) {
    // A digit decides unless it equals the limit's: majority of (not digit, limit's digit, lanes).
    lanes = _mm512_ternarylogic_epi64(planes[b], _mm512_set1_epi64(limit_digits[b]), lanes, 0x8E);
  }
  return lanes;
}

// A query's list with its bound.
template <int kPlaneCount>
struct Bound {
  uint32_t limit;  // distances below it are wanted
  int64_t at_most_digits[kPlaneCount];

  HWY_INLINE void Set(uint32_t new_limit) {
    limit = new_limit;
    SetAtMost(new_limit - 1);
  }
  HWY_INLINE void SetAtMost(uint32_t at_most) {
    const uint32_t digits = std::min(at_most, (1u << kPlaneCount) - 1);
    for (int b = 0; b < kPlaneCount; ++b) {
      at_most_digits[b] = -static_cast<int64_t>(digits >> b & 1);
    }
  }
};

template <int kDescriptorBytes>
HWY_INLINE void NearestOfSize(const uint8_t* query, int query_begin, int query_end,
                              const uint8_t* train, int train_count, int k, const uint8_t* scratch,
                              Neighbour* nearest) {
  constexpr int kPlaneCount = kPlanes<kDescriptorBytes>;
  constexpr ptrdiff_t kBlockBytes = static_cast<ptrdiff_t>(kBlock) * kDescriptorBytes * 2;
  alignas(64) uint16_t offsets[kQueryBlock][kBits<kDescriptorBytes>];
  Bound<kPlaneCount> bounds[kQueryBlock];
  for (int begin = query_begin; begin < query_end; begin += kQueryBlock) {
    const int queries = std::min(kQueryBlock, query_end - begin);
    const uint8_t* const rows = query + static_cast<ptrdiff_t>(begin) * kDescriptorBytes;
    Neighbour* const lists = nearest + static_cast<ptrdiff_t>(begin) * k;
    std::fill(lists, lists + queries * k, kNoNeighbour);
    for (int i = 0; i < queries; ++i) {
      PrepareQuery<kDescriptorBytes>(rows + i * kDescriptorBytes, offsets[i]);
      bounds[i].Set(kBits<kDescriptorBytes> + 1);
    }
    for (int first = 0; first < train_count; first += kBlock) {
      const uint8_t* const block = scratch + first / kBlock * kBlockBytes;
      alignas(64) uint64_t valid_words[kWords];
      for (int w = 0; w < kWords; ++w) {
        const int used = std::clamp(train_count - first - 64 * w, 0, 64);
        valid_words[w] = used == 0 ? 0 : ~uint64_t{0} >> (64 - used);
      }
      const Slice valid = _mm512_load_si512(valid_words);
      for (int i = 0; i < queries; ++i) {
        Bound<kPlaneCount>& bound = bounds[i];
        if (bound.limit == 0) continue;  // k equal descriptors: nothing can be nearer
        Slice planes[kPlaneCount];
        for (Slice& plane : planes) plane = _mm512_setzero_si512();
        planes[kPlaneCount - 1] = AddSlices<kPlaneCount - 1, 0>(block, offsets[i], planes);
        // The list is empty: without a bound the first lanes would all pass through it.
        if (first == 0 && train_count >= k) {
          bound.SetAtMost(KthSmallest<kPlaneCount>(planes, valid, std::min(k, kBlock)));
        }
        const Slice nearer =
            _mm512_and_si512(LanesUpTo<kPlaneCount>(planes, bound.at_most_digits), valid);
        if (HWY_LIKELY(_mm512_test_epi64_mask(nearer, nearer) == 0)) continue;
        alignas(64) uint64_t words[kWords];
        _mm512_store_si512(words, nearer);
        Neighbour* const list = lists + i * k;
        uint32_t limit = bound.limit;
        for (int w = 0; w < kWords; ++w) {
          // Ascending and strictly nearer, so that the lowest index wins a tie.
          for (uint64_t lanes = words[w]; lanes != 0; lanes &= lanes - 1) {
            const int index = first + 64 * w + __builtin_ctzll(lanes);
            const uint32_t distance = BitDistance<kDescriptorBytes>(
                rows + i * kDescriptorBytes,
                train + static_cast<ptrdiff_t>(index) * kDescriptorBytes);
            if (distance >= limit) continue;
            Insert(MakeNeighbour(distance, static_cast<uint32_t>(index)), k, list);
            limit = std::min(limit, DistanceOf(list[k - 1]));
          }
        }
        bound.Set(limit);
      }
    }
  }
}

#else  // no 512-bit vectors

// ---- Bytes: 64 train descriptors at a time, one byte or nibble of each in a lane

// True if 8-bit lanes count their bits in one instruction (CNT). x86 has that beside 512-bit
// vectors only.
constexpr bool kNativeCount = HWY_ARCH_ARM;

constexpr int kGroup = 64;      // train descriptors: one cache line a row, one 64-bit mask
constexpr int kSegment = 2048;  // train descriptors measured before any is taken: 2 KiB
constexpr int kQueryBlock = 4;  // queries that share a group while it is in L1
constexpr int kRowsPerByte = kNativeCount ? 1 : 2;

using D8 = hn::CappedTag<uint8_t, kGroup>;
using V8 = hn::Vec<D8>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D8()));
constexpr int kVectors = kGroup / kLanes;  // vectors a row

void PrepareBits(const uint8_t* train, int train_count, int descriptor_bytes, uint8_t* scratch) {
  const ptrdiff_t group_bytes = static_cast<ptrdiff_t>(kGroup) * descriptor_bytes * kRowsPerByte;
  for (int begin = 0; begin < train_count; begin += kGroup) {
    uint8_t* const group = scratch + begin / kGroup * group_bytes;
    for (int lane = 0; lane < kGroup; ++lane) {
      // Lanes past the end repeat the last descriptor; their distances are masked out later.
      const uint8_t* const row =
          train +
          static_cast<ptrdiff_t>(std::min(begin + lane, train_count - 1)) * descriptor_bytes;
      for (int i = 0; i < descriptor_bytes; ++i) {
        if constexpr (kNativeCount) {
          group[i * kGroup + lane] = row[i];
        } else {
          group[(2 * i) * kGroup + lane] = row[i] & 0x0F;
          group[(2 * i + 1) * kGroup + lane] = row[i] >> 4;
        }
      }
    }
  }
}

// Writes a query's part of each row, one vector a row: its byte in every lane, or the table of
// differing bits for its nibble. `operands`: [row][kLanes].
HWY_INLINE void PrepareQuery(const uint8_t* query, int descriptor_bytes, uint8_t* operands) {
  const D8 d;
  if constexpr (kNativeCount) {
    for (int i = 0; i < descriptor_bytes; ++i)
      hn::Store(hn::Set(d, query[i]), d, operands + i * kLanes);
  } else {
    HWY_ALIGN static constexpr uint8_t kBits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    HWY_ALIGN static constexpr uint8_t kIota[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                    8, 9, 10, 11, 12, 13, 14, 15};
    const V8 bits = hn::LoadDup128(d, kBits);
    const V8 iota = hn::LoadDup128(d, kIota);
    for (int i = 0; i < descriptor_bytes; ++i) {
      for (int half = 0; half < 2; ++half) {
        const auto nibble = static_cast<uint8_t>(half == 0 ? query[i] & 0x0F : query[i] >> 4);
        hn::Store(hn::TableLookupBytes(bits, hn::Xor(iota, hn::Set(d, nibble))), d,
                  operands + (2 * i + half) * kLanes);
      }
    }
  }
}

// Differing bits of kRows rows, added up per lane: at most 128 for 16 bytes.
template <int kRows>
HWY_INLINE void CountRows(const uint8_t* HWY_RESTRICT group, const uint8_t* HWY_RESTRICT operands,
                          V8 (&sums)[kVectors]) {
  const D8 d;
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
#pragma GCC unroll 16
  for (int row = 0; row < kRows; ++row) {
    const V8 operand = hn::Load(d, operands + row * kLanes);
    for (int v = 0; v < kVectors; ++v) {
      const V8 values = hn::Load(d, group + row * kGroup + v * kLanes);
      V8 counts;
      if constexpr (kNativeCount) {
        counts = hn::PopulationCount(hn::Xor(values, operand));
      } else {
        counts = hn::TableLookupBytes(operand, values);
      }
      sums[v] = hn::Add(sums[v], counts);
    }
  }
}

// Distances between one query and one group, larger ones stored as 255; lanes from `used` on are
// 255 too. `smallest`: running minimum of every lane over the groups.
template <int kDescriptorBytes>
HWY_INLINE void MeasureGroup(const uint8_t* HWY_RESTRICT group, int used,
                             const uint8_t* HWY_RESTRICT operands, uint8_t* HWY_RESTRICT distances,
                             uint8_t* HWY_RESTRICT smallest) {
  const D8 d;
  constexpr int kPartBytes = std::min(kDescriptorBytes / 2, 16);
  constexpr int kPartRows = kPartBytes * kRowsPerByte;
  V8 sums[kVectors];
  CountRows<kPartRows>(group, operands, sums);
  for (int part = 1; part < kDescriptorBytes / kPartBytes; ++part) {
    V8 more[kVectors];
    CountRows<kPartRows>(group + part * kPartRows * kGroup, operands + part * kPartRows * kLanes,
                         more);
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::SaturatedAdd(sums[v], more[v]);
  }
  for (int v = 0; v < kVectors; ++v) {
    V8 sum = sums[v];
    if (HWY_UNLIKELY(used < kGroup)) {
      const auto lanes = static_cast<size_t>(std::clamp(used - v * kLanes, 0, kLanes));
      sum = hn::IfThenElse(hn::FirstN(d, lanes), sum, hn::Set(d, 255));
    }
    hn::Store(sum, d, distances + v * kLanes);
    hn::Store(hn::Min(sum, hn::Load(d, smallest + v * kLanes)), d, smallest + v * kLanes);
  }
}

// Lanes of a group whose byte is at most `limit`, one bit each.
HWY_INLINE uint64_t LanesUpTo(const uint8_t* HWY_RESTRICT bytes, V8 limit) {
  const D8 d;
  hn::Mask<D8> masks[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const V8 values = hn::Load(d, bytes + v * kLanes);
    masks[v] = hn::Eq(hn::Min(values, limit), values);
  }
  uint64_t bits = 0;
  for (int v = 0; v < kVectors; ++v) {
    uint8_t mask_bytes[8] = {};
    hn::StoreMaskBits(d, masks[v], mask_bytes);
    uint64_t mask;
    std::memcpy(&mask, mask_bytes, sizeof(mask));
    bits |= mask << (v * kLanes);
  }
  return bits;
}

// The k-th smallest of 64 bytes. As lane minima belong to different descriptors, at least k of them
// are that near or nearer.
HWY_INLINE uint32_t KthSmallest(const uint8_t* bytes, int k) {
  const D8 d;
  // Bisection from the highest bit down: the largest value with fewer than k bytes below it.
  uint32_t value = 0;
  for (uint32_t bit = 128; bit != 0; bit >>= 1) {
    const uint64_t below = LanesUpTo(bytes, hn::Set(d, static_cast<uint8_t>(value + bit - 1)));
    value += static_cast<int>(hwy::PopCount(below)) < k ? bit : 0;
  }
  return value;
}

// Takes the descriptors nearer than the k-th best so far into the list of one query, in ascending
// order, so that the lowest index wins a tie. `distances`: those of the `count` train descriptors
// from `first` on, 64-byte groups; `at_most`: no descriptor farther than this is needed (255: no
// bound).
template <int kDescriptorBytes>
void TakeNearest(const uint8_t* distances, int first, int count, uint32_t at_most,
                 const uint8_t* query, const uint8_t* train, int k, Neighbour* list) {
  const D8 d;
  // Distances strictly below `limit` are wanted.
  uint32_t limit = std::min(DistanceOf(list[k - 1]), at_most == 255 ? ~0u : at_most + 1);
  for (int begin = 0; begin < count; begin += kGroup) {
    uint64_t lanes;
    if (HWY_LIKELY(limit <= 255)) {
      if (limit == 0) return;
      lanes = LanesUpTo(distances + begin, hn::Set(d, static_cast<uint8_t>(limit - 1)));
    } else {
      lanes = ~uint64_t{0} >> (kGroup - std::min(kGroup, count - begin));
    }
    for (; HWY_UNLIKELY(lanes != 0); lanes &= lanes - 1) {
      const int lane = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(lanes));
      const int index = first + begin + lane;
      uint32_t distance = distances[begin + lane];
      if (HWY_UNLIKELY(distance == 255)) {  // or more
        distance = BitDistance<kDescriptorBytes>(
            query, train + static_cast<ptrdiff_t>(index) * kDescriptorBytes);
      }
      if (distance >= limit) continue;
      Insert(MakeNeighbour(distance, static_cast<uint32_t>(index)), k, list);
      limit = std::min(limit, DistanceOf(list[k - 1]));
    }
  }
}

template <int kDescriptorBytes>
HWY_INLINE void NearestOfSize(const uint8_t* query, int query_begin, int query_end,
                              const uint8_t* train, int train_count, int k, const uint8_t* scratch,
                              Neighbour* nearest) {
  constexpr ptrdiff_t kGroupBytes =
      static_cast<ptrdiff_t>(kGroup) * kDescriptorBytes * kRowsPerByte;
  constexpr int kOperandBytes = kDescriptorBytes * kRowsPerByte * kLanes;
  alignas(64) uint8_t operands[kQueryBlock][kOperandBytes];
  alignas(64) uint8_t distances[kQueryBlock][kSegment];
  alignas(64) uint8_t smallest[kQueryBlock][kGroup];
  for (int begin = query_begin; begin < query_end; begin += kQueryBlock) {
    const int queries = std::min(kQueryBlock, query_end - begin);
    const uint8_t* const rows = query + static_cast<ptrdiff_t>(begin) * kDescriptorBytes;
    Neighbour* const lists = nearest + static_cast<ptrdiff_t>(begin) * k;
    std::fill(lists, lists + queries * k, kNoNeighbour);
    for (int i = 0; i < queries; ++i) {
      PrepareQuery(rows + i * kDescriptorBytes, kDescriptorBytes, operands[i]);
    }
    for (int first = 0; first < train_count; first += kSegment) {
      const int count = std::min(kSegment, train_count - first);
      std::memset(smallest, 255, sizeof(smallest));
      for (int offset = 0; offset < count; offset += kGroup) {
        const uint8_t* const group = scratch + (first + offset) / kGroup * kGroupBytes;
        for (int i = 0; i < queries; ++i) {
          MeasureGroup<kDescriptorBytes>(group, std::min(kGroup, count - offset), operands[i],
                                         distances[i] + offset, smallest[i]);
        }
      }
      for (int i = 0; i < queries; ++i) {
        // Later segments have the list itself for a bound.
        const uint32_t at_most = first == 0 ? KthSmallest(smallest[i], k) : 255;
        TakeNearest<kDescriptorBytes>(distances[i], first, count, at_most,
                                      rows + i * kDescriptorBytes, train, k, lists + i * k);
      }
    }
  }
}

#endif  // no 512-bit vectors

void NearestBits(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                 int train_count, int descriptor_bytes, int k, const uint8_t* scratch,
                 Neighbour* nearest) {
  switch (descriptor_bytes) {
    case 4:
      NearestOfSize<4>(query, query_begin, query_end, train, train_count, k, scratch, nearest);
      break;
    case 8:
      NearestOfSize<8>(query, query_begin, query_end, train, train_count, k, scratch, nearest);
      break;
    case 16:
      NearestOfSize<16>(query, query_begin, query_end, train, train_count, k, scratch, nearest);
      break;
    case 32:
      NearestOfSize<32>(query, query_begin, query_end, train, train_count, k, scratch, nearest);
      break;
    default:
      assert(descriptor_bytes == 64);
      NearestOfSize<64>(query, query_begin, query_end, train, train_count, k, scratch, nearest);
      break;
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_BIT_MATCH_INL_H_
