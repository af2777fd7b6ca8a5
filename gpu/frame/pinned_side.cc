// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/frame/pinned_side.h"

#include <algorithm>
#include <bit>

#include "features/errors.h"
#include "features/host_device.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kAlignment = 256;

size_t Reserve(size_t bytes, size_t* end) {
  return std::exchange(*end, *end + RoundUp(bytes, kAlignment));
}

struct RowLayout {
  size_t records = 0;
  size_t descriptors = 0;
  size_t given = 0;
  size_t bytes = 0;

  RowLayout(int rows, size_t record_bytes, int descriptor_bytes, bool with_given) {
    const auto count = static_cast<size_t>(rows);
    records = Reserve(count * record_bytes, &bytes);
    descriptors = Reserve(count * static_cast<size_t>(descriptor_bytes), &bytes);
    given = Reserve(with_given ? count * sizeof(GivenEntry) : 0, &bytes);
  }
};

}  // namespace

absl::Status PinnedSide::Create(int frames, size_t row_bytes,
                                std::shared_ptr<MemoryBudget> budget) {
  budget_ = std::move(budget);
  const auto count = static_cast<size_t>(frames);
  size_t end = 0;
  const size_t params = Reserve(count * sizeof(FrameParams), &end);
  const size_t reports = Reserve(count * sizeof(FrameReport), &end);
  ORBSERVE_ASSIGN_OR_RETURN(frames_, PinnedBuffer::Create(end, budget_));
  params_ = reinterpret_cast<FrameParams*>(frames_.data() + params);
  reports_ = reinterpret_cast<FrameReport*>(frames_.data() + reports);
  return BeginBatch(row_bytes);
}

size_t PinnedSide::RowBytes(int rows, size_t record_bytes, int descriptor_bytes, bool given) {
  return RowLayout(rows, record_bytes, descriptor_bytes, given).bytes;
}

absl::Status PinnedSide::BeginBatch(size_t bytes) {
  used_ = 0;
  if (bytes <= rows_.size_bytes()) return absl::OkStatus();
  ORBSERVE_ASSIGN_OR_RETURN(rows_, PinnedBuffer::Create(std::bit_ceil(bytes), budget_));
  return absl::OkStatus();
}

GivenEntry* PinnedSide::PlaceRows(int place, int rows, size_t record_bytes, int descriptor_bytes,
                                  bool given) {
  const RowLayout layout(rows, record_bytes, descriptor_bytes, given);
  uint8_t* const base = rows_.data() + std::exchange(used_, used_ + layout.bytes);
  FrameParams& params = params_[place];
  params.records = reinterpret_cast<FeatureRecord*>(base + layout.records);
  params.descriptors = base + layout.descriptors;
  params.report = &reports_[place];
  if (!given) return nullptr;
  auto* const entries = reinterpret_cast<GivenEntry*>(base + layout.given);
  params.given = entries;
  return entries;
}

}  // namespace orbserve::gpu
