// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Launches of the step `minimum_distance` that do all passes of a part of a level in one thread
// block (features/algo/distance_tile.h).

#ifndef ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_TILES_H_
#define ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_TILES_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu/steps/suppress/distance_params.h"

namespace orbserve::gpu {

// Shared memory that a block with a tile may have on the device, which is the current one.
absl::StatusOr<int> AllowTileBytes(int device, bool is_compressed);

// Divides the levels into tiles for blocks with `tile_bytes` of shared memory. False if there is no
// room for a tile and its margin.
bool SetTiles(int tile_bytes, int multiprocessors, DistanceParams* params);

// All passes in tiles. Lists the cells that could not be decided there in list 0.
absl::Status LaunchTilePasses(const DistanceParams& params, cudaStream_t stream);

}  // namespace orbserve::gpu

#endif  // ORBSERVE_GPU_STEPS_SUPPRESS_DISTANCE_TILES_H_
