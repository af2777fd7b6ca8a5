// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Brute-force Hamming matching, one descriptor of the train set per lane.
//
// In: query rows and a train set that prepare_train has transposed into groups of 64 descriptors,
// [group][row][64 bytes], where a row holds one byte (targets that count bits natively) or one
// nibble (targets that look counts up) of each descriptor. Out: per query the k nearest, ascending.
//
// Why transposed: a lane sums up the distance to its own descriptor, so nothing is ever added
// across a vector. Per row and vector that is xor, count, add with a native count; without it, the
// query's nibble is folded into the table, so that one byte shuffle gives the count of differing
// bits. Sums stay in bytes: each half of a descriptor differs in at most 128 bits, and the halves
// are added with saturation only for the question whether any lane beats the k-th best so far,
// which is "no" for all but a few groups.

#define HWY_WANT_AVX3_DL 1
// Vectors of a length unknown to the compiler cannot be kept in arrays; NEON runs on the same
// processors.
#if !defined(HWY_DISABLED_TARGETS)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

#include "cpu/matcher.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/simd/matcher_simd.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifndef ORBSERVE_CPU_SIMD_MATCHER_SIMD_ONCE_
#define ORBSERVE_CPU_SIMD_MATCHER_SIMD_ONCE_

namespace orbserve::cpu {
namespace {

// Highway target of a set of kernels, and the kernels.
struct TargetKernels {
  int64_t target;
  MatcherKernels kernels;
};

// Puts `candidate` in its place; the last of the k entries drops out.
inline void Insert(Neighbour candidate, int k, Neighbour* list) {
  int i = k - 1;
  for (; i > 0 && list[i - 1] > candidate; --i) list[i] = list[i - 1];
  list[i] = candidate;
}

}  // namespace
}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_SIMD_MATCHER_SIMD_ONCE_

HWY_BEFORE_NAMESPACE();
namespace orbserve::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// One lane: words of 64 bits straight from the rows are faster than any transposed layout.
void PrepareTrain(const uint8_t*, int, int, uint8_t*) {}

void Nearest(const uint8_t* query, int query_begin, int query_end, const uint8_t* train,
             int train_count, int descriptor_bytes, int k, const uint8_t*, Neighbour* nearest) {
  for (int q = query_begin; q < query_end; ++q) {
    Neighbour* const list = nearest + static_cast<ptrdiff_t>(q) * k;
    std::fill(list, list + k, kNoNeighbour);
    uint64_t query_words[4] = {};
    std::memcpy(query_words, query + static_cast<ptrdiff_t>(q) * descriptor_bytes,
                static_cast<size_t>(descriptor_bytes));
    for (int t = 0; t < train_count; ++t) {
      uint64_t words[4] = {};
      std::memcpy(words, train + static_cast<ptrdiff_t>(t) * descriptor_bytes,
                  static_cast<size_t>(descriptor_bytes));
      uint32_t distance = 0;
      for (int i = 0; i < 4; ++i) {
        distance += static_cast<uint32_t>(hwy::PopCount(words[i] ^ query_words[i]));
      }
      const Neighbour candidate = MakeNeighbour(distance, static_cast<uint32_t>(t));
      if (candidate < list[k - 1]) Insert(candidate, k, list);
    }
  }
}

#else  // HWY_TARGET != HWY_SCALAR

// Whether 8-bit lanes count their bits in one instruction: BITALG on x86, CNT on Arm.
#if HWY_ARCH_ARM || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL)
constexpr bool kNativeCount = true;
#else
constexpr bool kNativeCount = false;
#endif

constexpr int kGroup = 64;  // train descriptors: one cache line a row, one 64-bit mask
constexpr int kMaxDescriptorBytes = 32;
constexpr int kQueryBlock = 4;  // queries that share a group while it is in L1
constexpr int kRowsPerByte = kNativeCount ? 1 : 2;
constexpr int kMaxRows = kMaxDescriptorBytes * kRowsPerByte;

using D8 = hn::CappedTag<uint8_t, kGroup>;
using V8 = hn::Vec<D8>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D8()));
constexpr int kVectors = kGroup / kLanes;  // vectors a row

void PrepareTrain(const uint8_t* train, int train_count, int descriptor_bytes, uint8_t* scratch) {
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

// What a query contributes to each row, one vector a row: its byte in every lane, or the table of
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

// Differing bits of `rows` rows, added up per lane: at most 8 * 16 for half a descriptor.
template <int kRows>
HWY_INLINE void CountRows(const uint8_t* HWY_RESTRICT group, const uint8_t* HWY_RESTRICT operands,
                          V8 (&sums)[kVectors]) {
  const D8 d;
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  HWY_UNROLL(8)
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

// Takes the descriptors of one group into the list of one query. `valid`: the lanes in use.
template <int kDescriptorBytes>
HWY_INLINE void SearchGroup(const uint8_t* HWY_RESTRICT group, uint32_t first_train_index,
                            uint64_t valid, const uint8_t* HWY_RESTRICT operands, int k,
                            Neighbour* HWY_RESTRICT list) {
  const D8 d;
  constexpr int kHalfRows = kDescriptorBytes * kRowsPerByte / 2;
  V8 low[kVectors];
  V8 high[kVectors];
  CountRows<kHalfRows>(group, operands, low);
  CountRows<kHalfRows>(group + kHalfRows * kGroup, operands + kHalfRows * kLanes, high);

  // Saturated sums tell distances below 255 apart, which is enough while the limit is at most 255.
  uint32_t limit = DistanceOf(list[k - 1]);
  uint64_t candidates = valid;
  if (limit <= 255) {
    const V8 limits = hn::Set(d, static_cast<uint8_t>(limit));
    hn::Mask<D8> nearer[kVectors];
    hn::Mask<D8> any = hn::Lt(hn::SaturatedAdd(low[0], high[0]), limits);
    nearer[0] = any;
    for (int v = 1; v < kVectors; ++v) {
      nearer[v] = hn::Lt(hn::SaturatedAdd(low[v], high[v]), limits);
      any = hn::Or(any, nearer[v]);
    }
    if (HWY_LIKELY(hn::AllFalse(d, any))) return;
    uint64_t bits = 0;
    for (int v = 0; v < kVectors; ++v) {
      uint8_t mask_bytes[8] = {};
      hn::StoreMaskBits(d, nearer[v], mask_bytes);
      uint64_t mask;
      std::memcpy(&mask, mask_bytes, sizeof(mask));
      bits |= mask << (v * kLanes);
    }
    candidates &= bits;
  }

  alignas(64) uint8_t low_sums[kGroup];
  alignas(64) uint8_t high_sums[kGroup];
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(low[v], d, low_sums + v * kLanes);
    hn::Store(high[v], d, high_sums + v * kLanes);
  }
  // In ascending order and strictly nearer, so that the lowest index wins a tie.
  for (; candidates != 0; candidates &= candidates - 1) {
    const auto lane = static_cast<uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(candidates));
    const uint32_t distance = static_cast<uint32_t>(low_sums[lane]) + high_sums[lane];
    if (distance >= limit) continue;
    Insert(MakeNeighbour(distance, first_train_index + lane), k, list);
    limit = DistanceOf(list[k - 1]);
  }
}

template <int kDescriptorBytes>
HWY_INLINE void NearestOfSize(const uint8_t* query, int query_begin, int query_end, int train_count,
                              int k, const uint8_t* scratch, Neighbour* nearest) {
  constexpr ptrdiff_t kGroupBytes =
      static_cast<ptrdiff_t>(kGroup) * kDescriptorBytes * kRowsPerByte;
  alignas(64) uint8_t operands[kQueryBlock][kMaxRows * kLanes];
  for (int begin = query_begin; begin < query_end; begin += kQueryBlock) {
    const int count = std::min(kQueryBlock, query_end - begin);
    Neighbour* const lists = nearest + static_cast<ptrdiff_t>(begin) * k;
    std::fill(lists, lists + count * k, kNoNeighbour);
    for (int i = 0; i < count; ++i) {
      PrepareQuery(query + static_cast<ptrdiff_t>(begin + i) * kDescriptorBytes, kDescriptorBytes,
                   operands[i]);
    }
    for (int first = 0; first < train_count; first += kGroup) {
      const int used = std::min(kGroup, train_count - first);
      const uint64_t valid = ~uint64_t{0} >> (kGroup - used);
      const uint8_t* const group = scratch + first / kGroup * kGroupBytes;
      for (int i = 0; i < count; ++i) {
        SearchGroup<kDescriptorBytes>(group, static_cast<uint32_t>(first), valid, operands[i], k,
                                      lists + i * k);
      }
    }
  }
}

void Nearest(const uint8_t* query, int query_begin, int query_end, const uint8_t* /*train*/,
             int train_count, int descriptor_bytes, int k, const uint8_t* scratch,
             Neighbour* nearest) {
  if (descriptor_bytes == 32) {
    NearestOfSize<32>(query, query_begin, query_end, train_count, k, scratch, nearest);
  } else {
    NearestOfSize<4>(query, query_begin, query_end, train_count, k, scratch, nearest);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

const TargetKernels& Kernels() {
  static const TargetKernels kKernels = {HWY_TARGET,
                                         {hwy::TargetName(HWY_TARGET), PrepareTrain, Nearest}};
  return kKernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace orbserve::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace orbserve::cpu {

std::vector<const MatcherKernels*> AllSimdMatchers() {
  // Every target of this binary, the fastest first; null where one was not compiled.
  using KernelsFunction = const TargetKernels& (*)();
  static constexpr KernelsFunction kTargets[] = {HWY_CHOOSE_TARGET_LIST(Kernels),
                                                 HWY_CHOOSE_FALLBACK(Kernels)};
  const int64_t supported = hwy::SupportedTargets();
  std::vector<const MatcherKernels*> matchers;
  for (const KernelsFunction function : kTargets) {
    if (function == nullptr) continue;
    const TargetKernels& target = function();
    // Without a portable fallback the last entry is the baseline, which is in the list already.
    const bool listed =
        std::find(matchers.begin(), matchers.end(), &target.kernels) != matchers.end();
    const bool portable = (target.target & (HWY_SCALAR | HWY_EMU128)) != 0;
    if (!listed && (portable || (target.target & supported) != 0)) {
      matchers.push_back(&target.kernels);
    }
  }
  return matchers;
}

const MatcherKernels& SimdMatcher() {
  static const MatcherKernels& fastest = *AllSimdMatchers().front();
  return fastest;
}

}  // namespace orbserve::cpu

#endif  // HWY_ONCE
