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
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "features/errors.h"
#include "grpc/grpc.h"
#include "orbserve/version.h"
#include "server/config.h"
#include "server/listen/descriptor_limit.h"
#include "server/listen/guard_table.h"
#include "server/listen/socket_hook.h"
#include "server/log.h"
#include "server/memory/memory_reserve.h"
#include "server/server.h"
#include "server/service_manager.h"
#include "server/start_check.h"
#include "server/tuning.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitDeviceLost = 3;
constexpr int kExitDeaf = 4;

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

// Check of a flag: a whole number that fits `T`. The configuration checks its range.
template <typename T>
CLI::Validator WholeNumber() {
  return CLI::Validator(
      [](std::string& text) {
        T value{};
        return absl::SimpleAtoi(text, &value)
                   ? std::string()
                   : absl::StrCat("must be a whole number from 0 to ",
                                  std::numeric_limits<T>::max(), "; got ", text);
      },
      "");
}

// Parses `argc`, `argv`; returns an exit code when the program ends here, else -1.
int ParseArguments(int argc, char** argv, Arguments& arguments) {
  CLI::App app{"Visual features over gRPC.", "orbserve-server"};
  app.set_version_flag("--version", std::string("orbserve-server ") + kVersion);
  std::string listen, http_listen, backend, log_level, cert, key, client_ca, token_file;
  std::vector<uint32_t> devices;
  uint64_t gpu_memory_limit = 0;
  uint32_t threads = 0, max_batch = 0, max_delay_us = 0, drain_timeout_ms = 0;
  uint32_t device_deadline_ms = 0;
  app.add_option("--config", arguments.config_file, "Configuration in protobuf text format");
  auto* const listen_flag =
      app.add_option("--listen", listen,
                     "HOST:PORT, [IPV6]:PORT, unix:PATH or unix-abstract:NAME of the service; port "
                     "0 = a free one");
  auto* const http_flag = app.add_option("--http-listen", http_listen,
                                         "[HOST]:PORT of /metrics, /healthz, /readyz; \"\" = none");
  auto* const backend_flag =
      app.add_option("--backend", backend, "auto, cpu, cpu-reference or cuda");
  app.add_option("--devices", devices, "CUDA devices, as 0,1")
      ->delimiter(',')
      ->check(WholeNumber<uint32_t>());
  auto* const device_deadline_flag = app.add_option("--device-deadline-ms", device_deadline_ms,
                                                    "A CUDA device that takes longer is lost");
  auto* const memory_flag =
      app.add_option("--gpu-memory-limit", gpu_memory_limit, "Bytes per device; 0 = what is free");
  auto* const threads_flag =
      app.add_option("--threads", threads, "Threads of the CPU backend; 0 = one per processor");
  auto* const batch_flag = app.add_option("--max-batch", max_batch, "Frames in a batch");
  auto* const delay_flag =
      app.add_option("--max-delay-us", max_delay_us, "Longest wait for a fuller batch");
  auto* const level_flag =
      app.add_option("--log-level", log_level, "trace, debug, info, warning, error or off");
  auto* const drain_flag = app.add_option("--drain-timeout-ms", drain_timeout_ms,
                                          "After SIGTERM: time until what is left is cut");
  auto* const cert_flag = app.add_option("--tls-cert", cert, "PEM file: certificate chain");
  auto* const key_flag = app.add_option("--tls-key", key, "PEM file: private key");
  auto* const ca_flag =
      app.add_option("--tls-client-ca", client_ca, "PEM file: clients must be certified by it");
  auto* const token_flag =
      app.add_option("--token-file", token_file, "Tokens of the clients; others are refused");
  bool insecure = false;
  auto* const insecure_flag = app.add_flag(
      "--insecure", insecure, "Serve plain text on an address that other machines reach");
  app.add_flag("--check-config", arguments.check_config,
               "Print the resulting configuration and exit");
  for (CLI::Option* const flag :
       {device_deadline_flag, threads_flag, batch_flag, delay_flag, drain_flag}) {
    flag->check(WholeNumber<uint32_t>());
  }
  memory_flag->check(WholeNumber<uint64_t>());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  server::Config& flags = arguments.flags;
  if (listen_flag->count() > 0) flags.set_listen(listen);
  if (http_flag->count() > 0) flags.set_http_listen(http_listen);
  if (level_flag->count() > 0) flags.set_log_level(log_level);
  if (token_flag->count() > 0) flags.set_token_file(token_file);
  if (insecure_flag->count() > 0) flags.set_insecure(insecure);
  if (backend_flag->count() > 0) flags.mutable_backend()->set_name(backend);
  if (threads_flag->count() > 0) flags.mutable_backend()->set_threads(threads);
  if (memory_flag->count() > 0) {
    flags.mutable_backend()->set_gpu_memory_limit_bytes(gpu_memory_limit);
  }
  if (device_deadline_flag->count() > 0) {
    flags.mutable_backend()->set_device_deadline_ms(device_deadline_ms);
  }
  for (const uint32_t device : devices) flags.mutable_backend()->add_devices(device);
  if (batch_flag->count() > 0) flags.mutable_batching()->set_max_batch(max_batch);
  if (delay_flag->count() > 0) flags.mutable_batching()->set_max_delay_us(max_delay_us);
  if (drain_flag->count() > 0) flags.mutable_drain()->set_timeout_ms(drain_timeout_ms);
  if (cert_flag->count() > 0) flags.mutable_tls()->set_cert_file(cert);
  if (key_flag->count() > 0) flags.mutable_tls()->set_key_file(key);
  if (ca_flag->count() > 0) flags.mutable_tls()->set_client_ca_file(client_ca);
  return -1;
}

int Complain(const absl::Status& status, int code) {
  const std::string text(status.message());
  std::fprintf(stderr, "orbserve-server: %s\n", text.c_str());
  return code;
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
  } else if (!HasSocketHook() || !GuardTable::Get().is_used() ||
             (!config.tls().cert_file().empty() && !HasTlsHook())) {
    spdlog::warn("event=guard_absent message={}",
                 LogValue("floods of HTTP/2 frames are not noticed in this build"));
  }
}

// Says in the log that some of it is missing.
class LossReport {
 public:
  void Look() {
    const int64_t lost = LostLogLines();
    if (lost == told_) return;
    spdlog::warn("event=log_lines_lost lines={} since_start={}", lost - told_, lost);
    told_ = lost;
  }

 private:
  int64_t told_ = 0;
};

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
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP, LossSignal()}) {
    sigaddset(&signals, signal);
    sigaction(signal, &hand_on, nullptr);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  for (const int ignored : {SIGPIPE, SIGUSR1, SIGUSR2}) signal(ignored, SIG_IGN);
  return signals;
}

// Tells the service manager as long as the server is alive. Where it is not, the manager starts
// another process when the watchdog's time is over.
class Watchdog {
 public:
  Watchdog(const ServiceManager& manager, Server& server) : manager_(manager), server_(server) {}

  // Look() wants to be called so often.
  std::chrono::microseconds period() const { return manager_.watchdog_time() / 4; }

  void Look() {
    if (manager_.watchdog_time().count() == 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    const absl::Status status = server_.Alive();
    if (status.ok()) {
      manager_.Alive();
      next_ = now + period();
    } else if (told_.ok()) {
      spdlog::warn("event=watchdog_waits message={}", LogValue(status.message()));
    }
    told_ = status;
  }

 private:
  const ServiceManager& manager_;
  Server& server_;
  std::chrono::steady_clock::time_point next_{};
  absl::Status told_;
};

// Waits for a signal to stop, or until a device is lost or the server deaf.
void WaitForStop(Server& server, const ServiceManager& manager, const sigset_t& signals) {
  Watchdog watchdog(manager, server);
  std::chrono::nanoseconds period = std::chrono::seconds(1);
  if (watchdog.period().count() > 0)
    period = std::min<std::chrono::nanoseconds>(period, watchdog.period());
  const timespec look_period = {period.count() / 1'000'000'000, period.count() % 1'000'000'000};
  LossReport loss;
  for (;;) {
    const int signal = sigtimedwait(&signals, nullptr, &look_period);
    loss.Look();
    watchdog.Look();
    if (server.device_lost() || server.deaf()) return;
    if (signal == SIGHUP) {
      spdlog::info("event=signal number={}", signal);
      server.Reload();
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      spdlog::info("event=signal number={}", signal);
      return;
    }
  }
}

}  // namespace

int RunServerProgram(int argc, char** argv, BackendWrapper wrap_backend) {
  // gRPC writes lines of its own to standard error, not in the form of our log; what matters of
  // them is told by us. Set it to see them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const ServiceManager manager = ServiceManager::FromEnvironment();
  Arguments arguments;
  if (const int code = ParseArguments(argc, argv, arguments); code >= 0) return code;
  server::Config given;
  if (!arguments.config_file.empty()) {
    const auto file = ReadConfigFile(arguments.config_file);
    if (!file.ok()) return Complain(file.status(), kExitUsage);
    given = *file;
  }
  const server::Config config = CompleteConfig(Overlay(std::move(given), arguments.flags));
  if (const absl::Status status = ValidateConfig(config); !status.ok()) {
    return Complain(status, kExitUsage);
  }
  if (const absl::Status status = CheckStart(config); !status.ok()) {
    return Complain(status, kExitUsage);
  }
  if (arguments.check_config) {
    std::fputs(ConfigToText(config).c_str(), stdout);
    return kExitOk;
  }
  TuneProcess();
  if (!ProcessReserve().Map(kReserveBytes)) {
    return Complain(absl::ResourceExhaustedError("no memory for the reserve"), kExitFailed);
  }
  const sigset_t signals = TakeSignals();
  if (const absl::Status status = SetUpLog(config.log_level(), LogWriter::kThread); !status.ok()) {
    return Complain(status, kExitUsage);
  }

  // gRPC ends with its last user and waits for its threads then, one of which may sleep for ten
  // seconds when a large message was sent. A process that ends does not need that.
  grpc_init();
  ServerHooks hooks;
  hooks.wrap_backend = std::move(wrap_backend);
  hooks.look_at_heap = [trimmer = std::make_shared<HeapTrimmer>()] { trimmer->Look(); };
  hooks.heap_is_short = [] { return ProcessReserve().blocks() > 0; };
  hooks.on_device_lost = [] {
    EndAfter(kLossLimit, kExitDeviceLost);
    kill(getpid(), LossSignal());
  };
  hooks.on_deaf = [] { kill(getpid(), LossSignal()); };
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
  // A lost device may hang in destructors, and in what the driver does when a process returns.
  if (server.device_lost()) {
    FlushLog(kLogTime);
    _exit(kExitDeviceLost);
  }
  if (server.deaf()) {
    FlushLog(kLogTime);
    _exit(kExitDeaf);
  }
  created->reset();
  const int code = complete ? kExitOk : kExitFailed;
  // Where nobody reads standard error, the thread of the log cannot be joined.
  if (!FlushLog(kLogTime)) _exit(code);
  return code;
}

}  // namespace orbserve
