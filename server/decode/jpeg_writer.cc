// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/decode/jpeg_writer.h"

#include <algorithm>
#include <cstring>

#include "server/decode/jpeg_blocks.h"

namespace orbserve {
namespace {

constexpr int kSide = 8;
constexpr int kBlockPixels = kSide * kSide;
// Blocks that are transformed in one call.
constexpr int kGroup = 32;

}  // namespace

bool JpegWriter::Write(int16_t* coefficients, int64_t mcus) {
  // Pixels of blocks that reach over the right or lower side, or lie beyond it.
  struct Edge {
    int width_px;
    int height_px;
    uint8_t* to;
    uint8_t pixels[kBlockPixels];
  };
  Edge edges[kGroup];
  JpegBlockPlace places[kGroup];
  const int in_mcu = scan_->luma_across * scan_->luma_down;
  bool decided = true;
  while (mcus > 0) {
    int blocks = 0;
    int edge_count = 0;
    const int64_t group = std::min<int64_t>(mcus, kGroup / in_mcu);
    for (int64_t i = 0; i < group; ++i) {
      for (int by = 0; by < scan_->luma_down; ++by) {
        for (int bx = 0; bx < scan_->luma_across; ++bx) {
          int16_t& dc = coefficients[blocks * kJpegBlockCoefficients];
          prediction_ += dc;
          decided &= prediction_ >= INT16_MIN && prediction_ <= INT16_MAX;
          prediction_ = static_cast<int16_t>(prediction_);
          dc = static_cast<int16_t>(prediction_);
          const int x = kSide * (mcu_x_ * scan_->luma_across + bx);
          const int y = kSide * (mcu_y_ * scan_->luma_down + by);
          if (x + kSide <= out_.width_px && y + kSide <= out_.height_px) {
            places[blocks++] = {out_.Row(y) + x, out_.pitch_bytes};
            continue;
          }
          Edge& edge = edges[edge_count++];
          const bool inside = x < out_.width_px && y < out_.height_px;
          edge.width_px = inside ? std::min(kSide, out_.width_px - x) : 0;
          edge.height_px = inside ? std::min(kSide, out_.height_px - y) : 0;
          edge.to = inside ? out_.Row(y) + x : nullptr;
          places[blocks++] = {edge.pixels, kSide};
        }
      }
      if (++mcu_x_ == scan_->mcus_across) {
        mcu_x_ = 0;
        ++mcu_y_;
      }
    }
    decided &= WriteJpegBlocks(coefficients, blocks, scan_->quantisers, places);
    for (int i = 0; i < edge_count; ++i) {
      const Edge& edge = edges[i];
      for (int y = 0; y < edge.height_px; ++y) {
        std::memcpy(edge.to + y * out_.pitch_bytes, edge.pixels + kSide * y,
                    static_cast<size_t>(edge.width_px));
      }
    }
    coefficients += blocks * kJpegBlockCoefficients;
    mcus -= group;
  }
  return decided;
}

}  // namespace orbserve
