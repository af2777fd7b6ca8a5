// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// In: uploads of JPEG files (gpu/jpeg/jpeg_upload.h). Out: luma, 8 bits, rows of a given pitch.
//
// Each symbol of entropy-coded data tells where the next one begins. To decode many places at once,
// the data are cut into pieces of 256 or 512 bits. The block of the MCU and the coefficient with
// which a piece begins are not known at first:
//
// 1. FirstWalksKernel: several walks of 512 bits end with each piece, behind the last block that
//    begins in it. Each begins in another block of the MCU. Most walks find the true symbols soon,
//    and one of them mostly has the true block, too. A single walk needs thousands of bits of 4:2:0
//    to find the true block.
// 2. NextWalksKernel: each walk goes on over the next pieces. Where it ends a piece at the same
//    place as one of that piece's own walks, both are the same walk from there on: a link.
// 3. ResolveKernel follows these links over runs of pieces and over chunks of runs, for all walks
//    at once. It also adds up blocks.
// 4. WriteKernel follows the true walk over the chunks and runs before its pieces, decodes the
//    blocks that begin in each piece, strictly, and writes whole blocks of coefficients: writes of
//    single ones bound a large batch, and would take it twice as long. In a small one, lanes that
//    wait for others cost more, and WriteFewKernel writes one coefficient after the other.
// 5. IdctKernel adds up DC differences and turns coefficients into pixels.
//
// Method: Weissenberger & Schmidt, "Accelerating JPEG decompression on GPUs", HiPC 2021. Links
// replace its rounds of synchronisation: no block waits for another one.
//
// Kernels 1, 2 and 4 have a thread for each walk or piece. The number of instructions bounds them
// in large batches, and the chain of one walk in small ones. Tables (19 KB) lie in shared memory.
// So do the data of kernel 1, whose walks go in step through neighbouring pieces.

#include "gpu/jpeg/jpeg_kernels.h"

#include <array>

#include "gpu/runtime/check.h"

namespace orbserve::gpu {

absl::Status LaunchJpegDecoding(const JpegBatch& batch, cudaStream_t stream, int kernels) {
  if (batch.count == 0) return absl::OkStatus();
  constexpr std::array<absl::Status (*)(const JpegBatch&, cudaStream_t), kJpegKernels> kLaunches = {
      &LaunchJpegFirstWalks, &LaunchJpegNextWalks, &LaunchJpegResolving, &LaunchJpegWriting,
      &LaunchJpegIdct};
  for (int i = 0; i < kernels; ++i) ORBSERVE_RETURN_IF_ERROR(kLaunches[i](batch, stream));
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
