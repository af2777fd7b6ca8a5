// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Measures what a running server adds to computing, and if it is fair: closed-loop clients, each
// with its own connection and identity, against --server.
//
//   latency   one client, one request under way: wall time of the call less the reported compute
//   fairness  three clients with one request under way each, beside 64 further requests: of one
//             greedy client, and of 64 clients with one each (the same load without the greedy
//             one), turn by turn; latency of the three

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/pgm_frame.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::bench {
namespace {

using Clock = std::chrono::steady_clock;

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Nearest-rank percentile, `share` in (0, 1]. `samples` must not be empty.
double Percentile(std::vector<double> samples, double share) {
  const size_t rank = static_cast<size_t>(share * static_cast<double>(samples.size() - 1) + 0.5);
  std::nth_element(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(rank), samples.end());
  return samples[rank];
}

struct Sample {
  double wall_ms;
  double compute_ms;
  uint32_t batch_frames;
  double energy_mj;  // estimate of the answer; negative where it has none
};

// One client that keeps `in_flight` requests under way until told to stop.
class ClosedLoop {
 public:
  ClosedLoop(const std::string& server, std::string client_id, const v1::ExtractRequest& request)
      : client_id_(std::move(client_id)), request_(request) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = v1::Features::NewStub(
        grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments));
  }

  void Start(int in_flight) {
    for (int i = 0; i < in_flight; ++i) StartCall();
  }

  // Waits for the requests under way.
  void Stop() {
    stopping_ = true;
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* open) { return *open == 0; }, &open_));
  }

  // Samples of calls that ended since the last call, and the number of those that failed.
  std::vector<Sample> TakeSamples(int* failed) {
    absl::MutexLock lock(&mutex_);
    *failed += std::exchange(failed_, 0);
    return std::exchange(samples_, {});
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::ExtractResponse response;
    Clock::time_point begin;
  };

  void StartCall() {
    {
      absl::MutexLock lock(&mutex_);
      ++open_;
    }
    auto* const call = new Call;
    call->context.AddMetadata("x-client-id", client_id_);
    call->begin = Clock::now();
    stub_->async()->Extract(&call->context, &request_, &call->response,
                            [this, call](const grpc::Status& status) { OnDone(call, status); });
  }

  void OnDone(Call* call, const grpc::Status& status) {
    const Sample sample{Milliseconds(Clock::now() - call->begin),
                        static_cast<double>(call->response.timings().compute_ns()) * 1e-6,
                        call->response.execution().batch_size(),
                        call->response.execution().has_energy_joules()
                            ? call->response.execution().energy_joules() * 1e3
                            : -1};
    delete call;
    if (!stopping_) StartCall();
    absl::MutexLock lock(&mutex_);
    if (status.ok()) {
      samples_.push_back(sample);
    } else {
      ++failed_;
    }
    --open_;
  }

  const std::string client_id_;
  const v1::ExtractRequest& request_;
  std::unique_ptr<v1::Features::Stub> stub_;
  std::atomic<bool> stopping_ = false;
  absl::Mutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  int failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);
};

std::vector<double> Column(const std::vector<Sample>& samples,
                           const std::function<double(const Sample&)>& value) {
  std::vector<double> column;
  column.reserve(samples.size());
  for (const Sample& sample : samples) column.push_back(value(sample));
  return column;
}

int RunLatency(const std::string& server, const v1::ExtractRequest& request, double seconds) {
  ClosedLoop client(server, "latency", request);
  int failed = 0;
  client.Start(1);
  std::this_thread::sleep_for(std::chrono::duration<double>(1));
  client.TakeSamples(&failed);  // warm-up
  failed = 0;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::vector<Sample> samples = client.TakeSamples(&failed);
  client.Stop();
  if (samples.empty()) {
    std::fprintf(stderr, "serving_bench: no call succeeded; %d failed\n", failed);
    return 1;
  }
  const auto wall = Column(samples, [](const Sample& s) { return s.wall_ms; });
  const auto compute = Column(samples, [](const Sample& s) { return s.compute_ms; });
  const auto beside = Column(samples, [](const Sample& s) { return s.wall_ms - s.compute_ms; });
  std::printf("latency: %zu calls, %d failed\n", samples.size(), failed);
  std::printf("%-24s %8s %8s %8s\n", "ms", "p50", "p90", "p99");
  const auto row = [](const char* name, const std::vector<double>& column) {
    std::printf("%-24s %8.3f %8.3f %8.3f\n", name, Percentile(column, 0.5), Percentile(column, 0.9),
                Percentile(column, 0.99));
  };
  row("wall", wall);
  row("compute (reported)", compute);
  row("wall - compute", beside);
  std::vector<double> energy = Column(samples, [](const Sample& s) { return s.energy_mj; });
  std::erase_if(energy, [](double one) { return one < 0; });
  if (energy.empty()) {
    std::printf("energy: the answers have none\n");
  } else {
    row("energy (answers), mJ", energy);
  }
  return failed == 0 ? 0 : 1;
}

// Latencies of the three while `others` run.
struct FairnessRound {
  std::vector<Sample> three;
  std::vector<Sample> others;
  int failed = 0;
};

FairnessRound RunRound(const std::string& server, const v1::ExtractRequest& request, int others,
                       int in_flight_each, double seconds) {
  std::vector<std::unique_ptr<ClosedLoop>> three, rest;
  for (int i = 0; i < 3; ++i) {
    three.push_back(std::make_unique<ClosedLoop>(server, "steady-" + std::to_string(i), request));
  }
  for (int i = 0; i < others; ++i) {
    rest.push_back(std::make_unique<ClosedLoop>(server, "other-" + std::to_string(i), request));
  }
  for (const auto& client : three) client->Start(1);
  for (const auto& client : rest) client->Start(in_flight_each);
  FairnessRound round;
  const auto take = [&round](auto& clients, std::vector<Sample>& out) {
    for (const auto& client : clients) {
      const std::vector<Sample> samples = client->TakeSamples(&round.failed);
      out.insert(out.end(), samples.begin(), samples.end());
    }
  };
  std::this_thread::sleep_for(std::chrono::duration<double>(1));
  take(three, round.three);
  take(rest, round.others);
  round = {};  // warm-up
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  take(three, round.three);
  take(rest, round.others);
  for (const auto& client : three) client->Stop();
  for (const auto& client : rest) client->Stop();
  return round;
}

int RunFairness(const std::string& server, const v1::ExtractRequest& request, double seconds,
                int rounds) {
  constexpr int kRequests = 64;
  FairnessRound greedy, even;
  const auto add = [](FairnessRound& sum, FairnessRound round) {
    sum.three.insert(sum.three.end(), round.three.begin(), round.three.end());
    sum.others.insert(sum.others.end(), round.others.begin(), round.others.end());
    sum.failed += round.failed;
  };
  for (int i = 0; i < rounds; ++i) {
    add(even, RunRound(server, request, kRequests, 1, seconds));
    add(greedy, RunRound(server, request, 1, kRequests, seconds));
  }
  if (greedy.three.empty() || even.three.empty() || greedy.others.empty() || even.others.empty()) {
    std::fprintf(stderr, "serving_bench: no call succeeded\n");
    return 1;
  }
  std::printf("fairness: %d rounds of %.1f s each\n", rounds, seconds);
  std::printf("%-44s %9s %9s %9s %9s %7s %6s\n", "beside the three", "p50 ms", "p99 ms", "others/s",
              "three/s", "batch", "failed");
  const auto row = [&](const char* name, const FairnessRound& round) {
    const auto wall = Column(round.three, [](const Sample& s) { return s.wall_ms; });
    double batch = 0;
    for (const Sample& sample : round.others) batch += sample.batch_frames;
    const double time = seconds * rounds;
    const double p99 = Percentile(wall, 0.99);
    std::printf("%-44s %9.2f %9.2f %9.0f %9.0f %7.2f %6d\n", name, Percentile(wall, 0.5), p99,
                static_cast<double>(round.others.size()) / time,
                static_cast<double>(round.three.size()) / time,
                batch / static_cast<double>(round.others.size()), round.failed);
    return p99;
  };
  const double p99_even = row("64 clients with 1 request each", even);
  const double p99_greedy = row("1 greedy client with 64 requests", greedy);
  std::printf("p99 of the three, greedy / even: %.3f\n", p99_greedy / p99_even);
  return greedy.failed + even.failed == 0 ? 0 : 1;
}

int Run(int argc, char** argv) {
  CLI::App app{"Latency and fairness of a running server", "serving_bench"};
  std::string server = "127.0.0.1:50051";
  std::string image;
  double seconds = 5;
  int rounds = 3;
  app.add_option("--server", server, "HOST:PORT")->capture_default_str();
  app.add_option("--image", image, "Frame to send: a binary PGM of 8 bits")->required();
  app.add_option("--seconds", seconds, "Measured time of each round")->capture_default_str();
  app.add_option("--rounds", rounds, "Rounds of each variant (fairness)")->capture_default_str();
  auto* const latency = app.add_subcommand("latency", "One client, one request under way");
  app.add_subcommand("fairness", "Three clients beside a greedy one");
  app.require_subcommand(1);
  app.fallthrough();  // options may follow the subcommand
  CLI11_PARSE(app, argc, argv);

  v1::ExtractRequest request;
  if (!ReadPgmFrame(image, request.mutable_frame())) {
    std::fprintf(stderr, "serving_bench: %s is no binary PGM of 8 bits\n", image.c_str());
    return 2;
  }
  return latency->parsed() ? RunLatency(server, request, seconds)
                           : RunFairness(server, request, seconds, rounds);
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Run(argc, argv); }
