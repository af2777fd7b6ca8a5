// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/reloader.h"

#include <sys/stat.h>

#include <utility>

#include "server/process/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

FileStamp StampOf(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return {};
  // The time of the last change of its status: a file that is moved here keeps that of its
  // contents.
  const int64_t changed_ns =
      int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino),
          static_cast<int64_t>(status.st_size), changed_ns};
}

std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

}  // namespace

Reloader::Reloader(std::vector<WatchedFiles> watched, std::function<void()> on_look)
    : on_look_(std::move(on_look)) {
  for (WatchedFiles& files : watched) {
    Group& group = groups_.emplace_back();
    group.loaded = StampsOf(files.paths);
    group.seen = group.loaded;
    group.files = std::move(files);
  }
}

std::vector<std::pair<std::string, bool>> Reloader::failures() const {
  std::vector<std::pair<std::string, bool>> failures;
  for (const Group& group : groups_) failures.emplace_back(group.files.name, group.has_failed);
  return failures;
}

void Reloader::Look() {
  const bool anyway = is_wanted_.exchange(false);
  for (Group& group : groups_) Look(group, anyway);
  if (on_look_) on_look_();
}

void Reloader::Look(Group& group, bool anyway) {
  const std::vector<FileStamp> stamps = StampsOf(group.files.paths);
  const bool is_settled = stamps == std::exchange(group.seen, stamps);
  if (!anyway && (stamps == group.loaded || !is_settled)) return;
  group.loaded = stamps;
  const absl::Status status = group.files.load();
  group.has_failed = !status.ok();
  if (status.ok()) {
    spdlog::info("event=reloaded files={}", group.files.name);
  } else {
    spdlog::error("event=reload_failed files={} kept=old message={}", group.files.name,
                  LogValue(status.message()));
  }
}

}  // namespace orbserve
