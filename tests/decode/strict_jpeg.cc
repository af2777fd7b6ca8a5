// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/strict_jpeg.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace orbserve {
namespace {

// From (length, code) to symbol.
using Codes = std::map<std::pair<int, int>, int>;

struct Component {
  int across = 1;
  int down = 1;
};

class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& file) : file_(file) {}

  StrictVerdict Read() {
    size_t at = 2;
    while (at + 4 <= file_.size()) {
      if (file_[at] != 0xFF) return {};
      while (at < file_.size() && file_[at] == 0xFF) ++at;
      if (at + 3 > file_.size()) return {};
      const int marker = file_[at];
      const size_t length = size_t{file_[at + 1]} << 8 | file_[at + 2];
      const size_t begin = at + 3;
      const size_t end = at + 1 + length;
      if (length < 2 || end > file_.size()) return {};
      at = end;
      if (marker == 0xC4 && !ReadTables(begin, end)) return {};
      if (marker == 0xC0 || marker == 0xC1) {
        if (!ReadFrame(begin, end)) return {};
      } else if (marker > 0xC4 && marker < 0xD0) {
        return {};
      } else if (marker == 0xC2 || marker == 0xC3) {
        return {};
      }
      if (marker == 0xDD) interval_ = file_[begin] << 8 | file_[begin + 1];
      if (marker == 0xDA) return ReadScan(begin, end);
    }
    return {};
  }

 private:
  bool ReadTables(size_t at, size_t end) {
    while (at + 17 <= end) {
      Codes codes;
      const size_t counts = at + 1;
      size_t symbol = at + 17;
      int code = 0;
      for (int length = 1; length <= 16; ++length) {
        for (int i = 0; i < file_[counts + static_cast<size_t>(length) - 1]; ++i) {
          if (symbol >= end) return false;
          codes[{length, code++}] = file_[symbol++];
        }
        if (code >= 1 << length && file_[counts + static_cast<size_t>(length) - 1] > 0) {
          return false;
        }
        code <<= 1;
      }
      tables_[file_[at]] = codes;
      at = symbol;
    }
    return at == end;
  }

  bool ReadFrame(size_t at, size_t end) {
    if (end - at < 6 || !components_.empty()) return false;
    height_ = file_[at + 1] << 8 | file_[at + 2];
    width_ = file_[at + 3] << 8 | file_[at + 4];
    for (int i = 0; i < file_[at + 5]; ++i) {
      const size_t here = at + 6 + 3 * static_cast<size_t>(i);
      if (here + 3 > end) return false;
      components_.push_back({file_[here + 1] >> 4, file_[here + 1] & 15});
    }
    return true;
  }

  StrictVerdict ReadScan(size_t at, size_t end) {
    StrictVerdict verdict;
    const size_t count = file_[at];
    if (count != components_.size() || end - at != 4 + 2 * count) return verdict;
    int across = 1;
    int down = 1;
    for (const Component& component : components_) {
      across = std::max(across, component.across);
      down = std::max(down, component.down);
    }
    const int side_x = count == 1 ? 8 : 8 * across;
    const int side_y = count == 1 ? 8 : 8 * down;
    mcus_ = int64_t{(width_ + side_x - 1) / side_x} * ((height_ + side_y - 1) / side_y);
    for (size_t i = 0; i < count; ++i) {
      const int tables = file_[at + 2 + 2 * i];
      const int blocks = count == 1 ? 1 : components_[i].across * components_[i].down;
      if (!tables_.contains(tables >> 4) || !tables_.contains(16 + (tables & 15))) return verdict;
      for (int j = 0; j < blocks; ++j) {
        blocks_.push_back({&tables_[tables >> 4], &tables_[16 + (tables & 15)]});
      }
    }
    verdict.known = true;
    verdict.scan_begin = static_cast<int64_t>(end);
    position_ = end;
    NextInterval();
    for (int64_t mcu = 0; mcu < mcus_ && flaw_.empty(); ++mcu) {
      if (interval_ > 0 && mcu > 0 && mcu % interval_ == 0 && !Restart(mcu)) break;
      for (const auto& [dc, ac] : blocks_) {
        if (flaw_.empty()) ReadBlock(*dc, *ac, mcu);
      }
    }
    if (flaw_.empty() && bits_.size() - bit_ >= 8) Fail("bytes left over after MCU ", mcus_);
    if (flaw_.empty() && (file_[position_] == 0 || (file_[position_] & 0xF8) == 0xD0)) {
      Fail("a marker that does not belong after MCU ", mcus_);
    }
    verdict.scan_end = static_cast<int64_t>(position_);
    verdict.flaw = flaw_;
    return verdict;
  }

  // The bits up to the next marker, of which position_ becomes the second byte.
  void NextInterval() {
    bits_.clear();
    bit_ = 0;
    while (position_ < file_.size()) {
      const int byte = file_[position_++];
      if (byte == 0xFF) {
        const bool is_stuffed = position_ < file_.size() && file_[position_] == 0;
        while (position_ < file_.size() && file_[position_] == 0xFF) ++position_;
        if (!is_stuffed) break;
        ++position_;
      }
      for (int i = 7; i >= 0; --i) bits_.push_back((byte >> i & 1) != 0);
    }
  }

  bool Restart(int64_t mcu) {
    if (bits_.size() - bit_ >= 8) return Fail("bytes left over after MCU ", mcu);
    if (file_[position_] != 0xD0 + (mcu / interval_ - 1) % 8) {
      return Fail("no restart marker of the right number after MCU ", mcu);
    }
    ++position_;
    NextInterval();
    return true;
  }

  // -1: there is no such code.
  int Symbol(const Codes& codes, int64_t mcu) {
    int code = 0;
    for (int length = 1; length <= 16; ++length) {
      if (bit_ + static_cast<size_t>(length) > bits_.size()) {
        Fail("the data end in MCU ", mcu + 1);
        return -1;
      }
      code = code << 1 | (bits_[bit_ + static_cast<size_t>(length) - 1] ? 1 : 0);
      const auto found = codes.find({length, code});
      if (found != codes.end()) {
        bit_ += static_cast<size_t>(length);
        return found->second;
      }
    }
    Fail("a code that is in no table in MCU ", mcu + 1);
    return -1;
  }

  bool Skip(int count, int64_t mcu) {
    bit_ += static_cast<size_t>(count);
    return bit_ <= bits_.size() || Fail("the data end in MCU ", mcu + 1);
  }

  void ReadBlock(const Codes& dc, const Codes& ac, int64_t mcu) {
    const int size = Symbol(dc, mcu);
    if (size < 0 || !Skip(size, mcu)) return;
    for (int place = 1; place < 64;) {
      const int symbol = Symbol(ac, mcu);
      if (symbol < 0) return;
      if (symbol == 0) return;
      if ((symbol & 15) == 0 && symbol != 0xF0) {
        Fail("a code that is in no table in MCU ", mcu + 1);
        return;
      }
      if (!Skip(symbol & 15, mcu)) return;
      place += (symbol >> 4) + 1;
      if (place > 64) Fail("a run past the end of a block in MCU ", mcu + 1);
    }
  }

  bool Fail(const char* what, int64_t mcu) {
    flaw_ = what + std::to_string(mcu) + " of " + std::to_string(mcus_);
    return false;
  }

  const std::vector<uint8_t>& file_;
  size_t position_ = 0;
  int width_ = 0;
  int height_ = 0;
  int interval_ = 0;
  int64_t mcus_ = 0;
  std::vector<Component> components_;
  std::map<int, Codes> tables_;  // by the byte of a DHT segment
  std::vector<std::pair<const Codes*, const Codes*>> blocks_;
  std::vector<bool> bits_;
  size_t bit_ = 0;
  std::string flaw_;
};

}  // namespace

StrictVerdict ReadStrictly(const std::vector<uint8_t>& file) { return Reader(file).Read(); }

}  // namespace orbserve
