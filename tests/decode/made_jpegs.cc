// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/decode/made_jpegs.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
// jpeglib.h wants size_t and FILE from the headers above.
#include <jpeglib.h>

namespace orbserve {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kWidth = 150;
constexpr int kHeight = 110;

// Second bytes of markers.
constexpr uint8_t kSof0 = 0xC0;
constexpr uint8_t kDht = 0xC4;
constexpr uint8_t kSos = 0xDA;
constexpr uint8_t kDqt = 0xDB;
constexpr uint8_t kApp1 = 0xE1;

// Libjpeg is asked for this; the rest is at its defaults (YCbCr 4:2:0, baseline, quality 90).
struct Recipe {
  int width_px = kWidth;
  int height_px = kHeight;
  J_COLOR_SPACE given = JCS_RGB;
  int components = 3;
  std::function<void(jpeg_compress_struct*)> change = nullptr;  // after the defaults are set
};

// Blocks of grey over a gradient with a little noise: edges and corners in every component.
uint8_t Sample(int x, int y, int component) {
  const auto times = [](int value, uint32_t prime) { return static_cast<uint32_t>(value) * prime; };
  uint32_t hash = times(x, 73856093) ^ times(y, 19349663) ^ times(component, 83492791);
  hash = (hash ^ (hash >> 13)) * 0x5BD1E995u;
  const uint32_t block = static_cast<uint32_t>((x / 13 + 5 * component) * 31 + (y / 11) * 57);
  return static_cast<uint8_t>(std::min<uint32_t>(
      255, (block * 2654435761u >> 25) + static_cast<uint32_t>(x + y) / 3 + ((hash >> 28) & 7)));
}

Bytes Write(const Recipe& recipe) {
  jpeg_error_mgr errors = {};
  jpeg_compress_struct encoder = {};
  encoder.err = jpeg_std_error(&errors);
  errors.trace_level = -1;  // tables of 16 bits are meant
  jpeg_create_compress(&encoder);
  unsigned char* file = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &file, &size);
  encoder.image_width = static_cast<JDIMENSION>(recipe.width_px);
  encoder.image_height = static_cast<JDIMENSION>(recipe.height_px);
  encoder.input_components = recipe.components;
  encoder.in_color_space = recipe.given;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 90, TRUE);
  if (recipe.change) recipe.change(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  Bytes row(static_cast<size_t>(recipe.width_px) * static_cast<size_t>(recipe.components));
  for (int y = 0; y < recipe.height_px; ++y) {
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = Sample(static_cast<int>(i) / recipe.components, y,
                      static_cast<int>(i) % recipe.components);
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&encoder, rows, 1);
  }
  jpeg_finish_compress(&encoder);
  Bytes bytes(file, file + size);
  jpeg_destroy_compress(&encoder);
  std::free(file);
  return bytes;
}

size_t SegmentEnd(const Bytes& bytes, size_t at) {
  return at + 2 + (size_t{bytes[at + 2]} << 8 | bytes[at + 3]);
}

// Place of the first segment of this kind before the pixels of the first scan. Ends the program
// where there is none: the file is not what its maker thinks.
size_t Find(const Bytes& bytes, uint8_t marker) {
  for (size_t at = 2; at + 3 < bytes.size(); at = SegmentEnd(bytes, at)) {
    if (bytes[at + 1] == marker) return at;
    if (bytes[at + 1] == kSos) break;
  }
  std::fprintf(stderr, "no marker %02X\n", marker);
  std::abort();
}

size_t FirstPixelByte(const Bytes& bytes) { return SegmentEnd(bytes, Find(bytes, kSos)); }

Bytes Insert(Bytes bytes, size_t at, const Bytes& more) {
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), more.begin(), more.end());
  return bytes;
}

Bytes WithoutAll(Bytes bytes, uint8_t marker) {
  for (size_t at = 2; bytes[at + 1] != kSos;) {
    const size_t end = SegmentEnd(bytes, at);
    if (bytes[at + 1] == marker) {
      bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at),
                  bytes.begin() + static_cast<ptrdiff_t>(end));
    } else {
      at = end;
    }
  }
  return bytes;
}

// `bytes` with the byte at `offset` into the segment (0 = its 0xFF) set.
Bytes Patch(Bytes bytes, uint8_t marker, size_t offset, uint8_t value) {
  bytes[Find(bytes, marker) + offset] = value;
  return bytes;
}

Bytes WithSize(const Bytes& bytes, int width_px, int height_px) {
  Bytes changed = bytes;
  const size_t frame = Find(bytes, kSof0);
  changed[frame + 5] = static_cast<uint8_t>(height_px >> 8);
  changed[frame + 6] = static_cast<uint8_t>(height_px);
  changed[frame + 7] = static_cast<uint8_t>(width_px >> 8);
  changed[frame + 8] = static_cast<uint8_t>(width_px);
  return changed;
}

Bytes Head(const Bytes& bytes, size_t size) {
  return Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
}

// An APP1 segment with one EXIF entry: orientation 6, "turn by 90 degrees to look at".
Bytes ExifOrientation(uint8_t orientation) {
  return {0xFF, kApp1, 0,    34,   'E', 'x', 'i', 'f', 0, 0, 'I',         'I', 42, 0, 8, 0, 0, 0,
          1,    0,     0x12, 0x01, 3,   0,   1,   0,   0, 0, orientation, 0,   0,  0, 0, 0, 0, 0};
}

class Files {
 public:
  void Decoded(std::string name, Bytes bytes, std::string same_as = "") {
    MadeJpeg file{std::move(name), std::move(bytes), std::nullopt, kWidth, kHeight};
    file.same_as = std::move(same_as);
    files_.push_back(std::move(file));
  }
  void DecodedOfSize(std::string name, int width_px, int height_px) {
    files_.push_back({std::move(name), Write({.width_px = width_px, .height_px = height_px}),
                      std::nullopt, width_px, height_px});
  }
  void RgbCoded(std::string name, Bytes bytes) {
    Decoded(std::move(name), std::move(bytes));
    files_.back().rgb_coded = true;
  }
  void Refused(std::string name, ErrorReason reason, Bytes bytes) {
    files_.push_back({std::move(name), std::move(bytes), reason});
  }
  std::vector<MadeJpeg> Take() { return std::move(files_); }

 private:
  std::vector<MadeJpeg> files_;
};

void AddRareButLegal(const Bytes& plain, Files* files) {
  files->Decoded("plain", plain);
  for (const auto& [horizontal, vertical] : {std::pair(1, 1), {2, 1}, {1, 2}, {4, 1}, {4, 2}}) {
    files->Decoded("luma_" + std::to_string(horizontal) + "x" + std::to_string(vertical),
                   Write({.change = [h = horizontal, v = vertical](jpeg_compress_struct* encoder) {
                     encoder->comp_info[0].h_samp_factor = h;
                     encoder->comp_info[0].v_samp_factor = v;
                   }}));
  }
  files->Decoded("grey", Write({.given = JCS_GRAYSCALE, .components = 1}));
  files->Decoded("progressive", Write({.change = jpeg_simple_progression}));
  files->Decoded(
      "restart_markers",
      Write({.change = [](jpeg_compress_struct* encoder) { encoder->restart_interval = 3; }}));
  files->Decoded(
      "own_huffman_tables",
      Write({.change = [](jpeg_compress_struct* encoder) { encoder->optimize_coding = TRUE; }}));
  const Bytes wide_tables = Write({.change = [](jpeg_compress_struct* encoder) {
    jpeg_set_quality(encoder, 3, /*force_baseline=*/FALSE);
  }});
  files->Decoded("quantisation_16_bit", wide_tables);
  // The quantiser of the highest frequency, of which the picture has nothing.
  files->Decoded("quantiser_over_32767", Patch(wide_tables, kDqt, 5 + 2 * 63, 0x80));
  files->RgbCoded("rgb_adobe", Write({.change = [](jpeg_compress_struct* encoder) {
                    jpeg_set_colorspace(encoder, JCS_RGB);
                  }}));
  files->RgbCoded("rgb_by_ids", Write({.change = [](jpeg_compress_struct* encoder) {
                    jpeg_set_colorspace(encoder, JCS_RGB);
                    encoder->write_Adobe_marker = FALSE;
                  }}));
  files->Decoded("ids_of_rgb_in_jfif", Write({.change = [](jpeg_compress_struct* encoder) {
                   for (int i = 0; i < 3; ++i) encoder->comp_info[i].component_id = "RGB"[i];
                 }}));
  files->Decoded("luma_subsampled", Write({.change = [](jpeg_compress_struct* encoder) {
                   encoder->comp_info[0].h_samp_factor = 1;
                   encoder->comp_info[1].h_samp_factor = 2;
                 }}));
  files->Decoded("three_scans", Write({.change = [](jpeg_compress_struct* encoder) {
                   static constexpr jpeg_scan_info kScans[] = {
                       {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
                   encoder->scan_info = kScans;
                   encoder->num_scans = 3;
                 }}));
  files->DecodedOfSize("vga", 640, 480);
  files->DecodedOfSize("one_pixel", 1, 1);
  files->DecodedOfSize("one_row", 200, 1);
  files->DecodedOfSize("one_column", 1, 200);
  files->DecodedOfSize("one_more_than_a_block", 17, 9);

  // None of these changes a pixel.
  files->Decoded("exif_rotated", Insert(plain, 2, ExifOrientation(6)), "plain");
  files->Decoded("exif_broken",
                 Insert(plain, 2, Bytes{0xFF, kApp1, 0, 9, 'E', 'x', 'i', 'f', 0, 0, 99}), "plain");
  files->Decoded("fill_bytes", Insert(plain, Find(plain, kSof0), Bytes(5, 0xFF)), "plain");
  files->Decoded("more_after_the_end", Insert(plain, plain.size(), plain), "plain");
  files->Decoded("motion_jpeg_without_tables", WithoutAll(plain, kDht), "plain");
}

void AddUnsupported(const Bytes& plain, Files* files) {
  const auto refuse = [&](const char* name, Bytes bytes) {
    files->Refused(name, ErrorReason::kUnsupported, std::move(bytes));
  };
  refuse("cmyk", Write({.given = JCS_CMYK, .components = 4}));
  refuse("ycck", Write({.given = JCS_CMYK, .components = 4, .change = [](jpeg_compress_struct* e) {
                          jpeg_set_colorspace(e, JCS_YCCK);
                        }}));
  refuse("two_components", Write({.given = JCS_UNKNOWN, .components = 2}));
  refuse("arithmetic_coding",
         Write({.change = [](jpeg_compress_struct* encoder) { encoder->arith_code = TRUE; }}));
  refuse("lossless", Patch(plain, kSof0, 1, 0xC3));
  refuse("hierarchical", Patch(plain, kSof0, 1, 0xC5));
  refuse("twelve_bits", Patch(Patch(plain, kSof0, 4, 12), kSof0, 1, 0xC1));
  refuse("height_comes_later", WithSize(plain, kWidth, 0));
}

void AddDamaged(const Bytes& plain, Files* files) {
  const auto refuse = [&](const char* name, Bytes bytes) {
    files->Refused(name, ErrorReason::kBadImage, std::move(bytes));
  };
  const size_t pixels = FirstPixelByte(plain);
  const size_t middle = pixels + (plain.size() - pixels) / 2;
  refuse("truncated_in_the_scan", Head(plain, middle));
  refuse("fill_byte_in_the_scan", [&] {
    size_t at = pixels;
    while (plain[at] != 0xFF || plain[at + 1] != 0) ++at;
    return Insert(plain, at, {0xFF});
  }());
  refuse("truncated_and_closed", Insert(Head(plain, middle), middle, {0xFF, 0xD9}));
  refuse("truncated_in_a_table", Head(plain, Find(plain, kDqt) + 20));
  refuse("no_end_marker", Head(plain, plain.size() - 2));
  refuse("only_a_start_marker", Head(plain, 2));
  refuse("leading_byte", Insert(plain, 0, {0}));
  refuse("png", {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0, 0, 0, 13, 'I', 'H', 'D', 'R'});
  refuse("text", {'h', 'e', 'l', 'l', 'o', ' ', 'w', 'o', 'r', 'l', 'd', '\n'});
  refuse("second_start_marker", Insert(plain, 2, {0xFF, 0xD8}));
  refuse(
      "second_frame_header",
      Insert(plain, Find(plain, kSof0),
             Bytes(plain.begin() + static_cast<ptrdiff_t>(Find(plain, kSof0)),
                   plain.begin() + static_cast<ptrdiff_t>(SegmentEnd(plain, Find(plain, kSof0))))));
  refuse("no_quantisation_tables", WithoutAll(plain, kDqt));
  refuse("no_frame_header", WithoutAll(plain, kSof0));
  refuse("segment_of_length_one", Patch(Patch(plain, kDqt, 2, 0), kDqt, 3, 1));
  refuse("segment_longer_than_the_file", Patch(Patch(plain, kDht, 2, 0xFF), kDht, 3, 0xFF));
  refuse("huffman_table_with_too_many_codes", Patch(plain, kDht, 5, 200));
  refuse("sampling_factor_zero", Patch(plain, kSof0, 11, 0x02));
  refuse("precision_nine", Patch(plain, kSof0, 4, 9));
  refuse("no_components", Patch(plain, kSof0, 9, 0));
  refuse("noise_in_the_scan", [&] {
    Bytes noise = plain;
    for (size_t at = middle; at < middle + 300; ++at) {
      noise[at] = static_cast<uint8_t>((at * 2654435761u) >> 24);
    }
    return noise;
  }());
  const Bytes restarts =
      Write({.change = [](jpeg_compress_struct* encoder) { encoder->restart_interval = 3; }});
  Bytes wrong_restart = restarts;
  for (size_t at = FirstPixelByte(restarts); at + 1 < restarts.size(); ++at) {
    if (restarts[at] == 0xFF && restarts[at + 1] == 0xD1) {
      wrong_restart[at + 1] = 0xD6;
      break;
    }
  }
  refuse("wrong_restart_marker", wrong_restart);

  // Headers that claim more than there is.
  refuse("taller_than_its_data", WithSize(plain, kWidth, 2 * kHeight));
  refuse("wider_than_its_data", WithSize(plain, 2 * kWidth, kHeight));
  refuse("narrower_than_its_data", WithSize(plain, kWidth / 2, kHeight));
  refuse("width_zero", WithSize(plain, 0, kHeight));
  refuse("huge_within_the_limits", WithSize(plain, 8000, 8000));
  files->Refused("huge", ErrorReason::kTooLarge, WithSize(plain, 65500, 65500));
}

}  // namespace

std::vector<MadeJpeg> MakeJpegs() {
  const Bytes plain = Write({});
  Files files;
  AddRareButLegal(plain, &files);
  AddUnsupported(plain, &files);
  AddDamaged(plain, &files);
  return files.Take();
}

}  // namespace orbserve
