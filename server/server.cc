// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "cpu/cpu_backend.h"
#include "features/errors.h"
#include "gpu/gpu_backend.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "orbserve/version.h"
#include "server/files/socket_lock.h"
#include "server/files/tls_files.h"
#include "server/log.h"
#include "server/part_options.h"
#include "server/rpc/frame_intake.h"
#include "server/rpc/service.h"
#include "server/server_info.h"
#include "server/serving/batcher.h"
#include "server/serving/clock.h"
#include "server/serving/failover_backend.h"
#include "server/serving/match_queue.h"
#include "server/serving/plan_cache.h"
#include "server/serving/reference_store.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/http_endpoint.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/power/power_monitor.h"
#include "server/telemetry/power/power_reader.h"
#include "server/telemetry/power/power_sampler.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

constexpr char kServiceName[] = "orbserve.v1.Features";
// How long cut calls may take to unwind at the end of a drain.
constexpr std::chrono::milliseconds kUnwindTime{2000};
// After a device is lost: how long the CPU backend may answer what was accepted, how long what it
// could not answer may take to be refused, and how long all that may take to leave.
constexpr std::chrono::milliseconds kRescueTime{1000};
constexpr std::chrono::milliseconds kRefusalTime{200};
constexpr std::chrono::milliseconds kLossUnwindTime{200};
// How much longer than a batch may take a device is silent before it counts as lost: normally the
// backend itself finds out, at the end of the batch's time.
constexpr std::chrono::milliseconds kSilenceMargin{500};

int Processors() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

// Tells telemetry what serving says about itself.
class MetricsObserver final : public ServingObserver {
 public:
  MetricsObserver(Metrics* metrics, PowerMonitor* power) : metrics_(*metrics), power_(*power) {}

  void OnFrameReceived(int64_t bytes) override { metrics_.FrameReceived(bytes); }
  void OnFrameFinished(const absl::Status& outcome, size_t features) override {
    metrics_.FrameFinished(outcome, static_cast<int64_t>(features));
  }
  void OnQueueChanged(WorkKind kind, int change) override {
    if (kind == WorkKind::kFrames) metrics_.AddQueueFrames(change);
  }
  void OnItemComputed(WorkKind kind, std::chrono::nanoseconds queued, const BatchCost& cost,
                      const StageTimes&) override {
    if (kind != WorkKind::kFrames) return;
    Observe(MetricStage::kQueue, cost, queued.count());
    Observe(MetricStage::kCompute, cost, cost.timings.compute_ns);
    // A stage that did not happen has no duration.
    if (cost.timings.upload_ns > 0) Observe(MetricStage::kUpload, cost, cost.timings.upload_ns);
    if (cost.timings.download_ns > 0) {
      Observe(MetricStage::kDownload, cost, cost.timings.download_ns);
    }
  }
  std::optional<double> OnBatchFinished(WorkKind kind, int items, const BatchCost& cost) override {
    if (kind == WorkKind::kFrames) {
      metrics_.ObserveBatch(cost.backend, cost.device, items, cost.busy_begin, cost.busy_end);
      return power_.AddBatch(cost.device, items, cost.busy_begin, cost.busy_end);
    }
    Observe(MetricStage::kMatch, cost, (cost.busy_end - cost.busy_begin).count());
    metrics_.AddBusyInterval(cost.backend, cost.device, 0, cost.busy_begin, cost.busy_end);
    return power_.AddBatch(cost.device, 0, cost.busy_begin, cost.busy_end);
  }

 private:
  void Observe(MetricStage stage, const BatchCost& cost, int64_t nanoseconds) {
    metrics_.ObserveStage(stage, cost.backend, cost.device,
                          Seconds(std::chrono::nanoseconds(nanoseconds)));
  }

  Metrics& metrics_;
  PowerMonitor& power_;
};

absl::StatusOr<std::unique_ptr<FeatureBackend>> MakeCpuBackend(
    const server::Config::Backend& config, bool reference) {
  cpu::CpuBackendOptions options;
  options.threads = static_cast<int>(config.threads());
  options.reference = reference;
  return cpu::CreateCpuBackend(options);
}

absl::StatusOr<std::unique_ptr<FeatureBackend>> MakeBackend(const server::Config& config) {
  const absl::string_view name = config.backend().name();
  const gpu::GpuBackendOptions gpu_options = GpuBackendOptionsOf(config);
  if (name == "cuda") return gpu::CreateGpuBackend(gpu_options);
  if (name == "auto" && gpu::IsBuiltIn()) {
    auto backend = gpu::CreateGpuBackend(gpu_options);
    if (backend.ok()) return backend;
    // Devices were named that this machine does not have.
    if (ReasonOf(backend.status()) == ErrorReason::kBadOptions) return backend.status();
    // A device that this program cannot use is somebody's mistake; a machine without one is not.
    const bool mistake = backend.status().code() != absl::StatusCode::kUnavailable;
    spdlog::log(mistake ? spdlog::level::warn : spdlog::level::info,
                "event=no_cuda_device reason={}", LogValue(backend.status().message()));
  }
  return MakeCpuBackend(config.backend(), name == "cpu-reference");
}

// What the server computes with.
struct Backends {
  std::unique_ptr<FeatureBackend> primary;
  std::unique_ptr<FeatureBackend> fallback;  // null: a processor is not lost
  std::vector<MetricDevice> devices;         // of both
};

absl::StatusOr<Backends> MakeBackends(const server::Config& config, const ServerHooks& hooks) {
  Backends backends;
  ORBSERVE_ASSIGN_OR_RETURN(backends.primary, MakeBackend(config));
  if (hooks.wrap_backend) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.primary, hooks.wrap_backend(std::move(backends.primary)));
  }
  if (!absl::StartsWith(backends.primary->name(), "cpu")) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.fallback,
                              MakeCpuBackend(config.backend(), /*reference=*/false));
  }
  for (const FeatureBackend* backend : {backends.primary.get(), backends.fallback.get()}) {
    if (backend == nullptr) continue;
    for (const DeviceDescription& device : backend->devices()) {
      backends.devices.push_back({std::string(backend->name()), device.device});
    }
  }
  return backends;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(
    const server::Config::Tls& config) {
  if (config.cert_file().empty()) return grpc::InsecureServerCredentials();
  ORBSERVE_ASSIGN_OR_RETURN(TlsFiles files, ReadTlsFiles(config));
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {std::move(files.private_key), std::move(files.certificate_chain)});
  if (!files.client_ca.empty()) {
    options.pem_root_certs = std::move(files.client_ca);
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<PowerMonitor> MakePowerMonitor(const server::Config::Power& config,
                                               const FeatureBackend& backend) {
  PowerReaders found;
  if (config.source() != "none") found = FindPowerReaders(backend.devices());
  for (const std::string& failure : found.failures) {
    spdlog::warn("event=power_unreadable reason={}", LogValue(failure));
  }
  return std::make_shared<PowerMonitor>(std::move(found.readers));
}

MetricsOptions MetricsOptionsOf(std::vector<MetricDevice> devices) {
  MetricsOptions options;
  options.version = kVersion;
  options.devices = std::move(devices);
  return options;
}

}  // namespace

// Members in the order in which they use each other: destroyed from the last to the first.
class Server::Impl {
 public:
  Impl(const server::Config& config, Backends backends, std::function<void()> on_device_lost)
      : config_(config),
        on_device_lost_(std::move(on_device_lost)),
        backend_(WithFailover(std::move(backends.primary), std::move(backends.fallback))),
        metrics_(MetricsOptionsOf(std::move(backends.devices))),
        power_(MakePowerMonitor(config.power(), *backend_)),
        power_sampler_(power_->has_rails() ? std::make_unique<PowerSampler>(power_) : nullptr),
        observer_(&metrics_, power_.get()),
        references_(ReferenceStoreOptionsOf(config.limits())),
        executor_(std::make_unique<WorkerPool>(
            config.batching().decode_threads() == 0
                ? Processors()
                : static_cast<int>(config.batching().decode_threads()))),
        plans_(backend_.get(), executor_.get(), PlanCacheOptionsOf(config.batching())),
        batcher_(std::make_unique<Batcher>(
            backend_.get(), &clock_, &observer_,
            BatcherOptionsOf(config.batching(), backend_->devices().size()))),
        matcher_(
            std::make_unique<MatchQueue>(backend_.get(), &clock_, &observer_, MatchQueueOptions{})),
        intake_(backend_.get(), batcher_.get(), &plans_, executor_.get(), &metrics_,
                ImageLimitsOf(config.limits())),
        service_(Services(), MakeServerInfo(config, *backend_, power_->source())) {
    metrics_.AddCollectable(power_->families());
  }

  ~Impl() {
    {
      absl::MutexLock lock(&health_mutex_);
      closing_ = true;
    }
    http_.reset();
    if (server_ != nullptr) {
      batcher_->BeginDrain();
      server_->Shutdown(std::chrono::system_clock::now());
      server_->Wait();
      server_.reset();
    }
    // Each waits for the threads that are still inside it: those of the pool may be on their way
    // into the batcher, those of the batcher into the matcher.
    executor_.reset();
    batcher_.reset();
    matcher_.reset();
  }

  absl::Status Start() {
    // Both are switches of the process; setting them again has no effect.
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    ORBSERVE_ASSIGN_OR_RETURN(auto credentials, MakeCredentials(config_.tls()));
    ORBSERVE_ASSIGN_OR_RETURN(socket_lock_, SocketLock::Create(config_.listen()));
    grpc::ServerBuilder builder;
    SetChannelLimits(config_, builder);
    builder.RegisterService(&service_);
    int port = 0;
    if (!config_.listen().empty()) builder.AddListeningPort(config_.listen(), credentials, &port);
    {
      // A first call may come, and lose a device, before this returns.
      absl::MutexLock lock(&health_mutex_);
      server_ = builder.BuildAndStart();
    }
    if (server_ == nullptr || (!config_.listen().empty() && port == 0)) {
      return absl::UnavailableError(absl::StrCat("cannot serve on ", config_.listen(),
                                                 ": the address is not one of this machine, "
                                                 "unknown or in use"));
    }
    if (!absl::StartsWith(config_.listen(), "unix")) port_ = port;
    if (!config_.http_listen().empty()) {
      HttpEndpointOptions options;
      options.listen_address = config_.http_listen();
      ORBSERVE_ASSIGN_OR_RETURN(
          http_, HttpEndpoint::Create(
                     options, [this] { return metrics_.Render(); }, [this] { return Ready(); }));
    }
    absl::MutexLock lock(&health_mutex_);
    SetHealth(!device_lost_);
    return absl::OkStatus();
  }

  bool Drain() {
    const std::chrono::milliseconds timeout(config_.drain().timeout_ms());
    draining_ = true;
    {
      absl::MutexLock lock(&health_mutex_);
      SetHealth(false);
    }
    if (device_lost_) return DrainAfterLoss();
    std::this_thread::sleep_for(std::chrono::milliseconds(config_.drain().delay_ms()));
    const SteadyTime begin = clock_.Now();
    const auto left = [&] {
      const auto passed =
          std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - begin);
      return std::max(std::chrono::milliseconds(0), timeout - passed);
    };
    service_.Close(ErrorReason::kDraining);
    bool is_quiet = service_.WaitUntilQuiet(timeout / 2);
    if (!is_quiet) {
      batcher_->BeginDrain();
      service_.StopStreams();
      is_quiet = service_.WaitUntilQuiet(left());
    }
    // Answers are on their way when their calls have ended; Shutdown() sends them and cuts the
    // rest.
    server_->Shutdown(std::chrono::system_clock::now() + (is_quiet ? kUnwindTime : left()));
    return is_quiet;
  }

  // What waits is answered by the CPU backend, whose time is bounded; clients that try again should
  // meet the next process soon.
  bool DrainAfterLoss() {
    bool is_quiet = service_.WaitUntilQuiet(kRescueTime + kRefusalTime / 2);
    if (!is_quiet) {
      // Frames whose plan or memory the device was asked for, and which wait for it for ever.
      batcher_->FailWaiting(
          MakeError(ErrorReason::kDeviceLost, "a device was lost before the frame was prepared"));
      is_quiet = service_.WaitUntilQuiet(kRefusalTime);
    }
    server_->Shutdown(std::chrono::system_clock::now() + kLossUnwindTime);
    return is_quiet;
  }

  // The device may yet be lost, or only be slow: what is here waits, what is new goes elsewhere.
  void OnDeviceStall(bool stalled) ABSL_LOCKS_EXCLUDED(health_mutex_) {
    absl::MutexLock lock(&health_mutex_);
    if (closing_ || draining_ || device_lost_) return;
    device_stalled_ = stalled;
    SetHealth(!stalled);
    spdlog::warn("event={}", stalled ? "device_stalls" : "device_answers_again");
  }

  void OnDeviceLost(const DeviceLoss& loss) ABSL_LOCKS_EXCLUDED(health_mutex_) {
    absl::MutexLock lock(&health_mutex_);
    if (closing_) return;
    device_lost_ = true;
    SetHealth(false);
    service_.Close(ErrorReason::kDeviceLost);
    service_.StopStreams();
    metrics_.DeviceLost(loss.device);
    spdlog::error("event=device_lost device={} message={}", LogValue(loss.device),
                  LogValue(loss.status.message()));
    if (on_device_lost_) on_device_lost_();
  }

  absl::Status Ready() const {
    if (device_lost_) return MakeError(ErrorReason::kDeviceLost, "a device was lost");
    if (draining_) return MakeError(ErrorReason::kDraining, "draining");
    if (device_stalled_) {
      return MakeError(ErrorReason::kDeviceLost, "a device does not answer at the moment");
    }
    return absl::OkStatus();
  }

  const server::Config config_;
  const std::function<void()> on_device_lost_;
  absl::Mutex health_mutex_;
  bool closing_ ABSL_GUARDED_BY(health_mutex_) = false;
  std::atomic<bool> draining_{false};
  std::atomic<bool> device_stalled_{false};
  std::atomic<bool> device_lost_{false};
  SystemClock clock_;
  const std::unique_ptr<FeatureBackend> backend_;
  Metrics metrics_;
  const std::shared_ptr<PowerMonitor> power_;
  const std::unique_ptr<PowerSampler> power_sampler_;
  MetricsObserver observer_;
  ReferenceStore references_;
  std::unique_ptr<WorkerPool> executor_;
  PlanCache plans_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<MatchQueue> matcher_;
  FrameIntake intake_;
  FeaturesService service_;
  std::unique_ptr<SocketLock> socket_lock_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<HttpEndpoint> http_;
  int port_ = 0;

 private:
  std::unique_ptr<FeatureBackend> WithFailover(std::unique_ptr<FeatureBackend> primary,
                                               std::unique_ptr<FeatureBackend> fallback) {
    if (fallback == nullptr) return primary;
    FailoverOptions options;
    options.silence =
        std::chrono::milliseconds(config_.backend().device_deadline_ms()) + kSilenceMargin;
    options.rescue_time = kRescueTime;
    options.on_stall = [this](bool stalled) { OnDeviceStall(stalled); };
    options.on_lost = [this](const DeviceLoss& loss) { OnDeviceLost(loss); };
    return std::make_unique<FailoverBackend>(std::move(primary), std::move(fallback), &clock_,
                                             std::make_unique<WorkerPool>(1), std::move(options));
  }

  CallServices Services() {
    CallServices services;
    services.backend = backend_.get();
    services.clock = &clock_;
    services.batcher = batcher_.get();
    services.intake = &intake_;
    services.matcher = matcher_.get();
    services.references = &references_;
    services.metrics = &metrics_;
    services.streams = StreamLimitsOf(config_.limits());
    services.unary = UnaryLimitsOf(config_.limits());
    return services;
  }

  void SetHealth(bool serving) ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_mutex_) {
    if (server_ == nullptr) return;
    if (auto* const health = server_->GetHealthCheckService(); health != nullptr) {
      health->SetServingStatus(kServiceName, serving);
      health->SetServingStatus(serving);  // "" and all that are known
    }
  }
};

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const server::Config& config,
                                                       ServerHooks hooks) {
  server::Config complete = Overlay(DefaultConfig(), config);
  ORBSERVE_RETURN_IF_ERROR(ValidateConfig(complete));
  ORBSERVE_ASSIGN_OR_RETURN(Backends backends, MakeBackends(complete, hooks));
  auto& batching = *complete.mutable_batching();
  if (backends.primary->name() == "cuda" && batching.max_batch() > gpu::kMostFramesInBatch) {
    spdlog::warn("event=max_batch_capped wanted={} max_batch={}", batching.max_batch(),
                 gpu::kMostFramesInBatch);
    batching.set_max_batch(gpu::kMostFramesInBatch);
  }
  auto impl =
      std::make_unique<Impl>(complete, std::move(backends), std::move(hooks.on_device_lost));
  ORBSERVE_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

std::shared_ptr<grpc::Channel> Server::InProcessChannel(const grpc::ChannelArguments& arguments) {
  return impl_->server_->InProcessChannel(arguments);
}

int Server::port() const { return impl_->port_; }
int Server::http_port() const { return impl_->http_ == nullptr ? 0 : impl_->http_->port(); }
const server::Config& Server::config() const { return impl_->config_; }
std::string Server::RenderMetrics() const { return impl_->metrics_.Render(); }
bool Server::Drain() { return impl_->Drain(); }
bool Server::device_lost() const { return impl_->device_lost_; }

FrameCounts Server::frame_counts() const {
  const Batcher::Counts counts = impl_->batcher_->counts();
  FrameCounts frames;
  frames.received = counts.received;
  frames.ok = counts.ok;
  for (const int64_t failed : counts.failed) frames.failed += failed;
  return frames;
}

}  // namespace orbserve
