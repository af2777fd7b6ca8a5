// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A layout places the buffers of a plan in a lane's arena.

#ifndef ORBSERVE_GPU_MEMORY_ARENA_LAYOUT_H_
#define ORBSERVE_GPU_MEMORY_ARENA_LAYOUT_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "gpu/graph_kind.h"

namespace orbserve::gpu {

// Every buffer starts at a multiple of this many bytes.
inline constexpr size_t kBufferAlignment = 256;

// Names a buffer of an ArenaLayout.
enum class BufferId : size_t {};

// One buffer after the other, each with the same number of bytes for every frame of the batch. The
// lists of a batch, whose length depends on its frames' parameters, come behind all buffers, so
// that no address in a graph depends on them.
class ArenaLayout {
 public:
  // `masked_bytes`: bytes per frame in batches with masks, at least `bytes`. `name` must be a
  // literal.
  BufferId Add(absl::string_view name, size_t bytes, size_t masked_bytes);
  BufferId Add(absl::string_view name, size_t bytes) { return Add(name, bytes, bytes); }

  size_t Offset(BufferId buffer, const GraphKind& kind) const;
  // Bytes of all buffers; the lists begin there.
  size_t Bytes(const GraphKind& kind) const;

  struct Buffer {
    absl::string_view name;
    size_t bytes;  // per frame
    size_t masked_bytes;
  };
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  size_t End(size_t count, const GraphKind& kind) const;

  std::vector<Buffer> buffers_;
};

// Size of the arena that a lane with a limit of `limit` bytes allocates for a batch of `needed`
// bytes: some more, so that plans of similar size share one arena, but never above the limit.
size_t ArenaBytes(size_t needed, size_t limit);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_MEMORY_ARENA_LAYOUT_H_
