// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/selection.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "features/algo/order.h"

namespace orbserve::cpu {
namespace {

constexpr uint32_t OrderOf(uint64_t key) { return static_cast<uint32_t>(key >> 32); }

}  // namespace

void ScoreHistogram::Clear() { std::memset(count, 0, sizeof(count)); }

void ScoreHistogram::Add(const Corner* corners, int number) {
  for (int i = 0; i < number; ++i) ++count[corners[i].score & 255];
}

int64_t ScoreHistogram::Total() const {
  int64_t total = 0;
  for (const int32_t c : count) total += c;
  return total;
}

int ScoreHistogram::CutFor(int wanted) const {
  if (wanted <= 0) return 256;
  int64_t kept = 0;
  for (int score = 255; score > 0; --score) {
    kept += count[score];
    if (kept >= wanted) return score;
  }
  return 0;
}

int KeepScores(const Corner* corners, int number, int lowest_score, Corner* kept) {
  int count = 0;
  for (int i = 0; i < number; ++i) {
    const Corner corner = corners[i];
    kept[count] = corner;
    count += corner.score >= lowest_score ? 1 : 0;
  }
  return count;
}

int KeepUnmasked(const ImageView& mask, Corner* corners, int number) {
  int count = 0;
  for (int i = 0; i < number; ++i) {
    const Corner corner = corners[i];
    corners[count] = corner;
    count += mask.Row(corner.y)[corner.x] != 0 ? 1 : 0;
  }
  return count;
}

int KeepUnmasked(const ImageView& mask, uint64_t* keys, int number) {
  int count = 0;
  for (int i = 0; i < number; ++i) {
    const uint64_t key = keys[i];
    keys[count] = key;
    count += mask.Row(algo::RankKeyY(key))[algo::RankKeyX(key)] != 0 ? 1 : 0;
  }
  return count;
}

// Equal scores stay in the order of the corners, which is that of their places.
void RankScores(const Corner* corners, int number, uint64_t* keys) {
  ScoreHistogram histogram;
  histogram.Clear();
  histogram.Add(corners, number);
  int32_t* const next = histogram.count;  // the place of the next corner of each score
  uint64_t response[256];
  int32_t place = 0;
  for (int score = 255; score >= 0; --score) {
    const int32_t count = next[score];
    next[score] = place;
    place += count;
    if (count > 0) response[score] = algo::RankKey(static_cast<float>(score), 0, 0);
  }
  for (int i = 0; i < number; ++i) {
    const Corner corner = corners[i];
    const int score = corner.score & 255;
    keys[next[score]++] =
        response[score] | static_cast<uint64_t>(corner.y) << 16 | static_cast<uint64_t>(corner.x);
  }
}

int KeepBestKeys(uint64_t* keys, int number, int wanted) {
  if (wanted <= 0) return 0;
  if (number <= wanted) return number;
  std::nth_element(keys, keys + wanted - 1, keys + number);
  const uint32_t last = OrderOf(keys[wanted - 1]);
  int kept = wanted;
  for (int i = wanted; i < number; ++i) {
    if (OrderOf(keys[i]) == last) std::swap(keys[kept++], keys[i]);
  }
  return kept;
}

int CountBestKeys(const uint64_t* keys, int number, int wanted) {
  if (wanted <= 0) return 0;
  int kept = std::min(number, wanted);
  while (kept < number && OrderOf(keys[kept]) == OrderOf(keys[wanted - 1])) ++kept;
  return kept;
}

// Radix selection finds the upper half of the last key: each pass fixes eight more bits of it.
void DivideBest(absl::Span<const absl::Span<const uint64_t>> runs, int64_t wanted,
                absl::Span<int> kept) {
  int64_t total = 0;
  for (size_t r = 0; r < runs.size(); ++r) {
    kept[r] = static_cast<int>(runs[r].size());
    total += kept[r];
  }
  if (total <= wanted) return;
  if (wanted <= 0) {
    std::fill(kept.begin(), kept.end(), 0);
    return;
  }
  for (size_t r = 0; r < runs.size(); ++r) {
    if (static_cast<int64_t>(runs[r].size()) < total) continue;
    kept[r] = static_cast<int>(wanted);  // all keys are of one run
    return;
  }
  constexpr int kDigitBits = 8;
  constexpr uint32_t kDigitMask = (1u << kDigitBits) - 1;
  uint32_t last = 0;
  for (int shift = 32 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    int64_t count[1 << kDigitBits] = {};
    const uint32_t decided = shift + kDigitBits == 32 ? 0 : ~0u << (shift + kDigitBits);
    for (const absl::Span<const uint64_t> run : runs) {
      for (const uint64_t key : run) {
        const uint32_t order = OrderOf(key);
        if ((order & decided) == last) ++count[(order >> shift) & kDigitMask];
      }
    }
    uint32_t digit = 0;
    while (count[digit] < wanted) wanted -= count[digit++];
    last |= digit << shift;
  }
  // `wanted` is now the number of keys with the upper half `last` that are kept.
  for (size_t r = 0; r < runs.size(); ++r) {
    int64_t less = 0;
    int64_t equal = 0;
    for (const uint64_t key : runs[r]) {
      less += OrderOf(key) < last ? 1 : 0;
      equal += OrderOf(key) == last ? 1 : 0;
    }
    equal = std::min(equal, wanted);
    wanted -= equal;
    kept[r] = static_cast<int>(less + equal);
  }
}

int KeepFirstKeys(uint64_t* keys, int number, int wanted) {
  if (wanted <= 0) return 0;
  if (number <= wanted) return number;
  std::nth_element(keys, keys + wanted - 1, keys + number);
  return wanted;
}

// Buckets of equal ranges of the upper halves, into which the keys are swapped, and then each
// bucket by itself. Responses spread over such ranges, so that most buckets get a few keys.
void SortKeys(uint64_t* keys, int number) {
  constexpr int kFewKeys = 512;
  constexpr int kMaxBucketBits = 12;
  if (number < kFewKeys) {
    std::sort(keys, keys + number);
    return;
  }
  uint32_t least = OrderOf(keys[0]);
  uint32_t greatest = least;
  for (int i = 1; i < number; ++i) {
    least = std::min(least, OrderOf(keys[i]));
    greatest = std::max(greatest, OrderOf(keys[i]));
  }
  // Some four keys in each bucket on the mean.
  const int bits =
      std::min(static_cast<int>(std::bit_width(static_cast<uint32_t>(number))) - 2, kMaxBucketBits);
  const int shift = std::max(static_cast<int>(std::bit_width(greatest - least)) - bits, 0);
  const auto bucket_of = [least, shift](uint64_t key) { return (OrderOf(key) - least) >> shift; };
  const size_t buckets = static_cast<size_t>(bucket_of(uint64_t{greatest} << 32)) + 1;

  int32_t next[1 << kMaxBucketBits];  // the first key of the bucket that may lie in a wrong one
  int32_t end[1 << kMaxBucketBits];
  std::fill_n(end, buckets, 0);
  for (int i = 0; i < number; ++i) ++end[bucket_of(keys[i])];
  int32_t begin = 0;
  for (size_t b = 0; b < buckets; ++b) {
    next[b] = begin;
    begin += end[b];
    end[b] = begin;
  }
  for (size_t b = 0; b < buckets; ++b) {
    while (next[b] < end[b]) {
      uint64_t key = keys[next[b]];
      for (size_t to = bucket_of(key); to != b; to = bucket_of(key)) {
        std::swap(key, keys[next[to]++]);
      }
      keys[next[b]++] = key;
    }
  }
  begin = 0;
  for (size_t b = 0; b < buckets; ++b) {
    std::sort(keys + begin, keys + end[b]);
    begin = end[b];
  }
}

}  // namespace orbserve::cpu
