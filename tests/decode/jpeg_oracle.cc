// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/jpeg_oracle.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
// jpeglib.h wants size_t and FILE from the headers above.
#include <jpeglib.h>

namespace orbserve {

std::vector<uint8_t> EncodeJpeg(const JpegKind& kind, const std::vector<uint8_t>& pixels) {
  jpeg_error_mgr errors = {};
  jpeg_compress_struct encoder = {};
  encoder.err = jpeg_std_error(&errors);
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
  jpeg_set_quality(&encoder, kind.quality, TRUE);
  if (kind.components == 3 && !kind.keep_rgb) {
    encoder.comp_info[0].h_samp_factor = kind.luma_across;
    encoder.comp_info[0].v_samp_factor = kind.luma_down;
  }
  encoder.restart_interval = static_cast<unsigned>(kind.restart_interval);
  encoder.optimize_coding = kind.own_tables ? TRUE : FALSE;
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
  jpeg_mem_src(&decoder, bytes.data(), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = rgb ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_start_decompress(&decoder);
  GreyImage image;
  image.width_px = static_cast<int>(decoder.output_width);
  image.height_px = static_cast<int>(decoder.output_height);
  const size_t row_bytes =
      static_cast<size_t>(decoder.output_width) * static_cast<size_t>(decoder.output_components);
  image.pixels.resize(row_bytes * decoder.output_height);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW rows[] = {&image.pixels[decoder.output_scanline * row_bytes]};
    jpeg_read_scanlines(&decoder, rows, 1);
  }
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  return image;
}

}  // namespace orbserve
