// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The scans of a sequential JPEG file with everything that their decoding takes: tables, blocks of
// an MCU, entropy-coded bytes.

#ifndef ORBSERVE_DECODE_JPEG_SCAN_H_
#define ORBSERVE_DECODE_JPEG_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "decode/jpeg_blocks.h"
#include "decode/jpeg_colours.h"
#include "decode/jpeg_lanes.h"
#include "features/algo/jpeg_huffman.h"

namespace orbserve {

struct JpegScan {
  absl::Span<const uint8_t> bytes;  // with restart markers, up to the marker that ends the scan
  int number = 0;                   // 1 = the first of the file
  std::array<JpegBlockKind, kJpegMaxBlocksInMcu> blocks = {};  // of an MCU
  int mcus_across = 0;
  int mcus_down = 0;
  int restart_interval = 0;  // MCUs; 0 = no restarts

  // Set if the scan is the whole image and its luma can be decoded here: all components, luma at
  // full sampling, no colours but YCbCr. The kept blocks are those of luma.
  bool is_whole = false;
  // Set if only a quantiser of luma above 32,767 keeps the scan from being whole.
  bool has_doubtful_values = false;
  int width_px = 0;
  int height_px = 0;
  int luma_across = 1;  // blocks of luma in an MCU
  int luma_down = 1;
  JpegQuantisers quantisers;

  int64_t mcus() const { return int64_t{mcus_across} * mcus_down; }
};

// Reads a file from scan to scan. The scans point into the reader and the bytes.
class JpegScanReader {
 public:
  enum class Next {
    kScan,     // scan() is the next one
    kEnd,      // the file is over, and there was nothing in it that the reader does not know
    kUnknown,  // not a sequential file, or something in it that libjpeg-turbo must judge
  };

  explicit JpegScanReader(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}

  // Error: BAD_IMAGE (a quantiser of 0).
  absl::StatusOr<Next> Read();
  const JpegScan& scan() const { return scan_; }

 private:
  struct Component {
    int id = 0;
    int across = 1;  // sampling factors
    int down = 1;
    int quantisers = 0;
  };
  struct Quantisers {
    bool defined = false;
    std::array<uint16_t, 64> values = {};  // in rows
  };
  struct Table {
    const JpegTable* ready = nullptr;
    std::unique_ptr<JpegTable> own;  // null: a standard one
  };

  // Each returns false for what the reader does not know.
  bool ReadSegment(absl::Span<const uint8_t>* segment);
  bool ReadQuantisers(absl::Span<const uint8_t> segment);
  bool ReadTables(absl::Span<const uint8_t> segment);
  bool ReadFrame(absl::Span<const uint8_t> segment);
  bool ReadScanHeader(absl::Span<const uint8_t> segment);
  const JpegTable* FindTable(int kind, int place);
  bool IsLumaFirst() const;

  const absl::Span<const uint8_t> bytes_;
  size_t position_ = 2;  // after SOI
  bool has_frame_ = false;
  int width_px_ = 0;
  int height_px_ = 0;
  int component_count_ = 0;
  std::array<Component, 3> components_;
  std::array<Quantisers, 4> quantisers_;
  std::array<std::array<Table, 4>, 2> tables_;  // of DC differences, of AC values
  int restart_interval_ = 0;
  JpegColours colours_;
  std::optional<int> zero_quantiser_;  // the table that has one, of those in use
  JpegScan scan_;
};

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_JPEG_SCAN_H_
