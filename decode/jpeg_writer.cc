// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_writer.h"

#include <algorithm>
#include <cstring>

namespace orbserve {
namespace {

// Blocks that are transformed in one call.
constexpr int kGroup = 32;

}  // namespace

// Pixels of a block that reaches over the right or lower side, or lies beyond it.
struct JpegWriter::Edge {
  int width_px;
  int height_px;
  uint8_t* to;
  uint8_t pixels[kJpegBlockCoefficients];
};

JpegWriter::JpegWriter(const JpegScan* scan, const MutableImageView& out, int64_t first_mcu)
    : scan_(scan),
      out_(out),
      in_mcu_(scan->luma_across * scan->luma_down),
      inside_across_(out.width_px / (kJpegBlockSide * scan->luma_across)),
      inside_down_(out.height_px / (kJpegBlockSide * scan->luma_down)),
      mcu_x_(static_cast<int>(first_mcu % scan->mcus_across)),
      mcu_y_(static_cast<int>(first_mcu / scan->mcus_across)) {
  for (int i = 0; i < in_mcu_; ++i) {
    offsets_[i] =
        kJpegBlockSide * (i / scan->luma_across * out.pitch_bytes + i % scan->luma_across);
  }
}

void JpegWriter::PlaceAtSide(JpegBlockPlace* places, Edge* edges, int* edge_count) const {
  for (int i = 0; i < in_mcu_; ++i) {
    const int x = kJpegBlockSide * (mcu_x_ * scan_->luma_across + i % scan_->luma_across);
    const int y = kJpegBlockSide * (mcu_y_ * scan_->luma_down + i / scan_->luma_across);
    Edge& edge = edges[(*edge_count)++];
    const bool inside = x < out_.width_px && y < out_.height_px;
    edge.width_px = inside ? std::min(kJpegBlockSide, out_.width_px - x) : 0;
    edge.height_px = inside ? std::min(kJpegBlockSide, out_.height_px - y) : 0;
    edge.to = inside ? out_.Row(y) + x : nullptr;
    places[i] = {edge.pixels, kJpegBlockSide};
  }
}

bool JpegWriter::Write(int16_t* coefficients, int64_t mcus) {
  Edge edges[kGroup];
  JpegBlockPlace places[kGroup];
  bool decided = true;
  while (mcus > 0) {
    int blocks = 0;
    int edge_count = 0;
    const int64_t group = std::min<int64_t>(mcus, kGroup / in_mcu_);
    for (int64_t i = 0; i < group; ++i) {
      if (mcu_x_ < inside_across_ && mcu_y_ < inside_down_) {
        uint8_t* const first = out_.Row(kJpegBlockSide * scan_->luma_down * mcu_y_) +
                               static_cast<int64_t>(kJpegBlockSide) * scan_->luma_across * mcu_x_;
        for (int j = 0; j < in_mcu_; ++j) {
          places[blocks + j] = {first + offsets_[j], out_.pitch_bytes};
        }
      } else {
        PlaceAtSide(places + blocks, edges, &edge_count);
      }
      blocks += in_mcu_;
      if (++mcu_x_ == scan_->mcus_across) {
        mcu_x_ = 0;
        ++mcu_y_;
      }
    }
    for (int i = 0; i < blocks; ++i) {
      int16_t& dc = coefficients[i * kJpegBlockCoefficients];
      const int value = prediction_ + dc;
      prediction_ = static_cast<int16_t>(value);
      decided &= prediction_ == value;
      dc = static_cast<int16_t>(prediction_);
    }
    decided &= WriteJpegBlocks(coefficients, blocks, scan_->quantisers, places);
    for (int i = 0; i < edge_count; ++i) {
      const Edge& edge = edges[i];
      for (int y = 0; y < edge.height_px; ++y) {
        std::memcpy(edge.to + y * out_.pitch_bytes, edge.pixels + kJpegBlockSide * y,
                    static_cast<size_t>(edge.width_px));
      }
    }
    coefficients += blocks * kJpegBlockCoefficients;
    mcus -= group;
  }
  return decided;
}

}  // namespace orbserve
