// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/png_file.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/images/picture_size.h"

namespace orbserve::cli {
namespace {

// zlib's level for overlays. They are temporary: speed counts more than the last percent of size.
constexpr int kCompressionLevel = 4;

// Most bytes that libpng may allocate for one ancillary chunk.
constexpr png_alloc_size_t kMaxChunkBytes = 8 << 20;

// State of libpng's callbacks. libpng reports errors by longjmp: a function that calls setjmp must
// not own objects with destructors.
struct PngState {
  absl::string_view input;
  std::string* output = nullptr;
  char error[128] = "";
};

void OnError(png_structp png, png_const_charp message) {
  auto* state = static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state->error, message, sizeof(state->error) - 1);
  std::longjmp(*png_set_longjmp_fn(png, std::longjmp, sizeof(std::jmp_buf)), 1);
}

void OnWarning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep data, size_t size) {
  auto* state = static_cast<PngState*>(png_get_io_ptr(png));
  if (state->input.size() < size) png_error(png, "the file ends early");
  std::memcpy(data, state->input.data(), size);
  state->input.remove_prefix(size);
}

void WriteBytes(png_structp png, png_bytep data, size_t size) {
  static_cast<PngState*>(png_get_io_ptr(png))
      ->output->append(reinterpret_cast<const char*>(data), size);
}

void FlushBytes(png_structp) {}

// Returns false after an error of libpng, which is in PngState::error.
bool ReadHeader(png_structp png, png_infop info) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_info(png, info);
  return true;
}

// Turns the 16-bit values of a row into bytes, in place; only 0 becomes 0.
void ShortenValues(png_structp, png_row_infop row, png_bytep data) {
  const size_t count = row->rowbytes / 2;
  for (size_t i = 0; i < count; ++i) {
    const png_byte upper = data[2 * i];
    const png_byte lower = data[2 * i + 1];
    data[i] = upper == 0 && lower != 0 ? png_byte{1} : upper;
  }
}

// Sets libpng up for 8-bit grey or RGB. Returns the number of channels; 0 after an error.
int SetUpTransforms(png_structp png, png_infop info, DeepValues deep) {
  if (setjmp(png_jmpbuf(png))) return 0;
  const int colour = png_get_color_type(png, info);
  if (png_get_bit_depth(png, info) == 16) {
    if (deep == DeepValues::kUpperByte) {
      png_set_strip_16(png);
    } else {
      // libpng calls it behind all other transforms, when alpha is gone.
      png_set_read_user_transform_fn(png, ShortenValues);
      png_set_user_transform_info(png, nullptr, 8, (colour & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1);
    }
  }
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  return png_get_channels(png, info);
}

bool ReadRows(png_structp png, png_bytep* rows) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_read_image(png, rows);
  // Reading to the end reveals damage behind the last row.
  png_read_end(png, nullptr);
  return true;
}

bool WriteRows(png_structp png, png_infop info, const Picture* picture) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_set_compression_level(png, kCompressionLevel);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture->width_px),
               static_cast<png_uint_32>(picture->height_px), 8,
               picture->channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int y = 0; y < picture->height_px; ++y) png_write_row(png, picture->Row(y));
  png_write_end(png, nullptr);
  return true;
}

// Frees libpng's structures, as far as they were created.
struct PngReader {
  explicit PngReader(PngState* state)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, state, OnError, OnWarning)),
        info(png == nullptr ? nullptr : png_create_info_struct(png)) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png;
  png_infop info;
};

struct PngWriter {
  explicit PngWriter(PngState* state)
      : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, state, OnError, OnWarning)),
        info(png == nullptr ? nullptr : png_create_info_struct(png)) {}
  ~PngWriter() { png_destroy_write_struct(&png, &info); }
  png_structp png;
  png_infop info;
};

absl::Status Damaged(const PngState& state) {
  return absl::InvalidArgumentError(absl::StrCat("the PNG file is damaged: ", state.error));
}

}  // namespace

absl::StatusOr<Picture> DecodePng(absl::string_view bytes, const PictureLimits& limits,
                                  DeepValues deep) {
  PngState state{.input = bytes};
  PngReader reader(&state);
  if (reader.info == nullptr) return absl::ResourceExhaustedError("libpng cannot start");
  png_set_read_fn(reader.png, &state, ReadBytes);
  // CheckPictureSize checks the size. libpng's own limit is lower, and its message has no numbers.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_QUIET_USE);
  if (!ReadHeader(reader.png, reader.info)) return Damaged(state);

  Picture picture;
  const int64_t width_px = png_get_image_width(reader.png, reader.info);
  const int64_t height_px = png_get_image_height(reader.png, reader.info);
  if (const absl::Status size = CheckPictureSize(width_px, height_px, limits); !size.ok()) {
    return size;
  }
  picture.width_px = static_cast<int>(width_px);
  picture.height_px = static_cast<int>(height_px);
  picture.channels = SetUpTransforms(reader.png, reader.info, deep);
  if (picture.channels == 0) return Damaged(state);
  if ((picture.channels != 1 && picture.channels != 3) ||
      png_get_rowbytes(reader.png, reader.info) != picture.row_bytes()) {
    return absl::InternalError("libpng returned pixels of an unexpected kind");
  }
  // Deflate compresses by 1032 : 1 at most. A file that claims far more pixels is not complete.
  constexpr int64_t kBestRatio = 1032;
  if (width_px * height_px / 8 > static_cast<int64_t>(bytes.size()) * kBestRatio) {
    return absl::InvalidArgumentError(absl::StrCat("the PNG file is damaged: ", bytes.size(),
                                                   " bytes cannot hold ", width_px, " x ",
                                                   height_px, " pixels"));
  }
  picture.pixels.resize(picture.row_bytes() * picture.height_px);
  std::vector<png_bytep> rows(picture.height_px);
  for (int y = 0; y < picture.height_px; ++y) rows[y] = picture.Row(y);
  if (!ReadRows(reader.png, rows.data())) return Damaged(state);
  return picture;
}

absl::StatusOr<std::string> EncodePng(const Picture& picture) {
  std::string bytes;
  PngState state{.output = &bytes};
  PngWriter writer(&state);
  if (writer.info == nullptr) return absl::ResourceExhaustedError("libpng cannot start");
  png_set_write_fn(writer.png, &state, WriteBytes, FlushBytes);
  if (!WriteRows(writer.png, writer.info, &picture)) {
    return absl::InternalError(absl::StrCat("PNG cannot be written: ", state.error));
  }
  return bytes;
}

bool IsWholePng(const std::string& path) {
  constexpr absl::string_view kStart("\x89PNG\r\n\x1A\n", 8);
  // The chunk IEND: length 0, name, checksum. Source: W3C PNG, section 11.2.5.
  constexpr absl::string_view kEnd("\0\0\0\0IEND\xAE\x42\x60\x82", 12);
  std::ifstream file(path, std::ios::binary);
  std::string start(kStart.size(), '\0');
  std::string end(kEnd.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  file.read(end.data(), static_cast<std::streamsize>(end.size()));
  return file.good() && start == kStart && end == kEnd;
}

}  // namespace orbserve::cli
