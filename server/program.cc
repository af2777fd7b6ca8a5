// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/program.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "features/errors.h"
#include "features/standard_streams.h"
#include "features/uncaught.h"
#include "grpc/grpc.h"
#include "orbserve/version.h"
#include "server/clients/token_file.h"
#include "server/config/config.h"
#include "server/config/derived_limits.h"
#include "server/edge/descriptor_limit.h"
#include "server/edge/guard/guard.h"
#include "server/edge/tls_files.h"
#include "server/part_options.h"
#include "server/process/limits.h"
#include "server/process/log.h"
#include "server/process/memory/heap_trimmer.h"
#include "server/process/memory/memory_reserve.h"
#include "server/process/service_manager.h"
#include "server/server.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDeviceLost = 3;
constexpr int kExitSelfCheckFailed = 4;

// Any call of a lost device may hang, so the process is gone after this time in any case. It is
// slightly more than Server::Drain() takes at most.
constexpr std::chrono::milliseconds kLossLimit{1800};

// Time for lines of the log to be written before the process ends. They are lost where nobody reads
// them.
constexpr std::chrono::milliseconds kLogTime{200};

// Small blocks for the ends of all work that may wait or be under way when the heap has none: some
// kilobytes for each of a thousand frames.
constexpr size_t kReserveBytes = size_t{16} << 20;

// Wakes the thread that waits for signals when the process must end by itself.
int LossSignal() { return SIGRTMIN; }

struct Arguments {
  std::string config_file;
  server::Config flags;  // only what was given
  bool check_config = false;
};

// The form of the log once it is known to be wanted; without one, errors are plain words.
std::optional<LogFormat> fatal_format;

LogFormat LogFormatOf(const server::Config& config) {
  return config.log_format() == "json" ? LogFormat::kJson : LogFormat::kText;
}

void TellFatal(int code, const char* message) {
  if (fatal_format.has_value()) return WriteFatal(*fatal_format, code, message);
  std::fprintf(stderr, "orbserve-server: %s\n", message);
}

int Complain(const absl::Status& status, int code) {
  const bool is_plain = !fatal_format.has_value();
  const absl::string_view line_end = is_plain ? "\norbserve-server: " : "\n";
  TellFatal(code, absl::StrReplaceAll(status.message(), {{"\n", line_end}}).c_str());
  return code;
}

// Programs that read JSON read no other lines. With --check-config a person reads.
void TellFatalAs(const server::Config& config, bool is_check) {
  if (!is_check && LogFormatOf(config) == LogFormat::kJson) fatal_format = LogFormat::kJson;
}

// A flag that sets a field.
struct Flag {
  const ConfigField* field = nullptr;
  CLI::Option* option = nullptr;
  std::string value;
  std::vector<std::string> list;  // of a field that is a list
  bool is_on = false;             // of a field that is true or false
};

// The first sentence about a field, its default and what is allowed. Completion of shells knows
// names that stand behind the last colon.
std::string HelpOf(const ConfigField& field) {
  const std::string text = PlainText(field.rule->about());
  std::string help = text.substr(0, text.find(". "));
  const std::string value = DefaultText(field);
  if (!value.empty() && value != "false") absl::StrAppend(&help, " (default ", value, ")");
  const std::string range = RangeText(field);
  return range.empty() ? help : absl::StrCat(help, ": ", range);
}

std::list<Flag> AddFlags(CLI::App& app) {
  std::list<Flag> flags;  // whose elements stay where they are
  for (const ConfigField& field : ConfigFields()) {
    const std::string& name = field.rule->flag();
    if (name.empty()) continue;
    Flag& flag = flags.emplace_back();
    flag.field = &field;
    const std::string help = HelpOf(field);
    if (field.field->type() == google::protobuf::FieldDescriptor::TYPE_BOOL) {
      flag.option = app.add_flag(name, flag.is_on, help);
    } else if (field.field->is_repeated()) {
      flag.option = app.add_option(name, flag.list, help);
    } else {
      flag.option = app.add_option(name, flag.value, help);
    }
    if (field.rule->max() > 0) flag.option->type_name("UINT");
  }
  return flags;
}

// True for a text without a default.
bool IsFileName(const ConfigField& field) {
  return field.field->type() == google::protobuf::FieldDescriptor::TYPE_STRING &&
         field.rule->default_value().empty();
}

absl::Status EmptyFlag(absl::string_view flag) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": must name a file; got nothing"));
}

absl::Status TakeFlags(const std::list<Flag>& flags, server::Config& config) {
  for (const Flag& flag : flags) {
    if (flag.option->count() == 0) continue;
    std::vector<std::string> values;
    for (const std::string& part : flag.list) {
      for (const absl::string_view value : absl::StrSplit(part, ',')) values.emplace_back(value);
    }
    if (values.empty()) values.push_back(flag.is_on ? "true" : flag.value);
    for (const std::string& value : values) {
      // A script whose variable is not set would start a server without tokens, or without TLS.
      if (value.empty() && IsFileName(*flag.field)) return EmptyFlag(flag.field->rule->flag());
      const absl::Status status = SetFromText(*flag.field, value, &config);
      if (status.ok()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(flag.field->rule->flag(), ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

// Says what is wrong with the first argument that nothing is known of.
std::string UnknownArgument(int argc, char** argv, const std::vector<std::string>& unknown) {
  std::string first = unknown.empty() ? "" : unknown.front();
  for (int i = argc - 1; i > 0; --i) {
    if (std::find(unknown.begin(), unknown.end(), argv[i]) != unknown.end()) first = argv[i];
  }
  if (!absl::StartsWith(first, "-")) {
    return absl::StrCat("nothing is known of the argument ", first,
                        "; --config names a configuration file, --help lists the options");
  }
  const std::string meant = MeantFlag(first.substr(0, first.find('=')));
  return absl::StrCat("there is no option ", first,
                      meant.empty() ? "; --help lists them" : "; did you mean ",
                      meant.empty() ? "" : absl::StrCat(meant, "?"));
}

// Before anything is parsed: mistakes of the arguments are lines of JSON, too.
bool AsksForJson(int argc, char** argv) {
  bool is_json = false;
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    if (word == "--check-config") return false;
    if (!absl::ConsumePrefix(&word, "--log-format")) continue;
    if (absl::ConsumePrefix(&word, "=") || i + 1 == argc) {
      is_json = word == "json";
    } else {
      is_json = absl::string_view(argv[i + 1]) == "json";
    }
  }
  return is_json;
}

// Parses `argc`, `argv`; returns an exit code when the program ends here, else -1.
int ParseArguments(int argc, char** argv, Arguments& arguments) {
  if (AsksForJson(argc, argv)) fatal_format = LogFormat::kJson;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view name = argv[i];
    const std::string instead = ReplacementOf(name.substr(0, name.find('=')));
    if (!instead.empty()) return Complain(absl::InvalidArgumentError(instead), kExitUsage);
  }
  CLI::App app{"Visual features over gRPC.", "orbserve-server"};
  app.set_version_flag("--version", std::string("orbserve-server ") + kVersion);
  const CLI::Option* const config_option =
      app.add_option("--config", arguments.config_file, "Configuration in protobuf text format");
  app.add_flag("--check-config", arguments.check_config,
               "Print the resulting configuration, and what is derived from it, and exit");
  const std::list<Flag> flags = AddFlags(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    const std::string what = UnknownArgument(argc, argv, app.remaining());
    return Complain(absl::InvalidArgumentError(what), kExitUsage);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Complain(absl::InvalidArgumentError(error.what()), kExitUsage);
  }
  if (config_option->count() > 0 && arguments.config_file.empty()) {
    return Complain(EmptyFlag("--config"), kExitUsage);
  }
  const absl::Status status = TakeFlags(flags, arguments.flags);
  return status.ok() ? -1 : Complain(status, kExitUsage);
}

// Finds the mistakes that would keep the program from starting this time and every other time.
void CheckConfig(const server::Config& config, Mistakes* mistakes) {
  mistakes->Add(ValidateConfig(config));
  mistakes->Add(CheckListenAddresses(config));
  // A certificate without its key is a mistake already.
  if (config.tls().cert_file().empty() == config.tls().key_file().empty()) {
    mistakes->Add(ReadTlsFiles(TlsPathsOf(config)).status());
  }
  if (!config.token_file().empty()) mistakes->Add(ReadTokenFile(config.token_file()).status());
  const auto most = static_cast<uint64_t>(FindMemoryLimit());
  if (config.limits().memory_bytes() > most) {
    mistakes->Add(absl::StrCat("limits.memory_bytes must be at most what the process may use, ",
                               most, "; got ", config.limits().memory_bytes()));
  }
}

// The keys and values of a line of the log for each doubt about a configuration that is valid.
std::vector<std::string> DoubtsAbout(const server::Config& config) {
  std::vector<std::string> doubts;
  if (HttpIsOpenToOthers(config)) {
    doubts.push_back(absl::StrCat(
        "event=http_open_to_others http_listen=", LogValue(config.http_listen()), " message=",
        LogValue("who reaches it reads metrics and the names of clients, without TLS")));
  }
  const absl::StatusOr<TlsFiles> tls = ReadTlsFiles(TlsPathsOf(config));
  if (tls.ok() && absl::FromUnixSeconds(tls->valid_from_unix_s) > absl::Now()) {
    doubts.push_back(absl::StrCat(
        "event=certificate_not_valid_yet valid_from=",
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(tls->valid_from_unix_s),
                         absl::UTCTimeZone()),
        " message=", LogValue("clients refuse it until then, or the clock here is behind")));
  }
  if (config.token_file().empty()) return doubts;
  const absl::StatusOr<std::vector<TokenEntry>> tokens = ReadTokenFile(config.token_file());
  if (!tokens.ok()) return doubts;
  for (const server::Config::Share& share : config.shares()) {
    const bool is_there = std::any_of(tokens->begin(), tokens->end(), [&](const TokenEntry& entry) {
      return share.owner() == absl::StrCat("token:", entry.name);
    });
    if (is_there) continue;
    doubts.push_back(absl::StrCat("event=owner_unknown owner=", LogValue(share.owner()),
                                  " message=", LogValue("token_file has no token of this name")));
  }
  return doubts;
}

// The process ends with `code` after `limit`, whatever hangs then (a call, a device).
void EndAfter(std::chrono::milliseconds limit, int code) {
  try {
    std::thread([limit, code] {
      std::this_thread::sleep_for(limit);
      spdlog::error("event=stop_hangs");
      FlushLog(kLogTime);
      _exit(code);
    }).detach();
  } catch (const std::system_error& error) {
    spdlog::warn("event=stop_without_limit message={}", LogValue(error.what()));
  }
}

// Calls the server once, and so finds out whether its reads pass the guard of connections.
void CheckOwnCall(Server& server, const server::Config& config) {
  if (config.listen().empty()) return;
  if (const absl::Status status = server.Ready(); !status.ok()) {
    spdlog::warn("event=not_ready message={}", LogValue(status.message()));
  } else if (!SeesTraffic()) {
    spdlog::warn("event=guard_absent message={}",
                 LogValue("floods of HTTP/2 frames are not noticed in this build"));
  }
}

// Says in the log that some of it is missing. `told`: lines that this was said of.
void TellLostLines(int64_t& told) {
  const int64_t lost = LostLogLines();
  if (lost == told) return;
  spdlog::warn("event=log_lines_lost lines={} since_start={}", lost - told, lost);
  told = lost;
}

pthread_t waiting_thread;

void HandToWaitingThread(int signal) { pthread_kill(waiting_thread, signal); }

// Blocks all signals that this program handles, in this thread and in those that it makes, so that
// only WaitForStop() gets them, and ignores those that would end it without a reason. Libraries
// have threads that do not block them (a GPU's driver): these hand them on.
sigset_t TakeSignals() {
  waiting_thread = pthread_self();
  struct sigaction hand_on = {};
  hand_on.sa_handler = HandToWaitingThread;
  hand_on.sa_flags = SA_RESTART;
  sigemptyset(&hand_on.sa_mask);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, LossSignal()}) {
    sigaddset(&signals, signal);
    sigaction(signal, &hand_on, nullptr);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

// Waits for a signal to stop, or until a device is lost or the self-check fails. Tells the service
// manager as long as the server is alive; where it is not, the manager starts another process when
// the watchdog's time is over.
void WaitForStop(Server& server, const ServiceManager& manager, const sigset_t& signals) {
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds watchdog = manager.watchdog_time() / 4;  // 0 = none
  const std::chrono::nanoseconds period = std::min<std::chrono::nanoseconds>(
      std::chrono::seconds(1), watchdog.count() > 0 ? watchdog : watchdog.max());
  const timespec look_period = {period.count() / 1'000'000'000, period.count() % 1'000'000'000};
  int64_t told_lines = 0;
  absl::Status told_status;
  Clock::time_point next_alive;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &look_period);
    TellLostLines(told_lines);
    if (const auto now = Clock::now(); watchdog.count() > 0 && now >= next_alive) {
      const absl::Status status = server.Alive();
      if (status.ok()) {
        manager.Alive();
        next_alive = now + watchdog;
      } else if (told_status.ok()) {
        spdlog::warn("event=watchdog_waits message={}", LogValue(status.message()));
      }
      told_status = status;
    }
    if (server.device_lost() || server.self_check_failed()) return;
    if (signal == SIGHUP) {
      spdlog::info("event=signal number={}", signal);
      server.Reload();
    }
    if (signal == SIGUSR1 || signal == SIGUSR2) StepLogLevel(/*more=*/signal == SIGUSR1);
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      spdlog::info("event=signal number={}", signal);
      return;
    }
  }
}

}  // namespace

int RunServerProgram(int argc, char** argv, BackendWrapper wrap_backend) {
  ReserveStandardStreams();
  // gRPC writes lines of its own to standard error, not in the form of our log; what matters of
  // them is told by us. Set it to see them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  Arguments arguments;
  ExplainMissingThreads(&TellFatal);
  if (const int code = ParseArguments(argc, argv, arguments); code >= 0) return code;
  TellFatalAs(arguments.flags, arguments.check_config);
  server::Config given;
  Mistakes mistakes;
  const bool is_read =
      arguments.config_file.empty() || ReadConfigFile(arguments.config_file, &given, &mistakes);
  const server::Config config = CompleteConfig(Overlay(std::move(given), arguments.flags));
  TellFatalAs(config, arguments.check_config);
  if (is_read) CheckConfig(config, &mistakes);
  if (const absl::Status status = mistakes.status(); !status.ok()) {
    return Complain(status, kExitUsage);
  }
  if (arguments.check_config) {
    std::fputs(ConfigToText(config).c_str(), stdout);
    std::fputs(DerivedLimitsText(config, Derive(config)).c_str(), stdout);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return Complain(absl::DataLossError("standard output is not complete: a write failed"),
                      kExitFailed);
    }
    for (const std::string& doubt : DoubtsAbout(config)) {
      std::fprintf(stderr, "orbserve-server: warning: %s\n", doubt.c_str());
    }
    return kExitOk;
  }
  TuneProcess();
  if (!ProcessReserve().Map(kReserveBytes)) {
    return Complain(absl::ResourceExhaustedError("no memory for the reserve"), kExitFailed);
  }
  const sigset_t signals = TakeSignals();
  fatal_format = LogFormatOf(config);
  const LogOptions log = {
      .level = config.log_level(), .format = *fatal_format, .writer = LogWriter::kThread};
  if (const absl::Status status = SetUpLog(log); !status.ok()) return Complain(status, kExitUsage);

  for (const std::string& doubt : DoubtsAbout(config)) spdlog::warn(doubt);

  // gRPC ends with its last user and waits for its threads then, one of which may sleep for ten
  // seconds when a large message was sent. A process that ends does not need that.
  grpc_init();
  ServerHooks hooks;
  hooks.wrap_backend = std::move(wrap_backend);
  hooks.look_at_heap = [trimmer = std::make_shared<HeapTrimmer>()] { trimmer->Look(); };
  hooks.heap_is_exhausted = [exhaustion = HeapExhaustion(ProcessReserve())]() mutable {
    return exhaustion.Look(std::chrono::steady_clock::now());
  };
  hooks.on_device_lost = [] {
    EndAfter(kLossLimit, kExitDeviceLost);
    kill(getpid(), LossSignal());
  };
  hooks.on_self_check_failed = [] { kill(getpid(), LossSignal()); };
  RaiseDescriptorLimit();
  auto created = Server::Create(config, std::move(hooks));
  if (!created.ok()) {
    // A backend that this program was not compiled for, or a device that is not there, is not there
    // the next time either.
    const ErrorReason reason = ReasonOf(created.status());
    const bool hopeless = reason == ErrorReason::kUnsupported || reason == ErrorReason::kBadOptions;
    return Complain(created.status(), hopeless ? kExitUsage : kExitFailed);
  }
  Server& server = **created;
  spdlog::info("event=serving version={} listen={} port={} http_listen={} http_port={}", kVersion,
               LogValue(config.listen()), server.port(), LogValue(config.http_listen()),
               server.http_port());

  CheckOwnCall(server, config);
  manager.Ready(absl::StrCat("serving on ", config.listen()));
  WaitForStop(server, manager, signals);
  const auto stop_limit = std::chrono::milliseconds(config.drain().delay_ms()) +
                          std::chrono::milliseconds(config.drain().timeout_ms()) +
                          std::chrono::seconds(5);
  EndAfter(stop_limit, kExitFailed);
  manager.Stopping(stop_limit + std::chrono::seconds(1));
  const bool complete = server.Drain();
  const FrameCounts frames = server.frame_counts();
  spdlog::info("event=stopped complete={} frames_received={} frames_ok={} frames_failed={}",
               complete, frames.received, frames.ok, frames.failed);
  const int loss = server.device_lost()         ? kExitDeviceLost
                   : server.self_check_failed() ? kExitSelfCheckFailed
                                                : kExitOk;
  // A lost device may hang in destructors.
  if (loss == kExitOk) created->reset();
  FlushLog(kLogTime);
  // Threads of gRPC and of drivers go on, and would use what exit handlers free.
  _exit(loss == kExitOk && !complete ? kExitFailed : loss);
}

}  // namespace orbserve
