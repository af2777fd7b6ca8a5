// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/process/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "features/errors.h"
#include "google/protobuf/stubs/common.h"
#include "spdlog/async.h"
#include "spdlog/details/null_mutex.h"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#if GOOGLE_PROTOBUF_VERSION < 4022000  // later ones log by Abseil
#include "google/protobuf/stubs/logging.h"
#endif

namespace orbserve {
namespace {

constexpr size_t kWaitingLines = 8192;
constexpr std::chrono::milliseconds kFatalFlush{200};
constexpr char kTime[] = "%Y-%m-%dT%H:%M:%S.%e%z";

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    const spdlog::string_view_t level = spdlog::level::to_string_view(message.level);
    const std::string json = EventAsJson({time.data(), time.size()}, {level.data(), level.size()},
                                         {message.payload.data(), message.payload.size()});
    line.append(json.data(), json.data() + json.size());
    line.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  spdlog::pattern_formatter time_{kTime, spdlog::pattern_time_type::local, ""};
};

std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<spdlog::pattern_formatter>(absl::StrCat(kTime, " %l %v"));
}

// Writes all of `line` to standard error; returns how many bytes were written.
size_t WriteLine(const spdlog::memory_buf_t& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // closed or full, and there is no other place to say so
    done += static_cast<size_t>(written);
  }
  return done;
}

// Writes to standard error, and knows how many flushes it has come past. Only the log's own thread
// writes.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  int64_t flushes() const ABSL_LOCKS_EXCLUDED(flush_mutex_) {
    const absl::MutexLock lock(&flush_mutex_);
    return flushes_;
  }
  // Lines that could not be written, such as to a full disk.
  int64_t unwritten() const { return unwritten_; }
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
    if (is_cut_) line.push_back('\n');
    const size_t head = line.size();
    formatter_->format(message, line);
    const size_t written = WriteLine(line);
    if (written < line.size()) ++unwritten_;
    if (written >= head) is_cut_ = head < written && written < line.size();
  }
  void flush_() override ABSL_LOCKS_EXCLUDED(flush_mutex_) {
    const absl::MutexLock lock(&flush_mutex_);
    ++flushes_;
  }

 private:
  std::atomic<int64_t> unwritten_{0};
  bool is_cut_ = false;  // standard error ends with a part of a line
  mutable absl::Mutex flush_mutex_;
  int64_t flushes_ ABSL_GUARDED_BY(flush_mutex_) = 0;
};

// The sink of the log's own thread; null where callers write. Set once, at the start.
StderrSink* thread_sink = nullptr;

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

absl::Status SetUpLog(const LogOptions& options) {
  const spdlog::level::level_enum parsed = spdlog::level::from_str(options.level);
  // from_str() answers `off` for what it does not know.
  if (parsed == spdlog::level::off && options.level != "off") {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("log level must be trace, debug, info, warning, error or off; "
                                  "got \"",
                                  options.level, "\""));
  }
  std::shared_ptr<spdlog::logger> logger;
  if (options.writer == LogWriter::kThread) {
    auto sink = std::make_shared<StderrSink>();
    spdlog::init_thread_pool(kWaitingLines, 1);
    thread_sink = sink.get();
    logger =
        std::make_shared<spdlog::async_logger>("orbserve", std::move(sink), spdlog::thread_pool(),
                                               spdlog::async_overflow_policy::overrun_oldest);
  } else {
    logger = std::make_shared<spdlog::logger>("orbserve",
                                              std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->flush_on(spdlog::level::info);
  }
  logger->set_formatter(MakeFormatter(options.format));
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::SetLogHandler(&LogOfProtobuf);
#endif
  return absl::OkStatus();
}

bool RateLimit::Pass(int64_t& left_out) {
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
  left_out = std::exchange(left_out_, 0);
  return true;
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
  if (pool == nullptr) return 0;
  const int64_t unwritten = thread_sink == nullptr ? 0 : thread_sink->unwritten();
  return static_cast<int64_t>(pool->overrun_counter()) + unwritten;
}

void StepLogLevel(bool more) {
  using Level = spdlog::level::level_enum;
  spdlog::logger& logger = *spdlog::default_logger_raw();
  const Level old = logger.level();
  if (!more && old >= Level::err) return;
  const auto level = static_cast<Level>(
      std::clamp<int>(static_cast<int>(old) + (more ? -1 : 1), Level::trace, Level::err));
  logger.set_level(level);
  const spdlog::string_view_t name = spdlog::level::to_string_view(level);
  spdlog::log(std::max(level, Level::info), "event=log_level_changed to={}", name);
}

void WriteFatal(LogFormat format, int exit_code, absl::string_view message) {
  if (thread_sink != nullptr) FlushLog(kFatalFlush);
  const std::string event =
      absl::StrCat("event=fatal exit_code=", exit_code, " message=", LogValue(message));
  spdlog::memory_buf_t line;
  MakeFormatter(format)->format(
      spdlog::details::log_msg("orbserve", spdlog::level::critical, event), line);
  WriteLine(line);
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

void LogCall(absl::string_view method, absl::StatusCode code, std::chrono::nanoseconds time,
             absl::FunctionRef<std::string()> caller) {
  if (!spdlog::should_log(spdlog::level::debug)) return;
  try {
    const double seconds = std::chrono::duration<double>(time).count();
    spdlog::debug("event=call method={} code={} seconds={:.6f} {}", std::string(method),
                  absl::StatusCodeToString(code), seconds, caller());
  } catch (const std::bad_alloc&) {
    // The end of a call must not fail for want of its line.
  }
}

void LogClientEvent(ClientEvent kind, absl::FunctionRef<std::string()> line) {
  // In the order of ClientEvent.
  static std::array<RateLimit, 2>* const limits =
      new std::array<RateLimit, 2>{RateLimit(50), RateLimit(50)};
  LogClientEvent((*limits)[static_cast<size_t>(kind)], line);
}

void LogClientEvent(RateLimit& limit, absl::FunctionRef<std::string()> line) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  int64_t left_out = 0;
  if (!limit.Pass(left_out)) return;
  try {
    spdlog::info("{} left_out={}", line(), left_out);
  } catch (const std::bad_alloc&) {
    // The end of a call must not fail for want of its line.
  }
}

}  // namespace orbserve
