// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_sequential.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_part.h"
#include "decode/jpeg_scan.h"
#include "decode/jpeg_split.h"

namespace orbserve {
namespace {

static_assert(kJpegPartsBytes + kJpegSplitBytes <= kJpegThreadBytes);

using Deadline = std::chrono::steady_clock::time_point;
using Next = JpegScanReader::Next;

// A file on its way, and its present scan.
struct Job {
  Job(JpegFile* of, Deadline until) : file(of), reader(of->bytes), deadline(until) {}

  JpegFile* file;
  JpegScanReader reader;
  Deadline deadline;
  bool decided = true;  // pixels so far are good
  bool whole = false;   // a scan brought the pixels

  // Reads up to the next scan. False if the file has come to its end, or not ours to decide.
  bool ReadNext() {
    const absl::StatusOr<Next> next = reader.Read();
    if (!next.ok()) {
      file->end = next.status();
      return false;
    }
    if (*next == Next::kScan) {
      // A second scan of the same components is libjpeg-turbo's to judge.
      decided &= !whole;
      file->has_doubtful_values |= reader.scan().has_doubtful_values;
      whole |= IsPixels();
      return true;
    }
    if (*next == Next::kEnd && whole && decided) file->end = absl::OkStatus();
    return false;
  }
  // True if the present scan is decoded, and not only checked.
  bool IsPixels() const {
    const JpegScan& scan = reader.scan();
    return scan.is_whole && decided && scan.width_px == file->out.width_px &&
           scan.height_px == file->out.height_px;
  }
  // Takes the end of the present scan.
  void Take(JpegEnd end) {
    decided &= end.decided;
    file->has_doubtful_values |= !end.decided;
    if (!end.status.ok()) file->end = std::move(end.status);
  }
};

// Decodes from the present scan to the end of the file.
void DecodeScans(Job& job, DecodeHelpers* helpers) {
  do {
    const JpegScan& scan = job.reader.scan();
    if (scan.restart_interval == 0 && job.IsPixels()) {
      job.Take(DecodeBySynchronising(scan, job.file->out, job.deadline, helpers));
    } else {
      std::vector<JpegPart> parts =
          SplitAtRestarts(scan, job.IsPixels() ? &job.file->out : nullptr, kJpegMaxLanes);
      RunParts(absl::MakeSpan(parts), job.deadline);
      job.Take(EndOf(parts));
    }
  } while (!job.file->end.has_value() && job.ReadNext());
}

}  // namespace

void DecodeSequentialJpeg(Deadline deadline, JpegFile* file, DecodeHelpers* helpers) {
  Job job(file, deadline);
  if (job.ReadNext()) DecodeScans(job, helpers);
}

}  // namespace orbserve
