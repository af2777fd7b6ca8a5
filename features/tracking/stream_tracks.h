// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The tracks of a stream between two of its frames: ids, ages, places and patches, when a track
// ends and where new ones begin. Pure host logic without threads; a backend searches the points.
//
// For every answered frame, in the order of the frames:
//
//   Configure()            options of the frame; other ones end all tracks
//   points = Begin(size)   another size of the image ends all tracks
//   FeatureBackend::SubmitTracks() from the frame before to this one, unless there are no points
//   Finish(frame, answer)  ends tracks, begins new ones, returns the tracks of the frame
//
// A frame that fails, or is dropped, is no frame for the tracks: copy the object before Begin() and
// drop the copy. A copy is cheap, because copies share the patches.
//
// New tracks begin in a frame if there are no tracks, or fewer than `redetect_percent` of the
// wanted number. The candidates are the winners of the frame without those whose cell holds a
// track; the best of them become tracks, until the wanted number is reached. Cells are those of
// SuppressOptions, whatever the suppression is: two candidates of the same free cell may both
// begin.

#ifndef ORBSERVE_FEATURES_TRACKING_STREAM_TRACKS_H_
#define ORBSERVE_FEATURES_TRACKING_STREAM_TRACKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "features/image_view.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve {

// Everything of a frame that decides about its tracks. All of it is borrowed for a call.
struct FrameOfTracks {
  ImageView mask;  // of level 0, != 0 keeps; empty = no mask; of the size given to Begin()
  // The frame's features: of a pipeline that passes CutsWinners() all winners (winners.h).
  const Features* candidates = nullptr;
  int max_features = 0;  // wanted number of features, and of tracks
};

class StreamTracks {
 public:
  // Options of the next frame. Ends all tracks with kPipeline unless both are equal to those of the
  // frame before. `options` must pass Validate().
  void Configure(const PipelineOptions& pipeline, const TrackOptions& options);

  // Ends all tracks. The next FrameTracks reports them.
  void EndAll(TrackEnd reason);

  // Returns the points of all tracks in the frame before, id up, for the search in the next frame.
  // Ends all tracks with kImageSize if the next frame has another size.
  std::shared_ptr<const TrackPoints> Begin(int width_px, int height_px);

  // Takes the answer for the points of Begin(), in their order, and returns the tracks of the
  // frame. INTERNAL for an answer that does not fit the points; the object is unchanged then.
  absl::StatusOr<FrameTracks> Finish(const FrameOfTracks& frame, TrackedPoints tracked);

  // The ended tracks that no FrameTracks has reported yet, id up: for a frame without tracks.
  std::vector<EndedTrack> TakeEnded();

  // The frame of the last Finish() becomes the keyframe. From then on the numbers of its tracks and
  // of those among them that have ended are known.
  void MarkKeyframe();
  int keyframe_tracks() const { return keyframe_tracks_; }
  int keyframe_tracks_ended() const { return keyframe_tracks_ended_; }

  size_t count() const { return tracks_.size(); }
  // Memory that the tracks hold. Copies share a part of it.
  size_t size_bytes() const;

 private:
  struct State {
    Track track;
    // Template FIRST: its place in the frame in which it began, and its patches, which lie in
    // `points_` or `new_patches_`. Null until it was searched for the first time.
    int32_t template_x = 0;
    int32_t template_y = 0;
    const int16_t* patches = nullptr;
    bool is_of_keyframe = false;
  };

  bool KeepsPatches() const { return options_.track_template == TrackTemplate::kFirst; }
  void End(const State& state, TrackEnd reason);
  void BeginTracks(const FrameOfTracks& frame, size_t wanted);

  PipelineOptions pipeline_;
  TrackOptions options_;
  int width_px_ = 0;  // of the last frame; 0 = there was none
  int height_px_ = 0;
  uint64_t next_id_ = 1;
  std::vector<State> tracks_;      // id up
  std::vector<EndedTrack> ended_;  // not yet reported
  int keyframe_tracks_ = 0;
  int keyframe_tracks_ended_ = 0;

  std::shared_ptr<const TrackPoints> points_;  // of the last Begin()
  // Patches that the last search took, and values of a track's patches, 0 until they are known.
  std::shared_ptr<const std::vector<int16_t>> new_patches_;
  size_t patch_values_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_TRACKING_STREAM_TRACKS_H_
