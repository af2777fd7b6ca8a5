// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/track_stream.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "features/tracking/stream_tracks.h"
#include "features/tracking/winners.h"
#include "tests/support/backend_runner.h"

namespace orbserve::testing {

absl::StatusOr<std::vector<FrameTracks>> TracksOfStream(FeatureBackend& backend,
                                                        const std::vector<TestImage>& images,
                                                        const TrackOptions& options,
                                                        const SearchPoints& search,
                                                        absl::string_view preset_name) {
  ORBSERVE_ASSIGN_OR_RETURN(const Preset* const preset, FindPreset(preset_name));
  const int width = images[0].width_px();
  const int height = images[0].height_px();
  ORBSERVE_ASSIGN_OR_RETURN(const std::shared_ptr<FeaturePlan> plan,
                            backend.MakePlan({width, height, preset->pipeline, options.levels}));
  FrameParameters parameters = preset->frame;
  parameters.max_features =
      WinnersToAskFor(preset->pipeline, width, height, parameters.max_features);

  StreamTracks tracks;
  tracks.Configure(preset->pipeline, options);
  std::shared_ptr<const FrameState> before;
  std::vector<FrameTracks> answers;
  for (size_t n = 0; n < images.size(); ++n) {
    ORBSERVE_ASSIGN_OR_RETURN(
        FrameJob job, MakeJob(backend, {.image = images[n].view(), .parameters = parameters}));
    job.keep_state = KeepState::kPyramid;
    std::vector<FrameJob> jobs;
    jobs.push_back(std::move(job));
    const FrameAnswer frame = std::move(RunBatch(backend, plan, std::move(jobs)).frames[0]);
    ORBSERVE_RETURN_IF_ERROR(frame.status);

    const auto points = tracks.Begin(width, height);
    TrackedPoints tracked;
    if (points->count() > 0 && search != nullptr) {
      StreamSearch wanted{.frame = n - 1, .points = points.get()};
      for (const Track& track : answers.back().tracks) {
        wanted.begins.push_back(n - 1 - track.age_frames);
      }
      tracked = search(wanted);
    } else if (points->count() > 0) {
      std::vector<TrackJob> searches;
      searches.push_back({before, frame.state, points, options});
      TrackAnswer answer = std::move(RunTracks(backend, std::move(searches)).jobs[0]);
      ORBSERVE_RETURN_IF_ERROR(answer.status);
      tracked = std::move(answer.tracked);
    }
    ORBSERVE_ASSIGN_OR_RETURN(FrameTracks found,
                              tracks.Finish({.candidates = frame.features.get(),
                                             .max_features = preset->frame.max_features},
                                            std::move(tracked)));
    answers.push_back(std::move(found));
    before = frame.state;
  }
  return answers;
}

std::string FirstDifference(const std::vector<FrameTracks>& expected,
                            const std::vector<FrameTracks>& actual) {
  if (expected.size() != actual.size()) {
    return absl::StrCat(expected.size(), " frames expected, got ", actual.size());
  }
  const auto text = [](const Track& track) {
    return absl::StrCat("track ", track.id, " at ", track.x, ", ", track.y, ", age ",
                        track.age_frames, ", residual ", track.residual, ", gain ", track.alpha,
                        ", offset ", track.beta);
  };
  for (size_t n = 0; n < expected.size(); ++n) {
    const std::vector<Track>& a = expected[n].tracks;
    const std::vector<Track>& b = actual[n].tracks;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      if (a[i] == b[i]) continue;
      return absl::StrCat("frame ", n, ": expected ", text(a[i]), ", got ", text(b[i]));
    }
    if (a.size() != b.size()) {
      return absl::StrCat("frame ", n, ": ", a.size(), " tracks expected, got ", b.size());
    }
    if (expected[n].ended != actual[n].ended) {
      return absl::StrCat("frame ", n, ": other tracks ended, or for other reasons");
    }
  }
  return "";
}

}  // namespace orbserve::testing
