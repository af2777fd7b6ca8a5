// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/feature_store.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace orbserve::cli {

namespace fs = std::filesystem;

namespace {

constexpr char kPart[] = ".part";

// Removes the files that processes which were killed have left while they wrote `path`.
void RemoveLeftovers(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string prefix = path.filename().native() + ".";
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    absl::string_view number = name;
    int process = 0;
    if (absl::ConsumePrefix(&number, prefix) && absl::ConsumeSuffix(&number, kPart) &&
        absl::SimpleAtoi(number, &process) && process > 0 && kill(process, 0) != 0 &&
        errno == ESRCH) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
    }
  }
}

}  // namespace

bool Survives(const MatchedPair& pair, int i) {
  if (!pair.verify) return true;
  return pair.geometry.has_value() && pair.geometry->inliers[static_cast<size_t>(i)];
}

std::string PathInStore(const StorePlace& place, const char* name, const char* ending) {
  const std::string shard =
      place.shard.count > 1 ? absl::StrCat(".", place.shard.index, "-of-", place.shard.count) : "";
  return (fs::path(place.folder) / absl::StrCat(name, shard, ending)).native();
}

void RemoveParts(const std::string& folder) {
  const std::string leaving = absl::StrCat(folder, ".old");
  std::error_code ignored;
  fs::remove_all(leaving, ignored);
  fs::rename(folder, leaving, ignored);
  fs::remove_all(leaving, ignored);
}

std::string FeatureStorePath(FeatureFormat format, const StorePlace& place) {
  return format == FeatureFormat::kColmap ? PathInStore(place, "database", ".db")
                                          : PathInStore(place, "features", ".h5");
}

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(FeatureFormat format,
                                                               const StorePlace& place) {
  return format == FeatureFormat::kColmap ? OpenColmapStore(place) : OpenHdf5Store(place);
}

StoreFile::StoreFile(std::string path, std::string working)
    : path_(std::move(path)), working_(std::move(working)) {}

absl::StatusOr<std::unique_ptr<StoreFile>> StoreFile::Create(const std::string& path, bool keep) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.native(), ": the folder cannot be created: ", error.message()));
  }
  std::unique_ptr<StoreFile> file(new StoreFile(path, absl::StrCat(path, ".", getpid(), kPart)));
  RemoveLeftovers(path);
  fs::remove(file->working_, error);
  if (keep && fs::exists(path, error)) {
    file->kept_ = fs::copy_file(path, file->working_, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": cannot be copied: ", error.message()));
    }
  }
  return file;
}

StoreFile::~StoreFile() {
  std::error_code ignored;
  if (!published_) fs::remove(working_, ignored);
}

absl::Status StoreFile::Publish() {
  std::error_code error;
  fs::rename(working_, path_, error);
  if (error) {
    return absl::UnknownError(absl::StrCat(path_, ": cannot be written: ", error.message()));
  }
  published_ = true;
  return absl::OkStatus();
}

}  // namespace orbserve::cli
