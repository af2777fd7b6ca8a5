// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Malformed, rare and hostile files through a real server: those that made_jpegs.h makes, and more
// of a folder of test images, if any. The environment variable ORBSERVE_SOAK_IMAGES sets how many
// the last test sends (default 4000; 10000 for a soak).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "orbserve/client.h"
#include "tests/decode/made_jpegs.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

using Clock = std::chrono::steady_clock;

// Within which each is answered. Sanitizers cost ten times and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kLimitSeconds = 20;
#else
constexpr double kLimitSeconds = 1;
#endif

const char kFolder[] = ORBSERVE_TEST_DATA_DIR "/odd-jpegs/";
const char kGoodFile[] = "vga";  // of those that are made here

struct OddFile {
  std::string name;
  std::string expected;
  v1::ExtractRequest request;
};

class HostileImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const MadeJpeg& made : MakeJpegs()) {
      Add(made.name, made.refusal.has_value() ? "error" : "ok",
          std::string(made.bytes.begin(), made.bytes.end()));
      if (made.name == kGoodFile) good_ = files_.back().request;
    }
    std::ifstream index(std::string(kFolder) + "index.csv");
    std::string line;
    std::getline(index, line);
    while (std::getline(index, line)) {
      const std::vector<std::string> fields = absl::StrSplit(line, ',');
      ASSERT_GT(fields.size(), 3u);
      std::ifstream bytes(kFolder + fields[0], std::ios::binary);
      Add(fields[0], fields[2],
          std::string(std::istreambuf_iterator<char>(bytes), std::istreambuf_iterator<char>()));
    }
    auto server = ServerProcess::Start(ORBSERVE_SERVER_PROGRAM, {"--backend", "cpu"});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto client = client::Client::Connect(server_->address(), {});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  void Add(const std::string& name, const std::string& expected, std::string bytes) {
    OddFile file{name, expected, {}};
    v1::Frame& frame = *file.request.mutable_frame();
    frame.set_format(v1::PIXEL_FORMAT_JPEG);
    frame.set_pixels(std::move(bytes));
    files_.push_back(std::move(file));
  }

  // What was received has ended in one way or another; waits for the last counter.
  void ExpectExactAccounting(double received) {
    std::string page;
    for (int i = 0; i < 50; ++i) {
      page = server_->HttpGet("/metrics");
      if (SumOfSeries(page, "orbserve_frames_total") == received) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_EQ(SumOfSeries(page, "orbserve_frames_received_total"), received);
    EXPECT_EQ(SumOfSeries(page, "orbserve_frames_total"), received);
    EXPECT_EQ(SumOfSeries(page, "orbserve_queue_frames"), 0);
  }

  std::vector<OddFile> files_;
  v1::ExtractRequest good_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<client::Client> client_;
};

TEST_F(HostileImagesTest, EachIsAnsweredAsExpectedAndHarmsNoOther) {
  const auto reference = client_->Extract(good_);
  ASSERT_TRUE(reference.ok()) << reference.status();
  ASSERT_GT(reference->features().x_size(), 100);
  const std::string expected_features = reference->features().SerializeAsString();
  std::map<std::string, int> outcomes;
  double slowest_s = 0;
  double received = 1;
  for (const OddFile& file : files_) {
    SCOPED_TRACE(file.name);
    const Clock::time_point begin = Clock::now();
    const auto answer = client_->Extract(file.request);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    slowest_s = std::max(slowest_s, seconds);
    EXPECT_LT(seconds, kLimitSeconds);
    if (file.expected != "ok-or-error") {
      EXPECT_EQ(answer.ok(), file.expected == "ok") << answer.status();
    }
    if (answer.ok()) {
      ++outcomes["OK"];
    } else {
      const v1::Status wire = client::WireStatusOf(answer.status());
      ++outcomes[wire.reason()];
      EXPECT_TRUE(wire.reason() == "BAD_IMAGE" || wire.reason() == "TOO_LARGE" ||
                  wire.reason() == "UNSUPPORTED" ||
                  (wire.reason() == "BAD_REQUEST" && file.name == "zero_length.jpg"))
          << answer.status();
      EXPECT_GT(wire.message().size(), 20u) << "a reason in words";
    }
    const auto after = client_->Extract(good_);
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->features().SerializeAsString(), expected_features);
    received += 2;
  }
  for (const auto& [outcome, count] : outcomes) std::cout << outcome << " " << count << "\n";
  std::cout << "slowest answer " << slowest_s * 1e3 << " ms\n";
  ExpectExactAccounting(received);
  EXPECT_EQ(server_->Stop(), 0);
}

// Bytes per image by which `samples` (image, resident bytes) grow: least squares.
double Slope(const std::vector<std::pair<double, double>>& samples) {
  double x_mean = 0;
  double y_mean = 0;
  for (const auto& [x, y] : samples) {
    x_mean += x / static_cast<double>(samples.size());
    y_mean += y / static_cast<double>(samples.size());
  }
  double covariance = 0;
  double variance = 0;
  for (const auto& [x, y] : samples) {
    covariance += (x - x_mean) * (y - y_mean);
    variance += (x - x_mean) * (x - x_mean);
  }
  return variance > 0 ? covariance / variance : 0;
}

TEST_F(HostileImagesTest, MemoryIsFlatAfterTheFirstThousands) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "resident memory is the sanitizer's own; it looks for leaks by itself";
#endif
  const char* wanted = std::getenv("ORBSERVE_SOAK_IMAGES");
  const int images = wanted == nullptr ? 4000 : std::atoi(wanted);
  constexpr int kWarmUp = 3000;  // beside busy programs heaps take so long to fill
  constexpr int kSampleEvery = 100;
  ASSERT_GE(images, kWarmUp + 2 * kSampleEvery);
  client::ExtractPipeline pipeline(client_.get(), {.max_in_flight = 8, .max_attempts = 1});
  std::atomic<int> ok = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::pair<double, double>> samples;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < images; ++i) {
    const OddFile& file = files_[static_cast<size_t>(i) % files_.size()];
    pipeline.Submit(file.request, [&, expected = &file.expected](const auto& answer) {
      ++(answer.ok() ? ok : refused);
      if (answer.ok() ? *expected == "error" : *expected == "ok") ++wrong;
    });
    if (i >= kWarmUp && i % kSampleEvery == 0) {
      pipeline.Drain();
      samples.emplace_back(i, static_cast<double>(server_->ResidentBytes()));
    }
  }
  pipeline.Drain();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const double slope = Slope(samples);
  std::cout << images << " images in " << seconds << " s: " << ok << " decoded, " << refused
            << " refused; resident " << samples.front().second / 1048576 << " MiB after " << kWarmUp
            << ", " << samples.back().second / 1048576 << " MiB at the end, slope " << slope
            << " bytes an image\n";
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(ok + refused, images);
  // The allocator's own ups and downs are 2 to 4 MiB; leaked images or decoders would be megabytes
  // in every hundred.
  EXPECT_LT(slope * (images - kWarmUp), 8 << 20);
  ExpectExactAccounting(images);
  EXPECT_EQ(server_->Stop(), 0);
}

}  // namespace
}  // namespace orbserve
