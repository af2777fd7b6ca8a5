// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/feature_store.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace orbserve::cli {

namespace fs = std::filesystem;

bool Survives(const MatchedPair& pair, int i) {
  if (!pair.verify) return true;
  return pair.geometry.has_value() && pair.geometry->inliers[static_cast<size_t>(i)];
}

std::string PathInStore(const StorePlace& place, const char* name, const char* ending) {
  const std::string shard =
      place.shard.count > 1 ? absl::StrCat(".", place.shard.index, "-of-", place.shard.count) : "";
  return (fs::path(place.folder) / absl::StrCat(name, shard, ending)).native();
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
  std::unique_ptr<StoreFile> file(new StoreFile(path, absl::StrCat(path, ".", getpid(), ".part")));
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
