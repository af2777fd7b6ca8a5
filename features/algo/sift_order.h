// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Order and cut of the features of SIFT, as cv::KeyPointsFilter of OpenCV 4.6.0 with libstdc++
// leaves them: sorted by place, then, only where there are more than wanted, divided at the wanted
// number by std::nth_element, whose way is a part of the result. All that tie with the last one
// stay.

#ifndef ORBSERVE_FEATURES_ALGO_SIFT_ORDER_H_
#define ORBSERVE_FEATURES_ALGO_SIFT_ORDER_H_

#include <cstdint>

#include "features/host_device.h"

namespace orbserve::algo {

// `octave` is packed with octaves that count from 0. Aligned, so that a device reads two at a time.
struct alignas(8) SiftFeature {
  float x = 0.0f;
  float y = 0.0f;
  float size = 0.0f;
  float angle_deg = 0.0f;
  float response = 0.0f;
  int32_t octave = 0;
};

// A total order of the features of a frame, but for equal ones.
ORBSERVE_HOST_DEVICE inline bool SiftPrecedes(const SiftFeature& a, const SiftFeature& b) {
  if (a.x != b.x) return a.x < b.x;
  if (a.y != b.y) return a.y < b.y;
  if (a.size != b.size) return a.size > b.size;
  if (a.angle_deg != b.angle_deg) return a.angle_deg < b.angle_deg;
  if (a.response != b.response) return a.response > b.response;
  return a.octave > b.octave;
}

// True for two features of which the first alone is kept.
ORBSERVE_HOST_DEVICE inline bool IsSiftDuplicate(const SiftFeature& a, const SiftFeature& b) {
  return a.x == b.x && a.y == b.y && a.size == b.size && a.angle_deg == b.angle_deg;
}

// Entry `i` of a heap whose least response is at the top, below which the heap of `count` is in
// order; `entry` is what belongs there.
template <typename Feature>
ORBSERVE_HOST_DEVICE inline void SettleSiftFeature(Feature* heap, int hole, int count,
                                                   Feature entry) {
  const int begin = hole;
  while (2 * hole + 2 < count) {
    int child = 2 * hole + 2;
    if (heap[child].response > heap[child - 1].response) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  if (2 * hole + 2 == count) {
    heap[hole] = heap[count - 1];
    hole = count - 1;
  }
  while (hole > begin && heap[(hole - 1) / 2].response > entry.response) {
    heap[hole] = heap[(hole - 1) / 2];
    hole = (hole - 1) / 2;
  }
  heap[hole] = entry;
}

template <typename Feature>
ORBSERVE_HOST_DEVICE inline bool IsStrongerSiftFeature(const Feature& a, const Feature& b) {
  return a.response > b.response;
}

template <typename Feature>
ORBSERVE_HOST_DEVICE inline void SwapSiftFeatures(Feature* a, Feature* b) {
  const Feature held = *a;
  *a = *b;
  *b = held;
}

// Divisions of `count` features before the rest becomes a heap.
ORBSERVE_HOST_DEVICE constexpr int SiftDivisions(int count) {
  int divisions = 0;
  for (int rest = count; rest > 1; rest /= 2) divisions += 2;
  return divisions;
}

// Moves the median of the second, the middle and the last of four features or more to the front.
template <typename Feature>
ORBSERVE_HOST_DEVICE inline void MoveSiftMedian(Feature* features, int first, int last) {
  Feature* const at = features + first;
  Feature* const second = at + 1;
  Feature* const middle = at + (last - first) / 2;
  Feature* const end = features + last - 1;
  if (IsStrongerSiftFeature(*second, *middle)) {
    SwapSiftFeatures(at, IsStrongerSiftFeature(*middle, *end)   ? middle
                         : IsStrongerSiftFeature(*second, *end) ? end
                                                                : second);
  } else {
    SwapSiftFeatures(at, IsStrongerSiftFeature(*second, *end)   ? second
                         : IsStrongerSiftFeature(*middle, *end) ? end
                                                                : middle);
  }
}

// Puts the features [first, last) where libstdc++'s std::nth_element leaves them, by falling
// response, with the one of rank `nth` (from 0) in its place: division by the median of three until
// three or fewer remain, which are inserted in order; after `divisions` divisions the first of the
// range, `nth` and what is between become a heap. A feature has a response.
template <typename Feature>
ORBSERVE_HOST_DEVICE inline void DivideSiftRange(Feature* features, int first, int last, int nth,
                                                 int divisions) {
  while (last - first > 3) {
    Feature* const at = features + first;
    if (divisions-- == 0) {
      const int kept = nth + 1 - first;
      for (int i = (kept - 2) / 2; kept > 1 && i >= 0; --i) SettleSiftFeature(at, i, kept, at[i]);
      for (int i = kept; i < last - first; ++i) {
        if (!IsStrongerSiftFeature(at[i], at[0])) continue;
        const Feature entry = at[i];
        at[i] = at[0];
        SettleSiftFeature(at, 0, kept, entry);
      }
      SwapSiftFeatures(at, features + nth);
      return;
    }
    MoveSiftMedian(features, first, last);
    int left = first + 1;
    int right = last;
    for (;;) {
      while (IsStrongerSiftFeature(features[left], *at)) ++left;
      do --right;
      while (IsStrongerSiftFeature(*at, features[right]));
      if (left >= right) break;
      SwapSiftFeatures(features + left, features + right);
      ++left;
    }
    if (left <= nth) {
      first = left;
    } else {
      last = left;
    }
  }
  for (int i = first + 1; i < last; ++i) {
    const Feature entry = features[i];
    int place = i;
    while (place > first && IsStrongerSiftFeature(entry, features[place - 1])) {
      features[place] = features[place - 1];
      --place;
    }
    features[place] = entry;
  }
}

template <typename Feature>
ORBSERVE_HOST_DEVICE inline void DivideSiftFeatures(Feature* features, int count, int nth) {
  DivideSiftRange(features, 0, count, nth, SiftDivisions(count));
}

// Cuts `count` features to about `wanted`, 0 = all, and returns how many remain.
ORBSERVE_HOST_DEVICE inline int KeepBestSiftFeatures(SiftFeature* features, int count, int wanted) {
  if (wanted <= 0 || count <= wanted) return count;
  DivideSiftFeatures(features, count, wanted - 1);
  const float least = features[wanted - 1].response;
  // std::partition: entries that stay fill the gaps from the back.
  int left = wanted;
  int right = count;
  for (;;) {
    while (left < right && features[left].response >= least) ++left;
    if (left == right) return left;
    do --right;
    while (left < right && features[right].response < least);
    if (left == right) return left;
    const SiftFeature held = features[left];
    features[left] = features[right];
    features[right] = held;
    ++left;
  }
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_SIFT_ORDER_H_
