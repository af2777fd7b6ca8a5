// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Streams of several robots through the real queues and the real CPU backend: the results of each
// robot are those that it gets alone, whatever the batches and the threads, and also when the
// device is lost in the middle.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "features/errors.h"
#include "features/tracking/winners.h"
#include "server/failover/failover_backend.h"
#include "server/serving/batcher.h"
#include "server/serving/stream/frame_sequence.h"
#include "tests/cpu/cpu_backend_support.h"
#include "tests/server/serving/named_client.h"
#include "tests/server/serving/stream/test_sequence.h"
#include "tests/support/feature_compare.h"
#include "tests/support/golden_files.h"
#include "tests/support/reference_lines.h"

namespace orbserve {
namespace {

using std::chrono::milliseconds;
using testing::TestImage;

// A state that no other backend knows as its own, as if it lay on a device.
class DeviceState final : public FrameState {
 public:
  explicit DeviceState(std::shared_ptr<const FrameState> inner) : inner_(std::move(inner)) {}
  size_t feature_count() const override { return inner_->feature_count(); }
  int descriptor_bytes() const override { return inner_->descriptor_bytes(); }
  Descriptor descriptor_kind() const override { return inner_->descriptor_kind(); }
  size_t size_bytes() const override { return inner_->size_bytes(); }
  std::shared_ptr<InputSlot> input() const override { return inner_->input(); }
  int pyramid_levels() const override { return inner_->pyramid_levels(); }
  const std::shared_ptr<const FrameState>& inner() const { return inner_; }

 private:
  const std::shared_ptr<const FrameState> inner_;
};

// A device that is lost with the answer to its batch number `last_batch` of frames. The CPU backend
// inside computes for it until then.
class DeviceThatIsLost final : public FeatureBackend {
 public:
  DeviceThatIsLost(std::unique_ptr<FeatureBackend> inner, int last_batch)
      : last_batch_(last_batch), inner_(std::move(inner)) {}

  absl::string_view name() const override { return "cuda"; }
  std::vector<DeviceDescription> devices() const override { return {{"cuda:0"}}; }
  BackendState state() const override { return BackendState::kOk; }
  absl::StatusOr<std::shared_ptr<FeaturePlan>> MakePlan(const PlanSpec& spec) override {
    return inner_->MakePlan(spec);
  }
  absl::StatusOr<std::shared_ptr<InputSlot>> LeaseInput(int width_px, int height_px,
                                                        bool with_mask) override {
    return inner_->LeaseInput(width_px, height_px, with_mask);
  }
  void Submit(std::shared_ptr<FeaturePlan> plan, std::vector<FrameJob> jobs,
              FrameBatchDone done) override {
    inner_->Submit(std::move(plan), std::move(jobs),
                   [this, done = std::move(done)](FrameBatchAnswer answer) mutable {
                     if (++batches_ == last_batch_) is_lost_ = true;
                     for (FrameAnswer& frame : answer.frames) {
                       if (frame.state != nullptr) frame.state = Boxed(std::move(frame.state));
                       if (is_lost_) frame = {.status = Lost()};
                     }
                     std::move(done)(std::move(answer));
                   });
  }
  void SubmitMatches(std::vector<MatchJob> jobs, MatchBatchDone done) override {
    for (MatchJob& job : jobs) {
      job.query = Unboxed(*job.query);
      job.train = Unboxed(*job.train);
    }
    inner_->SubmitMatches(std::move(jobs),
                          [this, done = std::move(done)](MatchBatchAnswer answer) mutable {
                            for (MatchAnswer& pair : answer.pairs) {
                              if (is_lost_) pair = {Lost(), {}};
                            }
                            std::move(done)(std::move(answer));
                          });
  }
  void SubmitTracks(std::vector<TrackJob> jobs, TrackBatchDone done) override {
    for (TrackJob& job : jobs) {
      job.from = Unboxed(*job.from);
      job.to = Unboxed(*job.to);
    }
    inner_->SubmitTracks(std::move(jobs),
                         [this, done = std::move(done)](TrackBatchAnswer answer) mutable {
                           for (TrackAnswer& job : answer.jobs) {
                             if (is_lost_) job = {Lost(), {}};
                           }
                           std::move(done)(std::move(answer));
                         });
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> RebuildPyramid(
      const FrameState& state) override {
    ORBSERVE_ASSIGN_OR_RETURN(auto rebuilt, inner_->RebuildPyramid(state));
    return Boxed(std::move(rebuilt));
  }
  absl::StatusOr<std::shared_ptr<const FrameState>> ImportState(
      std::shared_ptr<const Features> features) override {
    ORBSERVE_ASSIGN_OR_RETURN(auto state, inner_->ImportState(std::move(features)));
    return Boxed(std::move(state));
  }
  absl::StatusOr<std::shared_ptr<const Features>> ExportState(const FrameState& state) override {
    const auto* const own = dynamic_cast<const DeviceState*>(&state);
    if (own == nullptr) return MakeError(ErrorReason::kInternal, "not a state of the device");
    return inner_->ExportState(*own->inner());
  }

 private:
  static absl::Status Lost() { return MakeError(ErrorReason::kDeviceLost, "it is gone"); }
  static std::shared_ptr<const FrameState> Boxed(std::shared_ptr<const FrameState> state) {
    return std::make_shared<DeviceState>(std::move(state));
  }
  static std::shared_ptr<const FrameState> Unboxed(const FrameState& state) {
    return dynamic_cast<const DeviceState&>(state).inner();
  }

  const int last_batch_;
  std::atomic<int> batches_{0};
  std::atomic<bool> is_lost_{false};
  const std::unique_ptr<FeatureBackend> inner_;  // last: its answers use everything above
};

// The server's parts behind a stream.
class Engine {
 public:
  explicit Engine(std::shared_ptr<FeatureBackend> backend, int tracks_in_flight = 4)
      : backend_(std::move(backend)),
        references_(ReferenceStoreOptions{}),
        batcher_(std::make_unique<Batcher>(backend_.get(), &clock_, &observer_, BatcherOptions{})),
        matcher_(backend_.get(), &clock_, &observer_, {.queue = {.answerers = &answerers_}}),
        tracker_(backend_.get(), &clock_, &observer_,
                 {.max_in_flight = tracks_in_flight, .queue = {.answerers = &answerers_}}) {}
  ~Engine() {
    batcher_.reset();
    tracker_.Shut();
    matcher_.Shut();
  }

  FeatureBackend& backend() { return *backend_; }
  Batcher& batcher() { return *batcher_; }
  StreamParts Parts() {
    return {backend_.get(), &clock_, &observer_, &matcher_, &tracker_, &references_};
  }
  std::shared_ptr<FeaturePlan> Plan(const PlanSpec& spec) {
    absl::MutexLock lock(&mutex_);
    for (const auto& plan : plans_) {
      if (plan->spec() == spec) return plan;
    }
    auto plan = backend_->MakePlan(spec);
    EXPECT_TRUE(plan.ok()) << plan.status();
    plans_.push_back(*plan);
    return *std::move(plan);
  }

 private:
  SystemClock clock_;
  ServingObserver observer_;
  WorkerPool answerers_{{.threads = 4}};
  std::shared_ptr<FeatureBackend> backend_;
  ReferenceStore references_;
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<FeaturePlan>> plans_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Batcher> batcher_;
  MatchQueue matcher_;
  TrackQueue tracker_;
};

struct RobotFrame {
  TestImage image;
  std::optional<TestImage> mask;
  bool is_dropped = false;
  bool keyframe = false;
  int max_features = 100;
  std::optional<StreamOptions> open;  // options from this frame on
};

// Sends all frames, `in_flight` at a time, and returns their results.
std::vector<TestResult> Fly(Engine& engine, const std::string& name,
                            const std::vector<RobotFrame>& frames, size_t in_flight) {
  struct Received {
    absl::Mutex mutex;
    std::vector<TestResult> results ABSL_GUARDED_BY(mutex);
    std::weak_ptr<TestSequence> sequence;  // set before the first frame
  };
  const auto received = std::make_shared<Received>();
  size_t sent = 0;
  StreamOptions options = *frames[0].open;
  options.client = Named(name);
  const auto sequence =
      std::make_shared<TestSequence>(engine.Parts(), options, [received](TestResult result) {
        const absl::Status status = result.outcome.status;
        {
          absl::MutexLock lock(&received->mutex);
          received->results.push_back(std::move(result));
        }
        if (const auto self = received->sequence.lock()) self->HandOver(status).IgnoreError();
      });
  received->sequence = sequence;
  // Waits until at most so many frames are not answered.
  const auto wait_for_open = [&](size_t most) {
    const auto has_few = [&] { return sent - received->results.size() <= most; };
    absl::MutexLock lock(&received->mutex, absl::Condition(&has_few));
  };
  for (const RobotFrame& frame : frames) {
    wait_for_open(in_flight - 1);
    ++sent;
    if (frame.open.has_value()) {
      options = *frame.open;
      options.client = Named(name);
      sequence->SetOptions(options);
    }
    const StreamFramePtr record = sequence->NewFrame(
        {.sequence = sent, .max_features = frame.max_features, .keyframe = frame.keyframe});
    const uint64_t index = sequence->AddFrame(record);
    if (frame.is_dropped) {
      sequence->FrameDone(index, {.status = MakeError(ErrorReason::kDropped, "no place")});
      continue;
    }
    const int width = frame.image.width_px();
    const int height = frame.image.height_px();
    FrameParameters parameters = (*FindPreset("vio"))->frame;
    parameters.max_features = WinnersToAskFor(options.pipeline, width, height, frame.max_features);
    auto job = testing::MakeJob(engine.backend(),
                                {.image = frame.image.view(),
                                 .mask = frame.mask.has_value() ? frame.mask->view() : ImageView(),
                                 .parameters = parameters});
    EXPECT_TRUE(job.ok()) << job.status();
    job->keep_state = options.keep_state();
    record->client = Named(name);
    record->done = [sequence](FrameRecord& done) {
      sequence->FrameDone(static_cast<StreamFrame&>(done));
    };
    EXPECT_TRUE(engine.batcher().Admit(record));
    engine.batcher().Ready(
        record->ticket,
        engine.Plan({width, height,
                     options.track ? PipelineOfWinners(options.pipeline) : options.pipeline,
                     options.track ? options.track_options.levels : 0}),
        *std::move(job));
  }
  wait_for_open(0);
  sequence->Close();
  absl::MutexLock lock(&received->mutex);
  return std::move(received->results);
}

StreamOptions Options(TrackTemplate track_template) {
  const Preset& vio = **FindPreset("vio");
  StreamOptions options;
  options.match_previous = options.match_keyframe = true;
  options.keyframe_rule = {.every_frames = 9, .lost_percent = 40};
  options.track = true;
  options.pipeline = vio.pipeline;
  options.pipeline.select.border_px = 31;
  options.pipeline.describe = {Orientation::kIntensityCentroid, Descriptor::kRBrief256};
  options.track_options = vio.track;
  options.track_options.track_template = track_template;
  options.track_options.illumination = Illumination::kBoth;
  options.track_options.redetect_percent = 70;
  return options;
}

TestImage Crop(const TestImage& scene, int left, int top, int width, int height) {
  TestImage crop(width, height);
  for (int y = 0; y < height; ++y) {
    std::copy_n(scene.view().Row(top + y) + left, width, crop.view().Row(y));
  }
  return crop;
}

// A flight over a scene, with dropped frames, masks, another size, other options and without tracks
// in between.
std::vector<RobotFrame> Flight(uint32_t seed, TrackTemplate track_template) {
  const TestImage scene = testing::SceneImage(700, 500, seed);
  std::vector<RobotFrame> frames;
  for (int n = 0; n < 36; ++n) {
    const int width = n >= 20 && n < 26 ? 300 : 320;
    RobotFrame frame = {
        Crop(scene, 20 + (5 + static_cast<int>(seed % 4)) * n, 30 + 4 * n, width, 240)};
    frame.is_dropped = n % 7 == 5;
    frame.keyframe = n == 14;
    frame.max_features = n < 30 ? 60 : 30;
    if (n % 4 == 3) frame.mask = testing::RandomMask(width, 240, seed + static_cast<uint32_t>(n));
    if (n == 0 || n == 31) frame.open = Options(track_template);
    if (n == 11) {
      frame.open = Options(track_template);
      frame.open->track_options.coarse_patch_px = 8;
    }
    if (n == 29) {
      frame.open = Options(track_template);
      frame.open->track = false;
      frame.open->keyframe_rule.lost_percent = 0;
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

// Compares everything that a robot is told but times.
void ExpectEqual(const std::vector<TestResult>& expected, const std::vector<TestResult>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t n = 0; n < expected.size(); ++n) {
    SCOPED_TRACE("frame " + std::to_string(n));
    const TestResult& a = expected[n];
    const TestResult& b = actual[n];
    ASSERT_EQ(a.index, b.index);
    ASSERT_EQ(a.outcome.status, b.outcome.status);
    if (!a.outcome.status.ok()) continue;
    ASSERT_EQ(testing::FirstDifference(*a.outcome.features, *b.outcome.features), "");
    ASSERT_EQ(a.tracks.tracks, b.tracks.tracks);
    ASSERT_EQ(a.tracks.ended, b.tracks.ended);
    ASSERT_EQ(a.is_keyframe, b.is_keyframe);
    ASSERT_EQ(a.matches.size(), b.matches.size());
    for (size_t i = 0; i < a.matches.size(); ++i) {
      ASSERT_EQ(a.matches[i].target, b.matches[i].target);
      ASSERT_EQ(a.matches[i].sequence, b.matches[i].sequence);
      ASSERT_EQ(a.matches[i].status, b.matches[i].status);
      ASSERT_EQ(a.matches[i].matches.query_index, b.matches[i].matches.query_index);
      ASSERT_EQ(a.matches[i].matches.train_index, b.matches[i].matches.train_index);
      ASSERT_EQ(a.matches[i].matches.distance, b.matches[i].matches.distance);
    }
  }
}

constexpr uint32_t kRobots = 6;

TrackTemplate TemplateOf(uint32_t robot) {
  return robot % 2 == 0 ? TrackTemplate::kPrevious : TrackTemplate::kFirst;
}

// Each robot alone, one frame at a time, by the plain loops.
std::vector<std::vector<TestResult>> ResultsAlone() {
  Engine engine(cpu::Backend({.threads = 1, .reference = true}));
  std::vector<std::vector<TestResult>> results;
  for (uint32_t robot = 0; robot < kRobots; ++robot) {
    results.push_back(Fly(engine, "alone", Flight(robot, TemplateOf(robot)), 1));
  }
  return results;
}

std::vector<std::vector<TestResult>> ResultsTogether(Engine& engine) {
  std::vector<std::vector<TestResult>> results(kRobots);
  std::vector<std::thread> threads;
  for (uint32_t robot = 0; robot < kRobots; ++robot) {
    threads.emplace_back([&engine, &results, robot] {
      results[robot] = Fly(engine, "robot " + std::to_string(robot),
                           Flight(robot, TemplateOf(robot)), 2 + robot % 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(FrameSequenceBackendTest, RobotsGetTogetherTheResultsThatEachGetsAlone) {
  const auto alone = ResultsAlone();
  // The flights have everything in them that is compared.
  size_t tracks = 0;
  size_t matches = 0;
  int keyframes = 0;
  std::set<TrackEnd> ends;
  for (const auto& results : alone) {
    for (const TestResult& result : results) {
      tracks += result.tracks.tracks.size();
      for (const EndedTrack& end : result.tracks.ended) ends.insert(end.reason);
      for (const TargetMatches& target : result.matches) matches += target.matches.count();
      keyframes += result.is_keyframe ? 1 : 0;
    }
  }
  EXPECT_GT(tracks, 3000u);
  EXPECT_GT(matches, 3000u);
  EXPECT_GT(keyframes, 20);
  for (const TrackEnd end : {TrackEnd::kLeftImage, TrackEnd::kNotConverged, TrackEnd::kMasked,
                             TrackEnd::kImageSize, TrackEnd::kPipeline}) {
    EXPECT_TRUE(ends.contains(end)) << static_cast<int>(end);
  }

  Engine engine(cpu::Backend({.threads = 3}), /*tracks_in_flight=*/1);
  const auto together = ResultsTogether(engine);
  for (uint32_t robot = 0; robot < kRobots; ++robot) {
    SCOPED_TRACE("robot " + std::to_string(robot));
    ExpectEqual(alone[robot], together[robot]);
  }
}

TEST(FrameSequenceBackendTest, TracksGoOnWithTheSameBitsAndIdsAfterTheLossOfADevice) {
  const auto alone = ResultsAlone();
  // On a busy machine more frames share a batch: the last is one that comes there, too.
  for (const int last_batch : {1, 30, 60}) {
    SCOPED_TRACE("lost with batch " + std::to_string(last_batch));
    SystemClock clock;
    std::atomic<int> losses{0};
    FailoverOptions options;
    options.silence = milliseconds(60'000);
    options.rescue_time = milliseconds(60'000);
    options.on_lost = [&losses](const DeviceLoss&) { ++losses; };
    {
      Engine engine(MakeFailoverBackend(
          std::make_unique<DeviceThatIsLost>(cpu::Backend({.threads = 2}), last_batch),
          cpu::Backend({.threads = 2}), &clock, std::make_unique<WorkerPool>(WorkerPoolOptions{}),
          std::move(options)));
      const auto together = ResultsTogether(engine);
      for (uint32_t robot = 0; robot < kRobots; ++robot) {
        SCOPED_TRACE("robot " + std::to_string(robot));
        ExpectEqual(alone[robot], together[robot]);
      }
    }
    EXPECT_EQ(losses, 1);
  }
}

TEST(FrameSequenceBackendTest, ASequenceGivesThePublishedTracks) {
  const std::string folder = std::string(ORBSERVE_TEST_DATA_DIR) + "/seq-kitti-a/image_0";
  const std::vector<std::string> files = testing::FilesEndingIn(folder, ".png");
  if (files.size() < 12) GTEST_SKIP() << "no frames in \"" << folder << "\"";
  const Preset& vio = **FindPreset("vio");
  for (const auto& [track_template, crc] :
       {std::pair(TrackTemplate::kPrevious, 0x7e8a0087u), {TrackTemplate::kFirst, 0x7f0c7a16u}}) {
    StreamOptions options;
    options.track = true;
    options.pipeline = vio.pipeline;
    options.track_options = vio.track;
    options.track_options.track_template = track_template;
    std::vector<RobotFrame> frames;
    for (size_t n = 0; n < 12; ++n) frames.push_back({testing::ReadGreyPng(files[n])});
    frames[0].open = options;
    Engine engine(cpu::Backend());
    std::string lines;
    for (const TestResult& result : Fly(engine, "robot", frames, 4)) {
      ASSERT_TRUE(result.outcome.status.ok()) << result.outcome.status;
      EXPECT_EQ(result.outcome.features->count(), 100u);
      for (const Track& track : result.tracks.tracks) {
        lines += std::to_string(result.index) + "," + std::to_string(track.id) + "," +
                 std::to_string(track.x) + "," + std::to_string(track.y) + "," +
                 std::to_string(track.age_frames) + "\n";
      }
    }
    EXPECT_EQ(testing::Crc32(lines), crc);
  }
}

}  // namespace
}  // namespace orbserve
