// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_split.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "decode/jpeg_damage.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_writer.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

constexpr int kLanes = kJpegMaxLanes;
// Destuffed bytes of one lane in one round.
constexpr int64_t kMostBytes = 32 << 10;
// Below it the bits until a lane has synchronised, some 2,000 with 4:2:0, are too many.
constexpr int64_t kLeastBytes = 1 << 10;
// Luma blocks of one lane in one round: their coefficients stay in a second-level cache. If its
// bytes have more, as in a clear sky, it ends early.
constexpr int kLaneBlocks = 1024;
constexpr int kLastBits = 7;  // fewer than 8 bits may be left over

struct LaneRecord {
  alignas(64) int16_t coefficients[(kLaneBlocks + 1 + kJpegBlocksBehind) * kJpegBlockCoefficients];
  uint64_t starts[kLaneBlocks + 1];  // of MCUs; the last one is where the next would begin
};

// Kept for the next image of the thread. Made for overwriting: without zeros in the records, an
// image touches the memory of the blocks that it has.
struct Space {
  // FillWindow() goes up to kJpegMaxMcuBytes beyond the lanes' bytes, and if the data end there, an
  // MCU at their end is read from the bytes behind. 64: steps of copying and reading.
  uint8_t window[kLanes * kMostBytes + 2 * kJpegMaxMcuBytes + 64] = {};
  LaneRecord lanes[kLanes];
};
static_assert(sizeof(Space) <= kJpegSplitBytes);

class Splitter {
 public:
  Splitter(const JpegScan& scan, const MutableImageView& out, Space* space)
      : scan_(scan),
        space_(*space),
        kept_(scan.luma_across * scan.luma_down),
        most_mcus_(kLaneBlocks / kept_),
        writer_(&scan, out, 0),
        from_(scan.bytes.data()),
        from_end_(scan.bytes.data() + scan.bytes.size()),
        bit_(JpegBitOf(space->window)),
        window_end_(space->window) {}

  JpegEnd Run(std::chrono::steady_clock::time_point deadline) {
    while (mcu_ < scan_.mcus()) {
      if (std::chrono::steady_clock::now() > deadline) {
        end_.status = JpegOutOfTime();
        return std::move(end_);
      }
      if (!Round()) return std::move(end_);
    }
    CheckRest();
    return std::move(end_);
  }

 private:
  bool Fail(JpegFlaw flaw, int64_t mcu) {
    end_.status = JpegDamage(flaw, scan_, mcu);
    return false;
  }
  std::optional<uint64_t> DataEnd() const {
    return has_all_ ? std::optional<uint64_t>(JpegBitOf(window_end_)) : std::nullopt;
  }

  // Moves the window to the present place, with `bytes` and what a lane may read beyond.
  void FillWindow(int64_t bytes) {
    const uint8_t* const unread = JpegByteOf(bit_);
    const auto kept = static_cast<size_t>(window_end_ - unread);
    std::memmove(space_.window, unread, kept);
    bit_ = JpegBitOf(space_.window) + (bit_ & 7);
    uint8_t* to = space_.window + kept;
    has_all_ =
        has_all_ || CopyJpegBytes(&from_, from_end_, &to, space_.window + bytes + kJpegMaxMcuBytes);
    window_end_ = to;
  }

  // Decodes the next MCUs in all lanes, and writes those that are known to be right.
  bool Round() {
    const int64_t left = (window_end_ - JpegByteOf(bit_)) + (from_end_ - from_);
    const int64_t mcus_left = scan_.mcus() - mcu_;
    // Half of the room for an even picture: MCUs differ in length.
    const int64_t cap = std::clamp(left * most_mcus_ / (2 * mcus_left), kLeastBytes, kMostBytes);
    const int64_t rounds = std::max<int64_t>(1, DivUp(left, kLanes * cap));
    const int64_t piece = std::clamp(DivUp(left, rounds * kLanes), kLeastBytes, cap);
    FillWindow(kLanes * piece);
    const uint8_t* const begin = JpegByteOf(bit_);
    const int64_t bytes = window_end_ - begin;
    int lanes = 0;
    for (; lanes < kLanes && (lanes == 0 || lanes * piece + kLeastBytes <= bytes); ++lanes) {
      BeginLane(lanes, lanes == 0 ? bit_ : JpegBitOf(begin + lanes * piece));
    }
    const uint64_t last_end =
        has_all_ ? JpegBitOf(window_end_) - kLastBits : JpegBitOf(window_end_ - kJpegMaxMcuBytes);
    for (int i = 0; i < lanes; ++i) {
      lanes_[i].end_bit = std::min(JpegBitOf(begin + (i + 1) * piece), last_end);
    }
    RunLanes(lanes);
    return Join(lanes);
  }

  void BeginLane(int i, uint64_t bit) {
    JpegLane& lane = lanes_[i];
    const uint64_t end_bit = lane.end_bit;
    lane = {};
    lane.bit = bit;
    lane.end_bit = end_bit;
    lane.mcus = i == 0 ? std::min(most_mcus_, scan_.mcus() - mcu_) : most_mcus_;
    lane.blocks = scan_.blocks.data();
    lane.coefficients = space_.lanes[i].coefficients;
    lane.starts = space_.lanes[i].starts;
    *lane.starts = bit;
  }

  // MCUs that a lane has decoded.
  int64_t CountOf(int i) const { return lanes_[i].starts - space_.lanes[i].starts; }

  void RunLanes(int count) {
    std::array<int, kLanes> running = {};
    for (int i = 0; i < count; ++i) running[i] = i;
    std::array<JpegLane*, kLanes> lanes = {};
    while (count > 0) {
      for (int i = 0; i < count; ++i) lanes[i] = &lanes_[running[i]];
      RunJpegLanes(absl::MakeSpan(lanes.data(), static_cast<size_t>(count)));
      for (int i = 0; i < count;) {
        const JpegLane& lane = *lanes[i];
        bool stopped = lane.stop != JpegStop::kNone;
        if (stopped && lane.stop != JpegStop::kPause && running[i] > 0 && lane.bit < lane.end_bit) {
          // The guess was wrong so far, or the file is damaged here, which the lane before finds.
          BeginLane(running[i], lane.bit + 1);
          stopped = false;
        }
        if (!stopped) {
          ++i;
          continue;
        }
        --count;
        running[i] = running[count];
        lanes[i] = lanes[count];
      }
    }
  }

  // Takes `count` MCUs of a lane from its `first` on.
  bool Take(int i, int64_t first, int64_t count) {
    LaneRecord& record = space_.lanes[i];
    count = std::min(count, scan_.mcus() - mcu_);
    end_.decided &=
        writer_.Write(record.coefficients + first * kept_ * kJpegBlockCoefficients, count);
    mcu_ += count;
    bit_ = record.starts[first + count];
    return CheckEnd();
  }
  // After at least one MCU: false if the data were over before.
  bool CheckEnd() {
    const std::optional<uint64_t> data_end = DataEnd();
    if (!data_end.has_value() || bit_ <= *data_end) return true;
    return Fail(JpegFlaw::kEndsEarly, mcu_ - 1);
  }

  // Puts the lanes' MCUs together.
  bool Join(int lanes) {
    if (!Take(0, 0, CountOf(0))) return false;
    const JpegLane& first = lanes_[0];
    if (first.stop != JpegStop::kPause) return Fail(FlawOf(first, DataEnd()), mcu_);
    for (int i = 1; i < lanes; ++i) {
      const uint64_t* const starts = space_.lanes[i].starts;
      const int64_t count = CountOf(i);
      int64_t at = 0;
      while (mcu_ < scan_.mcus()) {
        while (at < count && starts[at] < bit_) ++at;
        if (starts[at] == bit_) {
          if (!Take(i, at, count - at)) return false;
          break;
        }
        if (at == count) break;  // the lane has gone astray
        if (!TakeUntil(starts[at])) return false;
      }
    }
    return true;
  }

  // Decodes from the present place to the first MCU that begins at `end_bit` or later.
  bool TakeUntil(uint64_t end_bit) {
    const std::optional<uint64_t> data_end = DataEnd();
    if (data_end.has_value() && bit_ >= *data_end) return Fail(JpegFlaw::kEndsEarly, mcu_);
    BeginLane(0, bit_);  // what it had was taken
    lanes_[0].end_bit = end_bit;
    JpegLane* const lanes[] = {&lanes_[0]};
    RunJpegLanes(lanes);
    if (!Take(0, 0, CountOf(0))) return false;
    return lanes_[0].stop == JpegStop::kPause || Fail(FlawOf(lanes_[0], data_end), mcu_);
  }

  // After the last MCU.
  void CheckRest() {
    if (!has_all_) FillWindow(kLeastBytes);
    if (!has_all_ || JpegBitOf(window_end_) - bit_ > kLastBits) {
      Fail(JpegFlaw::kLeftOver, mcu_ - 1);
    } else if (!AreJpegFillBytes(from_, from_end_)) {
      Fail(JpegFlaw::kExtraMarker, mcu_ - 1);
    }
  }

  const JpegScan& scan_;
  Space& space_;
  const int kept_;  // blocks of an MCU
  const int64_t most_mcus_;
  JpegWriter writer_;
  const uint8_t* from_;
  const uint8_t* from_end_;
  uint64_t bit_;  // the present place: the beginning of MCU mcu_
  const uint8_t* window_end_;
  bool has_all_ = false;  // the window reaches to the end of the data
  int64_t mcu_ = 0;
  JpegLane lanes_[kLanes];
  JpegEnd end_;
};

}  // namespace

JpegEnd DecodeBySynchronising(const JpegScan& scan, const MutableImageView& out,
                              std::chrono::steady_clock::time_point deadline) {
  thread_local std::unique_ptr<Space> space;
  if (space == nullptr) space = std::make_unique_for_overwrite<Space>();
  return Splitter(scan, out, space.get()).Run(deadline);
}

}  // namespace orbserve
