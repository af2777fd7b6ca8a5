// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/resume_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/file_io.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kFilePrefix[] = ".orbserve-done.";

// Returns the record "FINGERPRINT BYTES CHANGED_NS OUTPUT_BYTES OUTPUT", in which several inputs
// have commas between their BYTES and CHANGED_NS; "" if an input does not exist. `output` is one
// line.
std::string LineOf(const std::string& fingerprint, absl::Span<const std::string> inputs,
                   size_t output_bytes, const std::string& output) {
  std::string bytes;
  std::string changed_ns;
  for (const std::string& input : inputs) {
    struct stat info = {};
    if (stat(input.c_str(), &info) != 0) return "";
    const char* const comma = bytes.empty() ? "" : ",";
    absl::StrAppend(&bytes, comma, static_cast<int64_t>(info.st_size));
    absl::StrAppend(
        &changed_ns, comma,
        static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec);
  }
  return absl::StrCat(fingerprint, " ", bytes, " ", changed_ns, " ", output_bytes, " ", output);
}

// Adds the records of a log, by output. A last line without its end was truncated and is ignored.
void ReadLines(const std::string& text, std::map<std::string, std::string>* lines) {
  std::vector<std::string> all = absl::StrSplit(text, '\n');
  all.pop_back();
  for (std::string& line : all) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(' ', 4));
    if (fields.size() == 5) (*lines)[fields[4]] = std::move(line);
  }
}

}  // namespace

std::string OptionsFingerprint(absl::string_view options) {
  // FNV-1a with 64 bits.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : options) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return absl::StrFormat("%016x", hash);
}

absl::StatusOr<std::unique_ptr<ResumeLog>> ResumeLog::Open(const std::string& folder,
                                                           const Shard& shard,
                                                           const std::string& fingerprint) {
  std::unique_ptr<ResumeLog> log(new ResumeLog());
  log->folder_ = folder;
  log->fingerprint_ = fingerprint;
  const std::string name = absl::StrCat(kFilePrefix, shard.index, "-of-", shard.count);
  log->path_ = (fs::path(folder) / name).native();

  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": the folder cannot be created: ", error.message()));
  }
  absl::MutexLock lock(&log->mutex_);
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string file_name = entry->path().filename().native();
    if (!absl::StartsWith(file_name, kFilePrefix)) continue;
    const absl::StatusOr<std::string> text = ReadFile(entry->path().native());
    if (!text.ok()) continue;  // empty, or another shard is replacing it
    ReadLines(*text, &log->known_);
    if (file_name == name) ReadLines(*text, &log->own_);
  }
  log->fd_ = open(log->path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (log->fd_ < 0) return absl::ErrnoToStatus(errno, log->path_.c_str());
  return log;
}

ResumeLog::~ResumeLog() { (void)Close(); }

bool ResumeLog::IsDone(absl::Span<const std::string> inputs, const std::string& output) const {
  const std::string name = NameOnOneLine(output);
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  const std::string path = fs::path(folder_) / output;
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || access(path.c_str(), R_OK) != 0) return false;
  return found->second == LineOf(fingerprint_, inputs, static_cast<size_t>(info.st_size), name);
}

bool ResumeLog::WasDone(absl::Span<const std::string> inputs, const std::string& output) const {
  const std::string name = NameOnOneLine(output);
  const auto found = known_.find(name);
  if (found == known_.end()) return false;
  const std::vector<std::string> fields = absl::StrSplit(found->second, absl::MaxSplits(' ', 4));
  uint64_t bytes = 0;
  return absl::SimpleAtoi(fields[3], &bytes) &&
         found->second == LineOf(fingerprint_, inputs, bytes, name);
}

absl::Status ResumeLog::MarkDone(absl::Span<const std::string> inputs, const std::string& output,
                                 size_t output_bytes) {
  const std::string name = NameOnOneLine(output);
  const std::string line = LineOf(fingerprint_, inputs, output_bytes, name);
  if (line.empty()) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  own_[name] = line;
  // The leading line break ends a truncated record of an earlier run.
  const std::string text = absl::StrCat("\n", line, "\n");
  if (write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, path_.c_str());
  }
  return absl::OkStatus();
}

absl::Status ResumeLog::Close() {
  absl::MutexLock lock(&mutex_);
  if (fd_ < 0) return absl::OkStatus();
  close(std::exchange(fd_, -1));
  std::string text;
  for (const auto& [output, line] : own_) absl::StrAppend(&text, line, "\n");
  if (text.empty()) {
    unlink(path_.c_str());
    return absl::OkStatus();
  }
  return WriteFile(path_, text);
}

}  // namespace orbserve::cli
