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
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cpu/cpu_backend.h"
#include "features/errors.h"
#include "gpu/gpu_backend.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"
#include "orbserve/version.h"
#include "server/clients/identity.h"
#include "server/clients/ledger.h"
#include "server/clients/peer.h"
#include "server/clients/token_file.h"
#include "server/config/derived_limits.h"
#include "server/drain.h"
#include "server/edge/guard/guard.h"
#include "server/edge/http/http_endpoint.h"
#include "server/edge/listener.h"
#include "server/edge/self_check.h"
#include "server/edge/socket_lock.h"
#include "server/edge/tls_credentials.h"
#include "server/edge/tls_files.h"
#include "server/failover/failover_backend.h"
#include "server/pages/metrics_history.h"
#include "server/pages/pages.h"
#include "server/part_options.h"
#include "server/process/clock.h"
#include "server/process/limits.h"
#include "server/process/log.h"
#include "server/process/memory/memory_watch.h"
#include "server/process/periodic_tasks.h"
#include "server/process/reloader.h"
#include "server/resource_metrics.h"
#include "server/rpc/health.h"
#include "server/rpc/reflection_service.h"
#include "server/rpc/send_timeouts.h"
#include "server/rpc/server_info.h"
#include "server/rpc/service.h"
#include "server/serving/batcher.h"
#include "server/serving/frame/frame_intake.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/metrics_observer.h"
#include "server/serving/pipeline_watch.h"
#include "server/serving/plan_cache.h"
#include "server/serving/request_queue.h"
#include "server/serving/stream/stream_pictures.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/device/device_monitor.h"
#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/power/power_monitor.h"
#include "server/telemetry/power/power_reader.h"
#include "spdlog/spdlog.h"

namespace orbserve {
namespace {

// The backends that the server computes with.
struct Backends {
  std::unique_ptr<FeatureBackend> primary;
  std::unique_ptr<FeatureBackend> fallback;  // null: a processor is not lost
  std::vector<MetricDevice> devices;         // of both
};

absl::StatusOr<std::unique_ptr<FeatureBackend>> MakePrimary(const server::Config& config,
                                                            const DerivedLimits& derived) {
  const absl::string_view name = config.backend().name();
  const gpu::GpuBackendOptions gpu_options = GpuBackendOptionsOf(config, derived);
  if (name == "cuda") return gpu::CreateGpuBackend(gpu_options);
  if (name == "auto" && gpu::IsBuiltIn()) {
    auto backend = gpu::CreateGpuBackend(gpu_options);
    if (backend.ok()) return backend;
    // The configuration names devices that this machine does not have.
    if (ReasonOf(backend.status()) == ErrorReason::kBadOptions) return backend.status();
    // A device that this program cannot use is a mistake of the installation; a machine without a
    // device is not.
    const bool mistake = backend.status().code() != absl::StatusCode::kUnavailable;
    spdlog::log(mistake ? spdlog::level::warn : spdlog::level::info,
                "event=no_cuda_device reason={}", LogValue(backend.status().message()));
  }
  return cpu::CreateCpuBackend(CpuBackendOptionsOf(config, derived));
}

// Makes the backends that a valid configuration asks for. `wrap`, which may be null, is applied to
// the primary. UNAVAILABLE: no device answers. BAD_OPTIONS, UNSUPPORTED: this machine or this build
// has not what was asked for.
absl::StatusOr<Backends> MakeBackends(const server::Config& config, const DerivedLimits& derived,
                                      const BackendWrapper& wrap) {
  Backends backends;
  ORBSERVE_ASSIGN_OR_RETURN(backends.primary, MakePrimary(config, derived));
  if (wrap) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.primary, wrap(std::move(backends.primary)));
  }
  if (!absl::StartsWith(backends.primary->name(), "cpu")) {
    ORBSERVE_ASSIGN_OR_RETURN(backends.fallback,
                              cpu::CreateCpuBackend(CpuBackendOptionsOf(config, derived)));
  }
  for (const FeatureBackend* backend : {backends.primary.get(), backends.fallback.get()}) {
    if (backend == nullptr) continue;
    for (const DeviceDescription& device : backend->devices()) {
      backends.devices.push_back({std::string(backend->name()), device.device});
    }
  }
  return backends;
}

std::shared_ptr<PowerMonitor> MakePowerMonitor(const server::Config::Power& config,
                                               const FeatureBackend& backend,
                                               const std::string& sensor_root) {
  PowerReaders found;
  if (config.source() != "none") found = FindPowerReaders(backend.devices(), sensor_root);
  for (const std::string& failure : found.failures) {
    spdlog::warn("event=power_unreadable reason={}", LogValue(failure));
  }
  return std::make_shared<PowerMonitor>(std::move(found.readers));
}

std::shared_ptr<DeviceMonitor> MakeDeviceMonitor(const FeatureBackend& backend,
                                                 const std::string& sensor_root) {
  const std::vector<DeviceDescription> devices = backend.devices();
  return std::make_shared<DeviceMonitor>(backend.name(), BoardName(sensor_root), devices,
                                         FindDeviceProbes(devices, sensor_root));
}

// Pools free what they have not needed for so long, so what a burst needed is free after twice
// that.
constexpr std::chrono::milliseconds kIdlePeriod{8'000};
constexpr std::chrono::milliseconds kHeapPeriod{1'000};

// Threads that answer frames, matches and tracks where many answers are due at once.
constexpr int kAnswerThreads = 4;

// A device that is silent for this much longer than a batch may take counts as lost. Normally the
// backend itself finds out, at the end of the batch's time.
constexpr std::chrono::milliseconds kSilenceMargin{500};

// Empty for a client that went away in its handshake.
std::optional<Denied> DeniedBy(const HandshakeFailure& failure) {
  using Cause = HandshakeFailure::Cause;
  if (failure.cause == Cause::kEnded) return std::nullopt;
  if (failure.cause == Cause::kNoCertificate) return Denied{Denial::kNoCertificate, ""};
  if (failure.cause == Cause::kExpiredCertificate) return Denied{Denial::kExpiredCertificate, ""};
  const bool is_wrong = failure.cause == Cause::kWrongCertificate;
  return Denied{is_wrong ? Denial::kWrongCertificate : Denial::kHandshake, failure.text};
}

// Members in the order in which they use each other: destroyed from the last to the first.
class WiredServer final : public Server {
 public:
  WiredServer(const server::Config& config, const DerivedLimits& derived, Backends backends,
              ServerHooks hooks)
      : config_(config),
        derived_(derived),
        hooks_(std::move(hooks)),
        ledger_(OwnerWeightsOf(config)),
        backend_(WithFailover(std::move(backends.primary), std::move(backends.fallback))),
        metrics_({.version = std::string(kVersion), .devices = std::move(backends.devices)}),
        power_(MakePowerMonitor(config.power(), *backend_, hooks_.sensor_root)),
        device_monitor_(MakeDeviceMonitor(*backend_, hooks_.sensor_root)),
        clients_(&clock_, &ledger_),
        observer_(&metrics_, power_.get(), &clients_),
        references_(WithLedger(ReferenceStoreOptionsOf(config.limits(), derived))),
        memory_(OptionsOfMemoryWatch()),
        answerers_({.threads = kAnswerThreads}),
        executor_(
            std::make_unique<WorkerPool>(WithLedger(DecodePoolOptionsOf(derived, !HasDriver())))),
        plans_(backend_.get(), executor_.get(), PlanCacheOptionsOf(config, derived, !HasDriver())),
        batcher_(std::make_unique<Batcher>(
            backend_.get(), &clock_, &observer_,
            WithAnswerers(BatcherOptionsOf(config, derived, backend_->devices().size())))),
        matcher_(std::make_unique<MatchQueue>(
            backend_.get(), &clock_, &observer_,
            WithAnswerers(MatchQueueOptions{.queue = {.max_bytes = derived.match_queue_bytes}}))),
        tracker_(std::make_unique<TrackQueue>(
            backend_.get(), &clock_, &observer_,
            WithAnswerers(TrackQueueOptions{.queue = {.max_bytes = derived.track_queue_bytes}}))),
        watch_({[this] { return batcher_->motion(); }, [this] { return matcher_->motion(); },
                [this] { return tracker_->motion(); }},
               [this] { return backend_->progress(); }),
        frames_(&clock_, &metrics_, &clients_),
        intake_(backend_.get(), batcher_.get(), &plans_, executor_.get(),
                ImageLimitsOf(config.limits()), [this](int64_t bytes) { return CheckRoom(bytes); }),
        send_timeouts_(&clock_, &metrics_,
                       std::chrono::milliseconds(config.limits().send_timeout_ms())),
        identity_(OptionsOfIdentity()),
        pictures_(config.telemetry().show_frames() ? std::make_unique<StreamPictures>(&clock_)
                                                   : nullptr),
        service_(Services()),
        reflection_(&send_timeouts_) {
    // Parts that are given the ledger bound what else there is to hold.
    for (const Resource bytes : {Resource::kUnaryResponseBytes, Resource::kStreamResponseBytes}) {
      ledger_.Bound(bytes, {.all = derived.response_bytes});
    }
    metrics_.AddSource([this](MetricPage& page) { power_->Collect(page); });
    metrics_.AddSource([this](MetricPage& page) { device_monitor_->Collect(page); });
    metrics_.AddSource([this](MetricPage& page) { AddResources(Resources(), page); });
  }

  ~WiredServer() override {
    tasks_.reset();
    driver_tasks_.reset();
    health_.Close();
    http_.reset();
    self_check_.reset();
    self_check_calls_.reset();  // while the server keeps gRPC's threads
    if (server_ != nullptr) {
      batcher_->BeginDrain();
      ShutDown(*server_, listener_.get(), std::chrono::milliseconds(0));
      server_->Wait();
      server_.reset();
    }
    // Each waits for the threads that are still inside it: threads of the pool may be on their way
    // into the batcher, and threads of the batcher into matcher and tracker. Threads of these two
    // start the next frame of a stream and so enter both: neither is freed before both are shut.
    executor_.reset();
    batcher_.reset();
    tracker_->Shut();
    matcher_->Shut();
  }

  absl::Status Start() {
    // A switch of the process; setting it again has no effect.
    grpc::EnableDefaultHealthCheckService(true);
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!config_.tls().cert_file().empty()) {
      ORBSERVE_ASSIGN_OR_RETURN(TlsFiles files, ReadTlsFiles(TlsPathsOf(config_)));
      tls_ = std::make_unique<TlsCredentials>(std::move(files));
      credentials = tls_->Make();
    }
    if (!config_.token_file().empty()) ORBSERVE_RETURN_IF_ERROR(LoadTokens());
    ORBSERVE_ASSIGN_OR_RETURN(socket_lock_, SocketLock::Create(config_.listen()));
    grpc::ServerBuilder builder;
    SetChannelLimits(config_, derived_, builder);
    builder.RegisterService(&service_);
    builder.RegisterService(&reflection_);
    if (!config_.listen().empty()) {
      ORBSERVE_ASSIGN_OR_RETURN(listener_, Listener::Create(OptionsOfListener()));
      using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
      acceptor_ = builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
      // A call of the server to itself has no certificate to show.
      self_check_acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
          Type::FROM_FD, grpc::InsecureServerCredentials());
    }
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::UnavailableError("gRPC does not start to serve");
    health_.Attach(server_->GetHealthCheckService());
    MakeReloader();  // before its metric can be read
    // A first call may come, and lose a device, from here on.
    if (listener_ != nullptr) StartListener();
    if (!config_.http_listen().empty()) {
      ORBSERVE_ASSIGN_OR_RETURN(http_, HttpEndpoint::Create(HttpEndpointOptionsOf(config_), Pages(),
                                                            [this] { return Ready(); }));
    }
    health_.Start();
    StartTasks();
    return absl::OkStatus();
  }

  bool Drain() override {
    health_.BeginDrain();
    if (self_check_ != nullptr) self_check_->Stop();
    const DrainParts parts = {&clock_, &service_, batcher_.get(), server_.get(), listener_.get()};
    return health_.device_lost() ? DrainAfterLoss(parts) : DrainServer(parts, config_.drain());
  }

  absl::Status Ready() override {
    ORBSERVE_RETURN_IF_ERROR(health_.Ready());
    return CheckItself();
  }

  absl::Status Alive() override {
    ORBSERVE_RETURN_IF_ERROR(CheckItself());
    if (watch_.Moves()) return absl::OkStatus();
    return absl::UnavailableError("the backend holds work, none of which ends");
  }

  std::shared_ptr<grpc::Channel> InProcessChannel(
      const grpc::ChannelArguments& arguments) override {
    return server_->InProcessChannel(arguments);
  }
  int port() const override { return listener_ == nullptr ? 0 : listener_->port(); }
  int http_port() const override { return http_ == nullptr ? 0 : http_->port(); }
  const server::Config& config() const override { return config_; }
  std::string RenderMetrics() const override { return metrics_.Render(); }
  bool self_check_failed() const override { return self_check_failed_; }
  bool device_lost() const override { return health_.device_lost(); }
  FrameCounts frame_counts() const override { return metrics_.frame_counts(); }
  void Reload() override {
    if (reloader_ == nullptr) return;
    reloader_->Reload();
    tasks_->RunSoon(reload_task_);
  }

 private:
  absl::Status CheckItself() {
    return self_check_ == nullptr ? absl::OkStatus() : self_check_->Check();
  }

  absl::Status LoadTokens() {
    ORBSERVE_ASSIGN_OR_RETURN(const auto entries, ReadTokenFile(config_.token_file()));
    identity_.SetTokens(std::make_shared<const TokenTable>(entries));
    const absl::Time now = absl::Now();
    const bool is_open =
        std::any_of(entries.begin(), entries.end(),
                    [now](const TokenEntry& entry) { return now < entry.expires; });
    if (!is_open) {
      spdlog::warn("event=no_tokens message={}",
                   LogValue("token_file has no token that is valid: every call is refused"));
    }
    return absl::OkStatus();
  }

  absl::Status LoadTls() {
    ORBSERVE_ASSIGN_OR_RETURN(TlsFiles files, ReadTlsFiles(TlsPathsOf(config_)));
    tls_->Set(std::move(files));
    return absl::OkStatus();
  }

  // Says whether a message, which counts in the queue already, may wait there.
  absl::Status CheckRoom(int64_t message_bytes) const {
    const int64_t held = ledger_.held(Resource::kFrameBytes);
    const int64_t kept = std::max(derived_.kept_queue_bytes, message_bytes);
    if (held <= kept || memory_.HasRoomFor(static_cast<size_t>(message_bytes))) {
      return absl::OkStatus();
    }
    return MakeError(
        ErrorReason::kQueueFull,
        absl::StrCat("all clients together hold ", held - message_bytes,
                     " bytes of frames that wait; ", message_bytes, " more exceed the ", kept,
                     " that are kept for them, and too much of the memory is used for more"));
  }

  // Says whether further large messages may be read: so that those on their way find room, too.
  bool HasRoomForMessages() const {
    return ledger_.held(Resource::kFrameBytes) <= derived_.kept_queue_bytes / 2;
  }

  template <typename Options>
  Options WithAnswerers(Options options) {
    options.queue.answerers = &answerers_;
    options.queue.ledger = &ledger_;
    return options;
  }

  template <typename Options>
  Options WithLedger(Options options) {
    options.ledger = &ledger_;
    return options;
  }

  // Whether the backend computes through a driver, in which calls may hang.
  bool HasDriver() const { return !absl::StartsWith(backend_->name(), "cpu"); }

  void StartTasks() {
    tasks_ = std::make_unique<PeriodicTasks>(&clock_);
    driver_tasks_ = std::make_unique<PeriodicTasks>(&clock_, /*may_hang=*/true);
    tasks_->Add(MemoryWatch::kPeriod, [this] { memory_.Look(); });
    tasks_->Add(SendTimeouts::kPeriod, [this] { send_timeouts_.Look(); });
    if (self_check_ != nullptr) {
      tasks_->Add(SelfCheck::kLookPeriod, [this] { self_check_->Look(); });
    }
    if (reloader_ != nullptr) {
      reload_task_ = tasks_->Add(Reloader::kPeriod, [this] { reloader_->Look(); });
    }
    tasks_->Add(kIdlePeriod, [this] { FreeIdle(); });
    if (!config_.http_listen().empty()) {
      tasks_->Add(MetricsHistory::kPeriod, [this] { history_.Take(metrics_.Collect()); });
    }
    // Power and clocks may come from the same driver, in which a call may hang.
    PeriodicTasks& sensors = HasDriver() ? *driver_tasks_ : *tasks_;
    sensors.Add(PowerMonitor::kPeriod, [power = power_] { power->Poll(); });
    sensors.Add(DeviceMonitor::kPeriod, [devices = device_monitor_] { devices->Poll(); });
    if (hooks_.look_at_heap) tasks_->Add(kHeapPeriod, [this] { hooks_.look_at_heap(); });
    tasks_->Start();
    driver_tasks_->Start();
  }

  // On a worker, as plans are built and freed there: it may have to wait for a device.
  void FreeIdle() {
    if (frees_idle_.exchange(true)) return;
    executor_->Run(ClientId{}, {}, [this] {
      plans_.FreeIdle();
      backend_->FreeIdle();
      frees_idle_ = false;
    });
  }

  void MakeReloader() {
    std::vector<WatchedFiles> files;
    std::function<void()> on_look;
    if (tls_ != nullptr) {
      const auto& tls = config_.tls();
      std::vector<std::string> paths = {tls.cert_file(), tls.key_file()};
      if (!tls.client_ca_file().empty()) paths.push_back(tls.client_ca_file());
      files.push_back({"tls", std::move(paths), [this] { return LoadTls(); }});
    }
    if (!config_.token_file().empty()) {
      files.push_back({"tokens", {config_.token_file()}, [this] { return LoadTokens(); }});
      on_look = [this] { service_.CutUnknownStreams(); };
    }
    if (!files.empty()) {
      reloader_ = std::make_unique<Reloader>(std::move(files), std::move(on_look));
    }
  }

  IdentityOptions OptionsOfIdentity() {
    IdentityOptions options = IdentityOptionsOf(config_);
    options.denials = &denials_;
    options.on_proven = [this](absl::string_view peer, const ClientId& client) {
      if (listener_ != nullptr) listener_->Prove(EndpointOfPeer(peer), client.owner);
    };
    return options;
  }

  MemoryWatchOptions OptionsOfMemoryWatch() {
    MemoryWatchOptions options;
    options.limit_bytes = static_cast<int64_t>(config_.limits().memory_bytes());
    options.address_limit_bytes = AddressSpaceLimit();
    options.heap_is_exhausted = hooks_.heap_is_exhausted;
    options.on_change = [](bool is_under_pressure) {
      if (is_under_pressure) return spdlog::warn("event=memory_pressure");
      spdlog::info("event=memory_pressure_ended");
    };
    return options;
  }

  ListenerOptions OptionsOfListener() {
    ListenerOptions options = ListenerOptionsOf(config_, derived_);
    options.guard.takes_messages = [this] { return HasRoomForMessages(); };
    options.begin_handshake = [this](int socket) -> TlsSession {
      return TlsAdoption::is_used() ? tls_->BeginHandshake(socket) : nullptr;
    };
    options.on_handshake_failed = [this](const std::string& address,
                                         const HandshakeFailure& failure) {
      const std::optional<Denied> denied = DeniedBy(failure);
      if (denied.has_value()) denials_.Add(*denied, address);
    };
    return options;
  }

  void StartListener() {
    listener_->Start([this](FileDescriptor connection, TlsSession handshake, bool is_self_check) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
      parameters.fd = connection.Release();
      const TlsAdoption adoption(parameters.fd, std::move(handshake));
      (is_self_check ? self_check_acceptor_ : acceptor_)->HandleNewConnection(&parameters);
    });
    self_check_calls_ = std::make_unique<SelfCheckCalls>();
    self_check_ = std::make_unique<SelfCheck>(
        SelfCheckOptions{},
        [this](std::chrono::milliseconds limit, SelfCheck::Done done) {
          CallItself(limit, std::move(done));
        },
        [this] { OnSelfCheckFailed(); });
  }

  void CallItself(std::chrono::milliseconds limit, SelfCheck::Done done) {
    auto connection = listener_->ConnectSelfCheck();
    if (!connection.ok()) return done(connection.status());
    self_check_calls_->Begin(
        std::move(connection->socket), limit,
        [done = std::move(done), is_refused = std::move(connection->is_refused),
         places = listener_->max_connections()](const absl::Status& status) {
          if (status.ok() || !*is_refused) return done(status);
          done(absl::ResourceExhaustedError(absl::StrCat(
              "all ", places, " connections are in use: a new client would be refused")));
        });
  }

  void OnSelfCheckFailed() {
    self_check_failed_ = true;
    spdlog::error("event=self_check_failed message={}",
                  LogValue("calls of the server to its own address are not answered"));
    if (hooks_.on_self_check_failed) hooks_.on_self_check_failed();
  }

  std::shared_ptr<FeatureBackend> WithFailover(std::unique_ptr<FeatureBackend> primary,
                                               std::unique_ptr<FeatureBackend> fallback) {
    if (fallback == nullptr) return primary;
    FailoverOptions options;
    options.silence =
        std::chrono::milliseconds(config_.backend().device_deadline_ms()) + kSilenceMargin;
    options.rescue_time = kRescueTime;
    options.on_stall = [this](bool stalled) { OnDeviceStall(stalled); };
    options.on_lost = [this](const DeviceLoss& loss) { OnDeviceLost(loss); };
    return MakeFailoverBackend(std::move(primary), std::move(fallback), &clock_,
                               std::make_unique<WorkerPool>(WorkerPoolOptions{}),
                               std::move(options));
  }

  // The device may be lost, or only slow: accepted requests wait, new ones go to another server.
  void OnDeviceStall(bool stalled) {
    if (!health_.SetStalled(stalled)) return;
    spdlog::warn("event={}", stalled ? "device_stalls" : "device_answers_again");
  }

  void OnDeviceLost(const DeviceLoss& loss) {
    health_.SetLost([&] {
      service_.Close(ErrorReason::kDeviceLost);
      service_.StopStreams();
      metrics_.DeviceLost(loss.device);
      spdlog::error("event=device_lost device={} message={}", LogValue(loss.device),
                    LogValue(loss.status.message()));
      if (hooks_.on_device_lost) hooks_.on_device_lost();
    });
  }

  // Pages of the HTTP endpoint.
  std::vector<HttpPage> Pages() {
    std::vector<HttpPage> pages =
        LivePages([this] { return service_.stream_uses(); }, &history_, pictures_.get());
    pages.push_back(
        {"/metrics", kMetricsText, [this](absl::string_view) { return metrics_.Render(); }});
    if (const size_t most = config_.telemetry().busiest_clients(); most > 0) {
      for (HttpPage& page : ClientPages(&clients_, most)) pages.push_back(std::move(page));
    }
    return pages;
  }

  CallServices Services() {
    CallServices services;
    services.backend = backend_.get();
    services.clock = &clock_;
    services.batcher = batcher_.get();
    services.intake = &intake_;
    services.matcher = matcher_.get();
    services.tracker = tracker_.get();
    services.references = &references_;
    services.lists = executor_.get();
    services.memory = &memory_;
    services.metrics = &metrics_;
    services.clients = &clients_;
    services.frames = &frames_;
    services.observer = &observer_;
    services.ledger = &ledger_;
    services.send_timeouts = &send_timeouts_;
    services.send_timeout = [this] { return send_timeouts_.limit(); };
    services.identity = &identity_;
    services.pictures = pictures_.get();
    services.streams = StreamLimitsOf(config_.limits(), derived_);
    services.server_limits = MakeServerLimits(config_, derived_);
    services.server_info = [this,
                            info = MakeServerInfo(config_, derived_, *backend_, power_->source())] {
      v1::GetServerInfoResponse now = info;
      AddConditions(*device_monitor_, *power_, &now);
      return now;
    };
    return services;
  }

  ResourceSources Resources() const {
    return {.config = config_,
            .derived = derived_,
            .backend = *backend_,
            .metrics = metrics_,
            .ledger = ledger_,
            .decode_pool = *executor_,
            .plans = plans_,
            .references = references_,
            .memory = memory_,
            .denials = denials_,
            .health = health_,
            .reloader = reloader_.get(),
            .listener = listener_.get(),
            .self_check = self_check_.get(),
            .tls = tls_.get()};
  }

  const server::Config config_;
  const DerivedLimits derived_;
  const ServerHooks hooks_;
  Ledger ledger_;
  Health health_;
  SystemClock clock_;
  const std::shared_ptr<FeatureBackend> backend_;
  Metrics metrics_;
  const std::shared_ptr<PowerMonitor> power_;
  const std::shared_ptr<DeviceMonitor> device_monitor_;
  ClientActivity clients_;
  MetricsObserver observer_;
  ReferenceStore references_;
  MemoryWatch memory_;
  WorkerPool answerers_;
  std::unique_ptr<WorkerPool> executor_;
  PlanCache plans_;
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<MatchQueue> matcher_;
  std::unique_ptr<TrackQueue> tracker_;
  PipelineWatch watch_;
  FrameAccount frames_;
  FrameIntake intake_;
  SendTimeouts send_timeouts_;
  Denials denials_;
  Identity identity_;
  std::unique_ptr<TlsCredentials> tls_;             // null without TLS
  const std::unique_ptr<StreamPictures> pictures_;  // null where frames are not shown
  MetricsHistory history_{&clock_};
  FeaturesService service_;
  ReflectionService reflection_;
  std::unique_ptr<SocketLock> socket_lock_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> self_check_acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;  // null where there is no address
  std::unique_ptr<SelfCheck> self_check_;
  std::unique_ptr<SelfCheckCalls> self_check_calls_;  // if self_check_
  std::unique_ptr<HttpEndpoint> http_;
  std::atomic<bool> self_check_failed_{false};
  std::unique_ptr<Reloader> reloader_;  // null without files
  std::atomic<bool> frees_idle_{false};
  std::unique_ptr<PeriodicTasks> tasks_;
  std::unique_ptr<PeriodicTasks> driver_tasks_;
  PeriodicTasks::Id reload_task_ = 0;  // if reloader_
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const server::Config& config,
                                                       ServerHooks hooks) {
  server::Config complete = CompleteConfig(config);
  ORBSERVE_RETURN_IF_ERROR(ValidateConfig(complete));
  DerivedLimits derived = Derive(complete);
  if (hooks.change_limits) hooks.change_limits(&derived);
  ORBSERVE_ASSIGN_OR_RETURN(Backends backends, MakeBackends(complete, derived, hooks.wrap_backend));
  derived.max_pixels = backends.primary->MaxFramePixels(derived.max_pixels);
  auto& batching = *complete.mutable_batching();
  if (backends.primary->name() == "cuda" && batching.max_batch() > gpu::kMaxFramesInBatch) {
    spdlog::warn("event=max_batch_capped wanted={} max_batch={}", batching.max_batch(),
                 gpu::kMaxFramesInBatch);
    batching.set_max_batch(gpu::kMaxFramesInBatch);
  }
  auto server =
      std::make_unique<WiredServer>(complete, derived, std::move(backends), std::move(hooks));
  ORBSERVE_RETURN_IF_ERROR(server->Start());
  return server;
}

}  // namespace orbserve
