// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "features/errors.h"
#include "google/protobuf/stubs/common.h"
#include "spdlog/async.h"
#include "spdlog/details/null_mutex.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000  // later ones log by Abseil
#include "google/protobuf/stubs/logging.h"
#endif

namespace orbserve {
namespace {

constexpr size_t kWaitingLines = 8192;

// Writes to standard error, and knows how many flushes it has come past. Only the log's own thread
// writes.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  int64_t flushes() const ABSL_LOCKS_EXCLUDED(flush_mutex_) {
    const absl::MutexLock lock(&flush_mutex_);
    return flushes_;
  }
  bool WaitForFlushes(int64_t count, std::chrono::milliseconds most)
      ABSL_LOCKS_EXCLUDED(flush_mutex_) {
    const auto arrived = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(flush_mutex_) {
      return flushes_ >= count;
    };
    const absl::MutexLock lock(&flush_mutex_);
    return flush_mutex_.AwaitWithTimeout(absl::Condition(&arrived), absl::FromChrono(most));
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* rest = line.data();
    const char* const end = rest + line.size();
    while (rest < end) {
      const ssize_t written = write(STDERR_FILENO, rest, static_cast<size_t>(end - rest));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // closed or full, and there is no other place to say so
      rest += written;
    }
  }
  void flush_() override ABSL_LOCKS_EXCLUDED(flush_mutex_) {
    const absl::MutexLock lock(&flush_mutex_);
    ++flushes_;
  }

 private:
  mutable absl::Mutex flush_mutex_;
  int64_t flushes_ ABSL_GUARDED_BY(flush_mutex_) = 0;
};

// The sink of the log's own thread; null where callers write. Set once, at the start.
StderrSink* thread_sink = nullptr;

// Lets `burst` events pass in each second and counts the rest.
class RateLimit {
 public:
  explicit RateLimit(int burst) : burst_(burst) {}

  // True if this event passes; `left_out` then says how many before it did not.
  bool Pass(int64_t& left_out) {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    if (now - second_ >= std::chrono::seconds(1)) {
      second_ = now;
      passed_ = 0;
    }
    if (passed_ >= burst_) {
      ++left_out_;
      return false;
    }
    ++passed_;
    left_out = left_out_;
    left_out_ = 0;
    return true;
  }

 private:
  const int burst_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point second_{};
  int passed_ = 0;
  int64_t left_out_ = 0;
};

#if GOOGLE_PROTOBUF_VERSION < 4022000
// Logs the messages that protobuf would write to standard error by itself. They say what is wrong
// with a client's message, which its call is told, or with ours.
void LogOfProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                   const std::string& message) {
  const bool is_fatal = level == google::protobuf::LOGLEVEL_FATAL;
  spdlog::log(is_fatal ? spdlog::level::critical : spdlog::level::debug,
              "event=protobuf place={}:{} message={}", file, line, LogValue(message));
}
#endif

}  // namespace

absl::Status SetUpLog(absl::string_view level, LogWriter writer) {
  const std::string name(level);
  const spdlog::level::level_enum parsed = spdlog::level::from_str(name);
  // from_str() answers `off` for what it does not know.
  if (parsed == spdlog::level::off && name != "off") {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("log level must be trace, debug, info, warning, error or off; "
                                  "got \"",
                                  name, "\""));
  }
  std::shared_ptr<spdlog::logger> logger;
  if (writer == LogWriter::kThread) {
    auto sink = std::make_shared<StderrSink>();
    thread_sink = sink.get();
    spdlog::init_thread_pool(kWaitingLines, 1);
    logger =
        std::make_shared<spdlog::async_logger>("orbserve", std::move(sink), spdlog::thread_pool(),
                                               spdlog::async_overflow_policy::overrun_oldest);
  } else {
    logger = std::make_shared<spdlog::logger>("orbserve",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->flush_on(spdlog::level::info);
  }
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::SetLogHandler(&LogOfProtobuf);
#endif
  return absl::OkStatus();
}

bool FlushLog(std::chrono::milliseconds most) {
  if (thread_sink == nullptr) {
    spdlog::default_logger()->flush();
    return true;
  }
  const int64_t flushes = thread_sink->flushes();
  spdlog::default_logger()->flush();
  return thread_sink->WaitForFlushes(flushes + 1, most);
}

int64_t LostLogLines() {
  const auto pool = spdlog::thread_pool();
  return pool == nullptr ? 0 : static_cast<int64_t>(pool->overrun_counter());
}

std::string LogValue(absl::string_view text) {
  const bool is_word = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != '"' && c != '=' && c != '\\';
  });
  if (is_word) return std::string(text);
  return absl::StrCat("\"", absl::CHexEscape(text), "\"");
}

void LogFailure(absl::string_view what, const absl::Status& status,
                absl::FunctionRef<std::string()> client) {
  if (status.ok()) return;
  const ErrorReason reason = ReasonOf(status);
  const bool is_ours = reason == ErrorReason::kInternal || reason == ErrorReason::kDeviceLost;
  const auto level = is_ours ? spdlog::level::err : spdlog::level::debug;
  if (!spdlog::should_log(level)) return;
  static RateLimit* const faults = new RateLimit(5);
  static RateLimit* const others = new RateLimit(50);
  int64_t left_out = 0;
  if (!(is_ours ? faults : others)->Pass(left_out)) return;
  spdlog::log(level, "event=failed what={} client={} reason={} left_out={} message={}",
              std::string(what.data(), what.size()), LogValue(client()),
              std::string(InfoOf(reason).name.data(), InfoOf(reason).name.size()), left_out,
              LogValue(status.message()));
}

void LogClientEvent(absl::FunctionRef<std::string()> line) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  static RateLimit* const limit = new RateLimit(50);
  int64_t left_out = 0;
  if (!limit->Pass(left_out)) return;
  try {
    spdlog::info("{} left_out={}", line(), left_out);
  } catch (const std::bad_alloc&) {
    // The end of a call must not fail for want of its line.
  }
}

}  // namespace orbserve
