// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Values of answers as text: cells of tables.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_TABLE_CELLS_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_TABLE_CELLS_H_

#include <cstdint>
#include <string>

#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Size of the image, "640x480".
std::string SizeCell(const v1::FeatureSet& features);

// Milliseconds with two decimals, "1.25".
std::string MillisecondsCell(uint64_t duration_ns);

// A number of bytes as people say it: "312 bytes", "1.5 KiB", "96 MiB".
std::string BytesText(uint64_t bytes);

// Millijoules of an answer with two decimals; "-" if the answer has no energy.
std::string EnergyCell(const v1::Execution& execution);

// True if answers of this server carry their energy.
bool HasPowerSource(const v1::GetServerInfoResponse& info);

// Decoders of the JPEG files of a device, in the order in which they are tried, and why the device
// is not the first: "host, then libjpeg; not the device: no CUDA device computes". "not known" for
// a server that does not tell.
std::string JpegDecodersText(const v1::DeviceInfo& device);

// JPEG frames by decoder: "12 device, 1 libjpeg (progressive)". Empty if there were none.
std::string JpegFramesText(const v1::GetServerInfoResponse& info);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_TABLE_CELLS_H_
