// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force matching of vectors of 128 bytes by their squared Euclidean distance: the twin of
// SquaredDistance() in features/algo/metric.h. Included once per target by match_simd.cc.
//
// |q - t|^2 = |q|^2 + (|t|^2 - 2 q.t), all in 32-bit integers. A lane has a train vector, and a
// tile of four queries and a group of train vectors stays in registers while their products are
// summed up, so one load serves several multiplications. Train vectors are transposed to words: a
// word holds four bytes of a vector where the target multiplies bytes (VNNI), else two of its
// numbers in 16 bits. VNNI multiplies unsigned by signed bytes: a query then has 128 subtracted
// from each number, and the sum of a train vector makes up for it. The order of the sums does not
// matter, because no sum overflows.

#if defined(ORBSERVE_CPU_SIMD_VECTOR_MATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ORBSERVE_CPU_SIMD_VECTOR_MATCH_INL_H_
#undef ORBSERVE_CPU_SIMD_VECTOR_MATCH_INL_H_
#else
#define ORBSERVE_CPU_SIMD_VECTOR_MATCH_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using algo::kVectorBytes;

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE uint32_t VectorDistance(const uint8_t* a, const uint8_t* b) {
  return static_cast<uint32_t>(algo::SquaredDistance(a, b));
}

void PrepareVectors(const uint8_t*, int, uint8_t*) {}

void NearestVectors(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
                    int train_count, int k, const uint8_t*, Neighbour* nearest) {
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    for (int t = 0; t < train_count; ++t) {
      const uint32_t distance = VectorDistance(query + static_cast<ptrdiff_t>(q) * kVectorBytes,
                                               train + static_cast<ptrdiff_t>(t) * kVectorBytes);
      const Neighbour candidate = MakeNeighbour(distance, static_cast<uint32_t>(t));
      if (candidate < list[k - 1]) Insert(candidate, k, list);
    }
  }
}

#else  // HWY_TARGET != HWY_SCALAR

#if HWY_TARGET == HWY_AVX3_DL
constexpr bool kByteProducts = true;  // VNNI
#else
constexpr bool kByteProducts = false;
#endif

using D32 = hn::CappedTag<int32_t, 16>;
using V32 = hn::Vec<D32>;
using D16 = hn::Repartition<int16_t, D32>;
constexpr int kWordLanes = static_cast<int>(hn::MaxLanes(D32()));
constexpr int kTileQueries = 4;
// Vectors of a group: with four queries 16 sums of 512 bits, and 8 where products of 16 bits need
// a register before they are added.
constexpr int kGroupVectors = kByteProducts ? 4 : 2;
constexpr int kGroupTrains = kGroupVectors * kWordLanes;
constexpr int kNumbersOfWord = kByteProducts ? 4 : 2;
constexpr int kVectorWords = kVectorBytes / kNumbersOfWord;
// Queries that share a group of train vectors while it is in L1.
constexpr int kChunkQueries = 32;
static_assert(kGroupTrains <= 64 && 512 % kGroupTrains == 0);

// Squared distance of two rows, for the few that a window admits.
HWY_INLINE uint32_t VectorDistance(const uint8_t* a, const uint8_t* b) {
  const D16 d16;
  const D32 d32;
  const hn::Rebind<uint8_t, D16> d8;
  V32 sum = hn::Zero(d32);
  V32 more = hn::Zero(d32);
  for (int i = 0; i < kVectorBytes; i += static_cast<int>(hn::MaxLanes(d8))) {
    const auto difference =
        hn::Sub(hn::PromoteTo(d16, hn::LoadU(d8, a + i)), hn::PromoteTo(d16, hn::LoadU(d8, b + i)));
    sum = hn::ReorderWidenMulAccumulate(d32, difference, difference, sum, more);
  }
  return static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(d32, hn::Add(sum, more))));
}

// A word of a train vector, or of a query with `minus` subtracted from each of its numbers.
HWY_INLINE uint32_t WordOf(const uint8_t* row, int word, int minus) {
  uint32_t value = 0;
  for (int i = 0; i < kNumbersOfWord; ++i) {
    const uint32_t number = static_cast<uint32_t>(row[kNumbersOfWord * word + i] - minus);
    if constexpr (kByteProducts) {
      value |= (number & 0xFFu) << (8 * i);
    } else {
      value |= (number & 0xFFFFu) << (16 * i);
    }
  }
  return value;
}
constexpr int kQueryMinus = kByteProducts ? 128 : 0;

// [group][word][train vector of the group], then for each group its terms: what a distance has of
// the train vector alone. Places past the end have vectors of zeros and the largest term, which is
// below no bound.
constexpr int kGroupWords = kVectorWords * kGroupTrains;
constexpr int kGroupStride = kGroupWords + kGroupTrains;

void PrepareVectors(const uint8_t* train, int train_count, uint8_t* scratch) {
  auto* group = reinterpret_cast<uint32_t*>(scratch);
  for (int begin = 0; begin < train_count; begin += kGroupTrains, group += kGroupStride) {
    for (int lane = 0; lane < kGroupTrains; ++lane) {
      if (begin + lane >= train_count) {
        for (int w = 0; w < kVectorWords; ++w) group[w * kGroupTrains + lane] = 0;
        group[kGroupWords + lane] = std::numeric_limits<int32_t>::max();
        continue;
      }
      const uint8_t* const row = train + static_cast<ptrdiff_t>(begin + lane) * kVectorBytes;
      for (int w = 0; w < kVectorWords; ++w) group[w * kGroupTrains + lane] = WordOf(row, w, 0);
      int32_t term = 0;
      for (int i = 0; i < kVectorBytes; ++i) term += row[i] * (row[i] - 2 * kQueryMinus);
      group[kGroupWords + lane] = static_cast<uint32_t>(term);
    }
  }
}

// A query on its way through the train set.
struct VectorQuery {
  int32_t square;  // |q|^2
  int32_t bound;   // distances less |q|^2 below this are wanted; the least number: none
  Neighbour* list;
};

// Adds the products of a word of train vectors with one of a query.
HWY_INLINE void AddProducts(V32 trains, V32 query, V32& sum, V32& more) {
#if HWY_TARGET == HWY_AVX3_DL
  // The target needs VNNI, yet Highway 1.0 does not name it to the compiler, which then refuses the
  // intrinsic.
  auto raw = sum.raw;
  asm("vpdpbusd %2, %1, %0" : "+v"(raw) : "v"(trains.raw), "v"(query.raw));
  sum = V32{raw};
  (void)more;
#else
  const D16 d16;
  sum = hn::ReorderWidenMulAccumulate(D32(), hn::BitCast(d16, trains), hn::BitCast(d16, query), sum,
                                      more);
#endif
}

// Takes the trains of a group whose `values`, distances less |q|^2, are below the bound of a query.
// `first`: train index of the group's first. Not inlined, as few groups have any.
HWY_NOINLINE void TakeNearer(const int32_t* HWY_RESTRICT values, int first, int k,
                             VectorQuery& query) {
  const D32 d;
  for (int begin = 0; begin < kGroupTrains; begin += kWordLanes) {
    uint8_t mask_bytes[8] = {};
    hn::StoreMaskBits(d, hn::Lt(hn::Load(d, values + begin), hn::Set(d, query.bound)), mask_bytes);
    uint64_t lanes;
    std::memcpy(&lanes, mask_bytes, sizeof(lanes));
    // Ascending and strictly nearer, so that the lowest index wins a tie.
    for (; lanes != 0; lanes &= lanes - 1) {
      const int i = begin + static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(lanes));
      if (values[i] >= query.bound) continue;
      Insert(MakeNeighbour(static_cast<uint32_t>(values[i] + query.square),
                           static_cast<uint32_t>(first + i)),
             k, query.list);
      const Neighbour last = query.list[k - 1];
      if (last != kNoNeighbour) {
        query.bound = static_cast<int32_t>(DistanceOf(last)) - query.square;
      }
    }
  }
}

// Compares a group with four queries. `words`: [query][kVectorWords]. `first`: train index of the
// group's first. All loops over registers are unrolled: an array with a variable index would lie in
// memory.
HWY_INLINE void MatchTile(const int32_t* HWY_RESTRICT group, int first,
                          const int32_t* HWY_RESTRICT words, int k, VectorQuery* queries) {
  const D32 d;
  V32 sums[kTileQueries][kGroupVectors];
  V32 more[kTileQueries][kGroupVectors];  // stays 0 where the target needs one sum only
#pragma GCC unroll 4
  for (int q = 0; q < kTileQueries; ++q) {
#pragma GCC unroll 4
    for (int v = 0; v < kGroupVectors; ++v) sums[q][v] = more[q][v] = hn::Zero(d);
  }
  for (int w = 0; w < kVectorWords; ++w) {
    V32 trains[kGroupVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kGroupVectors; ++v) {
      trains[v] = hn::Load(d, group + w * kGroupTrains + v * kWordLanes);
    }
#pragma GCC unroll 4
    for (int q = 0; q < kTileQueries; ++q) {
      const V32 query = hn::Set(d, words[q * kVectorWords + w]);
#pragma GCC unroll 4
      for (int v = 0; v < kGroupVectors; ++v) AddProducts(trains[v], query, sums[q][v], more[q][v]);
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kTileQueries; ++q) {
    const V32 bound = hn::Set(d, queries[q].bound);
    alignas(64) int32_t values[kGroupTrains];
    V32 nearest = hn::Set(d, std::numeric_limits<int32_t>::max());
#pragma GCC unroll 4
    for (int v = 0; v < kGroupVectors; ++v) {
      const V32 product =
          kByteProducts ? sums[q][v] : hn::RearrangeToOddPlusEven(sums[q][v], more[q][v]);
      const V32 term = hn::Load(d, group + kVectorWords * kGroupTrains + v * kWordLanes);
      const V32 value = hn::Sub(term, hn::ShiftLeft<1>(product));
      hn::Store(value, d, values + v * kWordLanes);
      nearest = hn::Min(nearest, value);
    }
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Lt(nearest, bound)))) {
      TakeNearer(values, first, k, queries[q]);
    }
  }
}

void NearestVectors(const uint8_t* query, int query_begin, int query_end, const uint8_t*,
                    int train_count, int k, const uint8_t* scratch, Neighbour* nearest) {
  alignas(64) int32_t words[kChunkQueries * kVectorWords];
  VectorQuery queries[kChunkQueries];
  for (int begin = query_begin; begin < query_end; begin += kChunkQueries) {
    const int count = std::min(kChunkQueries, query_end - begin);
    const int padded = (count + kTileQueries - 1) / kTileQueries * kTileQueries;
    for (int i = 0; i < padded; ++i) {
      // Queries past the end repeat the last one and want nothing.
      const uint8_t* const row =
          query + static_cast<ptrdiff_t>(begin + std::min(i, count - 1)) * kVectorBytes;
      int32_t square = 0;
      for (int n = 0; n < kVectorBytes; ++n) square += row[n] * row[n];
      for (int w = 0; w < kVectorWords; ++w) {
        words[i * kVectorWords + w] = static_cast<int32_t>(WordOf(row, w, kQueryMinus));
      }
      queries[i] = {square, std::numeric_limits<int32_t>::min(), nullptr};
      if (i >= count) continue;
      queries[i].bound = std::numeric_limits<int32_t>::max();
      queries[i].list = nearest + static_cast<ptrdiff_t>(begin + i) * k;
      std::fill(queries[i].list, queries[i].list + k, kNoNeighbour);
    }
    const auto* group = reinterpret_cast<const int32_t*>(scratch);
    for (int first = 0; first < train_count; first += kGroupTrains, group += kGroupStride) {
      for (int i = 0; i < padded; i += kTileQueries) {
        MatchTile(group, first, words + i * kVectorWords, k, queries + i);
      }
    }
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#endif  // ORBSERVE_CPU_SIMD_VECTOR_MATCH_INL_H_
