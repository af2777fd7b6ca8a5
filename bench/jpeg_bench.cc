// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// JPEG files to grey: libjpeg-turbo, and the strict decoder with one thread and with helpers. Each
// JPEG photograph is scaled to the usual sizes and encoded with the usual settings; --as-given
// decodes the files themselves. Before the timing the pixels of all are compared.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "bench/harness.h"
#include "decode/decode_helpers.h"
#include "decode/image_decoder.h"
#include "decode/libjpeg_decoder.h"
#include "features/host_device.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_oracle.h"

namespace orbserve::bench {
namespace {

using Bytes = std::vector<uint8_t>;

struct Picture {
  int width_px = 0;
  int height_px = 0;
  Bytes rgb;
};

struct Setting {
  const char* name;
  int components;
  int luma_across;
  int luma_down;
  bool own_tables;
};
constexpr Setting kSettings[] = {{"grey", 1, 1, 1, false},
                                 {"4:2:0", 3, 2, 2, false},
                                 {"4:2:2", 3, 2, 1, false},
                                 {"4:4:4", 3, 1, 1, false},
                                 {"4:2:0 own tables", 3, 2, 2, true}};

Picture ReadPicture(const Bytes& bytes) {
  GreyImage rgb = DecodeByLibrary(bytes, /*rgb=*/true);
  return {rgb.width_px, rgb.height_px, std::move(rgb.pixels)};
}

// Scaled until it just covers the size, by means over areas; then its middle.
Picture Scaled(const Picture& from, int width_px, int height_px) {
  const double step = std::min(static_cast<double>(from.width_px) / width_px,
                               static_cast<double>(from.height_px) / height_px);
  const double left = (from.width_px - step * width_px) / 2;
  const double top = (from.height_px - step * height_px) / 2;
  Picture to{width_px, height_px, Bytes(size_t{3} * width_px * height_px)};
  for (int y = 0; y < height_px; ++y) {
    const int y0 = static_cast<int>(top + y * step);
    const int y1 = std::clamp(static_cast<int>(top + (y + 1) * step), y0 + 1, from.height_px);
    for (int x = 0; x < width_px; ++x) {
      const int x0 = static_cast<int>(left + x * step);
      const int x1 = std::clamp(static_cast<int>(left + (x + 1) * step), x0 + 1, from.width_px);
      for (int component = 0; component < 3; ++component) {
        int64_t sum = 0;
        for (int j = y0; j < y1; ++j) {
          for (int i = x0; i < x1; ++i) {
            sum += from.rgb[3 * (static_cast<size_t>(j) * from.width_px + i) + component];
          }
        }
        to.rgb[3 * (static_cast<size_t>(y) * width_px + x) + component] =
            static_cast<uint8_t>(sum / (int64_t{x1 - x0} * (y1 - y0)));
      }
    }
  }
  return to;
}

Bytes Encode(const Picture& picture, const Setting& setting, int quality) {
  return EncodeJpeg({.width_px = picture.width_px,
                     .height_px = picture.height_px,
                     .components = setting.components,
                     .quality = quality,
                     .luma_across = setting.luma_across,
                     .luma_down = setting.luma_down,
                     .own_tables = setting.own_tables},
                    picture.rgb);
}

// Threads that wait for a file to help with.
class HelpingThreads final : public DecodeHelpers {
 public:
  explicit HelpingThreads(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~HelpingThreads() override {
    {
      absl::MutexLock lock(&mutex_);
      ends_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }
  void Ask(int most, const std::function<void()>& help) override {
    absl::MutexLock lock(&mutex_);
    help_ = help;
    left_ = most;
  }

 private:
  void Work() {
    while (true) {
      std::function<void()> help;
      {
        absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(
            +[](HelpingThreads* self) { return self->ends_ || self->left_ > 0; }, this));
        if (ends_) return;
        --left_;
        help = help_;
      }
      help();
    }
  }

  absl::Mutex mutex_;
  std::function<void()> help_ ABSL_GUARDED_BY(mutex_);
  int left_ ABSL_GUARDED_BY(mutex_) = 0;  // calls of it that are wanted
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// Files with places for their pixels.
class Batch {
 public:
  explicit Batch(std::vector<Bytes> files) : files_(std::move(files)) {
    for (const Bytes& bytes : files_) {
      Job job;
      job.image.bytes = bytes;
      const auto header = ReadImageHeader(job.image, {});
      if (!header.ok()) {
        std::fprintf(stderr, "jpeg_bench: %s\n", header.status().ToString().c_str());
        std::exit(1);
      }
      job.header = *header;
      const int pitch = RoundUp(header->width_px, kRowAlignmentBytes);
      pixels_.emplace_back(static_cast<size_t>(pitch) * header->height_px);
      job.out = {pixels_.back().data(), header->width_px, header->height_px, pitch};
      jobs_.push_back(job);
    }
  }

  void DecodeByLibrary() {
    const auto never = std::chrono::steady_clock::time_point::max();
    for (Job& job : jobs_) job.status = DecodeJpeg(job.image.bytes, {}, never, job.out);
  }
  // One file after the other. `helpers`: null = none.
  void DecodeStrictly(DecodeHelpers* helpers) {
    for (Job& job : jobs_) job.status = DecodeToGrey(job.image, job.header, {}, job.out, helpers);
  }

  // Ends the program if one way has other pixels.
  void Check(DecodeHelpers* helpers) {
    DecodeByLibrary();
    const std::vector<Bytes> expected = pixels_;
    const auto check = [&](const char* way) {
      for (size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].status.ok() && pixels_[i] == expected[i]) continue;
        std::fprintf(stderr, "jpeg_bench: file %zu %s: %s\n", i, way,
                     jobs_[i].status.ok() ? "other pixels" : jobs_[i].status.ToString().c_str());
        std::exit(1);
      }
      for (Bytes& pixels : pixels_) std::fill(pixels.begin(), pixels.end(), uint8_t{0});
    };
    check("by libjpeg-turbo");
    DecodeStrictly(nullptr);
    check("by orbserve");
    DecodeStrictly(helpers);
    check("by orbserve, with helpers");
  }

 private:
  struct Job {
    EncodedImage image;
    ImageHeader header;
    MutableImageView out;
    absl::Status status;
  };

  std::vector<Bytes> files_;
  std::vector<Bytes> pixels_;
  std::vector<Job> jobs_;
};

void CompareWays(Harness& harness, const std::string& name, std::vector<Bytes> files) {
  Batch batch(std::move(files));
  const int threads = *std::max_element(harness.threads().begin(), harness.threads().end());
  HelpingThreads helpers(threads - 1);
  batch.Check(&helpers);
  std::vector<Variant> variants = {{"libjpeg-turbo", [&] { batch.DecodeByLibrary(); }},
                                   {"orbserve", [&] { batch.DecodeStrictly(nullptr); }}};
  if (threads > 1) {
    variants.push_back({"orbserve, " + std::to_string(threads) + " threads",
                        [&] { batch.DecodeStrictly(&helpers); }});
  }
  harness.Compare(name, variants);
}

int Main(int argc, char** argv) {
  Harness harness("jpeg_bench", "JPEG files to grey");
  std::vector<std::string> paths;
  std::vector<int> qualities = {75, 90, 98};
  bool as_given = false;
  harness.app().add_option("photographs", paths, "JPEG photographs")->required();
  harness.app()
      .add_option("--qualities", qualities, "of the files made of the photographs")
      ->delimiter(',');
  harness.app().add_flag("--as-given", as_given, "decode the photographs as they are");
  if (const std::optional<int> code = harness.Parse(argc, argv)) return *code;

  std::vector<Bytes> given;
  for (const std::string& path : paths) given.push_back(ReadFile(path));
  if (as_given) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (harness.Wants(paths[i])) CompareWays(harness, paths[i], {given[i]});
    }
    return harness.Finish();
  }
  std::vector<Picture> pictures;
  for (const Bytes& bytes : given) pictures.push_back(ReadPicture(bytes));
  for (const auto& [width_px, height_px] : {std::pair(640, 480), {1920, 1080}}) {
    std::vector<Picture> scaled;
    for (const Picture& picture : pictures) scaled.push_back(Scaled(picture, width_px, height_px));
    for (const Setting& setting : kSettings) {
      for (const int quality : qualities) {
        const std::string name = std::to_string(width_px) + "x" + std::to_string(height_px) + " " +
                                 setting.name + " q" + std::to_string(quality);
        if (!harness.Wants(name)) continue;
        std::vector<Bytes> files;
        for (const Picture& picture : scaled) files.push_back(Encode(picture, setting, quality));
        CompareWays(harness, name, std::move(files));
      }
    }
  }
  return harness.Finish();
}

}  // namespace
}  // namespace orbserve::bench

int main(int argc, char** argv) { return orbserve::bench::Main(argc, argv); }
