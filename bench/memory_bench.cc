// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Memory of a running server under frames of ever new sizes: every frame needs a plan that the
// server has not made yet. Prints resident memory and every orbserve_memory_bytes series as the
// frames pass; both must stay within the server's configured bounds. Start the server with a small
// plan budget (a tenth of limits.memory_bytes, or three on the CPU) to see plans leave the cache.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "client/cli/load/metrics_page.h"
#include "orbserve/client.h"

namespace orbserve::bench {
namespace {

using cli::FetchMetrics;
using cli::MetricsPage;

struct Settings {
  std::string server = "127.0.0.1:50051";
  std::string http = "127.0.0.1:9464";
  int frames = 10'000;
  int in_flight = 8;
  int min_side_px = 64;
  int max_features = 500;
};

struct Size {
  int width_px;
  int height_px;
};

// `count` different sizes in a random order, equal in every run.
std::vector<Size> MakeSizes(int count, int min_side_px) {
  int sides = 1;
  while (sides * sides < count) ++sides;
  std::vector<Size> sizes;
  for (int i = 0; i < count; ++i) {
    sizes.push_back({min_side_px + 4 * (i % sides), min_side_px + 3 * (i / sides)});
  }
  std::mt19937 random(1);
  std::shuffle(sizes.begin(), sizes.end(), random);
  return sizes;
}

// Squares of random grey levels: corners everywhere.
void FillFrame(const Size& size, uint64_t sequence, v1::Frame* frame) {
  constexpr int kSquarePx = 8;
  frame->set_format(v1::PIXEL_FORMAT_GRAY8);
  frame->set_width_px(static_cast<uint32_t>(size.width_px));
  frame->set_height_px(static_cast<uint32_t>(size.height_px));
  frame->set_sequence(sequence);
  std::string& pixels = *frame->mutable_pixels();
  pixels.resize(static_cast<size_t>(size.width_px) * static_cast<size_t>(size.height_px));
  for (int y = 0; y < size.height_px; ++y) {
    for (int x = 0; x < size.width_px; ++x) {
      const auto square = static_cast<uint32_t>((y / kSquarePx) * 8192 + x / kSquarePx);
      pixels[static_cast<size_t>(y) * static_cast<size_t>(size.width_px) + static_cast<size_t>(x)] =
          static_cast<char>((square * 2654435761u) >> 24);
    }
  }
}

// The series whose course is printed, in MiB.
std::map<std::string, double> MemoryOf(const Settings& settings) {
  const size_t colon = settings.http.rfind(':');
  const MetricsPage page =
      FetchMetrics(settings.http.substr(0, colon), settings.http.substr(colon + 1));
  std::map<std::string, double> memory;
  for (const auto& [series, value] : page) {
    const bool is_memory =
        series == "process_resident_memory_bytes" || series.rfind("orbserve_memory_bytes", 0) == 0;
    if (is_memory) memory[series] = value / (1 << 20);
  }
  return memory;
}

int Run(const Settings& settings) {
  const auto client = client::Client::Connect(settings.server, {});
  if (!client.ok()) {
    std::fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 1;
  }
  std::atomic<int64_t> failed = 0;
  std::atomic<int64_t> features = 0;
  std::map<std::string, double> largest;
  const auto report = [&](int frames) {
    std::printf("%7d", frames);
    for (const auto& [series, mebibytes] : MemoryOf(settings)) {
      largest[series] = std::max(largest[series], mebibytes);
      std::printf("  %s %.1f", series.c_str(), mebibytes);
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  std::printf(" frames  MiB of each series\n");
  report(0);
  {
    client::ExtractPipelineOptions options;
    options.max_in_flight = settings.in_flight;
    client::ExtractPipeline pipeline(client->get(), options);
    const std::vector<Size> sizes = MakeSizes(settings.frames, settings.min_side_px);
    const int step = std::max(settings.frames / 10, 1);
    for (int i = 0; i < settings.frames; ++i) {
      v1::ExtractRequest request;
      FillFrame(sizes[static_cast<size_t>(i)], static_cast<uint64_t>(i), request.mutable_frame());
      request.mutable_pipeline()->mutable_select()->set_max_features(
          static_cast<uint32_t>(settings.max_features));
      pipeline.Submit(std::move(request), [&](absl::StatusOr<v1::ExtractResponse> response) {
        if (!response.ok()) {
          if (failed.fetch_add(1) == 0) {
            std::fprintf(stderr, "%s\n", response.status().ToString().c_str());
          }
          return;
        }
        features.fetch_add(response->features().x_size());
      });
      if ((i + 1) % step == 0) report(i + 1);
    }
    pipeline.Drain();
  }
  report(settings.frames);
  std::printf("largest");
  for (const auto& [series, mebibytes] : largest) {
    std::printf("  %s %.1f", series.c_str(), mebibytes);
  }
  std::printf("\n%d frames of as many sizes, %lld features, %lld failed\n", settings.frames,
              static_cast<long long>(features.load()), static_cast<long long>(failed.load()));
  return failed.load() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app{"Memory of a running server under frames of ever new sizes"};
  app.add_option("--server", settings.server, "HOST:PORT of orbserve-server")
      ->capture_default_str();
  app.add_option("--http", settings.http, "HOST:PORT of its /metrics")->capture_default_str();
  app.add_option("--frames", settings.frames, "Frames, each of another size")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--in-flight", settings.in_flight, "Calls under way at once")
      ->check(CLI::Range(1, 256));
  app.add_option("--min-side", settings.min_side_px, "Smallest side, pixels")
      ->check(CLI::Range(1, 4096));
  app.add_option("--max-features", settings.max_features, "Features wanted of a frame");
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
