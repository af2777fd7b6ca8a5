// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/jpeg_oracle.h"

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>
// jpeglib.h wants size_t and FILE from the headers above.
#include <jpeglib.h>

namespace orbserve {
namespace {

void ReadPixels(jpeg_decompress_struct* decoder, const std::vector<uint8_t>& bytes, bool rgb,
                GreyImage* image) {
  jpeg_mem_src(decoder, bytes.data(), bytes.size());
  jpeg_read_header(decoder, TRUE);
  decoder->out_color_space = rgb ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_start_decompress(decoder);
  image->width_px = static_cast<int>(decoder->output_width);
  image->height_px = static_cast<int>(decoder->output_height);
  const size_t row_bytes =
      static_cast<size_t>(decoder->output_width) * static_cast<size_t>(decoder->output_components);
  image->pixels.resize(row_bytes * decoder->output_height);
  while (decoder->output_scanline < decoder->output_height) {
    JSAMPROW rows[] = {&image->pixels[decoder->output_scanline * row_bytes]};
    jpeg_read_scanlines(decoder, rows, 1);
  }
  jpeg_finish_decompress(decoder);
}

struct LibraryErrors {
  jpeg_error_mgr manager;  // first: libjpeg knows this part
  std::jmp_buf leave;
};

// Objects with destructors are the caller's, as an error jumps over everything here.
bool ReadHealthyPixels(jpeg_decompress_struct* decoder, LibraryErrors* errors,
                       const std::vector<uint8_t>& bytes, GreyImage* image) {
  if (setjmp(errors->leave) != 0) return false;
  ReadPixels(decoder, bytes, /*rgb=*/false, image);
  return errors->manager.num_warnings == 0;
}

}  // namespace

std::vector<uint8_t> EncodeJpeg(const JpegKind& kind, const std::vector<uint8_t>& pixels) {
  jpeg_error_mgr errors = {};
  jpeg_compress_struct encoder = {};
  encoder.err = jpeg_std_error(&errors);
  errors.trace_level = -1;  // wide quantisers are meant
  jpeg_create_compress(&encoder);
  unsigned char* file = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &file, &size);
  const size_t row_bytes = pixels.size() / static_cast<size_t>(kind.height_px);
  encoder.image_width = static_cast<JDIMENSION>(kind.width_px);
  encoder.image_height = static_cast<JDIMENSION>(kind.height_px);
  encoder.input_components = static_cast<int>(row_bytes / static_cast<size_t>(kind.width_px));
  encoder.in_color_space = encoder.input_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder);
  if (kind.components == 1) jpeg_set_colorspace(&encoder, JCS_GRAYSCALE);
  if (kind.keep_rgb) jpeg_set_colorspace(&encoder, JCS_RGB);
  jpeg_set_quality(&encoder, kind.quality, kind.wide_quantisers ? FALSE : TRUE);
  if (kind.components == 3 && !kind.keep_rgb) {
    encoder.comp_info[0].h_samp_factor = kind.luma_across;
    encoder.comp_info[0].v_samp_factor = kind.luma_down;
  }
  encoder.restart_interval = static_cast<unsigned>(kind.restart_interval);
  encoder.optimize_coding = kind.own_tables ? TRUE : FALSE;
  if (kind.fast_dct) encoder.dct_method = JDCT_IFAST;
  if (kind.progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  for (size_t y = 0; y < static_cast<size_t>(kind.height_px); ++y) {
    JSAMPROW rows[] = {const_cast<uint8_t*>(&pixels[y * row_bytes])};
    jpeg_write_scanlines(&encoder, rows, 1);
  }
  jpeg_finish_compress(&encoder);
  std::vector<uint8_t> bytes(file, file + size);
  jpeg_destroy_compress(&encoder);
  std::free(file);
  return bytes;
}

std::vector<uint8_t> WriteJpeg(const JpegKind& kind) {
  uint32_t noise = 12345;
  const size_t row_bytes = static_cast<size_t>(kind.width_px) * kind.components;
  std::vector<uint8_t> pixels;
  pixels.reserve(row_bytes * kind.height_px);
  for (int y = 0; y < kind.height_px; ++y) {
    for (size_t i = 0; i < row_bytes; ++i) {
      noise = noise * 1664525u + 1013904223u;
      pixels.push_back(
          static_cast<uint8_t>(kind.noise ? noise >> 24 : 3 * y + 2 * i + (noise >> 28)));
    }
  }
  return EncodeJpeg(kind, pixels);
}

GreyImage DecodeByLibrary(const std::vector<uint8_t>& bytes, bool rgb) {
  jpeg_error_mgr errors = {};
  jpeg_decompress_struct decoder = {};
  decoder.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&decoder);
  GreyImage image;
  ReadPixels(&decoder, bytes, rgb, &image);
  jpeg_destroy_decompress(&decoder);
  return image;
}

std::optional<GreyImage> DecodeIfHealthy(const std::vector<uint8_t>& bytes) {
  LibraryErrors errors = {};
  jpeg_decompress_struct decoder = {};
  decoder.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr of) {
    std::longjmp(reinterpret_cast<LibraryErrors*>(of->err)->leave, 1);
  };
  errors.manager.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&decoder);
  GreyImage image;
  const bool healthy = ReadHealthyPixels(&decoder, &errors, bytes, &image);
  jpeg_destroy_decompress(&decoder);
  return healthy ? std::optional<GreyImage>(std::move(image)) : std::nullopt;
}

}  // namespace orbserve
