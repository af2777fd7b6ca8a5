// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_part.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "decode/jpeg_markers.h"
#include "features/host_device.h"

namespace orbserve {

JpegPart::JpegPart(const JpegScan* scan, const MutableImageView* out,
                   absl::Span<const uint8_t> bytes, int64_t begin_mcu, int64_t end_mcu)
    : scan_(scan),
      from_(bytes.data()),
      from_end_(bytes.data() + bytes.size()),
      mcu_(begin_mcu),
      end_mcu_(end_mcu),
      blocks_(scan->blocks) {
  if (out != nullptr) {
    writer_.emplace(scan, *out, begin_mcu);
  } else {
    for (JpegBlockKind& block : blocks_) block.kept = false;
  }
}

bool JpegPart::Fail(JpegFlaw flaw, int64_t mcu) {
  end_.status = JpegDamage(flaw, *scan_, mcu);
  return false;
}

void JpegPart::Begin(JpegLaneSpace* space) {
  space_ = space;
  lane_.blocks = blocks_.data();
  BeginInterval();
}

void JpegPart::BeginInterval() {
  interval_left_ = end_mcu_ - mcu_;
  if (scan_->restart_interval > 0) {
    interval_left_ = std::min<int64_t>(interval_left_, scan_->restart_interval);
  }
  if (writer_.has_value()) writer_->ResetPrediction();
  window_end_ = space_->window;
  has_all_ = false;
  lane_.bit = JpegBitOf(space_->window);
  FillWindow();
  SetPause();
}

void JpegPart::FillWindow() {
  const uint8_t* const unread = JpegByteOf(lane_.bit);
  const auto kept = static_cast<size_t>(window_end_ - unread);
  std::memmove(space_->window, unread, kept);
  lane_.bit = JpegBitOf(space_->window) + (lane_.bit & 7);
  uint8_t* to = space_->window + kept;
  has_all_ = CopyJpegBytes(&from_, from_end_, &to, space_->window + JpegLaneSpace::kWindowBytes);
  window_end_ = to;
  lane_.end_bit = JpegBitOf(has_all_ ? to : to - kJpegMaxMcuBytes);
}

void JpegPart::SetPause() {
  const int kept = scan_->luma_across * scan_->luma_down;
  ahead_ = interval_left_;
  if (writer_.has_value()) ahead_ = std::min<int64_t>(ahead_, JpegLaneSpace::kBlocks / kept);
  lane_.mcus = ahead_;
  lane_.coefficients = space_->coefficients;
}

// Goes to after the restart marker that is due.
bool JpegPart::PassRestart() {
  const int64_t number = mcu_ / scan_->restart_interval - 1;
  const uint8_t* const after = PassJpegRestart(from_, from_end_, number);
  if (after == nullptr) return Fail(JpegFlaw::kWrongRestart, mcu_ - 1);
  from_ = after;
  return true;
}

bool JpegPart::GoOn() {
  const int64_t done = ahead_ - lane_.mcus;
  const std::optional<uint64_t> data_end =
      has_all_ ? std::optional<uint64_t>(JpegBitOf(window_end_)) : std::nullopt;
  if (lane_.stop != JpegStop::kPause) return Fail(FlawOf(lane_, data_end), mcu_ + done);
  if (data_end.has_value() && lane_.bit > *data_end) {
    return Fail(JpegFlaw::kEndsEarly, mcu_ + done - 1);
  }
  if (writer_.has_value()) end_.decided &= writer_->Write(space_->coefficients, done);
  mcu_ += done;
  interval_left_ -= done;
  if (interval_left_ > 0) {
    if (data_end.has_value() && lane_.bit == *data_end) return Fail(JpegFlaw::kEndsEarly, mcu_);
    if (!has_all_ && lane_.bit >= lane_.end_bit) FillWindow();
    SetPause();
    return true;
  }
  if (!has_all_) FillWindow();
  if (!has_all_ || JpegBitOf(window_end_) - lane_.bit >= 8) {
    return Fail(JpegFlaw::kLeftOver, mcu_ - 1);
  }
  if (mcu_ == scan_->mcus()) {  // the bytes end
    if (AreJpegFillBytes(from_, from_end_)) return false;
    return Fail(JpegFlaw::kExtraMarker, mcu_ - 1);
  }
  // Also after a part: SplitAtRestarts() does not see bytes between the data and the marker.
  if (!PassRestart() || mcu_ == end_mcu_) return false;
  BeginInterval();
  return true;
}

std::vector<JpegPart> SplitAtRestarts(const JpegScan& scan, const MutableImageView* out, int most) {
  std::vector<JpegPart> parts;
  const int64_t intervals =
      scan.restart_interval == 0 ? 1 : DivUp<int64_t>(scan.mcus(), scan.restart_interval);
  const int64_t count = std::min<int64_t>(most, intervals);
  const uint8_t* const end = scan.bytes.data() + scan.bytes.size();
  // Where the parts begin, if all restart markers are there.
  std::vector<const uint8_t*> begins = {scan.bytes.data()};
  int64_t found = 0;
  for (const uint8_t* from = scan.bytes.data(); count > 1 && from + 1 < end;) {
    const void* const marker = std::memchr(from, 0xFF, static_cast<size_t>(end - from));
    if (marker == nullptr) break;
    from = static_cast<const uint8_t*>(marker) + 1;
    if (from == end || *from == 0 || *from == 0xFF) continue;
    if (*from != JpegRestartMarker(found)) break;  // the lane will find it, too
    ++found;
    ++from;
    const auto part = static_cast<int64_t>(begins.size());
    if (found == intervals * part / count) begins.push_back(from);
  }
  if (found != intervals - 1) begins.resize(1);
  const auto split = static_cast<int64_t>(begins.size());
  for (int64_t i = 0; i < split; ++i) {
    const uint8_t* const begin = begins[static_cast<size_t>(i)];
    const auto mcu = [&](int64_t part) {
      return part == split ? scan.mcus() : intervals * part / split * scan.restart_interval;
    };
    parts.emplace_back(&scan, out, absl::MakeSpan(begin, static_cast<size_t>(end - begin)), mcu(i),
                       mcu(i + 1));
  }
  return parts;
}

void RunParts(absl::Span<JpegPart> parts, std::chrono::steady_clock::time_point deadline) {
  // Kept for the next image of the thread.
  thread_local std::unique_ptr<std::array<JpegLaneSpace, kJpegMaxLanes>> spaces;
  if (spaces == nullptr) {
    spaces = std::make_unique_for_overwrite<std::array<JpegLaneSpace, kJpegMaxLanes>>();
  }
  constexpr int kRunsPerLook = 64;  // at the clock
  std::array<JpegPart*, kJpegMaxLanes> running = {};
  std::array<JpegLane*, kJpegMaxLanes> lanes = {};
  size_t next = 0;
  size_t count = 0;
  for (; count < running.size() && next < parts.size(); ++count, ++next) {
    running[count] = &parts[next];
    running[count]->Begin(&(*spaces)[count]);
  }
  std::array<JpegLaneSpace*, kJpegMaxLanes> space = {};
  for (size_t i = 0; i < count; ++i) space[i] = &(*spaces)[i];
  for (int runs = 0; count > 0; ++runs) {
    if (runs % kRunsPerLook == 0 && std::chrono::steady_clock::now() > deadline) {
      for (size_t i = 0; i < count; ++i) running[i]->GiveUp(JpegOutOfTime());
      for (; next < parts.size(); ++next) parts[next].GiveUp(JpegOutOfTime());
      return;
    }
    for (size_t i = 0; i < count; ++i) lanes[i] = running[i]->lane();
    RunJpegLanes(absl::MakeSpan(lanes.data(), count));
    for (size_t i = 0; i < count;) {
      if (lanes[i]->stop == JpegStop::kNone || running[i]->GoOn()) {
        ++i;
      } else if (next < parts.size()) {
        running[i] = &parts[next++];
        running[i]->Begin(space[i]);
        ++i;
      } else {
        --count;
        std::swap(running[i], running[count]);
        std::swap(lanes[i], lanes[count]);
        std::swap(space[i], space[count]);
      }
    }
  }
}

JpegEnd EndOf(absl::Span<const JpegPart> parts) {
  JpegEnd end;
  for (const JpegPart& part : parts) {
    end.decided &= part.end().decided;
    if (end.status.ok()) end.status = part.end().status;
  }
  return end;
}

}  // namespace orbserve
