// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/step.h"

#include "features/errors.h"
#include "features/host_device.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {

absl::Status LargeFrame::Upload() const {
  // From pageable memory: the call has read it when it returns, so steps may change it again.
  return StatusFromCuda(
      cudaMemcpyAsync(uploaded, params, sizeof(FrameParams), cudaMemcpyHostToDevice, stream),
      "cudaMemcpyAsync");
}

absl::Status LargeFrame::MakeRoomForAll(size_t spare_per_survivor) {
  int32_t entries = 0;
  for (int l = 0; l < kMaxLevels; ++l) {
    const ListRoom room = {entries, RoundUp(report.survivors[l], kListAlignment)};
    params->survivor_room[l] = room;
    params->ranked_room[l] = room;
    entries += room.count;
  }
  const size_t bytes = static_cast<size_t>(entries) * sizeof(uint64_t);
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const survivors, scratch->Take(bytes));
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const ranked, scratch->Take(bytes));
  ORBSERVE_ASSIGN_OR_RETURN(uint8_t* const spare, scratch->Take(spare_per_survivor * bytes));
  params->survivors = reinterpret_cast<uint64_t*>(survivors);
  params->ranked = reinterpret_cast<uint64_t*>(ranked);
  params->spare = reinterpret_cast<uint64_t*>(spare);
  return Upload();
}

}  // namespace orbserve::gpu
