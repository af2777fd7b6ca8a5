// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Tracks beside cv::calcOpticalFlowPyrLK with the same points, levels and patches, on one thread.
//
//   track_bench FRAME...              times of points that are followed from the first frame to the
//                                     second
//   track_bench --accuracy FRAME...   errors on frames that are moved by known amounts
//   track_bench --life FRAME...       lives of points over the frames of a sequence; with --truth
//                                     also those that stay on their true epipolar lines

#include <hwy/highway.h>
#include <tbb/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/video/tracking.hpp>
#include <optional>
#include <semaphore>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/ground_truth.h"
#include "bench/harness.h"
#include "bench/photographs.h"
#include "cpu/cpu_backend.h"
#include "cpu/kernels/kernel_target.h"
#include "cpu/tracking/follow_points.h"
#include "cpu/tracking/frame_pyramid.h"
#include "features/algo/lucas_kanade.h"
#include "features/options.h"
#include "oneapi/tbb/task_arena.h"

namespace orbserve::bench {
namespace {

constexpr int kLevels = 5;
const cv::Size kWindow(algo::kFineTrackPatchPx, algo::kFineTrackPatchPx);
const cv::TermCriteria kEnough(cv::TermCriteria::COUNT | cv::TermCriteria::EPS, 30, 0.01);
// A point that is followed forward and back must come this near to where it began.
constexpr float kReturnPx = 1.0f;

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status());
  return *std::move(value);
}

// ---- Both trackers ----

struct Frame {
  cv::Mat grey;
  cpu::FramePyramid pyramid;
  std::vector<LevelGeometry> levels;
  std::vector<cv::Mat> cv_pyramid;  // with derivatives
};

void MakePyramid(Frame* frame, const cpu::KernelTarget& target) {
  if (!frame->pyramid.Make(frame->levels, target)) {
    Die(MakeError(ErrorReason::kOutOfMemory, "no memory for a pyramid"));
  }
}
void MakeCvPyramid(Frame* frame) {
  cv::buildOpticalFlowPyramid(frame->grey, frame->cv_pyramid, kWindow, kLevels - 1,
                              /*withDerivatives=*/true);
}

class Frames {
 public:
  Frames() : backend_(Must(cpu::CreateCpuBackend({.threads = 1}))) {}

  std::unique_ptr<Frame> Make(const cv::Mat& grey) {
    auto frame = std::make_unique<Frame>();
    frame->grey = grey;
    std::shared_ptr<InputSlot> input = Must(backend_->LeaseInput(grey.cols, grey.rows, false));
    for (int y = 0; y < grey.rows; ++y) {
      std::memcpy(input->image.Row(y), grey.ptr(y), static_cast<size_t>(grey.cols));
    }
    frame->levels = cpu::TrackLevelsFor(grey.cols, grey.rows, kLevels);
    frame->pyramid.set_input(std::move(input));
    if (!frame->pyramid.Allocate(frame->levels)) {
      Die(MakeError(ErrorReason::kOutOfMemory, "no memory for a pyramid"));
    }
    MakePyramid(frame.get(), cpu::FastestTarget());
    MakeCvPyramid(frame.get());
    return frame;
  }

  // The best corners of the cells of a frame.
  std::vector<cv::Point2f> Corners(const Frame& frame, int most) {
    const Preset& vio = *Must(FindPreset("vio"));
    const auto plan = Must(backend_->MakePlan({frame.grey.cols, frame.grey.rows, vio.pipeline}));
    FrameJob job;
    job.input = frame.pyramid.input();
    job.parameters = vio.frame;
    job.parameters.max_features = most;
    std::vector<cv::Point2f> corners;
    std::binary_semaphore done(0);
    backend_->Submit(plan, {job}, [&](FrameBatchAnswer answer) {
      if (!answer.frames[0].status.ok()) Die(answer.frames[0].status);
      const Features& features = *answer.frames[0].features;
      for (size_t i = 0; i < features.count(); ++i) {
        corners.emplace_back(features.x[i], features.y[i]);
      }
      done.release();
    });
    done.acquire();
    return corners;
  }

 private:
  std::unique_ptr<FeatureBackend> backend_;
};

struct Followed {
  std::vector<cv::Point2f> places;
  std::vector<uint8_t> found;
};

// Follows points from one frame to another.
using Follow = std::function<Followed(const Frame&, const Frame&, const std::vector<cv::Point2f>&)>;

Follow Ours(const TrackOptions& options, cpu::FollowKernel kernel) {
  return [options, kernel](const Frame& from, const Frame& to,
                           const std::vector<cv::Point2f>& points) {
    TrackPoints start;
    for (const cv::Point2f& point : points) {
      start.x.push_back(algo::TrackPlace(point.x));
      start.y.push_back(algo::TrackPlace(point.y));
    }
    start.gain.resize(points.size());
    start.offset.resize(points.size());
    TrackedPoints tracked;
    cpu::FollowPoints(kernel, from.pyramid, to.pyramid, start, options, nullptr, &tracked);
    Followed followed;
    for (size_t i = 0; i < points.size(); ++i) {
      followed.places.emplace_back(algo::TrackPixels(tracked.x[i]),
                                   algo::TrackPixels(tracked.y[i]));
      followed.found.push_back(tracked.status[i] == TrackStatus::kOk ? 1 : 0);
    }
    return followed;
  };
}

Followed PyrLk(const Frame& from, const Frame& to, const std::vector<cv::Point2f>& points) {
  Followed followed;
  if (points.empty()) return followed;
  cv::Mat error;
  cv::calcOpticalFlowPyrLK(from.cv_pyramid, to.cv_pyramid, points, followed.places, followed.found,
                           error, kWindow, kLevels - 1, kEnough);
  return followed;
}

Follow ForwardAndBack(const Follow& follow) {
  return [follow](const Frame& from, const Frame& to, const std::vector<cv::Point2f>& points) {
    Followed there = follow(from, to, points);
    const Followed back = follow(to, from, there.places);
    for (size_t i = 0; i < points.size(); ++i) {
      const cv::Point2f off = back.places[i] - points[i];
      if (back.found[i] == 0 || std::max(std::abs(off.x), std::abs(off.y)) > kReturnPx) {
        there.found[i] = 0;
      }
    }
    return there;
  };
}

// ---- Times ----

void CompareTimes(Harness& harness, const std::vector<cv::Mat>& greys,
                  const std::vector<cpu::KernelTarget>& targets, int points) {
  Frames frames;
  const auto from = frames.Make(greys[0]);
  const auto to = frames.Make(greys[1]);
  const std::vector<cv::Point2f> corners = frames.Corners(*from, points);
  const std::string size = std::to_string(greys[0].cols) + "x" + std::to_string(greys[0].rows) +
                           ", " + std::to_string(corners.size()) + " points";
  TrackOptions options;
  options.levels = kLevels;
  tbb::task_arena one(1);
  struct Way {
    const char* name;
    std::function<Follow(const Follow&)> of;
  };
  const Way ways[] = {{"", [](const Follow& follow) { return follow; }},
                      {", forward and back", ForwardAndBack}};
  for (const Way& way : ways) {
    const Follow peer = way.of(PyrLk);
    const auto name = std::string("cv::calcOpticalFlowPyrLK") + way.name;
    // With the pyramids of both frames, of the second (a video) or of none there already.
    std::vector<Variant> cases[] = {{{name, [&] { peer(*from, *to, corners); }}},
                                    {{name,
                                      [&] {
                                        MakeCvPyramid(to.get());
                                        peer(*from, *to, corners);
                                      }}},
                                    {{name, [&] {
                                        MakeCvPyramid(from.get());
                                        MakeCvPyramid(to.get());
                                        peer(*from, *to, corners);
                                      }}}};
    for (const cpu::KernelTarget& target : targets) {
      const Follow ours = way.of(Ours(options, cpu::FollowKernelFor(target)));
      const auto ours_name = "orbserve " + std::string(target.name) + way.name;
      for (int made = 0; made < 3; ++made) {
        cases[made].push_back({ours_name, [&, ours, target, made] {
                                 one.execute([&] {
                                   if (made > 1) MakePyramid(from.get(), target);
                                   if (made > 0) MakePyramid(to.get(), target);
                                   ours(*from, *to, corners);
                                 });
                               }});
      }
    }
    harness.Compare(size + ", pyramids made before" + way.name, cases[0]);
    harness.Compare(size + ", pyramid of the second frame" + way.name, cases[1]);
    harness.Compare(size + ", both pyramids" + way.name, cases[2]);
  }
  const auto count = [](const Followed& followed) {
    return std::to_string(std::count(followed.found.begin(), followed.found.end(), 1));
  };
  harness.AddInfo(size + ", found",
                  "pyrLK " + count(PyrLk(*from, *to, corners)) + ", orbserve " +
                      count(Ours(options, cpu::FollowKernelFor(targets[0]))(*from, *to, corners)));
}

// ---- Errors on moved frames ----

struct Errors {
  std::vector<float> near;  // up to half a pixel
  int found = 0;
  int off = 0;  // of these above half a pixel

  void Add(const Followed& followed, const std::vector<cv::Point2f>& truth) {
    for (size_t i = 0; i < truth.size(); ++i) {
      if (followed.found[i] == 0) continue;
      ++found;
      const cv::Point2f off_by = followed.places[i] - truth[i];
      const float error = std::hypot(off_by.x, off_by.y);
      if (error > 0.5f) {
        ++off;
      } else {
        near.push_back(error);
      }
    }
  }
  std::string Text() {
    if (near.empty()) return "none";
    std::nth_element(near.begin(), near.begin() + static_cast<ptrdiff_t>(near.size() / 2),
                     near.end());
    double sum = 0;
    double squares = 0;
    for (const float error : near) {
      sum += static_cast<double>(error);
      squares += static_cast<double>(error) * static_cast<double>(error);
    }
    const auto n = static_cast<double>(near.size());
    char text[120];
    std::snprintf(text, sizeof(text), "%.4f / %.4f / %.4f   %6d, %d",
                  static_cast<double>(near[near.size() / 2]), sum / n, std::sqrt(squares / n),
                  found, off);
    return text;
  }
};

// The frame moved by `shift`, a multiple of 1/32 pixel, for which the interpolation has weights.
cv::Mat Moved(const cv::Mat& grey, cv::Point2f shift) {
  const cv::Mat move = (cv::Mat_<double>(2, 3) << 1, 0, static_cast<double>(shift.x), 0, 1,
                        static_cast<double>(shift.y));
  cv::Mat moved;
  cv::warpAffine(grey, moved, move, grey.size(), cv::INTER_LANCZOS4, cv::BORDER_REPLICATE);
  return moved;
}

cv::Mat WithNoise(const cv::Mat& grey, double sigma, uint64_t seed) {
  cv::Mat noise(grey.size(), CV_16S);
  cv::RNG random(seed);
  random.fill(noise, cv::RNG::NORMAL, 0, sigma);
  cv::Mat noisy;
  cv::add(grey, noise, noisy, cv::noArray(), CV_8U);
  return noisy;
}

int PrintAccuracy(const std::vector<cv::Mat>& greys) {
  struct Case {
    const char* name;
    std::vector<cv::Point2f> shifts;
    int coarse_patch_px = 16;
    double noise = 0;
    bool light = false;
  };
  const std::vector<cv::Point2f> small = {{0.5f, 0.25f},      {-0.34375f, 0.65625f},
                                          {1.28125f, -0.75f}, {-2.40625f, -1.53125f},
                                          {3.125f, 2.84375f}, {-4.59375f, 3.1875f}};
  const std::vector<cv::Point2f> large = {
      {11.6875f, -3.21875f}, {-16.40625f, 9.53125f}, {21.8125f, 15.65625f}};
  const Case cases[] = {
      {"6 shifts up to 5.6 px", small},
      {"3 shifts of 12 to 27 px", large},
      {"the same, patches 16 16 16 8 8", large, 8},
      {"noise of 4 grey levels on both", {small[0], small[2], small[4]}, 16, 4.0},
      {"light x 0.8 + 15, gain and offset", {small[1], small[2], small[3], small[5]}, 16, 0, true}};
  std::printf("%-36s %8s  %-40s  %s\n", "", "points", "pyrLK: median / mean / rms px, found, off",
              "orbserve");
  Frames frames;
  tbb::task_arena one(1);
  for (const Case& c : cases) {
    TrackOptions options;
    options.levels = kLevels;
    options.coarse_patch_px = c.coarse_patch_px;
    if (c.light) options.illumination = Illumination::kBoth;
    const Follow ours = Ours(options, cpu::FollowKernelFor(cpu::FastestTarget()));
    Errors errors_of_peer;
    Errors errors;
    size_t points = 0;
    for (const cv::Mat& grey : greys) {
      for (const cv::Point2f shift : c.shifts) {
        cv::Mat first = grey;
        cv::Mat second = Moved(grey, shift);
        if (c.light) second.convertTo(second, CV_8U, 0.8, 15);
        if (c.noise > 0) {
          first = WithNoise(first, c.noise, 1);
          second = WithNoise(second, c.noise, 2);
        }
        const auto from = frames.Make(first);
        const auto to = frames.Make(second);
        std::vector<cv::Point2f> corners = frames.Corners(*frames.Make(grey), kMaxFeatures);
        // Keeps corners whose patch of level 0 and its surroundings exist in both frames.
        std::erase_if(corners, [&](const cv::Point2f& corner) {
          const cv::Rect2f inside(16, 16, static_cast<float>(grey.cols - 32),
                                  static_cast<float>(grey.rows - 32));
          return !inside.contains(corner) || !inside.contains(corner + shift);
        });
        std::vector<cv::Point2f> truth;
        for (const cv::Point2f& corner : corners) truth.push_back(corner + shift);
        points += corners.size();
        errors_of_peer.Add(PyrLk(*from, *to, corners), truth);
        one.execute([&] { errors.Add(ours(*from, *to, corners), truth); });
      }
    }
    std::printf("%-36s %8zu  %-40s  %s\n", c.name, points, errors_of_peer.Text().c_str(),
                errors.Text().c_str());
  }
  return 0;
}

// ---- Lives over a sequence ----

// Most points that are followed at a time.
constexpr int kPoints = 200;
// With a shorter way of the camera, metres, the error of the truth (a millimetre or two of motion
// capture) turns the epipolar lines too far.
constexpr double kLeastBaselineM = 0.01;

// New tracks begin in every kEvery-th frame and are followed for kMax frames.
constexpr size_t kEvery = 5;
constexpr size_t kMax = 19;

struct LifeSettings {
  std::optional<GroundTruth> truth;
  float true_px = 1;  // a place this near to the true epipolar line of its point is right
  std::vector<float> residuals = {16, 12, 8};
  int iterations = 30;
  int redetect_percent = 0;
};

struct Sequence {
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::vector<cv::Point2f>> corners;  // of each frame, best first
};

struct Lives {
  std::vector<int> lives;     // steps that each point was followed for
  int64_t steps = 0;          // from one frame to the next
  int64_t judged_steps = 0;   // of these with a baseline long enough
  int64_t point_steps = 0;    // points over the judged steps
  int64_t true_steps = 0;     // of these on their epipolar line
  int64_t ended = 0;          // points whose first and last frame have a baseline long enough
  int64_t true_ended = 0;     // of these on the epipolar line of their first place
  int64_t true_to_first = 0;  // over the judged steps: points on the line of their first place
};

// A point on its way.
struct Track {
  size_t began;  // frame
  cv::Point2f first;
  cv::Point2f now;
  bool judged = false;  // from its first frame to now
  bool right = false;
};

// New tracks in the cells of a frame that hold none, up to kPoints of them in all.
void BeginTracks(const Sequence& sequence, size_t frame, std::vector<Track>* tracks) {
  const SuppressOptions& suppress = Must(FindPreset("vio"))->pipeline.suppress;
  const auto cell = [&suppress](const cv::Point2f& place) {
    return std::pair(static_cast<int>(place.x) / suppress.cell_width_px,
                     static_cast<int>(place.y) / suppress.cell_height_px);
  };
  std::set<std::pair<int, int>> held;
  for (const Track& track : *tracks) held.insert(cell(track.now));
  for (const cv::Point2f& corner : sequence.corners[frame]) {
    if (tracks->size() >= kPoints) return;
    if (!held.contains(cell(corner))) tracks->push_back({frame, corner, corner});
  }
}

// Compares the tracks in frame `to` with their places in the frame before it and in their first.
void Judge(const GroundTruth& truth, float true_px, size_t to,
           const std::vector<cv::Point2f>& before, std::vector<Track>* tracks, Lives* lives) {
  std::map<size_t, std::vector<Track*>> by_frame;
  std::vector<cv::Point2f> now;
  for (Track& track : *tracks) {
    by_frame[track.began].push_back(&track);
    now.push_back(track.now);
  }
  for (const auto& [began, group] : by_frame) {
    const bool judged = truth.Baseline(began, to) >= kLeastBaselineM;
    std::vector<cv::Point2f> first;
    std::vector<cv::Point2f> last;
    for (const Track* track : group) {
      first.push_back(track->first);
      last.push_back(track->now);
    }
    const std::vector<float> off = truth.OffEpipolar(began, first, to, last);
    for (size_t i = 0; i < group.size(); ++i) {
      group[i]->judged = judged;
      group[i]->right = judged && off[i] <= true_px;
    }
  }
  if (truth.Baseline(to - 1, to) < kLeastBaselineM) return;
  ++lives->judged_steps;
  lives->point_steps += static_cast<int64_t>(now.size());
  for (const float off : truth.OffEpipolar(to - 1, before, to, now)) {
    if (off <= true_px) ++lives->true_steps;
  }
  for (const Track& track : *tracks) {
    if (track.right) ++lives->true_to_first;
  }
}

// Counts a track whose last frame was `frame`.
void End(const Track& track, size_t frame, Lives* lives) {
  lives->lives.push_back(static_cast<int>(frame - track.began));
  if (!track.judged) return;
  ++lives->ended;
  if (track.right) ++lives->true_ended;
}

// Follows tracks from frame `begin` to frame `end`. New ones begin in frame `begin` and where fewer
// than settings.redetect_percent of kPoints are left.
void FollowTracks(const Sequence& sequence, const LifeSettings& settings, const Follow& follow,
                  size_t begin, size_t end, Lives* lives) {
  std::vector<Track> tracks;
  for (size_t frame = begin; frame < end; ++frame) {
    if (frame == begin ||
        tracks.size() * 100 < static_cast<size_t>(settings.redetect_percent) * kPoints) {
      BeginTracks(sequence, frame, &tracks);
    }
    std::vector<cv::Point2f> places;
    for (const Track& track : tracks) places.push_back(track.now);
    const Followed next = follow(*sequence.frames[frame], *sequence.frames[frame + 1], places);
    // pyrLK also finds points outside the frame.
    const cv::Mat& grey = sequence.frames[frame]->grey;
    const cv::Rect2f inside(0, 0, static_cast<float>(grey.cols - 1),
                            static_cast<float>(grey.rows - 1));
    std::vector<Track> kept;
    std::vector<cv::Point2f> before;
    for (size_t i = 0; i < tracks.size(); ++i) {
      if (next.found[i] == 0 || !inside.contains(next.places[i])) {
        End(tracks[i], frame, lives);
        continue;
      }
      before.push_back(places[i]);
      kept.push_back(tracks[i]);
      kept.back().now = next.places[i];
    }
    tracks = std::move(kept);
    ++lives->steps;
    if (settings.truth) {
      Judge(*settings.truth, settings.true_px, frame + 1, before, &tracks, lives);
    }
  }
  for (const Track& track : tracks) End(track, end, lives);
}

void PrintLives(const std::string& name, Lives lives) {
  if (lives.lives.empty()) return;
  std::sort(lives.lives.begin(), lives.lives.end());
  double sum = 0;
  for (const int life : lives.lives) sum += life;
  std::printf("%-36s %7zu %6d %7.2f", name.c_str(), lives.lives.size(),
              lives.lives[lives.lives.size() / 2], sum / static_cast<double>(lives.lives.size()));
  const auto print = [](int width, int64_t part, int64_t whole, double unit, const char* suffix) {
    if (whole == 0) {
      std::printf(" %*s", width, "-");
    } else {
      std::printf(" %*.1f%s", width - static_cast<int>(std::strlen(suffix)),
                  unit * static_cast<double>(part) / static_cast<double>(whole), suffix);
    }
  };
  print(9, lives.true_steps, lives.point_steps, 100, "%");
  print(13, lives.true_ended, lives.ended, 100, "%");
  print(10, lives.point_steps, lives.judged_steps, 1, "");
  print(8, lives.true_steps, lives.judged_steps, 1, "");
  print(14, lives.true_to_first, lives.judged_steps, 1, "");
  std::printf("   %lld of %lld\n", static_cast<long long>(lives.judged_steps),
              static_cast<long long>(lives.steps));
}

int CompareLives(const std::vector<cv::Mat>& greys, const LifeSettings& settings) {
  Frames frames;
  Sequence sequence;
  for (const cv::Mat& grey : greys) {
    sequence.frames.push_back(frames.Make(grey));
    sequence.corners.push_back(frames.Corners(*sequence.frames.back(), kMaxFeatures));
  }
  const cpu::FollowKernel kernel = cpu::FollowKernelFor(cpu::FastestTarget());
  struct Tracker {
    std::string name;
    Follow follow;
  };
  std::vector<Tracker> trackers = {{"pyrLK", PyrLk},
                                   {"pyrLK, forward and back", ForwardAndBack(PyrLk)}};
  for (const auto& [name, illumination] : {std::pair("NONE", Illumination::kNone),
                                           {"OFFSET", Illumination::kOffset},
                                           {"GAIN", Illumination::kGain},
                                           {"BOTH", Illumination::kBoth}}) {
    TrackOptions options;
    options.levels = kLevels;
    options.iterations = settings.iterations;
    options.illumination = illumination;
    const Follow ours = Ours(options, kernel);
    trackers.push_back({std::string("orbserve ") + name, ours});
    for (const float residual : settings.residuals) {
      options.max_residual = residual;
      trackers.push_back(
          {absl::StrCat("orbserve ", name, ", residual up to ", residual), Ours(options, kernel)});
    }
    trackers.push_back(
        {std::string("orbserve ") + name + ", forward and back", ForwardAndBack(ours)});
  }
  std::printf("%-36s %7s %6s %7s %9s %13s %10s %8s %14s   %s\n", "", "points", "median", "mean",
              "true step", "first to last", "a frame", "true", "true to first", "judged steps");
  tbb::task_arena one(1);
  for (const Tracker& tracker : trackers) {
    Lives lives;
    one.execute([&] {
      if (settings.redetect_percent > 0) {
        FollowTracks(sequence, settings, tracker.follow, 0, greys.size() - 1, &lives);
        return;
      }
      for (size_t begin = 0; begin + kMax < greys.size(); begin += kEvery) {
        FollowTracks(sequence, settings, tracker.follow, begin, begin + kMax, &lives);
      }
    });
    PrintLives(tracker.name, std::move(lives));
  }
  return 0;
}

int Main(int argc, char** argv) {
  Harness harness("track_bench", "Tracks beside cv::calcOpticalFlowPyrLK");
  std::vector<std::string> files;
  std::vector<std::string> names;
  int points = 200;
  bool accuracy = false;
  bool life = false;
  std::string truth_folder;
  LifeSettings settings;
  std::vector<std::string> known = {"reference"};
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) known.emplace_back(target.name);
  harness.app().add_option("frames", files, "Frames in their order")->required();
  harness.app().add_option("--points", points, "Most points of the first frame");
  harness.app()
      .add_option("--target", names, "SIMD targets or \"reference\", comma-separated")
      ->delimiter(',')
      ->check(CLI::IsMember(known));
  harness.app().add_flag("--accuracy", accuracy, "Errors on frames moved by known amounts");
  harness.app().add_flag("--life", life, "Lives of points over the frames");
  harness.app()
      .add_option("--truth", truth_folder,
                  "--life: folder with calibration and poses of the frames (EuRoC, TUM RGB-D or "
                  "KITTI odometry)")
      ->needs("--life")
      ->check(CLI::ExistingDirectory);
  harness.app()
      .add_option("--within", settings.true_px,
                  "--life: most pixels between a right place and its true epipolar line")
      ->needs("--truth")
      ->check(CLI::Range(0.01f, 100.0f));
  harness.app()
      .add_option("--iterations", settings.iterations, "--life: most iterations of orbserve")
      ->needs("--life")
      ->check(CLI::Range(1, 100));
  harness.app()
      .add_option("--residual", settings.residuals,
                  "--life: values of max_residual, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs("--life")
      ->check(CLI::Range(0.001f, kMaxTrackResidual));
  harness.app()
      .add_option("--redetect", settings.redetect_percent,
                  "--life: follow one stream from the first frame to the last, in which new points "
                  "begin where fewer than this percentage of 200 is left")
      ->needs("--life")
      ->check(CLI::Range(1, 100));
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;
  const std::vector<cv::Mat> greys = LoadGrey(files);
  if (greys.empty() || (!accuracy && greys.size() < 2)) {
    std::fprintf(stderr, "two frames are needed, one for --accuracy; got %zu\n", greys.size());
    return 1;
  }
  cv::setNumThreads(1);
  if (accuracy) return PrintAccuracy(greys);
  if (life) {
    if (greys.size() != files.size()) return 1;
    if (settings.redetect_percent == 0 && greys.size() <= kMax) {
      std::fprintf(stderr, "--life without --redetect needs at least %zu frames; got %zu\n",
                   kMax + 1, greys.size());
      return 1;
    }
    if (!truth_folder.empty()) settings.truth = Must(GroundTruth::Read(truth_folder, files));
    return CompareLives(greys, settings);
  }
  std::vector<cpu::KernelTarget> targets;
  for (const cpu::KernelTarget& target : cpu::SimdTargets()) {
    if (names.empty() || std::find(names.begin(), names.end(), target.name) != names.end()) {
      targets.push_back(target);
    }
  }
  if (targets.empty() || std::find(names.begin(), names.end(), "reference") != names.end()) {
    targets.push_back(cpu::ReferenceTarget());
  }
  harness.AddInfo("highway", std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
                                 std::to_string(HWY_PATCH));
  harness.AddInfo("onetbb", TBB_VERSION_STRING);
  harness.AddInfo("opencv", CV_VERSION);
  CompareTimes(harness, greys, targets, points);
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
