// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Whole files: reading and writing.

#ifndef ORBSERVE_CLIENT_CLI_FILE_IO_H_
#define ORBSERVE_CLIENT_CLI_FILE_IO_H_

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace orbserve::cli {

// Reads a file, or a pipe to its end. NOT_FOUND, PERMISSION_DENIED; INVALID_ARGUMENT: a folder, an
// empty file, or one larger than any accepted image; CANCELLED: the command was interrupted, or
// `stop` (may be null) was set, while the function waited for a pipe.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     const std::atomic<bool>* stop = nullptr);

// Writes a file as NewFile does: other processes never see half of it. After a power failure it may
// be shorter; ResumeLog knows the length. Creates missing folders.
absl::Status WriteFile(const std::string& path, absl::string_view bytes);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_FILE_IO_H_
