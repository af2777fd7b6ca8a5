// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Stream of the client library for link.py: sends grey frames of random squares at a rate, and
// prints a line of JSON for each result and a line on standard error for each event.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "orbserve/client.h"

namespace orbserve::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kSquarePx = 5;

struct Settings {
  std::string server;
  std::string policy = "newest";
  uint32_t deadline_ms = 0;
  double jpeg_age_s = 0;
  double seconds = 30;
  double fps = 30;  // 0: one frame, and the stream stays open
  uint32_t width_px = 640;
  uint32_t height_px = 480;
};

v1::Frame MakeFrame(const Settings& settings) {
  v1::Frame frame;
  frame.set_format(v1::PIXEL_FORMAT_GRAY8);
  frame.set_width_px(settings.width_px);
  frame.set_height_px(settings.height_px);
  std::string& pixels = *frame.mutable_pixels();
  std::mt19937 random(1);
  std::string row(settings.width_px, '\0');
  for (uint32_t y = 0; y < settings.height_px; ++y) {
    for (uint32_t x = 0; x < settings.width_px && y % kSquarePx == 0; ++x) {
      row[x] = x % kSquarePx == 0 ? static_cast<char>(random()) : row[x - 1];
    }
    pixels += row;
  }
  return frame;
}

v1::DropPolicy PolicyOf(const std::string& name) {
  if (name == "block") return v1::DROP_POLICY_BLOCK;
  return name == "oldest" ? v1::DROP_POLICY_OLDEST : v1::DROP_POLICY_NEWEST;
}

void Tell(const client::StreamEvent& event) {
  if (event.kind == client::StreamEvent::Kind::kLost) {
    std::cerr << "the connection is lost: " << event.status << std::endl;
  } else if (event.kind == client::StreamEvent::Kind::kReconnected) {
    std::cerr << "connected again" << std::endl;
  }
}

void SendAll(const Settings& settings, client::FrameStream* stream) {
  const v1::Frame image = MakeFrame(settings);
  if (settings.fps == 0) {
    (void)stream->Send(image);
    return;
  }
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < static_cast<int>(settings.seconds * settings.fps); ++i) {
    const std::chrono::nanoseconds time(static_cast<int64_t>(1e9 * i / settings.fps));
    const Clock::time_point due = begin + time;
    std::this_thread::sleep_until(due);
    v1::Frame frame = image;
    frame.set_sequence(static_cast<uint64_t>(i));
    frame.set_timestamp_ns(time.count());
    if (!stream->Send(std::move(frame), due).ok()) return;
  }
  (void)stream->CloseSend();
}

void Print(const v1::FrameResult& result, const client::FrameTimes& times) {
  std::string line = absl::StrFormat(
      R"({"sequence": %d, "timestamp_ns": %d, "age_ms": %.3f, "round_trip_ms": %.3f)",
      result.sequence(), result.timestamp_ns(), absl::ToDoubleMilliseconds(times.age),
      absl::ToDoubleMilliseconds(times.round_trip));
  if (const absl::Status error = client::StatusFromWire(result.status()); !error.ok()) {
    const std::string reason = client::WireStatusOf(error).reason();
    absl::StrAppendFormat(&line, R"(, "error": {"reason": "%s"})", reason);
  }
  std::cout << line << "}" << std::endl;
}

int Run(const Settings& settings) {
  auto client = client::Client::Connect(settings.server, {});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  v1::StreamOpen open;
  open.set_drop_policy(PolicyOf(settings.policy));
  open.set_deadline_ms(settings.deadline_ms);
  client::StreamOptions options;
  options.reconnect_for = absl::Minutes(10);
  options.jpeg_age = absl::Seconds(settings.jpeg_age_s);
  options.on_event = Tell;
  auto stream = (*client)->OpenStream(open, std::move(options));
  if (!stream.ok()) return std::cerr << stream.status() << "\n", 1;
  std::thread sender([&] { SendAll(settings, stream->get()); });
  client::FrameTimes times;
  auto result = (*stream)->Receive(&times);
  for (; result.ok() && result->has_value(); result = (*stream)->Receive(&times)) {
    Print(**result, times);
  }
  sender.join();
  if (!result.ok()) std::cerr << result.status() << "\n";
  return result.ok() ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) {
  orbserve::bench::Settings settings;
  CLI::App app("Stream of the client library, for bench/link.py");
  app.add_option("--server", settings.server, "HOST:PORT")->required();
  app.add_option("--policy", settings.policy)->check(CLI::IsMember({"newest", "oldest", "block"}));
  app.add_option("--deadline-ms", settings.deadline_ms);
  app.add_option("--jpeg-age", settings.jpeg_age_s, "seconds; 0: raw frames");
  app.add_option("--seconds", settings.seconds);
  app.add_option("--fps", settings.fps, "0: one frame, and the stream stays open");
  app.add_option("--width", settings.width_px);
  app.add_option("--height", settings.height_px);
  CLI11_PARSE(app, argc, argv);
  return orbserve::bench::Run(settings);
}
