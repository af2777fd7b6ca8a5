// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Many healthy JPEG files through our decoders and through libjpeg-turbo, whose grey pixels each
// must have: on every SIMD target of the processor, with helpers, and with --device on a CUDA
// device. A damaged copy of each must end with helpers as without. Files are
// made here with libjpeg-turbo at random settings, of photographs, gradients and noise; more may be
// given. tests/decode/check_jpegs.py adds those of other encoders.
//
// Exit codes: 0 no difference, 1 differences, 2 wrong usage.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "decode/image_decoder.h"
#include "decode/jpeg_ways.h"
#include "hwy/targets.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/device_jpegs.h"
#include "tests/decode/jpeg_kinds.h"
#include "tests/decode/jpeg_oracle.h"
#include "tests/support/image_files.h"

namespace orbserve {
namespace {

using Bytes = std::vector<uint8_t>;

// The largest files take longer than the limit where many programs share the processor.
const ImageLimits kLimits{.max_decode_time = std::chrono::minutes(10)};

struct NamedFile {
  std::string name;
  Bytes bytes;
};

// Interleaved RGB, rows without padding.
struct Photograph {
  int width_px = 0;
  int height_px = 0;
  Bytes pixels;
};

// `i` of 0, 1, ..., counted forth and back over `size` numbers.
int Mirrored(int i, int size) {
  const int place = i % (2 * size);
  return place < size ? place : 2 * size - 1 - place;
}

// The photograph from this place on, mirrored where it ends.
Bytes PartOf(const Photograph& photograph, int left, int top, int width_px, int height_px) {
  Bytes part;
  part.reserve(size_t{3} * static_cast<size_t>(width_px) * static_cast<size_t>(height_px));
  for (int y = 0; y < height_px; ++y) {
    const uint8_t* const row =
        &photograph.pixels[size_t{3} * static_cast<size_t>(photograph.width_px) *
                           static_cast<size_t>(Mirrored(top + y, photograph.height_px))];
    for (int x = 0; x < width_px; ++x) {
      const uint8_t* const pixel = row + 3 * Mirrored(left + x, photograph.width_px);
      part.insert(part.end(), pixel, pixel + 3);
    }
  }
  return part;
}

// File `number` of the random ones, the same in every run.
class Maker {
 public:
  Maker(uint32_t seed, std::vector<Photograph> photographs)
      : seed_(seed), photographs_(std::move(photographs)) {}

  NamedFile Make(uint32_t number) const {
    std::seed_seq sequence = {seed_, number};
    std::mt19937 random(sequence);
    const auto upto = [&](int most) {
      return static_cast<int>(random() % static_cast<uint32_t>(most));
    };
    JpegKind kind;
    const JpegSampling& sampling = kJpegSamplings[random() % std::size(kJpegSamplings)];
    kind.components = sampling.components;
    kind.luma_across = sampling.luma_across;
    kind.luma_down = sampling.luma_down;
    const int size = upto(10'000);
    int most_across = 64;
    int most_down = 64;
    if (size < 2) {
      most_across = most_down = 8192;
    } else if (size < 300) {
      (size % 2 == 0 ? most_across : most_down) = 8192;
    } else if (size < 1500) {
      most_across = most_down = 1000;
    } else if (size < 5000) {
      most_across = most_down = 300;
    }
    kind.width_px = 1 + upto(most_across);
    kind.height_px = 1 + upto(most_down);
    kind.quality = 1 + upto(100);
    kind.restart_interval = upto(2) == 0 ? 0 : upto(1 + std::min(1000, 1 << upto(11)));
    kind.own_tables = upto(2) == 0;
    kind.wide_quantisers = upto(10) == 0;
    kind.fast_dct = upto(4) == 0;
    const int content = upto(100);
    kind.noise = content < 20;
    std::string name = absl::StrCat("made ", number, ": ", NameOf(kind),
                                    kind.wide_quantisers ? " wide quantisers" : "",
                                    kind.fast_dct ? " fast DCT" : "");
    if (content < 35 || photographs_.empty()) return {std::move(name), WriteJpeg(kind)};
    const Photograph& photograph = photographs_[random() % photographs_.size()];
    const int left = upto(photograph.width_px);
    const int top = upto(photograph.height_px);
    return {absl::StrCat(name, " photograph"),
            EncodeJpeg(kind, PartOf(photograph, left, top, kind.width_px, kind.height_px))};
  }

 private:
  const uint32_t seed_;
  const std::vector<Photograph> photographs_;
};

void WriteBytes(const std::string& path, const Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

std::vector<int64_t> SimdTargets() {
  std::vector<int64_t> targets;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

class Checker {
 public:
  Checker(std::unique_ptr<DeviceJpegs> device, std::string keep)
      : targets_(SimdTargets()), device_(std::move(device)), keep_(std::move(keep)) {}

  void Check(NamedFile file) {
    ++files_;
    bytes_ += static_cast<int64_t>(file.bytes.size());
    const std::optional<GreyImage> expected = DecodeIfHealthy(file.bytes);
    const EncodedImage image = Jpeg(file.bytes);
    const auto header = ReadImageHeader(image, {});
    if (!expected.has_value() || !header.ok()) {
      if (expected.has_value() == header.ok() || (header.ok() && !Decode(image, kLimits).ok())) {
        ++refused_;  // by both
      } else {
        Report(file, expected.has_value() ? std::string(header.status().message())
                                          : "decoded; libjpeg-turbo refuses it or warns");
      }
      return;
    }
    for (const int64_t target : targets_) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      const auto got = Decode(image, kLimits);
      if (!got.ok()) {
        Report(file, absl::StrCat(hwy::TargetName(target), ": ", got.status().ToString()));
      } else if (!header->is_rgb) {  // of which libjpeg-turbo makes another grey
        Compare(file, hwy::TargetName(target), *expected, got->pixels);
      }
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    CheckHelp(file, file.bytes);
    CheckHelp(file, Damaged(file.bytes));
    if (device_ == nullptr) return;
    batch_.push_back(std::move(file));
    expected_.push_back(*expected);
    // Batches of all sizes.
    if (batch_.size() == 1 + static_cast<size_t>(batches_) % DeviceJpegs::kMaxFiles) CheckBatch();
  }

  // Returns the program's exit code.
  int Finish() {
    if (!batch_.empty()) CheckBatch();
    const std::array<int64_t, kJpegWayCount> counts = JpegWayCounts();
    std::printf("%lld files, %.1f MB: %lld wrong, %lld refused by both; SIMD targets:",
                static_cast<long long>(files_), static_cast<double>(bytes_) / 1e6,
                static_cast<long long>(wrong_), static_cast<long long>(refused_));
    for (const int64_t target : targets_) std::printf(" %s", hwy::TargetName(target));
    std::printf("\n");
    std::printf("with helpers: %lld decodings, %lld of damaged files refused as without\n",
                static_cast<long long>(shared_), static_cast<long long>(damaged_));
    for (size_t i = 0; i < counts.size(); ++i) {
      const JpegWayWords words = WordsOf(static_cast<JpegWay>(i));
      std::printf("decodings by %s %s: %lld\n", std::string(words.decoder).c_str(),
                  std::string(words.reason).c_str(), static_cast<long long>(counts[i]));
    }
    if (device_ != nullptr) {
      std::printf("device: %lld files decoded, %lld left to the host\n",
                  static_cast<long long>(on_device_), static_cast<long long>(left_));
    }
    return wrong_ == 0 ? 0 : 1;
  }

  int64_t files() const { return files_; }
  int64_t wrong() const { return wrong_; }

 private:
  void CheckBatch() {
    std::vector<const Bytes*> files;
    for (const NamedFile& file : batch_) files.push_back(&file.bytes);
    const auto images = device_->Decode(files);
    for (size_t i = 0; i < batch_.size(); ++i) {
      if (!images[i].has_value()) {
        ++left_;
        continue;
      }
      ++on_device_;
      Compare(batch_[i], "device", expected_[i], *images[i]);
    }
    batch_.clear();
    expected_.clear();
    ++batches_;
  }

  // Other bits or bytes in some places of the last three quarters.
  Bytes Damaged(Bytes bytes) {
    for (uint32_t left = 1 + random_() % 4; left > 0; --left) {
      uint8_t& byte = bytes[bytes.size() / 4 + random_() % (bytes.size() - bytes.size() / 4)];
      byte = static_cast<uint8_t>(random_() % 2 == 0 ? byte ^ 1 << random_() % 8 : random_());
    }
    return bytes;
  }

  // The outcome with helpers must be the same as without.
  void CheckHelp(const NamedFile& file, const Bytes& bytes) {
    const EncodedImage image = Jpeg(bytes);
    HelperAtOnce helper(1 + static_cast<int64_t>(random_() % 1000) * (random_() % 2 == 0 ? 1 : 10));
    const auto expected = Decode(image, kLimits);
    const auto got = Decode(image, kLimits, &helper);
    shared_ += helper.asked();
    const char* const name = bytes == file.bytes ? "with helpers" : "damaged, with helpers";
    if (got.status() != expected.status()) {
      Report(file, absl::StrCat(name, ": ", got.status().ToString(),
                                "; without: ", expected.status().ToString()));
    } else if (got.ok()) {
      Compare(file, name, *expected, got->pixels);
    } else {
      ++damaged_;
    }
  }

  void Compare(const NamedFile& file, const char* decoder, const GreyImage& expected,
               const Bytes& got) {
    if (got == expected.pixels) return;
    const auto at = static_cast<size_t>(
        std::mismatch(got.begin(), got.end(), expected.pixels.begin(), expected.pixels.end())
            .first -
        got.begin());
    const auto width = static_cast<size_t>(expected.width_px);
    Report(file, absl::StrCat(decoder, ": first difference at x ", at % width, " y ", at / width));
  }

  void Report(const NamedFile& file, const std::string& what) {
    ++wrong_;
    std::printf("WRONG %s: %s\n", file.name.c_str(), what.c_str());
    if (!keep_.empty()) WriteBytes(absl::StrCat(keep_, "/wrong", wrong_, ".jpg"), file.bytes);
  }

  const std::vector<int64_t> targets_;
  const std::unique_ptr<DeviceJpegs> device_;
  const std::string keep_;
  std::vector<NamedFile> batch_;
  std::vector<GreyImage> expected_;
  int64_t files_ = 0;
  int64_t bytes_ = 0;
  int64_t wrong_ = 0;
  int64_t refused_ = 0;
  int64_t shared_ = 0;
  int64_t damaged_ = 0;
  std::mt19937 random_{20261128};
  int64_t on_device_ = 0;
  int64_t left_ = 0;
  int64_t batches_ = 0;
};

int Main(int argc, char** argv) {
  CLI::App app("JPEG files to grey, compared with libjpeg-turbo");
  uint32_t files = 1000;
  uint32_t first = 0;
  uint32_t seed = 20261128;
  bool on_device = false;
  std::vector<std::string> photographs;
  std::vector<std::string> paths;
  std::string keep;
  std::string write;
  app.add_option("--files", files, "files to make, 0 = none");
  app.add_option("--first", first, "number of the first one, as in the name of a wrong file");
  app.add_option("--seed", seed, "of the files that are made");
  app.add_option("--photographs", photographs, "JPEG files or folders to make files of");
  app.add_option("--keep", keep, "folder for the files that are wrong");
  app.add_option("--write", write, "folder for the files that are made; nothing is checked");
  app.add_flag("--device", on_device, "also on the first CUDA device");
  app.add_option("paths", paths, "JPEG files and folders to check as they are");
  CLI11_PARSE(app, argc, argv);

  std::unique_ptr<DeviceJpegs> device;
  if (on_device) {
    auto made = DeviceJpegs::Create();
    if (!made.ok()) {
      std::fprintf(stderr, "jpeg_check: %s\n", made.status().ToString().c_str());
      return 2;
    }
    device = *std::move(made);
  }
  std::vector<Photograph> pictures;
  for (const std::string& path : testing::ImageFilesOf(photographs)) {
    const Bytes bytes = ReadFile(path);
    if (!LooksLikeJpeg(bytes)) continue;
    GreyImage image = DecodeByLibrary(bytes, /*rgb=*/true);
    pictures.push_back({image.width_px, image.height_px, std::move(image.pixels)});
  }
  const Maker maker(seed, std::move(pictures));
  if (!write.empty()) {
    for (uint32_t i = first; i < first + files; ++i) {
      WriteBytes(absl::StrCat(write, "/made", i, ".jpg"), maker.Make(i).bytes);
    }
    return 0;
  }
  Checker checker(std::move(device), keep);
  for (const std::string& path : testing::ImageFilesOf(paths)) {
    Bytes bytes = ReadFile(path);
    if (LooksLikeJpeg(bytes)) checker.Check({path, std::move(bytes)});
  }
  for (uint32_t i = 0; i < files; ++i) {
    checker.Check(maker.Make(first + i));
    if ((i + 1) % 10'000 == 0) {
      std::printf("%u files made, %lld wrong\n", i + 1, static_cast<long long>(checker.wrong()));
      std::fflush(stdout);
    }
  }
  if (checker.files() == 0) {
    std::fprintf(stderr, "jpeg_check: no file\n");
    return 2;
  }
  return checker.Finish();
}

}  // namespace
}  // namespace orbserve

int main(int argc, char** argv) { return orbserve::Main(argc, argv); }
