// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/table_cells.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace orbserve::cli {

std::string SizeCell(const v1::FeatureSet& features) {
  return absl::StrCat(features.image_width_px(), "x", features.image_height_px());
}

std::string MillisecondsCell(uint64_t duration_ns) {
  return absl::StrFormat("%.2f", static_cast<double>(duration_ns) / 1e6);
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " bytes");
  double value = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* const larger : {"MiB", "GiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = larger;
  }
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  return absl::StrFormat("%.*f %s", whole ? 0 : 1, value, unit);
}

std::string EnergyCell(const v1::Execution& execution) {
  if (!execution.has_energy_joules()) return "-";
  return absl::StrFormat("%.2f", execution.energy_joules() * 1e3);
}

bool HasPowerSource(const v1::GetServerInfoResponse& info) {
  return !info.power_source().empty() && info.power_source() != "none";
}

std::string JpegDecodersText(const v1::DeviceInfo& device) {
  if (device.jpeg_decoder().empty()) return "not known";
  if (device.jpeg_decoder() == "device") return "device, then host, then libjpeg";
  return absl::StrCat(device.jpeg_decoder(),
                      ", then libjpeg; not the device: ", device.jpeg_reason());
}

std::string JpegFramesText(const v1::GetServerInfoResponse& info) {
  std::string text;
  for (const v1::JpegFrames& way : info.jpeg_frames()) {
    if (way.frames() == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", way.frames(), " ", way.decoder());
    if (!way.reason().empty()) absl::StrAppend(&text, " (", way.reason(), ")");
  }
  return text;
}

}  // namespace orbserve::cli
