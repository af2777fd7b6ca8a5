// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_scan.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "decode/bad_image.h"
#include "decode/jpeg_markers.h"
#include "features/algo/jpeg_standard_codes.h"
#include "features/algo/jpeg_zigzag.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

constexpr int kDc = 0;
constexpr int kAc = 1;

bool AreSame(const JpegCodes& a, const JpegCodes& b) {
  return std::memcmp(a.counts, b.counts, sizeof(a.counts)) == 0 &&
         std::memcmp(a.symbols, b.symbols, sizeof(a.symbols)) == 0;
}

// The standard tables, made once: DC and AC, of luma and chroma.
struct StandardTables {
  StandardTables() {
    BuildJpegTable(kStandardLumaDc, true, &tables[kDc][0]);
    BuildJpegTable(kStandardChromaDc, true, &tables[kDc][1]);
    BuildJpegTable(kStandardLumaAc, false, &tables[kAc][0]);
    BuildJpegTable(kStandardChromaAc, false, &tables[kAc][1]);
    for (int place = 0; place < 2; ++place) {
      BuildJpegSkips(tables[kDc][place], tables[kAc][place], &skips[place]);
      PairJpegLooks(tables[kAc][place], &pairs[place]);
    }
  }
  JpegTable tables[2][2];
  JpegSkips skips[2];
  JpegLook pairs[2][kJpegLookSize];
};
const StandardTables& Standard() {
  static const StandardTables* const standard = new StandardTables;
  return *standard;
}
// To make skips or pairs of a file's own tables would take longer than they save.
const JpegSkips* SkipsOf(const JpegBlockKind& block) {
  const StandardTables& standard = Standard();
  for (int place = 0; place < 2; ++place) {
    if (block.dc == &standard.tables[kDc][place] && block.ac == &standard.tables[kAc][place]) {
      return &standard.skips[place];
    }
  }
  return nullptr;
}
const JpegLook* LooksOf(const JpegTable* ac) {
  const StandardTables& standard = Standard();
  for (int place = 0; place < 2; ++place) {
    if (ac == &standard.tables[kAc][place]) return standard.pairs[place];
  }
  return ac->look;
}
const JpegCodes& StandardCodes(int kind, int place) {
  static constexpr const JpegCodes* kCodes[2][2] = {{&kStandardLumaDc, &kStandardChromaDc},
                                                    {&kStandardLumaAc, &kStandardChromaAc}};
  return *kCodes[kind][place];
}

}  // namespace

absl::StatusOr<JpegScanReader::Next> JpegScanReader::Read() {
  while (true) {
    if (position_ + 1 >= bytes_.size() || bytes_[position_] != 0xFF) return Next::kUnknown;
    while (position_ < bytes_.size() && bytes_[position_] == 0xFF) ++position_;
    if (position_ >= bytes_.size()) return Next::kUnknown;
    const uint8_t marker = bytes_[position_++];
    if (marker == kJpegEoi) return Next::kEnd;
    if (IsJpegMarkerAlone(marker)) continue;
    absl::Span<const uint8_t> segment;
    if (!ReadSegment(&segment)) return Next::kUnknown;
    bool known = true;
    if (marker == kJpegDqt) {
      known = ReadQuantisers(segment);
    } else if (marker == kJpegDht) {
      known = ReadTables(segment);
    } else if (marker == kJpegSof0 || marker == kJpegSof1) {
      known = ReadFrame(segment);
    } else if (marker == kJpegDri) {
      known = segment.size() == 2;
      if (known) restart_interval_ = segment[0] << 8 | segment[1];
    } else if (marker >= kJpegApp0 && marker <= kJpegApp15) {
      colours_.ReadSegment(marker, segment);
    } else if (marker == kJpegSos) {
      if (!ReadScanHeader(segment)) return Next::kUnknown;
      if (zero_quantiser_.has_value()) {
        return BadImage(absl::StrCat("JPEG: corrupt, a quantiser of 0 in table ", *zero_quantiser_,
                                     "; must be at least 1"));
      }
      const size_t end = FindJpegScanEnd(bytes_, position_);
      scan_.bytes = bytes_.subspan(position_, end - position_);
      position_ = end;
      return Next::kScan;
    } else {
      known = marker == kJpegDnl || marker == kJpegCom;
    }
    if (!known) return Next::kUnknown;
  }
}

bool JpegScanReader::ReadSegment(absl::Span<const uint8_t>* segment) {
  if (bytes_.size() - position_ < 2) return false;
  const size_t length = size_t{bytes_[position_]} << 8 | bytes_[position_ + 1];
  if (length < 2 || bytes_.size() - position_ < length) return false;
  *segment = bytes_.subspan(position_ + 2, length - 2);
  position_ += length;
  return true;
}

bool JpegScanReader::ReadQuantisers(absl::Span<const uint8_t> segment) {
  while (!segment.empty()) {
    const size_t place = segment[0] & 15;
    const bool wide = segment[0] >> 4 != 0;
    const size_t size = wide ? 2 * kJpegBlockCoefficients : kJpegBlockCoefficients;
    if (place >= quantisers_.size() || segment[0] >> 4 > 1 || segment.size() < 1 + size) {
      return false;
    }
    Quantisers& quantisers = quantisers_[place];
    quantisers.defined = true;
    for (size_t i = 0; i < kJpegBlockCoefficients; ++i) {
      quantisers.values[kJpegZigzag.place[i]] =
          wide ? static_cast<uint16_t>(segment[1 + 2 * i] << 8 | segment[2 + 2 * i])
               : segment[1 + i];
    }
    segment.remove_prefix(1 + size);
  }
  return true;
}

bool JpegScanReader::ReadTables(absl::Span<const uint8_t> segment) {
  while (!segment.empty()) {
    if (segment.size() < 1 + kJpegMaxCodeBits) return false;
    const int kind = segment[0] >> 4;
    const int place = segment[0] & 15;
    if (kind > kAc || place > 3) return false;
    JpegCodes codes;
    std::memcpy(codes.counts, &segment[1], kJpegMaxCodeBits);
    size_t count = 0;
    for (const uint8_t of_length : codes.counts) count += of_length;
    segment.remove_prefix(1 + kJpegMaxCodeBits);
    if (count > sizeof(codes.symbols) || segment.size() < count) return false;
    if (count > 0) std::memcpy(codes.symbols, segment.data(), count);
    segment.remove_prefix(count);
    Table& table = tables_[static_cast<size_t>(kind)][static_cast<size_t>(place)];
    table.ready = nullptr;
    for (int standard = 0; standard < 2; ++standard) {
      if (AreSame(codes, StandardCodes(kind, standard))) {
        table.ready = &Standard().tables[kind][standard];
      }
    }
    if (table.ready != nullptr) continue;
    if (table.own == nullptr) table.own = std::make_unique_for_overwrite<JpegTable>();
    if (!BuildJpegTable(codes, kind == kDc, table.own.get())) return false;
    table.ready = table.own.get();
  }
  return true;
}

bool JpegScanReader::ReadFrame(absl::Span<const uint8_t> segment) {
  if (has_frame_ || segment.size() < 6 || segment[0] != 8) return false;
  has_frame_ = true;
  height_px_ = segment[1] << 8 | segment[2];
  width_px_ = segment[3] << 8 | segment[4];
  component_count_ = segment[5];
  if (width_px_ == 0 || height_px_ == 0) return false;
  if (component_count_ != 1 && component_count_ != 3) return false;
  if (segment.size() != 6 + 3 * static_cast<size_t>(component_count_)) return false;
  for (int i = 0; i < component_count_; ++i) {
    const size_t at = 6 + 3 * static_cast<size_t>(i);
    Component& component = components_[static_cast<size_t>(i)];
    component = {segment[at], segment[at + 1] >> 4, segment[at + 1] & 15, segment[at + 2]};
    if (component.across < 1 || component.across > 4 || component.down < 1 || component.down > 4 ||
        component.quantisers > 3) {
      return false;
    }
    for (int j = 0; j < i; ++j) {
      if (components_[static_cast<size_t>(j)].id == component.id) return false;
    }
  }
  return true;
}

bool JpegScanReader::IsLumaFirst() const {
  return component_count_ == 1 ||
         colours_.IsLumaFirst({components_[0].id, components_[1].id, components_[2].id});
}

const JpegTable* JpegScanReader::FindTable(int kind, int place) {
  if (place > 3) return nullptr;
  const Table& table = tables_[static_cast<size_t>(kind)][static_cast<size_t>(place)];
  if (table.ready != nullptr) return table.ready;
  return place < 2 ? &Standard().tables[kind][place] : nullptr;  // Motion JPEG has none
}

bool JpegScanReader::ReadScanHeader(absl::Span<const uint8_t> segment) {
  if (!has_frame_ || segment.empty()) return false;
  const int count = segment[0];
  if (count < 1 || count > component_count_) return false;
  if (segment.size() != 4 + 2 * static_cast<size_t>(count)) return false;
  const size_t progression = segment.size() - 3;
  if (segment[progression] != 0 || segment[progression + 1] != 63 ||
      segment[progression + 2] != 0) {
    return false;
  }
  int max_across = 1;
  int max_down = 1;
  for (int i = 0; i < component_count_; ++i) {
    max_across = std::max(max_across, components_[static_cast<size_t>(i)].across);
    max_down = std::max(max_down, components_[static_cast<size_t>(i)].down);
  }
  const Component& luma = components_[0];
  JpegScan scan;
  scan.number = scan_.number + 1;
  scan.width_px = width_px_;
  scan.height_px = height_px_;
  scan.restart_interval = restart_interval_;
  const bool full_luma = luma.across == max_across && luma.down == max_down;
  scan.is_whole = count == component_count_ && IsLumaFirst() && full_luma;
  int blocks = 0;
  int next_component = 0;
  for (int i = 0; i < count; ++i) {
    const size_t at = 1 + 2 * static_cast<size_t>(i);
    int index = next_component;  // in the order of the frame
    while (index < component_count_ && components_[static_cast<size_t>(index)].id != segment[at]) {
      ++index;
    }
    if (index >= component_count_) return false;
    next_component = index + 1;
    const Component& component = components_[static_cast<size_t>(index)];
    const Quantisers& quantisers = quantisers_[static_cast<size_t>(component.quantisers)];
    if (!quantisers.defined) return false;
    if (std::count(quantisers.values.begin(), quantisers.values.end(), 0) > 0) {
      zero_quantiser_ = component.quantisers;
    }
    JpegBlockKind block;
    block.dc = FindTable(kDc, segment[at + 1] >> 4);
    block.ac = FindTable(kAc, segment[at + 1] & 15);
    if (block.dc == nullptr || block.ac == nullptr) return false;
    block.looks = LooksOf(block.ac);
    block.skips = SkipsOf(block);
    block.kept = scan.is_whole && index == 0;
    // A scan of one component has MCUs of one block and leaves out those that only fill up MCUs.
    const int of_component = count == 1 ? 1 : component.across * component.down;
    if (blocks + of_component > kJpegMaxBlocksInMcu) return false;
    for (int j = 0; j < of_component; ++j) scan.blocks[static_cast<size_t>(blocks++)] = block;
    if (index == 0 && scan.is_whole) {
      scan.luma_across = count == 1 ? 1 : component.across;
      scan.luma_down = count == 1 ? 1 : component.down;
      if (zero_quantiser_.has_value()) continue;  // refused by the caller
      std::copy(quantisers.values.begin(), quantisers.values.end(), scan.quantisers.values);
      if (*std::max_element(quantisers.values.begin(), quantisers.values.end()) > INT16_MAX) {
        scan.is_whole = false;
        scan.has_doubtful_values = true;
      }
      scan.quantisers.SetLimits();
    }
    if (count == 1) {
      scan.mcus_across = DivUp(width_px_ * component.across, kJpegBlockSide * max_across);
      scan.mcus_down = DivUp(height_px_ * component.down, kJpegBlockSide * max_down);
    }
  }
  if (count > 1) {
    scan.mcus_across = DivUp(width_px_, kJpegBlockSide * max_across);
    scan.mcus_down = DivUp(height_px_, kJpegBlockSide * max_down);
  }
  for (JpegBlockKind& block : absl::MakeSpan(scan.blocks.data(), static_cast<size_t>(blocks))) {
    block.kept &= scan.is_whole;
  }
  scan.blocks[static_cast<size_t>(blocks - 1)].last = true;
  scan_ = scan;
  return true;
}

}  // namespace orbserve
