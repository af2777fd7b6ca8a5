// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Robots with cameras, which send at their own rate whether the server follows or not: each has a
// connection and a stream of its own. The camera pans over an image. Latency counts from the moment
// at which a frame was due, so that a sender that is held back does not hide it.
//
// Measures latency, what each policy drops, how late DEADLINE_EXCEEDED comes, and each robot's
// share. Checks that every frame is answered once and in order, and that the server's counts equal
// what its clients were told.
//
//   orbserve-server --backend cpu &
//   robot_bench --image PHOTO.pgm --track                                   # 8 robots, 30 frames/s
//   robot_bench --image PHOTO.pgm --track --overload 3 --policy newest
//   robot_bench --image PHOTO.pgm --track --overload 3 --deadline-ms 50

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/pgm_frame.h"
#include "client/cli/load/metrics_page.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::bench {
namespace {

using cli::FetchMetrics;
using cli::MetricsPage;

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Settings {
  std::string server = "127.0.0.1:50051";
  std::string http = "127.0.0.1:9464";
  std::string image;
  std::string preset = "vio";
  std::string policy = "block";
  int width_px = 640;
  int height_px = 480;
  int robots = 8;
  double fps = 30;
  double overload = 0;
  uint32_t deadline_ms = 0;
  bool track = false;
  bool match_previous = false;
  double seconds = 10;
  double warm_up_seconds = 2;
  bool each = false;
};

// Nearest-rank percentile, `share` in [0, 1]; 0 without samples.
double Percentile(std::vector<double> samples, double share) {
  if (samples.empty()) return 0;
  const size_t rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rank), samples.end());
  return samples[rank];
}

// Frames of a camera that goes round once over the image and ends where it began: neighbouring
// frames, the last and the first included, are some pixels apart.
std::vector<v1::StreamFramesRequest> PanOver(const v1::Frame& image, int width_px, int height_px) {
  constexpr int kFrames = 60;
  constexpr double kTurn = 2 * 3.14159265358979;
  const double radius_x = std::min((static_cast<int>(image.width_px()) - width_px) / 2, 40);
  const double radius_y = std::min((static_cast<int>(image.height_px()) - height_px) / 2, 25);
  std::vector<v1::StreamFramesRequest> frames(kFrames);
  for (int i = 0; i < kFrames; ++i) {
    const int left = static_cast<int>((image.width_px() - static_cast<uint32_t>(width_px)) / 2 +
                                      std::lround(radius_x * std::cos(kTurn * i / kFrames)));
    const int top = static_cast<int>((image.height_px() - static_cast<uint32_t>(height_px)) / 2 +
                                     std::lround(radius_y * std::sin(kTurn * i / kFrames)));
    v1::Frame& frame = *frames[static_cast<size_t>(i)].mutable_frame();
    frame.set_format(v1::PIXEL_FORMAT_GRAY8);
    frame.set_width_px(static_cast<uint32_t>(width_px));
    frame.set_height_px(static_cast<uint32_t>(height_px));
    for (int y = 0; y < height_px; ++y) {
      frame.mutable_pixels()->append(
          image.pixels(),
          static_cast<size_t>(top + y) * image.width_px() + static_cast<size_t>(left),
          static_cast<size_t>(width_px));
    }
  }
  return frames;
}

v1::StreamFramesRequest OpenOf(const Settings& settings) {
  v1::StreamFramesRequest request;
  v1::StreamOpen& open = *request.mutable_open();
  open.mutable_pipeline()->set_preset(settings.preset);
  open.set_deadline_ms(settings.deadline_ms);
  open.set_track(settings.track);
  open.set_match_previous(settings.match_previous);
  open.set_drop_policy(settings.policy == "newest"   ? v1::DROP_POLICY_NEWEST
                       : settings.policy == "oldest" ? v1::DROP_POLICY_OLDEST
                                                     : v1::DROP_POLICY_BLOCK);
  return request;
}

// Everything that one robot was told, after its warm-up.
struct Told {
  int64_t sent = 0;
  int64_t skipped = 0;  // due while an earlier frame was still held back by flow control
  std::map<std::string, int64_t> outcomes;
  std::vector<double> latency_ms;   // of frames that are OK, from the moment they were due
  std::vector<double> lateness_ms;  // of DEADLINE_EXCEEDED, behind the deadline, on the server
  int64_t tracks = 0;
  int64_t ended_tracks = 0;
  bool is_in_order = true;
};

class Robot {
 public:
  Robot(int number, const Settings& settings, double fps,
        const std::vector<v1::StreamFramesRequest>* frames)
      : settings_(settings), frames_(*frames), number_(number), fps_(fps) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = v1::Features::NewStub(
        grpc::CreateCustomChannel(settings.server, grpc::InsecureChannelCredentials(), arguments));
    context_.AddMetadata("x-client-id", "robot-" + std::to_string(number));
    stream_ = stub_->StreamFrames(&context_);
    v1::StreamFramesResponse opened;
    is_open_ = stream_->Write(OpenOf(settings)) && stream_->Read(&opened) && opened.has_opened();
  }

  bool is_open() const { return is_open_; }

  // `fps` 0: sends as fast as the server takes frames.
  void Start(Clock::time_point begin, Clock::time_point end) {
    sender_ = std::thread([this, begin, end] { Send(begin, end); });
    receiver_ = std::thread([this] { Receive(); });
  }

  Told Join() {
    if (sender_.joinable()) sender_.join();
    if (receiver_.joinable()) receiver_.join();
    if (!is_open_) context_.TryCancel();
    const grpc::Status status = stream_->Finish();
    if (!status.ok()) std::fprintf(stderr, "robot_bench: %s\n", status.error_message().c_str());
    absl::MutexLock lock(&mutex_);
    return told_;
  }

 private:
  struct Due {
    Clock::time_point at;
    bool counts = false;
  };

  void Send(Clock::time_point begin, Clock::time_point end) {
    const Milliseconds period(fps_ > 0 ? 1e3 / fps_ : 0);
    const Clock::time_point counted =
        begin + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(settings_.warm_up_seconds));
    auto due =
        begin + std::chrono::duration_cast<Clock::duration>(period * number_ / settings_.robots);
    v1::StreamFramesRequest request;
    for (uint64_t sequence = 0; due < end && Clock::now() < end; ++sequence) {
      if (fps_ > 0) std::this_thread::sleep_until(due);
      request = frames_[sequence % frames_.size()];
      request.mutable_frame()->set_sequence(sequence);
      {
        absl::MutexLock lock(&mutex_);
        due_.push_back({fps_ > 0 ? due : Clock::now(), due >= counted});
        if (due >= counted) ++told_.sent;
      }
      if (!stream_->Write(request)) break;
      if (fps_ == 0) {
        due = Clock::now();
        continue;
      }
      due += std::chrono::duration_cast<Clock::duration>(period);
      // A camera does not wait: pictures that were due in between are lost.
      while (due + std::chrono::duration_cast<Clock::duration>(period) < Clock::now()) {
        due += std::chrono::duration_cast<Clock::duration>(period);
        absl::MutexLock lock(&mutex_);
        if (due >= counted) ++told_.skipped;
      }
    }
    stream_->WritesDone();
  }

  void Receive() {
    v1::StreamFramesResponse response;
    uint64_t expected = 0;
    while (stream_->Read(&response)) {
      if (!response.has_result()) continue;
      const v1::FrameResult& result = response.result();
      absl::MutexLock lock(&mutex_);
      const Due due = due_.front();
      due_.pop_front();
      if (result.sequence() != expected++) told_.is_in_order = false;
      if (!due.counts) continue;
      const std::string& reason = result.status().reason();
      ++told_.outcomes[result.status().code() == 0 ? "ok" : reason];
      if (result.status().code() == 0) {
        told_.latency_ms.push_back(Milliseconds(Clock::now() - due.at).count());
        told_.tracks += result.tracks_size();
        told_.ended_tracks += result.ended_tracks_size();
      } else if (reason == "DEADLINE_EXCEEDED") {
        told_.lateness_ms.push_back(static_cast<double>(result.timings().total_ns()) * 1e-6 -
                                    settings_.deadline_ms);
      }
    }
  }

  const Settings& settings_;
  const std::vector<v1::StreamFramesRequest>& frames_;
  const int number_;
  const double fps_;
  std::unique_ptr<v1::Features::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamFramesRequest, v1::StreamFramesResponse>>
      stream_;
  bool is_open_ = false;
  absl::Mutex mutex_;
  std::deque<Due> due_ ABSL_GUARDED_BY(mutex_);  // of frames without their results
  Told told_ ABSL_GUARDED_BY(mutex_);
  std::thread sender_;
  std::thread receiver_;
};

// Runs all robots; empty when a stream cannot be opened.
std::vector<Told> RunRobots(const Settings& settings, double fps, double seconds,
                            const std::vector<v1::StreamFramesRequest>& frames) {
  std::vector<std::unique_ptr<Robot>> robots;
  for (int i = 0; i < settings.robots; ++i) {
    robots.push_back(std::make_unique<Robot>(i, settings, fps, &frames));
    if (!robots.back()->is_open()) {
      std::fprintf(stderr, "robot_bench: %s does not open a stream\n", settings.server.c_str());
      for (const auto& robot : robots) robot->Join();
      return {};
    }
  }
  const auto begin = Clock::now() + std::chrono::milliseconds(100);
  const auto end = begin + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(settings.warm_up_seconds + seconds));
  for (const auto& robot : robots) robot->Start(begin, end);
  std::vector<Told> told;
  for (const auto& robot : robots) told.push_back(robot->Join());
  return told;
}

MetricsPage PageOf(const Settings& settings) {
  const size_t colon = settings.http.rfind(':');
  if (colon == std::string::npos) return {};
  return FetchMetrics(settings.http.substr(0, colon), settings.http.substr(colon + 1));
}

double ValueOf(const MetricsPage& page, const std::string& name) {
  const auto series = page.find(name);
  return series == page.end() ? 0 : series->second;
}

int Run(int argc, char** argv) {
  CLI::App app{"Robots that send at their own rate to a running server", "robot_bench"};
  Settings settings;
  app.add_option("--server", settings.server, "HOST:PORT of orbserve-server")
      ->capture_default_str();
  app.add_option("--http", settings.http, "HOST:PORT of its /metrics")->capture_default_str();
  app.add_option("--image", settings.image, "Picture that cameras pan over: a binary PGM of 8 bits")
      ->required();
  app.add_option("--preset", settings.preset, "Pipeline")->capture_default_str();
  app.add_option("--policy", settings.policy, "Drop policy")
      ->check(CLI::IsMember({"block", "newest", "oldest"}))
      ->capture_default_str();
  app.add_option("--width", settings.width_px, "Of a frame, pixels")->capture_default_str();
  app.add_option("--height", settings.height_px, "Of a frame, pixels")->capture_default_str();
  app.add_option("--robots", settings.robots, "Streams")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--fps", settings.fps, "Frames a second of each robot; 0 = as fast as taken")
      ->capture_default_str();
  app.add_option("--overload", settings.overload,
                 "Send so many times what the server computes with BLOCK, which is measured first");
  app.add_option("--deadline-ms", settings.deadline_ms, "Budget of each frame; 0 = none")
      ->capture_default_str();
  app.add_flag("--track", settings.track, "Keep tracks");
  app.add_flag("--match", settings.match_previous, "Match each frame against the one before it");
  app.add_option("--seconds", settings.seconds, "Measured time")->capture_default_str();
  app.add_option("--warm-up", settings.warm_up_seconds, "Seconds before it")->capture_default_str();
  app.add_flag("--each", settings.each, "Print a line for each robot");
  CLI11_PARSE(app, argc, argv);

  v1::Frame image;
  if (!ReadPgmFrame(settings.image, &image) ||
      image.width_px() < static_cast<uint32_t>(settings.width_px) ||
      image.height_px() < static_cast<uint32_t>(settings.height_px)) {
    std::fprintf(stderr, "robot_bench: %s is no binary PGM of 8 bits, %dx%d or larger\n",
                 settings.image.c_str(), settings.width_px, settings.height_px);
    return 2;
  }
  const auto frames = PanOver(image, settings.width_px, settings.height_px);
  double fps = settings.fps;
  if (settings.overload > 0) {
    Settings blocking = settings;
    blocking.policy = "block";
    blocking.deadline_ms = 0;
    int64_t computed = 0;
    for (const Told& told : RunRobots(blocking, 0, settings.seconds / 2, frames)) {
      computed += static_cast<int64_t>(told.latency_ms.size());
    }
    const double capacity = static_cast<double>(computed) / (settings.seconds / 2);
    fps = settings.overload * capacity / settings.robots;
    std::printf("computed with BLOCK: %.0f frames/s; each robot sends %.1f\n", capacity, fps);
  }
  const MetricsPage before = PageOf(settings);
  const std::vector<Told> all = RunRobots(settings, fps, settings.seconds, frames);
  if (all.empty()) return 1;
  const MetricsPage after = PageOf(settings);

  std::map<std::string, int64_t> sums;
  std::vector<double> latency_ms;
  std::vector<double> lateness_ms;
  int64_t sent = 0;
  int64_t skipped = 0;
  int64_t answered = 0;
  bool is_in_order = true;
  double tracks = 0;
  for (const Told& told : all) {
    sent += told.sent;
    skipped += told.skipped;
    tracks += static_cast<double>(told.tracks);
    is_in_order = is_in_order && told.is_in_order;
    for (const auto& [outcome, count] : told.outcomes) {
      sums[outcome] += count;
      answered += count;
    }
    latency_ms.insert(latency_ms.end(), told.latency_ms.begin(), told.latency_ms.end());
    lateness_ms.insert(lateness_ms.end(), told.lateness_ms.begin(), told.lateness_ms.end());
  }
  std::printf("%d robots, %.1f frames/s each, %dx%d, %s%s, %s, deadline %u ms, %.0f s\n",
              settings.robots, fps, settings.width_px, settings.height_px, settings.preset.c_str(),
              settings.track ? " with tracks" : "", settings.policy.c_str(), settings.deadline_ms,
              settings.seconds);
  std::printf(
      "sent %lld, held back by flow control %lld, answered %lld:", static_cast<long long>(sent),
      static_cast<long long>(skipped), static_cast<long long>(answered));
  for (const auto& [outcome, count] : sums) {
    std::printf(" %s %lld", outcome.c_str(), static_cast<long long>(count));
  }
  std::printf("\nlatency of OK: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
              Percentile(latency_ms, 0.5), Percentile(latency_ms, 0.99), Percentile(latency_ms, 1));
  if (!lateness_ms.empty()) {
    std::printf("DEADLINE_EXCEEDED behind the deadline: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
                Percentile(lateness_ms, 0.5), Percentile(lateness_ms, 0.99),
                Percentile(lateness_ms, 1));
  }
  if (settings.track && sums["ok"] > 0) {
    std::printf("tracks of a frame: %.1f\n", tracks / static_cast<double>(sums["ok"]));
  }
  const double mean = static_cast<double>(sums["ok"]) / settings.robots;
  double worst = 0;
  for (const Told& told : all) {
    const auto ok = static_cast<double>(told.latency_ms.size());
    if (mean > 0) worst = std::max(worst, std::abs(ok / mean - 1));
    if (settings.each) {
      std::printf("one robot: sent %lld, held back %lld, ok %.0f\n",
                  static_cast<long long>(told.sent), static_cast<long long>(told.skipped), ok);
    }
  }
  std::printf("frames/s computed: %.1f; farthest from its share: %.1f%%\n",
              static_cast<double>(sums["ok"]) / settings.seconds, worst * 100);

  bool is_right = is_in_order && answered == sent;
  if (!is_in_order) std::printf("WRONG: results out of order\n");
  if (answered != sent) std::printf("WRONG: frames without a result\n");
  // The server counts the warm-up, too: its frames are those of the same streams.
  if (!after.empty()) {
    const std::string family = "orbserve_frames_total{outcome=\"";
    double counted = 0;
    for (const auto& [name, value] : after) {
      if (name.rfind(family, 0) == 0) counted += value - ValueOf(before, name);
    }
    const std::string received = "orbserve_frames_received_total";
    const double arrived = ValueOf(after, received) - ValueOf(before, received);
    std::printf("server: received %.0f, ended %.0f\n", arrived, counted);
    if (settings.warm_up_seconds == 0) {
      for (const auto& [outcome, count] : sums) {
        const std::string name = family + outcome + "\"}";
        const double server = ValueOf(after, name) - ValueOf(before, name);
        if (server == static_cast<double>(count)) continue;
        is_right = false;
        std::printf("WRONG: the server counted %.0f %s\n", server, outcome.c_str());
      }
    }
    if (arrived != counted) {
      is_right = false;
      std::printf("WRONG: the server lost count of frames\n");
    }
  }
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
