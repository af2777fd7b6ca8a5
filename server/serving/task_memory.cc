// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/serving/task_memory.h"

#include <algorithm>

namespace orbserve {

TaskMemory::~TaskMemory() {
  if (room_ == nullptr) return;
  absl::MutexLock lock(&room_->mutex);
  holding_.Set(0);
  ++room_->changes;
}

void TaskMemory::ShrinkTo(int64_t bytes) {
  if (room_ == nullptr) return;
  absl::MutexLock lock(&room_->mutex);
  holding_.Set(std::min(bytes, holding_.amount()));
  ++room_->changes;
}

}  // namespace orbserve
