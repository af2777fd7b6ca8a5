// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/power_source.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/engine.h"
#include "server/process/clock.h"
#include "server/process/periodic_tasks.h"
#include "server/rpc/server_info.h"
#include "server/telemetry/device/device_monitor.h"
#include "server/telemetry/device/device_probe.h"
#include "server/telemetry/power/power_monitor.h"
#include "server/telemetry/power/power_reader.h"

namespace orbserve::cli {
namespace {

absl::Status NoRail(const std::vector<std::string>& reasons) {
  return absl::NotFoundError(absl::StrCat("no power rail can be read", reasons.empty() ? "" : ": ",
                                          absl::StrJoin(reasons, "; ")));
}

class ServerPower final : public PowerSource {
 public:
  explicit ServerPower(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  absl::StatusOr<v1::GetServerInfoResponse> Read() override {
    return engine_->client()->GetServerInfo();
  }

 private:
  const std::unique_ptr<Engine> engine_;
};

class LocalPower final : public PowerSource {
 public:
  LocalPower(std::vector<PowerReader> readers, std::vector<DeviceDescription> devices,
             const std::string& root)
      : devices_(std::move(devices)),
        power_(std::make_shared<PowerMonitor>(std::move(readers))),
        monitor_(std::make_shared<DeviceMonitor>("", BoardName(root), devices_,
                                                 FindDeviceProbes(devices_, root))) {
    tasks_.Add(PowerMonitor::kPeriod, [power = power_] { power->Poll(); });
    tasks_.Add(DeviceMonitor::kPeriod, [monitor = monitor_] { monitor->Poll(); });
    tasks_.Start();
  }

  absl::StatusOr<v1::GetServerInfoResponse> Read() override {
    v1::GetServerInfoResponse info;
    for (const DeviceDescription& device : devices_) {
      v1::DeviceInfo& proto = *info.add_devices();
      proto.set_device(device.device);
      proto.set_name(device.name);
    }
    AddConditions(*monitor_, *power_, &info);
    info.clear_frame_energy();  // nobody tells which frames were computed
    return info;
  }

 private:
  const std::vector<DeviceDescription> devices_;
  const std::shared_ptr<PowerMonitor> power_;
  const std::shared_ptr<DeviceMonitor> monitor_;
  SystemClock clock_;
  PeriodicTasks tasks_{&clock_, /*may_hang=*/true};
};

}  // namespace

absl::StatusOr<std::unique_ptr<PowerSource>> PowerSource::Open(const CommonOptions& options,
                                                               const std::string& root) {
  if (!options.server.empty()) {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options);
    if (!engine.ok()) return engine.status();
    if ((*engine)->info().power_rails().empty())
      return NoRail({"the server has no source of power"});
    return std::make_unique<ServerPower>(*std::move(engine));
  }
  std::vector<DeviceDescription> devices = FindLocalDevices();
  PowerReaders found = FindPowerReaders(devices, root);
  if (found.readers.empty()) return NoRail(found.failures);
  return std::make_unique<LocalPower>(std::move(found.readers), std::move(devices), root);
}

}  // namespace orbserve::cli
