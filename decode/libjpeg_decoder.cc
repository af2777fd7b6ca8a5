// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The only file that sees libjpeg's API. Its errors leave by longjmp, so between Run() and the
// library there are no objects with destructors; what must survive a jump lives in JpegRun.

#include "decode/libjpeg_decoder.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
// jpeglib.h wants size_t and FILE from the headers above.
// In this order: the numbers of the messages depend on the version that jpeglib.h names.
#include <jpeglib.h>

#include <jerror.h>

#include "absl/strings/str_cat.h"
#include "decode/bad_image.h"
#include "decode/grey_rows.h"
#include "features/errors.h"

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRowsPerCall = 32;  // an MCU row has at most 4 * 8 rows

enum class Failure { kNone, kLibrary, kSize, kColours, kScans, kTime, kIncomplete };

struct JpegRun {
  jpeg_decompress_struct decoder = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf give_up;
  Failure failure = Failure::kNone;
  int message_code = 0;                // with kLibrary
  char message[JMSG_LENGTH_MAX] = "";  // with kLibrary
  int max_scans = 0;
  Clock::time_point deadline;
};

JpegRun& RunOf(j_common_ptr decoder) { return *static_cast<JpegRun*>(decoder->client_data); }

[[noreturn]] void GiveUp(JpegRun& run, Failure failure) {
  run.failure = failure;
  std::longjmp(run.give_up, 1);
}

[[noreturn]] void OnError(j_common_ptr decoder) {
  JpegRun& run = RunOf(decoder);
  run.message_code = decoder->err->msg_code;
  decoder->err->format_message(decoder, run.message);
  GiveUp(run, Failure::kLibrary);
}

// After most warnings libjpeg goes on with pixels of its own invention.
void OnMessage(j_common_ptr decoder, int level) {
  const bool warning = level < 0;
  if (warning && decoder->err->msg_code != JWRN_JFIF_MAJOR) OnError(decoder);
}

void OnOutput(j_common_ptr) {}

void OnProgress(j_common_ptr decoder) {
  JpegRun& run = RunOf(decoder);
  if (run.decoder.input_scan_number > run.max_scans) GiveUp(run, Failure::kScans);
  if (Clock::now() > run.deadline) GiveUp(run, Failure::kTime);
}

// True if every bit of every coefficient of the components in use has arrived. A progressive file
// may end, formally correct, after any scan, and is a blurred picture then.
bool IsComplete(const jpeg_decompress_struct& decoder) {
  if (!decoder.progressive_mode) return true;
  for (int component = 0; component < decoder.num_components; ++component) {
    if (!decoder.comp_info[component].component_needed) continue;
    for (int i = 0; i < DCTSIZE2; ++i) {
      if (decoder.coef_bits[component][i] != 0) return false;
    }
  }
  return true;
}

void Run(JpegRun& run, const uint8_t* bytes, size_t size, const ImageLimits& limits,
         const MutableImageView& out) {
  if (setjmp(run.give_up) != 0) return;
  jpeg_decompress_struct& decoder = run.decoder;
  jpeg_create_decompress(&decoder);
  decoder.client_data = &run;
  decoder.progress = &run.progress;
  decoder.mem->max_memory_to_use =
      static_cast<long>(std::min<int64_t>(limits.max_decoder_bytes, LONG_MAX));
  jpeg_mem_src(&decoder, bytes, static_cast<unsigned long>(size));
  jpeg_read_header(&decoder, TRUE);
  if (static_cast<int64_t>(decoder.image_width) != out.width_px ||
      static_cast<int64_t>(decoder.image_height) != out.height_px) {
    GiveUp(run, Failure::kSize);
  }
  // Y is taken as it is. Files that hold RGB are decoded to RGB, because libjpeg's own weights
  // for grey are not those of features/algo/grey.h.
  const bool has_luma =
      decoder.jpeg_color_space == JCS_GRAYSCALE || decoder.jpeg_color_space == JCS_YCbCr;
  if (!has_luma && decoder.jpeg_color_space != JCS_RGB) GiveUp(run, Failure::kColours);
  decoder.out_color_space = has_luma ? JCS_GRAYSCALE : JCS_RGB;
  decoder.dct_method = JDCT_ISLOW;
  decoder.do_fancy_upsampling = TRUE;  // matters where luma itself is subsampled
  decoder.do_block_smoothing = FALSE;  // would fill in coefficients that are missing
  jpeg_start_decompress(&decoder);
  if (has_luma) {
    JSAMPROW rows[kRowsPerCall];
    while (decoder.output_scanline < decoder.output_height) {
      const int first = static_cast<int>(decoder.output_scanline);
      const int count = std::min(kRowsPerCall, out.height_px - first);
      for (int i = 0; i < count; ++i) rows[i] = out.Row(first + i);
      jpeg_read_scanlines(&decoder, rows, static_cast<JDIMENSION>(count));
    }
  } else {
    JSAMPARRAY row = decoder.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&decoder),
                                               JPOOL_IMAGE, 3 * decoder.output_width, 1);
    while (decoder.output_scanline < decoder.output_height) {
      const int y = static_cast<int>(decoder.output_scanline);
      if (jpeg_read_scanlines(&decoder, row, 1) == 1) {
        GreyRowFromRgb(row[0], out.width_px, out.Row(y));
      }
    }
  }
  if (!IsComplete(decoder)) GiveUp(run, Failure::kIncomplete);
  jpeg_finish_decompress(&decoder);  // reads to EOI, with the warnings that this brings
}

absl::Status StatusOf(const JpegRun& run, const ImageLimits& limits) {
  switch (run.failure) {
    case Failure::kNone:
      return absl::OkStatus();
    case Failure::kLibrary:
      if (run.message_code == JERR_OUT_OF_MEMORY) {
        return MakeError(ErrorReason::kOutOfMemory, "JPEG: no memory to decode it now");
      }
      if (run.message_code == JERR_NO_BACKING_STORE) {
        return MakeError(ErrorReason::kTooLarge,
                         absl::StrCat("JPEG: decoding needs more than ", limits.max_decoder_bytes,
                                      " bytes of memory"));
      }
      return BadImage(absl::StrCat("JPEG: ", run.message));
    case Failure::kSize:
      return MakeError(ErrorReason::kInternal, "JPEG: another size than that of its slot");
    case Failure::kColours:
      return MakeError(ErrorReason::kUnsupported,
                       "JPEG: its colours are not decoded; grey, YCbCr and RGB are");
    case Failure::kScans:
      return MakeError(ErrorReason::kTooLarge,
                       absl::StrCat("JPEG: more than ", limits.max_scans, " scans; at most ",
                                    limits.max_scans, " are decoded"));
    case Failure::kTime:
      return JpegTooSlow(limits);
    case Failure::kIncomplete:
      return BadImage("JPEG: truncated, scans of the progressive image are missing");
  }
  return MakeError(ErrorReason::kInternal, "JPEG: unknown failure");
}

}  // namespace

absl::Status JpegTooSlow(const ImageLimits& limits) {
  return MakeError(ErrorReason::kDeadlineExceeded,
                   absl::StrCat("JPEG: not decoded within ", limits.max_decode_time.count(),
                                " ms, the limit for one image"));
}

absl::Status DecodeJpeg(absl::Span<const uint8_t> bytes, const ImageLimits& limits,
                        Clock::time_point deadline, const MutableImageView& out) {
  JpegRun run;
  run.max_scans = limits.max_scans;
  run.deadline = deadline;
  run.progress.progress_monitor = OnProgress;
  run.decoder.err = jpeg_std_error(&run.errors);
  run.decoder.client_data = &run;  // already for errors of jpeg_create_decompress(), which keeps it
  run.errors.error_exit = OnError;
  run.errors.emit_message = OnMessage;
  run.errors.output_message = OnOutput;
  Run(run, bytes.data(), bytes.size(), limits, out);
  jpeg_destroy_decompress(&run.decoder);
  return StatusOf(run, limits);
}

}  // namespace orbserve
