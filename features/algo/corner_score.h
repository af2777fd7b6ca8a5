// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Scores of FAST corners: all that backends know of one. Every value of `Score` has a CornerScore;
// searches, maps and lists of corners are templates over it.
//
//   kSource             what a score is computed from: the segment test itself, the ring, a patch
//   kReachPx            pixels that it reads round the corner
//   kNeedsCompareScore  neighbours must be compared by it (suppress.compare SCORE). Any other score
//                       can also rank the survivors of the FAST score, and has a step for that
//   Of()                the score: of the ring and the string of bits that holds the arc
//                       (features/algo/segment_test.h), or of the pixel `centre` of an image
//   Value, ValueOf(), ResponseOf()
//                       unsigned numbers in the order of the score, as windows compare them; 0 is
//                       no corner. Patches have corners only where their response is above 0

#ifndef ORBSERVE_FEATURES_ALGO_CORNER_SCORE_H_
#define ORBSERVE_FEATURES_ALGO_CORNER_SCORE_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/corner.h"
#include "features/algo/fast.h"
#include "features/algo/order.h"
#include "features/algo/sad_score.h"
#include "features/algo/segment_test.h"
#include "features/host_device.h"
#include "features/options.h"

namespace orbserve::algo {

enum class ScoreSource {
  kTest,   // the FAST score: testing a pixel and scoring it are one
  kRing,   // an integer of the ring
  kPatch,  // a number of single precision, also below 0
};

// Scores of the ring have this in common. `V`: holds every score.
template <typename V>
struct RingScore {
  static constexpr ScoreSource kSource = ScoreSource::kRing;
  static constexpr int kReachPx = kFastRadiusPx;
  static constexpr bool kNeedsCompareScore = true;
  using Value = V;
  ORBSERVE_HOST_DEVICE static Value ValueOf(int score, int /*threshold_grey*/) {
    return static_cast<Value>(score);
  }
  ORBSERVE_HOST_DEVICE static float ResponseOf(Value value, int /*threshold_grey*/) {
    return static_cast<float>(value);
  }
};

// Scores of a patch have this in common.
struct PatchScore {
  static constexpr ScoreSource kSource = ScoreSource::kPatch;
  using Value = uint32_t;
  ORBSERVE_HOST_DEVICE static Value ValueOf(float response, int /*threshold_grey*/) {
    return OrderedBits(response);
  }
  ORBSERVE_HOST_DEVICE static float ResponseOf(Value value, int /*threshold_grey*/) {
    return ValueOfOrderedBits(value);
  }
};

template <Score kOf>
struct CornerScore;

// The largest threshold at which the pixel is a corner, up to 254.
template <>
struct CornerScore<Score::kFast> {
  static constexpr Score kScore = Score::kFast;
  static constexpr ScoreSource kSource = ScoreSource::kTest;
  static constexpr int kReachPx = kFastRadiusPx;
  static constexpr bool kNeedsCompareScore = false;
  using Value = uint8_t;
  ORBSERVE_HOST_DEVICE static Value ValueOf(int score, int threshold_grey) {
    return static_cast<Value>(score - (threshold_grey - 1));
  }
  ORBSERVE_HOST_DEVICE static float ResponseOf(Value value, int threshold_grey) {
    return static_cast<float>(value + threshold_grey - 1);
  }
};

template <>
struct CornerScore<Score::kHarris> : PatchScore {
  static constexpr Score kScore = Score::kHarris;
  static constexpr int kReachPx = kHarrisRadiusPx;
  static constexpr bool kNeedsCompareScore = false;
  ORBSERVE_HOST_DEVICE static float Of(const uint8_t* centre, ptrdiff_t pitch_bytes) {
    return HarrisResponse(SumGradients(centre, pitch_bytes));
  }
};

template <>
struct CornerScore<Score::kSadCircle> : RingScore<uint16_t> {
  static constexpr Score kScore = Score::kSadCircle;
  template <typename Grey>
  ORBSERVE_HOST_DEVICE static int Of(const Grey (&ring)[kFastRingPixels], int centre_grey,
                                     uint32_t /*string*/, int /*arc_length*/) {
    return SadCircleScore(ring, centre_grey);
  }
};

template <>
struct CornerScore<Score::kSadArc> : RingScore<uint16_t> {
  static constexpr Score kScore = Score::kSadArc;
  template <typename Grey>
  ORBSERVE_HOST_DEVICE static int Of(const Grey (&ring)[kFastRingPixels], int centre_grey,
                                     uint32_t string, int arc_length) {
    return SumOfDifferences(ring, centre_grey, ArcMembers(string, arc_length));
  }
};

// The score of a ring that makes a corner at `threshold_grey`.
template <typename S>
ORBSERVE_HOST_DEVICE inline int ScoreOfRing(const uint8_t (&ring)[kFastRingPixels], int centre_grey,
                                            int arc_length, int threshold_grey) {
  const SegmentBits bits = SegmentBitsOf(ring, centre_grey, threshold_grey);
  return S::Of(ring, centre_grey, HasArc(bits.brighter, arc_length) ? bits.brighter : bits.darker,
               arc_length);
}

// Returns visit(CornerScore<score>()).
template <size_t kIndex = 0, typename Visit>
constexpr auto WithScore(Score score, const Visit& visit) {
  constexpr auto kScore = static_cast<Score>(kIndex);
  if constexpr (kIndex + 1 < kEnumNames<Score>.size()) {
    if (score != kScore) return WithScore<kIndex + 1>(score, visit);
  }
  return visit(CornerScore<kScore>());
}

// These properties hold for every corner that has the score.
struct ScoreFacts {
  ScoreSource source;
  int reach_px;
  bool needs_compare_score;
};
constexpr ScoreFacts FactsOf(Score score) {
  return WithScore(score, [](auto of) {
    using S = decltype(of);
    return ScoreFacts{S::kSource, S::kReachPx, S::kNeedsCompareScore};
  });
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_CORNER_SCORE_H_
