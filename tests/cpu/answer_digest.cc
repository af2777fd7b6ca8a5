// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Prints a line for every preset and image, `NAME PRESET FEATURES HASH`, so that machines of
// different kinds can be compared:
//   answer_digest IMAGE.pgm... > here.txt
//   qemu-aarch64-static -L ROOT answer_digest IMAGE.pgm... | diff here.txt -
// The hash (FNV-1a) is of the bytes of all columns. Exit codes: 0 done, 1 an image cannot be read
// or has no answer, 2 wrong usage.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "tests/support/backend_runner.h"
#include "tests/support/image_makers.h"

namespace orbserve::cpu {
namespace {

class Hash {
 public:
  template <typename T>
  void Add(const std::vector<T>& column) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(column.data());
    for (size_t i = 0; i < column.size() * sizeof(T); ++i) value_ = (value_ ^ bytes[i]) * kPrime;
  }
  uint64_t value() const { return value_; }

 private:
  static constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t value_ = 0xcbf29ce484222325;
};

// A binary PGM of 8 bits without comments; nothing when `path` is none.
std::optional<testing::TestImage> ReadPgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  int width = 0, height = 0, most = 0;
  if (!(file >> magic >> width >> height >> most) || magic != "P5" || width <= 0 || height <= 0 ||
      most != 255) {
    return std::nullopt;
  }
  file.get();
  testing::TestImage image(width, height);
  for (int y = 0; y < height && file; ++y) {
    file.read(reinterpret_cast<char*>(image.view().Row(y)), width);
  }
  if (!file) return std::nullopt;
  return image;
}

bool Digest(FeatureBackend& backend, const std::string& path) {
  const std::optional<testing::TestImage> image = ReadPgm(path);
  if (!image.has_value()) {
    std::fprintf(stderr, "answer_digest: %s is no binary PGM\n", path.c_str());
    return false;
  }
  for (const Preset& preset : Presets()) {
    if (!preset.available) continue;
    const auto features = testing::RunFrame(backend, preset.pipeline,
                                            {.image = image->view(), .parameters = preset.frame});
    if (!features.ok()) {
      std::fprintf(stderr, "answer_digest: %s: %s\n", path.c_str(),
                   features.status().ToString().c_str());
      return false;
    }
    const Features& answer = **features;
    Hash hash;
    hash.Add(answer.x);
    hash.Add(answer.y);
    hash.Add(answer.size);
    hash.Add(answer.angle_deg);
    hash.Add(answer.response);
    hash.Add(answer.octave);
    hash.Add(answer.descriptors);
    std::printf("%s %s %zu %016llx\n", std::filesystem::path(path).filename().c_str(),
                std::string(preset.name).c_str(), answer.count(),
                static_cast<unsigned long long>(hash.value()));
  }
  return true;
}

int Run(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    std::fputs("usage: answer_digest IMAGE.pgm...\n", stderr);
    return 2;
  }
  auto backend = CreateCpuBackend({});
  if (!backend.ok()) {
    std::fprintf(stderr, "answer_digest: %s\n", backend.status().ToString().c_str());
    return 1;
  }
  bool done = true;
  for (const std::string& path : paths) done = Digest(**backend, path) && done;
  return done ? 0 : 1;
}

}  // namespace
}  // namespace orbserve::cpu

int main(int argc, char** argv) {
  return orbserve::cpu::Run(std::vector<std::string>(argv + 1, argv + argc));
}
