// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/memory/arena_layout.h"

#include <algorithm>

#include "features/host_device.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kArenaGranule = size_t{16} << 20;

}  // namespace

BufferId ArenaLayout::Add(absl::string_view name, size_t bytes, size_t masked_bytes) {
  buffers_.push_back({name, bytes, masked_bytes});
  return static_cast<BufferId>(buffers_.size() - 1);
}

size_t ArenaLayout::End(size_t count, const GraphKind& kind) const {
  size_t end = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t bytes = kind.masks ? buffers_[i].masked_bytes : buffers_[i].bytes;
    end += RoundUp(static_cast<size_t>(kind.frames()) * bytes, kBufferAlignment);
  }
  return end;
}

size_t ArenaLayout::Offset(BufferId buffer, const GraphKind& kind) const {
  return End(static_cast<size_t>(buffer), kind);
}

size_t ArenaLayout::Bytes(const GraphKind& kind) const { return End(buffers_.size(), kind); }

size_t ArenaBytes(size_t needed, size_t limit) {
  return std::max(needed, std::min(RoundUp(needed, kArenaGranule), limit));
}

}  // namespace orbserve::gpu
