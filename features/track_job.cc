// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/track_job.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "features/algo/lucas_kanade.h"
#include "features/errors.h"

namespace orbserve {
namespace {

absl::Status CheckStates(const TrackJob& job) {
  const std::shared_ptr<InputSlot> from = job.from->input();
  const std::shared_ptr<InputSlot> to = job.to->input();
  if (from == nullptr || to == nullptr) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("tracks need two frames with pyramids; the ",
                                  from == nullptr ? "first" : "second", " has none"));
  }
  if (from->image.width_px != to->image.width_px || from->image.height_px != to->image.height_px ||
      job.from->pyramid_levels() != job.to->pyramid_levels()) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("tracks need two pyramids of one size; got ",
                                  from->image.width_px, " x ", from->image.height_px, " with ",
                                  job.from->pyramid_levels(), " levels and ", to->image.width_px,
                                  " x ", to->image.height_px, " with ", job.to->pyramid_levels()));
  }
  return absl::OkStatus();
}

absl::Status CheckLight(const TrackPoints& points) {
  for (size_t i = 0; i < points.count(); ++i) {
    // NaN fails, too.
    if (!(std::abs(points.gain[i]) <= algo::kMaxTrackGain)) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat("gain of point ", i, " must be in [-", algo::kMaxTrackGain,
                                    ", ", algo::kMaxTrackGain, "]; got ", points.gain[i]));
    }
    if (!(std::abs(points.offset[i]) <= algo::kMaxTrackBeta)) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat("offset of point ", i, " must be in [-", algo::kMaxTrackBeta,
                                    ", ", algo::kMaxTrackBeta, "]; got ", points.offset[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPatches(const TrackJob& job) {
  const TrackPoints& points = *job.points;
  const size_t row_values = PatchRowValuesOf(job);
  if (points.patches.size() % row_values != 0) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("patches must be rows of ", row_values, " values; got ",
                                  points.patches.size(), " values"));
  }
  const auto rows = static_cast<int64_t>(points.patches.size() / row_values);
  for (size_t i = 0; i < points.count(); ++i) {
    const int64_t row = points.patch_row[i];
    if (row < -1 || row >= rows) {
      return MakeError(ErrorReason::kBadRequest,
                       absl::StrCat("patch_row of point ", i, " must be -1 or one of ", rows,
                                    " rows; got ", row));
    }
    if (row == -1 && (points.template_x[i] != points.x[i] || points.template_y[i] != points.y[i])) {
      return MakeError(
          ErrorReason::kBadRequest,
          absl::StrCat("point ", i, " has no patches, so its template must lie at the point, (",
                       points.x[i], ", ", points.y[i], "); got (", points.template_x[i], ", ",
                       points.template_y[i], ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int TrackLevelsOf(const TrackJob& job) {
  return std::min(job.options.levels, job.to->pyramid_levels());
}

size_t PatchRowValuesOf(const TrackJob& job) {
  return static_cast<size_t>(
      algo::TrackPatchValues(TrackLevelsOf(job), job.options.coarse_patch_px));
}

void ResizeColumns(size_t count, TrackedPoints* tracked) {
  tracked->status.resize(count);
  tracked->x.resize(count);
  tracked->y.resize(count);
  tracked->gain.resize(count);
  tracked->offset.resize(count);
  tracked->residual.resize(count);
}

absl::Status CheckTrackJob(const TrackJob& job) {
  if (job.from == nullptr || job.to == nullptr || job.points == nullptr) {
    return MakeError(ErrorReason::kInternal, "a job of tracks without two states or points");
  }
  ORBSERVE_RETURN_IF_ERROR(job.options.Validate());
  ORBSERVE_RETURN_IF_ERROR(CheckStates(job));
  const TrackPoints& points = *job.points;
  const bool first = job.options.track_template == TrackTemplate::kFirst;
  const size_t count = points.count();
  const size_t template_count = first ? count : 0;
  if (points.y.size() != count || points.gain.size() != count || points.offset.size() != count ||
      points.patch_row.size() != template_count || points.template_x.size() != template_count ||
      points.template_y.size() != template_count) {
    return MakeError(ErrorReason::kBadRequest,
                     absl::StrCat("columns of points must have one length, those of templates ",
                                  first ? "that, too" : "0 with the template PREVIOUS", "; got ",
                                  count, ", ", points.y.size(), ", ", points.gain.size(), ", ",
                                  points.offset.size(), " and ", points.patch_row.size(), ", ",
                                  points.template_x.size(), ", ", points.template_y.size()));
  }
  ORBSERVE_RETURN_IF_ERROR(CheckLight(points));
  return first ? CheckPatches(job) : absl::OkStatus();
}

}  // namespace orbserve
