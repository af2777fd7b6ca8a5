// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/doctor/gpu_check.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// True for "nvidia0", "nvidia12".
bool IsDeviceNode(const std::string& name) {
  return name.size() > 6 && absl::StartsWith(name, "nvidia") &&
         std::all_of(name.begin() + 6, name.end(), [](char c) { return absl::ascii_isdigit(c); });
}

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace

GpuState ReadGpuState(const std::string& root) {
  GpuState state;
  for (const fs::path& device : Entries(fs::path(root) / "sys/bus/pci/devices")) {
    // Class 0x03: display controllers, of which GPUs without a screen are a part.
    const bool nvidia = absl::StartsWith(ReadText(device / "vendor"), "0x10de");
    if (nvidia && absl::StartsWith(ReadText(device / "class"), "0x03")) ++state.pci_devices;
  }
  std::string model = ReadText(fs::path(root) / "proc/device-tree/model");
  model.erase(std::remove(model.begin(), model.end(), '\0'), model.end());
  if (absl::StrContains(model, "Jetson") || absl::StrContains(model, "Orin")) state.jetson = model;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun ...": the first number.
  const std::string version = ReadText(fs::path(root) / "proc/driver/nvidia/version");
  for (const absl::string_view word : absl::StrSplit(version, absl::ByAnyChar(" \t\n"))) {
    if (!word.empty() && absl::ascii_isdigit(word[0]) && absl::StrContains(word, '.')) {
      state.driver_version = std::string(word);
      break;
    }
  }
  for (const fs::path& node : Entries(fs::path(root) / "dev")) {
    if (!IsDeviceNode(node.filename().native())) continue;
    state.nodes.push_back(node.native());
    if (access(node.c_str(), R_OK | W_OK) != 0) state.closed_nodes.push_back(node.native());
  }
  return state;
}

Finding JudgeGpu(const GpuState& state, const DriverProbe& probe, bool built,
                 const absl::Status& started, const std::string& device) {
  Finding finding{.subject = "gpu"};
  const bool hardware = state.pci_devices > 0 || !state.jetson.empty() || !state.nodes.empty();
  const std::string driver = state.driver_version.empty()
                                 ? "no driver is loaded"
                                 : absl::StrCat("driver ", state.driver_version);
  if (built && started.ok()) {
    finding.text = absl::StrCat(device, state.driver_version.empty() ? "" : "; ",
                                state.driver_version.empty() ? "" : driver);
    return finding;
  }
  if (!hardware && state.driver_version.empty()) {
    finding.text = "no NVIDIA GPU in this machine; the CPU does the work";
    return finding;
  }
  finding.kind = Finding::Kind::kBad;
  const std::string what = !state.jetson.empty()   ? state.jetson
                           : state.pci_devices > 1 ? absl::StrCat(state.pci_devices, " NVIDIA GPUs")
                                                   : "an NVIDIA GPU";
  if (!built) {
    finding.kind = Finding::Kind::kNote;
    finding.text = absl::StrCat("there is ", what, ", but this program was built without CUDA");
    finding.advice = "build with a CUDA toolkit: cmake --preset cuda (README, GPU)";
  } else if (state.driver_version.empty() && state.jetson.empty()) {
    finding.text = absl::StrCat("there is ", what, ", and no driver for it is loaded");
    finding.advice =
        "install NVIDIA's driver (Debian: nvidia-driver), or load it: modprobe nvidia; in a "
        "container: the host needs it";
  } else if (state.nodes.empty() && state.jetson.empty()) {
    finding.text = absl::StrCat(driver, ", but no /dev/nvidia0");
    finding.advice = "run nvidia-smi once as root; in a container: docker run --gpus all";
  } else if (!state.closed_nodes.empty()) {
    finding.text = absl::StrCat("this user may not open ", absl::StrJoin(state.closed_nodes, ", "));
    finding.advice = absl::StrCat("ls -l ", state.closed_nodes[0],
                                  " shows the group that may: usermod -aG GROUP USER");
  } else if (probe.result == DriverProbe::Result::kNotLoaded) {
    finding.text =
        absl::StrCat(what, ", ", driver, ", but its library cannot be loaded: ", probe.text);
    finding.advice =
        "install the libraries of the driver, of the same version (Debian: libcuda1); in a "
        "container: docker run --gpus all, with the NVIDIA Container Toolkit on the host";
  } else if (probe.result == DriverProbe::Result::kCrashes) {
    finding.text = absl::StrCat(what, ", ", driver,
                                ", but a program that loads its library crashes: ", probe.text);
    finding.advice =
        "install the driver again: its files are damaged (Debian: apt-get install --reinstall "
        "libcuda1). Until then --backend cpu works";
  } else if (probe.result == DriverProbe::Result::kHangs) {
    finding.text = absl::StrCat(what, ", ", driver, ", but it does not come back: ", probe.text);
    finding.advice =
        "dmesg | grep -i xid names the fault of the device; a restart of the machine mostly helps. "
        "Until then --backend cpu works";
  } else if (absl::StrContains(started.message(), "stub library")) {
    finding.text = absl::StrCat(what, ", ", driver,
                                ", but the CUDA toolkit's stub is loaded in place of its library");
    finding.advice = "take the toolkit's folder stubs out of LD_LIBRARY_PATH and /etc/ld.so.conf.d";
  } else if (absl::StrContains(started.message(), "driver version is insufficient")) {
    finding.text = absl::StrCat(what, ", ", driver, ", which is older than this program's CUDA");
    finding.advice =
        "install a newer driver, or build with the CUDA toolkit of this one (nvidia-smi shows its "
        "CUDA version). Until then --backend cpu works";
  } else {
    finding.text = absl::StrCat(what, ", ", driver,
                                ": the backend does not start: ", std::string(started.message()));
    finding.advice =
        "nvidia-smi shows whether the driver still answers, dmesg | grep -i xid why not; is "
        "CUDA_VISIBLE_DEVICES set? Until then --backend cpu works";
  }
  return finding;
}

}  // namespace orbserve::cli
