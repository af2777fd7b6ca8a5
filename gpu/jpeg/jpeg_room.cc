// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/jpeg/jpeg_room.h"

#include <algorithm>
#include <bit>

#include "features/host_device.h"
#include "gpu/runtime/check.h"

namespace orbserve::gpu {
namespace {

constexpr size_t kRoomAlignment = 256;
// Files of a batch whose kernels overlap.
constexpr int kMostOverlapping = 4;
// Files of a batch that is cut into short pieces, and whose coefficients are written one by one.
// For one file of 640x480 WriteFewKernel takes 15.5 us of an H100 where WriteKernel took 26.8, at
// 1920x1080 26 and 41; two files of 1920x1080 take as long with either.
constexpr size_t kMostInShortPieces = 2;

bool HasShortPieces(absl::Span<const JpegDecoding> files) {
  return files.size() <= kMostInShortPieces;
}

// The upload of a file comes first, then what the kernels work with.
size_t WorkOffset(const JpegDecoding& file) {
  return RoundUp(static_cast<size_t>(file.upload->bytes), kRoomAlignment);
}
size_t Bytes(const JpegDecoding& file, bool short_pieces) {
  const int pieces = short_pieces ? file.upload->short_pieces : file.upload->pieces;
  return WorkOffset(file) +
         RoundUp(JpegWork::Bytes(pieces, file.upload->luma_blocks), kRoomAlignment);
}
size_t CoefficientBytes(const JpegUpload& file) {
  return static_cast<size_t>(file.luma_blocks) * kJpegBlockCoefficients * sizeof(int16_t);
}

}  // namespace

absl::Status JpegRoom::Ensure(DeviceBuffer* buffer, size_t bytes, cudaStream_t stream) {
  if (buffer->size_bytes() >= bytes) return absl::OkStatus();
  const auto enlarge = [&]() -> absl::Status {
    const size_t wanted = std::bit_ceil(bytes);
    if (buffer->size_bytes() > 0) return buffer->Enlarge(wanted);
    ORBSERVE_ASSIGN_OR_RETURN(*buffer, DeviceBuffer::Create(device_, wanted, budget_));
    return absl::OkStatus();
  };
  const absl::Status status = enlarge();
  if (buffer->size_bytes() > 0) {
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(buffer->data(), 0, buffer->size_bytes(), stream));
  }
  return status;
}

absl::Status JpegRoom::Prepare(absl::Span<const JpegDecoding> files, cudaStream_t stream) {
  size_t work_bytes = 0;
  size_t coefficient_bytes = 0;
  for (const JpegDecoding& file : files) {
    work_bytes += Bytes(file, HasShortPieces(files));
    coefficient_bytes += CoefficientBytes(*file.upload);
  }
  ORBSERVE_RETURN_IF_ERROR(Ensure(&work_, work_bytes, stream));
  return Ensure(&coefficients_, coefficient_bytes, stream);
}

absl::Status JpegRoom::Upload(absl::Span<const JpegDecoding> files, cudaStream_t stream) {
  JpegBatch& batch = batch_;
  batch.count = 0;
  batch.pieces = 0;
  batch.luma_blocks = 0;
  batch.all_pieces = 0;
  const bool short_pieces = HasShortPieces(files);
  batch.piece_bytes = short_pieces ? kJpegShortPieceBytes : kJpegPieceBytes;
  uint8_t* there = work_.data();
  uint8_t* coefficients = coefficients_.data();
  for (const JpegDecoding& file : files) {
    JpegUpload& upload = *file.upload;
    upload.image = file.image;
    upload.pitch_bytes = file.pitch_bytes;
    upload.undecided = 0;
    upload.undecided_there = &upload.undecided;
    ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(
        there, &upload, static_cast<size_t>(file.upload->bytes), cudaMemcpyHostToDevice, stream));
    JpegFileOnDevice& on_device = batch.files[batch.count++];
    on_device.upload = reinterpret_cast<const JpegUpload*>(there);
    on_device.work = there + WorkOffset(file);
    on_device.coefficients = reinterpret_cast<int16_t*>(coefficients);
    on_device.pieces = short_pieces ? upload.short_pieces : upload.pieces;
    on_device.begins_offset = short_pieces
                                  ? upload.short_begins_offset
                                  : static_cast<int32_t>(sizeof(JpegUpload) / sizeof(uint32_t));
    on_device.mcu = upload.mcu;
    on_device.words_offset = upload.words_offset;
    on_device.word_count =
        static_cast<uint32_t>(static_cast<size_t>(file.upload->bytes) / sizeof(uint32_t)) -
        static_cast<uint32_t>(upload.words_offset);
    batch.pieces = std::max(batch.pieces, on_device.pieces);
    batch.luma_blocks = std::max(batch.luma_blocks, upload.luma_blocks);
    batch.all_pieces += on_device.pieces;
    there += Bytes(file, short_pieces);
    coefficients += CoefficientBytes(upload);
  }
  // In a large batch, blocks that only wait for data would take room from those that could run.
  batch.overlaps = may_overlap_ && batch.count <= kMostOverlapping;
  batch.starts = starts_ > 0 ? starts_ : JpegStartsFor(batch);
  batch.next_pieces = JpegNextPiecesFor(batch);
  batch.writes_single = short_pieces;
  return absl::OkStatus();
}

}  // namespace orbserve::gpu
