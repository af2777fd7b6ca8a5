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
// octave up, response down, y up, x up; of SIFT that of cv::SIFT. Order of given keypoints: the
// caller's.
struct Features {
  std::vector<float> x;          // level-0 pixels
  std::vector<float> y;          // level-0 pixels
  std::vector<float> size;       // diameter of the patch, level-0 pixels
  std::vector<float> angle_deg;  // [0, 360), clockwise with x right and y down; -1 when none
  std::vector<float> response;   // larger is better
  std::vector<int32_t> octave;   // pyramid level, 0 = full size, -1 = doubled (SIFT)
  // Detector SIFT only, else empty: layer of the octave, from 1, and the offset from it in
  // layers, as OpenCV has it: rounded (offset + 0.5) * 255.
  std::vector<uint8_t> layer;
  std::vector<uint8_t> layer_fraction;
  std::vector<uint32_t>
      source_index;  // given keypoints only: row in the caller's columns; else empty
  std::vector<uint8_t> descriptors;  // count * descriptor_bytes; test i is bit i % 8 of byte i / 8,
                                     // of TEBLID and BEBLID bit 7 - i % 8; SIFT: numbers
  int descriptor_bytes = 0;          // 128, 64, 32, 4 or 0
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

  // Sets the length of every column that a set always has; keeps capacity, so that a reused object
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
           bytes(layer) + bytes(layer_fraction) + bytes(source_index) + bytes(descriptors);
  }
};

// Keypoints that a caller gives, to be described and not detected. Columns of equal length.
struct GivenKeypoints {
  std::vector<float> x;     // level-0 pixels
  std::vector<float> y;     // level-0 pixels
  std::vector<float> size;  // carried through; of TEBLID and BEBLID used as given
  // Used as given; -1 is used as -1 degree, but of TEBLID and BEBLID all below 0 as upright.
  std::vector<float> angle_deg;
  std::vector<float> response;  // carried through
  std::vector<int32_t> octave;  // 0..levels-1

  size_t count() const { return x.size(); }
};

// Matches as columns of equal length, ordered by query index, then by distance, then by train
// index.
struct Matches {
  std::vector<uint32_t> query_index;
  std::vector<uint32_t> train_index;
  std::vector<uint32_t> distance;  // differing bits; of SIFT the squared Euclidean distance
  bool ratio_undefined = false;    // ratio test with a single train descriptor: nothing passes

  size_t count() const { return query_index.size(); }
};

// Place of a track in 2^-14 pixels of level 0.
inline constexpr int kTrackFractionBits = 14;

// End of the search for one point in a new frame.
enum class TrackStatus : uint8_t { kOk, kNoTexture, kLeftImage, kNotConverged, kDifferent };

// Points to follow from one frame to the next, as columns of equal length.
struct TrackPoints {
  std::vector<int32_t> x;  // place in the frame before, 2^-14 pixels of level 0
  std::vector<int32_t> y;
  std::vector<float> gain;    // start of the search: alpha, 0 = contrast unchanged
  std::vector<float> offset;  // beta, 1/16 grey level
  // Template FIRST only; else empty. A row of -1 stands for a point that began in the frame before:
  // its patches are taken there, at x and y, and answered. Any other number is a row of `patches`,
  // which were taken at template_x, template_y.
  std::vector<int32_t> patch_row;
  std::vector<int32_t> template_x;  // 2^-14 pixels of level 0; of a row of -1 equal to x and y
  std::vector<int32_t> template_y;
  std::vector<int16_t> patches;  // rows of TrackPatchValues() values (features/algo/)

  size_t count() const { return x.size(); }
  // Memory that the columns hold.
  size_t size_bytes() const {
    const auto bytes = [](const auto& column) {
      return column.capacity() * sizeof(*column.data());
    };
    return bytes(x) + bytes(y) + bytes(gain) + bytes(offset) + bytes(patch_row) +
           bytes(template_x) + bytes(template_y) + bytes(patches);
  }
};

// Places of the points in the new frame: one row per point, in their order. All numbers of a row
// whose status is not OK are 0.
struct TrackedPoints {
  std::vector<TrackStatus> status;
  std::vector<int32_t> x;  // 2^-14 pixels of level 0
  std::vector<int32_t> y;
  std::vector<float> gain;      // alpha
  std::vector<float> offset;    // beta, 1/16 grey level
  std::vector<float> residual;  // grey levels, 0..127.9
  // Template FIRST only: a row of patches for each point with a patch_row of -1, in their order.
  std::vector<int16_t> patches;

  size_t count() const { return status.size(); }
};

// A point that is followed through the frames of a stream, as it is in one frame.
struct Track {
  uint64_t id = 0;  // from 1; never used again in its stream
  int32_t x = 0;    // 2^-14 pixels of level 0
  int32_t y = 0;
  uint32_t age_frames = 0;  // frames since the track began
  float residual = 0.0f;    // grey levels; 0 in its first frame
  float alpha = 0.0f;       // gain - 1
  float beta = 0.0f;        // 1/16 grey level

  float x_px() const { return static_cast<float>(x) * 0x1p-14f; }
  float y_px() const { return static_cast<float>(y) * 0x1p-14f; }
  float gain() const { return 1.0f + alpha; }
  float offset_grey() const { return beta * 0.0625f; }

  bool operator==(const Track&) const = default;
};

// Reasons for which a track ends.
enum class TrackEnd : uint8_t {
  kNoTexture,  // these four as in TrackStatus
  kLeftImage,
  kNotConverged,
  kDifferent,
  kMasked,     // it came to lie under the mask
  kImageSize,  // the frame has another size than the one before
  kPipeline,   // the stream's pipeline or track options changed, or its tracks were turned off
};

struct EndedTrack {
  uint64_t id = 0;
  TrackEnd reason = TrackEnd::kNoTexture;

  bool operator==(const EndedTrack&) const = default;
};

// The tracks of an answered frame.
struct FrameTracks {
  std::vector<Track> tracks;      // all of them, id up
  std::vector<EndedTrack> ended;  // since the answer before, id up
};

// Durations of a whole batch in nanoseconds; 0 = did not happen.
struct BatchTimings {
  int64_t upload_ns = 0;    // host to device
  int64_t compute_ns = 0;   // all stages of the pipeline
  int64_t download_ns = 0;  // device to host
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_TYPES_H_
