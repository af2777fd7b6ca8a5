// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Throughput of many streams through a running server, beside echo servers that take the same
// messages and compute nothing (echo_server): each robot has a connection and a stream of its own
// and keeps some frames in flight. Servers are measured turn by turn, in rounds, so that whatever
// else the machine does hits all of them.
//
//   echo_server & echo_server --listen 127.0.0.1:50053 --features 1000 &
//   orbserve-server --backend cuda &
//   stream_bench --image FRAME.pgm --peer empty=127.0.0.1:50052 --peer sized=127.0.0.1:50053

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
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

struct Settings {
  std::string server = "127.0.0.1:50051";
  std::string http = "127.0.0.1:9464";
  std::vector<std::string> peers;  // NAME=HOST:PORT
  std::string image;
  std::string json;
  int streams = 16;
  int in_flight = 8;
  int max_features = 1000;
  bool match_previous = false;
  double seconds = 3;
  double warm_up_seconds = 1;
  int rounds = 5;
};

// Nearest-rank percentile, `share` in [0, 1]. `samples` must not be empty.
double Percentile(std::vector<double> samples, double share) {
  const size_t rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rank), samples.end());
  return samples[rank];
}

struct Sample {
  double latency_ms;
  uint32_t batch_frames;
  uint32_t features;
  double energy_joules;  // negative: the answer has none
};

// One robot: sends the same frame again and again, at most `in_flight` unanswered. One thread
// sends, one receives, as a client of the library would.
class Robot {
 public:
  Robot(const std::string& address, int number, const Settings& settings, const v1::Frame& frame)
      : in_flight_limit_(settings.in_flight) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = v1::Features::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    context_.AddMetadata("x-client-id", "robot-" + std::to_string(number));
    stream_ = stub_->StreamFrames(&context_);
    v1::StreamFramesRequest open;
    open.mutable_open()->mutable_pipeline()->set_preset("orb");
    open.mutable_open()->mutable_pipeline()->mutable_select()->set_max_features(
        static_cast<uint32_t>(settings.max_features));
    open.mutable_open()->set_match_previous(settings.match_previous);
    v1::StreamFramesResponse opened;
    ok_ = stream_->Write(open) && stream_->Read(&opened) && opened.has_opened();
    *request_.mutable_frame() = frame;
    if (!ok_) return;
    sender_ = std::thread([this] { Send(); });
    receiver_ = std::thread([this] { Receive(); });
  }

  ~Robot() {
    if (sender_.joinable()) sender_.join();
    if (receiver_.joinable()) receiver_.join();
    if (!ok_) context_.TryCancel();
    const grpc::Status status = stream_->Finish();
    if (!status.ok()) std::fprintf(stderr, "stream_bench: %s\n", status.error_message().c_str());
  }

  bool ok() const { return ok_; }
  // Nothing further is sent; the destructor waits for what is under way.
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  // Answers since the last call; adds the number of frames that failed to `failed`.
  std::vector<Sample> TakeSamples(int* failed) {
    absl::MutexLock lock(&mutex_);
    *failed += std::exchange(failed_, 0);
    return std::exchange(samples_, {});
  }

 private:
  bool MaySend() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || sent_at_.size() < static_cast<size_t>(in_flight_limit_);
  }

  void Send() {
    for (uint64_t sequence = 1;; ++sequence) {
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &Robot::MaySend));
        if (stopping_) break;
        sent_at_.push_back(Clock::now());
      }
      request_.mutable_frame()->set_sequence(sequence);
      if (!stream_->Write(request_)) break;
    }
    stream_->WritesDone();
  }

  void Receive() {
    v1::StreamFramesResponse response;
    while (stream_->Read(&response)) {
      if (!response.has_result()) continue;
      const v1::FrameResult& result = response.result();
      absl::MutexLock lock(&mutex_);
      const std::chrono::duration<double, std::milli> latency = Clock::now() - sent_at_.front();
      sent_at_.pop_front();
      if (result.status().code() != 0) {
        ++failed_;
        continue;
      }
      const v1::Execution& execution = result.execution();
      samples_.push_back({latency.count(), execution.batch_size(),
                          static_cast<uint32_t>(result.features().x_size()),
                          execution.has_energy_joules() ? execution.energy_joules() : -1.0});
    }
    Stop();
  }

  const int in_flight_limit_;
  std::unique_ptr<v1::Features::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::StreamFramesRequest, v1::StreamFramesResponse>>
      stream_;
  v1::StreamFramesRequest request_;
  bool ok_ = false;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Clock::time_point> sent_at_ ABSL_GUARDED_BY(mutex_);  // of frames in flight
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
  std::thread sender_;
  std::thread receiver_;
};

// One server, and what its rounds gave.
struct Target {
  std::string name;
  std::string address;
  bool is_server = false;
  std::vector<double> frames_per_second;  // one per round
  std::vector<double> latencies_ms;
  std::map<uint32_t, int64_t> batches;  // frames by the size of their batch
  int64_t frames = 0;
  int64_t features = 0;
  int64_t frames_with_energy = 0;
  double energy_joules = 0;  // sum of the answers' shares
  int failed = 0;
  double cpu_seconds = 0;                        // of the server's process, in the measured time
  std::map<std::string, double> energy_by_rail;  // joules in the measured time
  std::map<std::string, std::vector<double>> watts_by_rail;
};

// The series of `family` on the page: labels -> value.
std::map<std::string, double> SeriesOf(const MetricsPage& page, const std::string& family) {
  std::map<std::string, double> series;
  for (auto it = page.lower_bound(family); it != page.end(); ++it) {
    if (it->first.rfind(family, 0) != 0) break;
    series[it->first.substr(family.size())] = it->second;
  }
  return series;
}

double ValueOf(const MetricsPage& page, const std::string& name) {
  const auto series = page.find(name);
  return series == page.end() ? 0 : series->second;
}

bool RunRound(const Settings& settings, const v1::Frame& frame, Target* target) {
  const size_t colon = settings.http.rfind(':');
  const auto page = [&]() -> MetricsPage {
    if (!target->is_server || colon == std::string::npos) return {};
    return FetchMetrics(settings.http.substr(0, colon), settings.http.substr(colon + 1));
  };
  std::vector<std::unique_ptr<Robot>> robots;
  for (int i = 0; i < settings.streams; ++i) {
    robots.push_back(std::make_unique<Robot>(target->address, i, settings, frame));
    if (!robots.back()->ok()) {
      std::fprintf(stderr, "stream_bench: %s does not open a stream\n", target->address.c_str());
      for (const auto& robot : robots) robot->Stop();
      return false;
    }
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.warm_up_seconds));
  const MetricsPage before = page();
  int ignored = 0;
  for (const auto& robot : robots) robot->TakeSamples(&ignored);
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
  int64_t frames = 0;
  std::vector<std::vector<Sample>> taken;
  for (const auto& robot : robots) {
    taken.push_back(robot->TakeSamples(&target->failed));
    frames += static_cast<int64_t>(taken.back().size());
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  const MetricsPage after = page();
  for (const auto& robot : robots) robot->Stop();
  robots.clear();

  target->frames += frames;
  target->frames_per_second.push_back(static_cast<double>(frames) / elapsed.count());
  for (const auto& samples : taken) {
    for (const Sample& sample : samples) {
      target->latencies_ms.push_back(sample.latency_ms);
      ++target->batches[sample.batch_frames];
      target->features += sample.features;
      if (sample.energy_joules >= 0) {
        ++target->frames_with_energy;
        target->energy_joules += sample.energy_joules;
      }
    }
  }
  const std::string cpu = "process_cpu_seconds_total";
  target->cpu_seconds += ValueOf(after, cpu) - ValueOf(before, cpu);
  const auto energy_before = SeriesOf(before, "orbserve_energy_joules_total");
  for (const auto& [rail, joules] : SeriesOf(after, "orbserve_energy_joules_total")) {
    const auto first = energy_before.find(rail);
    if (first != energy_before.end()) target->energy_by_rail[rail] += joules - first->second;
  }
  for (const auto& [rail, watts] : SeriesOf(after, "orbserve_power_watts")) {
    target->watts_by_rail[rail].push_back(watts);
  }
  return frames > 0;
}

void PrintTarget(const Target& target) {
  std::printf("%-26s %9.0f %9.0f %9.0f %9.2f %9.2f %8lld %6d\n", target.name.c_str(),
              Percentile(target.frames_per_second, 0.5), Percentile(target.frames_per_second, 0),
              Percentile(target.frames_per_second, 1), Percentile(target.latencies_ms, 0.5),
              Percentile(target.latencies_ms, 0.99), static_cast<long long>(target.frames),
              target.failed);
}

// The server's rate over `echo`'s: median of the rounds' ratios.
double Ratio(const Target& server, const Target& echo) {
  std::vector<double> ratios;
  for (size_t i = 0; i < server.frames_per_second.size(); ++i) {
    ratios.push_back(server.frames_per_second[i] / echo.frames_per_second[i]);
  }
  return Percentile(ratios, 0.5);
}

void PrintServer(const Target& server) {
  const auto frames = static_cast<double>(server.frames);
  std::printf("features of a frame %.0f; CPU of the server %.3f ms a frame\n",
              static_cast<double>(server.features) / frames, server.cpu_seconds * 1e3 / frames);
  double weighted = 0;
  int64_t most = 0;
  for (const auto& [size, count] : server.batches) {
    weighted += static_cast<double>(size) * static_cast<double>(count);
    most = std::max<int64_t>(most, size);
  }
  std::printf("batch of a frame: mean %.1f, largest %lld frames; share of frames by batch size:",
              weighted / frames, static_cast<long long>(most));
  for (const auto& [size, count] : server.batches) {
    const double share = static_cast<double>(count) / frames;
    if (share >= 0.02) std::printf(" %u: %.0f%%", size, share * 100);
  }
  std::printf("\n");
  for (const auto& [rail, watts] : server.watts_by_rail) {
    std::printf("power%s: %.1f W\n", rail.c_str(), Percentile(watts, 0.5));
  }
  for (const auto& [rail, joules] : server.energy_by_rail) {
    std::printf("energy%s: %.6f J a frame\n", rail.c_str(), joules / frames);
  }
  if (server.frames_with_energy > 0) {
    std::printf("energy by the answers: %.6f J a frame\n",
                server.energy_joules / static_cast<double>(server.frames_with_energy));
  } else {
    std::printf("energy by the answers: none (no power source)\n");
  }
}

bool WriteJson(const std::string& path, const Settings& settings,
               const std::vector<Target>& targets) {
  std::ofstream out(path);
  out << "{\"bench\": \"stream_bench\", \"streams\": " << settings.streams
      << ", \"in_flight\": " << settings.in_flight
      << ", \"max_features\": " << settings.max_features << ", \"results\": [";
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    out << (i == 0 ? "" : ",") << "\n {\"target\": \"" << target.name
        << "\", \"frames_per_second\": " << Percentile(target.frames_per_second, 0.5)
        << ", \"p50_ms\": " << Percentile(target.latencies_ms, 0.5)
        << ", \"p99_ms\": " << Percentile(target.latencies_ms, 0.99)
        << ", \"frames\": " << target.frames << ", \"failed\": " << target.failed;
    if (target.is_server) {
      double joules = 0;
      for (const auto& [rail, value] : target.energy_by_rail) joules += value;
      out << ", \"cpu_seconds\": " << target.cpu_seconds << ", \"energy_joules\": " << joules
          << ", \"answers_energy_joules\": " << target.energy_joules;
    }
    out << "}";
  }
  out << "\n]}\n";
  return static_cast<bool>(out);
}

int Run(int argc, char** argv) {
  CLI::App app{"Throughput of many streams through a running server", "stream_bench"};
  Settings settings;
  app.add_option("--server", settings.server, "HOST:PORT of orbserve-server")
      ->capture_default_str();
  app.add_option("--http", settings.http, "HOST:PORT of its /metrics")->capture_default_str();
  app.add_option("--peer", settings.peers, "NAME=HOST:PORT of an echo_server, any number of times");
  app.add_option("--image", settings.image, "Frame to send: a binary PGM of 8 bits")->required();
  app.add_option("--streams", settings.streams, "Robots")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--in-flight", settings.in_flight, "Frames in flight of each")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--max-features", settings.max_features, "Features wanted of a frame")
      ->capture_default_str();
  app.add_flag("--match", settings.match_previous, "Match each frame against the one before it");
  app.add_option("--seconds", settings.seconds, "Measured time of a round")->capture_default_str();
  app.add_option("--warm-up", settings.warm_up_seconds, "Seconds before it")->capture_default_str();
  app.add_option("--rounds", settings.rounds, "Rounds of each server")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--json", settings.json, "File to write the results to");
  CLI11_PARSE(app, argc, argv);

  v1::Frame frame;
  if (!ReadPgmFrame(settings.image, &frame)) {
    std::fprintf(stderr, "stream_bench: %s is no binary PGM of 8 bits\n", settings.image.c_str());
    return 2;
  }
  std::vector<Target> targets;
  targets.push_back({"orbserve-server", settings.server, true});
  for (const std::string& peer : settings.peers) {
    const size_t equals = peer.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "stream_bench: --peer must be NAME=HOST:PORT; got %s\n", peer.c_str());
      return 2;
    }
    targets.push_back({peer.substr(0, equals), peer.substr(equals + 1)});
  }
  for (int round = 0; round < settings.rounds; ++round) {
    for (size_t i = 0; i < targets.size(); ++i) {
      Target& target = targets[(i + static_cast<size_t>(round)) % targets.size()];
      if (!RunRound(settings, frame, &target)) return 1;
    }
  }

  std::printf("%d streams with %d frames of %ux%u in flight each, %d features wanted\n",
              settings.streams, settings.in_flight, frame.width_px(), frame.height_px(),
              settings.max_features);
  std::printf("%-26s %9s %9s %9s %9s %9s %8s %6s\n", "", "frames/s", "lowest", "highest", "p50 ms",
              "p99 ms", "frames", "failed");
  for (const Target& target : targets) PrintTarget(target);
  for (size_t i = 1; i < targets.size(); ++i) {
    std::printf("orbserve-server / %s: %.3f\n", targets[i].name.c_str(),
                Ratio(targets[0], targets[i]));
  }
  PrintServer(targets[0]);
  if (!settings.json.empty() && !WriteJson(settings.json, settings, targets)) return 1;
  return targets[0].failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
