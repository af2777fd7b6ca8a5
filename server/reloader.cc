// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/reloader.h"

#include <utility>

#include "absl/time/time.h"
#include "server/log.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

std::vector<FileStamp> StampsOf(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(StampOf(path));
  return stamps;
}

}  // namespace

Reloader::Reloader(ReloaderOptions options)
    : period_(options.period), on_look_(std::move(options.on_look)) {
  for (WatchedFiles& files : options.files) {
    const std::vector<FileStamp> stamps = StampsOf(files.paths);
    groups_.push_back({std::move(files), stamps, stamps});
  }
  thread_ = std::thread([this] { Run(); });
}

Reloader::~Reloader() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Reloader::Reload() {
  absl::MutexLock lock(&mutex_);
  wanted_ = true;
}

void Reloader::Look(Group& group, bool anyway) {
  const std::vector<FileStamp> stamps = StampsOf(group.files.paths);
  const bool is_settled = stamps == std::exchange(group.seen, stamps);
  if (!anyway && (stamps == group.loaded || !is_settled)) return;
  group.loaded = stamps;
  const absl::Status status = group.files.load();
  if (status.ok()) {
    spdlog::info("event=reloaded files={}", group.files.name);
  } else {
    spdlog::error("event=reload_failed files={} kept=old message={}", group.files.name,
                  LogValue(status.message()));
  }
}

void Reloader::Run() {
  for (;;) {
    bool anyway = false;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_woken = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopping_ || wanted_;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&is_woken), absl::FromChrono(period_));
      if (stopping_) return;
      anyway = std::exchange(wanted_, false);
    }
    for (Group& group : groups_) Look(group, anyway);
    if (on_look_) on_look_();
  }
}

}  // namespace orbserve
