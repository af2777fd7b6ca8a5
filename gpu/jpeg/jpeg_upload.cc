// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/jpeg/jpeg_upload.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/status/statusor.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_scan.h"
#include "features/host_device.h"

namespace orbserve::gpu {
namespace {

using Next = JpegScanReader::Next;

// Walks number bits with 32 bits, one of which marks pieces.
constexpr size_t kMaxBytes = size_t{1} << 27;
constexpr size_t kCopySlack = 32;  // CopyJpegBytes() writes so far beyond the end
// Kernels read so far beyond the end, at most: a block that begins there, and words ahead of it.
constexpr size_t kReadAhead = RoundUp<size_t>(kJpegMaxBlockBits / 8 + 8 * sizeof(uint32_t), 16);

void BuildPair(const JpegBlockKind& block, int pair, JpegCodeTables* tables) {
  BuildJpegCodeTables(*block.dc, *block.ac, pair, tables);
}

// The standard tables, which nearly all files have, made once. The blocks must have them.
const JpegCodeTables& StandardTables(const JpegBlockKind& luma, const JpegBlockKind& chroma) {
  static const JpegCodeTables* const tables = [&] {
    auto* const made = new JpegCodeTables;
    BuildPair(luma, 0, made);
    BuildPair(chroma, 1, made);
    return made;
  }();
  return *tables;
}

// Blocks and tables of an MCU. False if there are more tables than there is room for.
bool WriteMcu(const JpegScan& scan, JpegUpload* upload) {
  JpegMcu mcu = {0, 0, 0};
  std::array<const JpegBlockKind*, kJpegTablePairs> pairs = {};
  for (const JpegBlockKind& block : scan.blocks) {
    size_t pair = 0;
    while (pair < pairs.size() && pairs[pair] != nullptr &&
           (pairs[pair]->dc != block.dc || pairs[pair]->ac != block.ac)) {
      ++pair;
    }
    if (pair == pairs.size()) return false;
    pairs[pair] = &block;
    mcu.pairs = static_cast<uint16_t>(mcu.pairs | pair << mcu.blocks);
    mcu.luma_blocks += block.kept ? 1 : 0;
    ++mcu.blocks;
    if (block.last) break;
  }
  upload->mcu = mcu;
  // Blocks with the standard tables have skips, those of luma before those of chroma in memory.
  if (pairs[1] != nullptr && pairs[0]->skips != nullptr && pairs[1]->skips != nullptr &&
      pairs[0]->skips < pairs[1]->skips) {
    upload->tables = StandardTables(*pairs[0], *pairs[1]);
    return true;
  }
  BuildPair(*pairs[0], 0, &upload->tables);
  if (pairs[1] != nullptr) BuildPair(*pairs[1], 1, &upload->tables);
  return true;
}

// The entropy-coded bytes of a scan, without stuffing, and the places of its pieces.
class PieceWriter {
 public:
  PieceWriter(const JpegScan& scan, uint32_t* begins, uint32_t* short_begins,
              absl::Span<uint8_t> room)
      : scan_(scan),
        begins_(begins),
        short_begins_(short_begins),
        room_(room),
        from_(scan.bytes.data()),
        from_end_(from_ + scan.bytes.size()) {}

  // False if a restart marker is not where it must be, or an interval has no data.
  bool Write() {
    const int64_t interval = scan_.restart_interval == 0 ? scan_.mcus() : scan_.restart_interval;
    const int64_t intervals = DivUp(scan_.mcus(), interval);
    uint8_t* to = room_.data();
    uint8_t* const to_end = to + room_.size() - kCopySlack - kReadAhead;
    for (int64_t i = 0; i < intervals; ++i) {
      if (i > 0) from_ = PassJpegRestart(from_, from_end_, i - 1);
      if (from_ == nullptr) return false;
      const auto begin = static_cast<size_t>(to - room_.data());
      if (!CopyJpegBytes(&from_, from_end_, &to, to_end)) return false;
      const auto end = static_cast<size_t>(to - room_.data());
      if (end == begin) return false;
      AddPieces<kJpegPieceBytes>(begin, end, begins_, &pieces_);
      AddPieces<kJpegShortPieceBytes>(begin, end, short_begins_, &short_pieces_);
    }
    // Fill bytes may follow the last MCU.
    if (!AreJpegFillBytes(from_, from_end_)) return false;
    begins_[pieces_] = static_cast<uint32_t>(to - room_.data()) | kJpegFirstPiece;
    short_begins_[short_pieces_] = begins_[pieces_];
    std::memset(to, 0, kReadAhead);
    bytes_ = RoundUp(static_cast<size_t>(to - room_.data()), sizeof(uint32_t)) + kReadAhead -
             sizeof(uint32_t);
    SwapWords();
    return true;
  }
  int pieces() const { return pieces_; }
  int short_pieces() const { return short_pieces_; }
  size_t bytes() const { return bytes_; }

 private:
  // Bits are read from the highest of a word on.
  void SwapWords() {
    auto* const words = reinterpret_cast<uint32_t*>(room_.data());
    const size_t count = bytes_ / sizeof(uint32_t);
    for (size_t i = 0; i < count; ++i) words[i] = __builtin_bswap32(words[i]);
  }
  template <int kPieceBytes>
  static void AddPieces(size_t begin, size_t end, uint32_t* begins, int* pieces) {
    uint32_t mark = kJpegFirstPiece;
    do {
      begins[(*pieces)++] = static_cast<uint32_t>(begin) | mark;
      mark = 0;
      begin += kPieceBytes;
    } while (begin + kJpegLastPieceBytes <= end);
  }

  const JpegScan& scan_;
  uint32_t* const begins_;
  uint32_t* const short_begins_;
  const absl::Span<uint8_t> room_;
  const uint8_t* from_;
  const uint8_t* const from_end_;
  int pieces_ = 0;
  int short_pieces_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

JpegUpload* MakeJpegUpload(absl::Span<const uint8_t> file, int width_px, int height_px,
                           absl::Span<uint8_t> room) {
  if (room.size() < sizeof(JpegUpload)) return nullptr;
  JpegScanReader reader(file);
  absl::StatusOr<Next> next = reader.Read();
  if (!next.ok() || *next != Next::kScan) return nullptr;
  const JpegScan& scan = reader.scan();
  if (!scan.is_whole || scan.width_px != width_px || scan.height_px != height_px) return nullptr;
  auto* const upload = reinterpret_cast<JpegUpload*>(room.data());
  if (!WriteMcu(scan, upload)) return nullptr;

  const int64_t mcus = scan.mcus();
  const int64_t interval = scan.restart_interval == 0 ? mcus : scan.restart_interval;
  const auto most_of = [&](int piece_bytes) {
    return scan.bytes.size() / static_cast<size_t>(piece_bytes) +
           static_cast<size_t>(DivUp(mcus, interval)) + 1;
  };
  const size_t most_pieces = most_of(kJpegPieceBytes);
  constexpr size_t kWordAlignment = 64;
  const size_t bytes_offset =
      RoundUp(sizeof(JpegUpload) + (most_pieces + most_of(kJpegShortPieceBytes)) * sizeof(uint32_t),
              kWordAlignment);
  const auto head_bytes = static_cast<size_t>(scan.bytes.data() - file.data());
  const size_t needed = bytes_offset + scan.bytes.size() + kCopySlack + kReadAhead + head_bytes;
  if (needed > room.size() || needed > kMaxBytes) return nullptr;
  uint32_t* const short_begins = upload->piece_begins() + most_pieces;
  PieceWriter writer(scan, upload->piece_begins(), short_begins,
                     room.subspan(bytes_offset, room.size() - bytes_offset - head_bytes));
  if (!writer.Write()) return nullptr;

  upload->pieces = writer.pieces();
  upload->short_pieces = writer.short_pieces();
  upload->short_begins_offset =
      static_cast<int32_t>(short_begins - reinterpret_cast<uint32_t*>(upload));
  upload->blocks = static_cast<int32_t>(mcus * upload->mcu.blocks);
  upload->interval_blocks = static_cast<int32_t>(std::min(interval, mcus) * upload->mcu.blocks);
  upload->mcus_across = scan.mcus_across;
  upload->luma_across = scan.luma_across;
  upload->luma_down = scan.luma_down;
  upload->luma_blocks = static_cast<int32_t>(mcus * scan.luma_across * scan.luma_down);
  upload->width_px = width_px;
  upload->height_px = height_px;
  upload->words_offset = static_cast<int32_t>(bytes_offset / sizeof(uint32_t));
  for (int i = 0; i < kJpegBlockCoefficients; ++i) {
    upload->quantisers[i] = scan.quantisers.values[i % 8 * 8 + i / 8];
  }
  // Only one scan, and nothing unknown behind it.
  next = reader.Read();
  if (!next.ok() || *next != Next::kEnd) return nullptr;
  upload->bytes = static_cast<int32_t>(bytes_offset + writer.bytes());
  upload->head_bytes = static_cast<int32_t>(head_bytes);
  std::memcpy(room.data() + upload->bytes, file.data(), head_bytes);
  return upload;
}

std::vector<uint8_t> RestoreJpeg(const JpegUpload& upload) {
  const auto* const memory = reinterpret_cast<const uint8_t*>(&upload);
  std::vector<uint8_t> file(memory + upload.bytes, memory + upload.bytes + upload.head_bytes);
  const auto* const words = reinterpret_cast<const uint32_t*>(memory) + upload.words_offset;
  const uint32_t* const begins = upload.piece_begins();
  int64_t restarts = 0;
  for (int piece = 0; piece < upload.pieces; ++piece) {
    if (piece > 0 && (begins[piece] & kJpegFirstPiece) != 0) {
      file.push_back(0xFF);
      file.push_back(JpegRestartMarker(restarts++));
    }
    const uint32_t end = begins[piece + 1] & ~kJpegFirstPiece;
    for (uint32_t i = begins[piece] & ~kJpegFirstPiece; i < end; ++i) {
      const auto byte = static_cast<uint8_t>(words[i / 4] >> (8 * (3 - i % 4)));
      file.push_back(byte);
      if (byte == 0xFF) file.push_back(0);
    }
  }
  file.push_back(0xFF);
  file.push_back(kJpegEoi);
  return file;
}

}  // namespace orbserve::gpu
