// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// JPEG files decoded on a device: the pixels of the host's decoder, and no file that it refuses.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/image_decoder.h"
#include "gpu/jpeg/jpeg_room.h"
#include "gpu/jpeg/jpeg_upload.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/kernel_image.h"
#include "gpu/runtime/memory.h"
#include "gpu/runtime/stream.h"
#include "gtest/gtest.h"
#include "tests/decode/decode_support.h"
#include "tests/decode/jpeg_kinds.h"
#include "tests/decode/jpeg_oracle.h"
#include "tests/decode/made_jpegs.h"
#include "tests/gpu/gpu_test_support.h"

namespace orbserve::gpu {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kSeed = 20261127;
constexpr size_t kBatch = 32;

struct TestFile {
  std::string name;
  Bytes bytes;
  bool device_decides = false;  // the device may not leave it to the host
};

// Files by what became of them.
struct Counts {
  int decoded = 0;    // on the device, with the right pixels
  int not_taken = 0;  // left to the host before anything went up
  int undecided = 0;  // left to the host by the device
  int refused = 0;    // by the host, of both of these
};

class JpegParityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      (void)cudaGetLastError();
      if (GpuIsExpected()) FAIL() << "a GPU is expected here";
      GTEST_SKIP() << "no CUDA device";
    }
    stream_ = *Stream::Create();
    cudaDeviceProp device;
    ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
    const bool may_overlap = *KernelArchitecture(device.major, device.minor) >= 90;
    room_ = std::make_unique<JpegRoom>(0, nullptr, may_overlap);
  }

  // Decodes all files in batches and compares each with the host.
  Counts Compare(const std::vector<TestFile>& files) {
    Counts counts;
    size_t batch = 1;
    for (size_t first = 0, count = 0; first < files.size(); first += count) {
      batch = batch == kBatch ? 1 : 2 * batch;
      count = std::min(batch, files.size() - first);
      CompareBatch(absl::MakeConstSpan(files).subspan(first, count), &counts);
      if (HasFatalFailure()) break;
    }
    return counts;
  }

 private:
  struct OnHost {
    absl::Status status;
    ImageHeader header;
    Bytes pixels;
  };
  static OnHost DecodeOnHost(const Bytes& bytes) {
    OnHost host;
    const EncodedImage image = Jpeg(bytes);
    const auto header = ReadImageHeader(image, {});
    host.status = header.status();
    if (!header.ok()) return host;
    host.header = *header;
    TestSlot slot(header->width_px, header->height_px);
    host.status = DecodeToGrey(image, *header, {}, slot.view());
    host.pixels = slot.Pixels();
    return host;
  }

  void CompareBatch(absl::Span<const TestFile> files, Counts* counts) {
    struct One {
      const TestFile* file;
      OnHost host;
      PinnedBuffer upload;
      DeviceBuffer image;
    };
    std::vector<One> all;
    std::vector<JpegDecoding> decodings;
    for (const TestFile& file : files) {
      One one{&file, DecodeOnHost(file.bytes), {}, {}};
      const ImageHeader& header = one.host.header;
      if (header.width_px == 0) {
        ++counts->refused;  // before it is decoded, by every backend
        continue;
      }
      one.upload = *PinnedBuffer::Create((size_t{64} << 10) + 4 * file.bytes.size(), nullptr);
      JpegDecoding decoding;
      decoding.upload = MakeJpegUpload(file.bytes, header.width_px, header.height_px,
                                       absl::MakeSpan(one.upload.data(), one.upload.size_bytes()));
      if (decoding.upload == nullptr) {
        ++counts->not_taken;
        if (!one.host.status.ok()) ++counts->refused;
        continue;
      }
      decoding.pitch_bytes = RoundUp(header.width_px, 64);
      const auto bytes = static_cast<size_t>(decoding.pitch_bytes * header.height_px);
      one.image = *DeviceBuffer::Create(0, bytes, nullptr);
      decoding.image = one.image.data();
      decodings.push_back(decoding);
      all.push_back(std::move(one));
    }
    if (decodings.empty()) return;
    ASSERT_TRUE(room_->Prepare(decodings, stream_.get()).ok());
    ASSERT_TRUE(room_->Upload(decodings, stream_.get()).ok());
    ASSERT_TRUE(room_->Launch(stream_.get()).ok());
    ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess);
    for (size_t i = 0; i < all.size(); ++i) {
      const One& one = all[i];
      if (decodings[i].upload->undecided != 0) {
        ++counts->undecided;
        EXPECT_FALSE(one.file->device_decides) << "left to the host: " << one.file->name;
        if (!one.host.status.ok()) ++counts->refused;
        continue;
      }
      ASSERT_TRUE(one.host.status.ok()) << one.file->name << ": " << one.host.status;
      const auto width = static_cast<size_t>(one.host.header.width_px);
      const auto height = static_cast<size_t>(one.host.header.height_px);
      Bytes pixels(width * height);
      ASSERT_EQ(cudaMemcpy2D(pixels.data(), width, decodings[i].image,
                             static_cast<size_t>(decodings[i].pitch_bytes), width, height,
                             cudaMemcpyDeviceToHost),
                cudaSuccess);
      const auto differs =
          std::mismatch(pixels.begin(), pixels.end(), one.host.pixels.begin()).first;
      ASSERT_TRUE(differs == pixels.end())
          << one.file->name << ": first difference at x "
          << static_cast<size_t>(differs - pixels.begin()) % width << " y "
          << static_cast<size_t>(differs - pixels.begin()) / width;
      ++counts->decoded;
    }
  }

  Stream stream_;
  std::unique_ptr<JpegRoom> room_;
};

TestFile Make(const JpegKind& kind) {
  return {NameOf(kind), WriteJpeg(kind),
          // In noise of high quality blocks have no end, at which walks would meet.
          !kind.noise && kind.quality < 98 && kind.luma_across * kind.luma_down <= 4};
}

void Print(const char* what, const Counts& counts) {
  std::cout << what << ": " << counts.decoded << " decoded, " << counts.not_taken << " not taken, "
            << counts.undecided << " undecided, " << counts.refused << " refused by the host\n";
}

TEST_F(JpegParityTest, AllSamplingsQualitiesAndTables) {
  std::vector<TestFile> files;
  for (const JpegKind& kind : KindsOfAllQualities()) files.push_back(Make(kind));
  const Counts counts = Compare(files);
  Print("samplings", counts);
  EXPECT_EQ(counts.refused, 0);
  EXPECT_EQ(counts.not_taken, 0);
  EXPECT_LE(counts.undecided, static_cast<int>(files.size()) / 4);
}

TEST_F(JpegParityTest, AllSizesAndRestartIntervals) {
  std::mt19937 random(kSeed);
  std::vector<TestFile> files;
  const int count = EnvironmentNumber("ORBSERVE_TEST_FRAMES", 600);
  for (int i = 0; i < count; ++i) files.push_back(Make(RandomKind(random, i)));
  const Counts counts = Compare(files);
  Print("sizes", counts);
  EXPECT_EQ(counts.refused, 0);
  EXPECT_EQ(counts.not_taken, 0);
  EXPECT_LE(counts.undecided, count / 20);
}

TEST_F(JpegParityTest, LargeImages) {
  std::vector<TestFile> files;
  for (JpegKind kind : LargeKinds()) {
    if (kind.quality == 75) kind.restart_interval = 13;
    files.push_back(Make(kind));
  }
  for (const auto& [width, height] : {std::pair(8192, 16), {16, 8192}, {4000, 3000}}) {
    files.push_back(Make({.width_px = width,
                          .height_px = height,
                          .components = 3,
                          .luma_across = 2,
                          .luma_down = 2}));
  }
  const Counts counts = Compare(files);
  Print("large", counts);
  EXPECT_EQ(counts.refused, 0);
}

// Rare, damaged and hostile files.
TEST_F(JpegParityTest, MadeFiles) {
  std::vector<TestFile> files;
  for (const MadeJpeg& made : MakeJpegs()) files.push_back({made.name, made.bytes, false});
  const Counts counts = Compare(files);
  Print("made", counts);
  EXPECT_GE(counts.decoded, 20);
}

// A device never decodes what the host refuses, and its pixels of damage that cannot be seen are
// the host's.
TEST_F(JpegParityTest, DamagedFiles) {
  std::mt19937 random(kSeed);
  std::vector<TestFile> files;
  const int count = EnvironmentNumber("ORBSERVE_TEST_DAMAGED", 3000);
  std::vector<TestFile> healthy;
  for (const JpegSampling& sampling : kJpegSamplings) {
    for (const int interval : {0, 0, 7}) {
      healthy.push_back(Make({.width_px = 317,
                              .height_px = 229,
                              .components = sampling.components,
                              .quality = 60 + static_cast<int>(random() % 39),
                              .luma_across = sampling.luma_across,
                              .luma_down = sampling.luma_down,
                              .restart_interval = interval,
                              .own_tables = random() % 2 == 0}));
    }
  }
  for (int i = 0; i < count; ++i) {
    const TestFile& file = healthy[static_cast<size_t>(i) % healthy.size()];
    TestFile damaged = {absl::StrCat(file.name, " damaged ", i), file.bytes, false};
    // Mostly entropy-coded data: the last half of the file.
    const size_t size = damaged.bytes.size();
    for (uint32_t bytes = 1 + random() % 4; bytes > 0; --bytes) {
      const size_t from = random() % 8 == 0 ? 2 : size / 2;
      damaged.bytes[from + random() % (size - from)] = static_cast<uint8_t>(random());
    }
    files.push_back(std::move(damaged));
  }
  const Counts counts = Compare(files);
  Print("damaged", counts);
  EXPECT_GT(counts.refused, count / 4);
  EXPECT_GT(counts.decoded, count / 20);
}

// The files of a folder, as they are.
TEST_F(JpegParityTest, FilesOfEnvironment) {
  const char* const folder = std::getenv("ORBSERVE_TEST_JPEGS");
  if (folder == nullptr) GTEST_SKIP() << "ORBSERVE_TEST_JPEGS names no folder";
  std::vector<TestFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jpg") {
      files.push_back({entry.path().filename(), ReadFile(entry.path()), false});
    }
  }
  const Counts counts = Compare(files);
  Print(folder, counts);
  EXPECT_GT(counts.decoded, 0);
}

}  // namespace
}  // namespace orbserve::gpu
