// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The requests whose answers answer_fuzz reads and answer_seeds makes.

#ifndef ORBSERVE_TESTS_FUZZ_ANSWER_REQUESTS_H_
#define ORBSERVE_TESTS_FUZZ_ANSWER_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "orbserve/v1/orbserve.pb.h"

namespace orbserve {

// First byte of an input: the answer that follows. An input of a stream has a number of two bytes,
// the lower one first, in front of each message, which is the message's size.
enum class AnswerKind : uint8_t { kExtract, kMatch, kStream, kReferences, kInfo, kCount };

constexpr int kAnswerWidthPx = 128;
constexpr int kAnswerHeightPx = 96;
constexpr uint64_t kAnswerFrames = 3;

// Overlapping rectangles, which have corners.
inline v1::Frame AnswerFrame(uint64_t number) {
  std::string pixels(static_cast<size_t>(kAnswerWidthPx) * kAnswerHeightPx, '\x60');
  uint32_t random = 12345;
  const auto below = [&random](int end) {
    random = random * 1664525u + 1013904223u;
    return static_cast<int>((random >> 8) % static_cast<uint32_t>(end));
  };
  for (int i = 0; i < 40; ++i) {
    const int left = below(kAnswerWidthPx - 20) + static_cast<int>(number);
    const int top = below(kAnswerHeightPx - 20);
    const char grey = static_cast<char>(below(256));
    for (int y = top; y < top + 16; ++y) {
      for (int x = left; x < left + 14 && x < kAnswerWidthPx; ++x) {
        pixels[static_cast<size_t>(y * kAnswerWidthPx + x)] = grey;
      }
    }
  }
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(kAnswerWidthPx);
  frame.set_height_px(kAnswerHeightPx);
  frame.set_sequence(number);
  frame.set_timestamp_ns(static_cast<int64_t>(number) * 1000);
  frame.set_pixels(std::move(pixels));
  return frame;
}

inline v1::Pipeline AnswerPipeline() {
  v1::Pipeline pipeline;
  pipeline.mutable_select()->set_max_features(20);
  pipeline.mutable_select()->set_border_px(22);
  return pipeline;
}

inline v1::ExtractRequest AnswerExtract() {
  v1::ExtractRequest request;
  *request.mutable_pipeline() = AnswerPipeline();
  *request.mutable_frame() = AnswerFrame(0);
  return request;
}

inline v1::MatchRequest AnswerMatch() {
  v1::MatchRequest request;
  *request.mutable_pipeline() = AnswerPipeline();
  *request.mutable_query_frame() = AnswerFrame(1);
  *request.mutable_train_frame() = AnswerFrame(0);
  return request;
}

inline v1::StreamOpen AnswerOpen() {
  v1::StreamOpen open;
  *open.mutable_pipeline() = AnswerPipeline();
  open.mutable_pipeline()->mutable_pyramid()->set_scale_factor(2);
  open.set_match_previous(true);
  open.set_match_keyframe(true);
  open.set_track(true);
  return open;
}

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_FUZZ_ANSWER_REQUESTS_H_
