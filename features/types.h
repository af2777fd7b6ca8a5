// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The vocabulary of the domain: plain data, owned by whoever holds it.

#ifndef ORBSERVE_FEATURES_TYPES_H_
#define ORBSERVE_FEATURES_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "features/options.h"

namespace orbserve {

// Features of one frame as columns of equal length, one row per keypoint. Order of a detection:
// octave up, response down, y up, x up. Order of given keypoints: the caller's.
struct Features {
  std::vector<float> x;          // level-0 pixels
  std::vector<float> y;          // level-0 pixels
  std::vector<float> size;       // diameter of the patch, level-0 pixels
  std::vector<float> angle_deg;  // [0, 360), clockwise with x right and y down; -1 when none
  std::vector<float> response;   // larger is better
  std::vector<int32_t> octave;   // pyramid level, 0 = full size
  std::vector<uint32_t>
      source_index;  // given keypoints only: row in the caller's columns; else empty
  std::vector<uint8_t> descriptors;  // count * descriptor_bytes; test i is bit i % 8 of byte i / 8
  int descriptor_bytes = 0;          // 32, 4 or 0
  // The field names the kind of the descriptors. It is NONE if there are none, or if the client
  // that sent the set did not name the kind: descriptor_kind() then derives it.
  Descriptor descriptor_type = Descriptor::kNone;
  bool truncated = false;  // more qualified than the plan's capacity
  // Passes of the suppression MINIMUM_DISTANCE: the most of any level. 0 with other suppressions.
  int suppression_passes = 0;
  int image_width_px = 0;
  int image_height_px = 0;

  size_t count() const { return x.size(); }

  // Kind of the descriptors. An unnamed kind is the one that the number of bytes stood for before
  // kinds had names.
  Descriptor descriptor_kind() const {
    return descriptor_type != Descriptor::kNone ? descriptor_type
                                                : DescriptorOfBytes(descriptor_bytes);
  }

  // Sets the length of every column but `source_index`; keeps capacity, so that a reused object
  // does not allocate.
  void Resize(size_t count) {
    x.resize(count);
    y.resize(count);
    size.resize(count);
    angle_deg.resize(count);
    response.resize(count);
    octave.resize(count);
    descriptors.resize(count * static_cast<size_t>(descriptor_bytes));
  }

  // Of the memory that the columns have grown to.
  size_t HeldBytes() const {
    const auto bytes = [](const auto& column) {
      return column.capacity() * sizeof(*column.data());
    };
    return bytes(x) + bytes(y) + bytes(size) + bytes(angle_deg) + bytes(response) + bytes(octave) +
           bytes(source_index) + bytes(descriptors);
  }
};

// Keypoints that a caller gives, to be described and not detected. Columns of equal length.
struct GivenKeypoints {
  std::vector<float> x;          // level-0 pixels
  std::vector<float> y;          // level-0 pixels
  std::vector<float> size;       // carried through
  std::vector<float> angle_deg;  // used as given; -1 is used as -1 degree
  std::vector<float> response;   // carried through
  std::vector<int32_t> octave;   // 0..levels-1

  size_t count() const { return x.size(); }
};

// Matches as columns of equal length, ordered by query index, then by distance, then by train
// index.
struct Matches {
  std::vector<uint32_t> query_index;
  std::vector<uint32_t> train_index;
  std::vector<uint32_t> distance;  // differing bits
  bool ratio_undefined = false;    // ratio test with a single train descriptor: nothing passes

  size_t count() const { return query_index.size(); }
};

// Durations of a whole batch in nanoseconds; 0 = did not happen.
struct BatchTimings {
  int64_t upload_ns = 0;    // host to device
  int64_t compute_ns = 0;   // all stages of the pipeline
  int64_t download_ns = 0;  // device to host
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_TYPES_H_
