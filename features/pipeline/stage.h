// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stages of a pipeline, and how long each of them took. A step of a backend may carry out several
// stages at once; its time is reported under one name that lists them ("detect+suppress").

#ifndef ORBSERVE_FEATURES_PIPELINE_STAGE_H_
#define ORBSERVE_FEATURES_PIPELINE_STAGE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve {

// In the order in which a frame passes them.
enum class Stage : uint8_t {
  kDecode,    // JPEG files to level 0, where the backend decodes them
  kPyramid,   // level 0 to the other levels
  kDetect,    // levels to corners with a score
  kSuppress,  // corners to those that dominate their neighbourhood
  kSelect,    // corners to keypoints: cuts by score, the responses between two cuts, ranking
  kOrient,    // angle of each keypoint
  kDescribe,  // smoothing or integral image, and descriptor of each keypoint
  kMatch,     // descriptors to matches
  kTrack,     // features of one frame to their places in the next
};
inline constexpr int kStageCount = 9;

// "decode", "pyramid", ...
absl::string_view StageName(Stage stage);

// A set of stages. An empty set names nothing.
class StageSet {
 public:
  constexpr StageSet() = default;
  constexpr StageSet(Stage stage)  // NOLINT(google-explicit-constructor): a stage is a set of one
      : bits_(static_cast<uint16_t>(1u << static_cast<unsigned>(stage))) {}
  constexpr StageSet(std::initializer_list<Stage> stages) {
    for (const Stage stage : stages) bits_ |= StageSet(stage).bits_;
  }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(Stage stage) const { return (bits_ & StageSet(stage).bits_) != 0; }
  // Bit i stands for the stage number i: an index into tables of 2^kStageCount entries.
  constexpr uint16_t bits() const { return bits_; }
  static constexpr StageSet FromBits(uint16_t bits) {
    StageSet set;
    set.bits_ = bits;
    return set;
  }
  constexpr bool operator==(const StageSet&) const = default;

  // Names of the stages in their order, joined by '+': "orient+describe".
  std::string Name() const;

 private:
  uint16_t bits_ = 0;
};

struct StageTime {
  StageSet stages;
  int64_t duration_ns = 0;

  bool operator==(const StageTime&) const = default;
};

// Times of the steps of one frame, in the order of the steps. A plain value without allocation.
class StageTimes {
 public:
  static constexpr int kMaxEntries = kStageCount;

  // Adds `duration_ns` to the entry of `stages`, which is appended if there is none. Beyond
  // kMaxEntries different sets the time is dropped; no pipeline has as many.
  void Add(StageSet stages, int64_t duration_ns) {
    for (int i = 0; i < count_; ++i) {
      if (entries_[i].stages == stages) {
        entries_[i].duration_ns += duration_ns;
        return;
      }
    }
    if (count_ < kMaxEntries) entries_[count_++] = {stages, duration_ns};
  }

  bool empty() const { return count_ == 0; }
  absl::Span<const StageTime> entries() const {
    return absl::MakeConstSpan(entries_.data(), static_cast<size_t>(count_));
  }

  // True where the backend times one batch in many only, so that most frames have no times.
  bool sampled = false;

 private:
  std::array<StageTime, kMaxEntries> entries_;
  int count_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_STAGE_H_
