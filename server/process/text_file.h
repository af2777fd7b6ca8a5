// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_TEXT_FILE_H_
#define ORBSERVE_SERVER_PROCESS_TEXT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace orbserve {

// A configuration has a few kilobytes, a bundle of certificate authorities a few hundred.
constexpr size_t kMaxTextFileBytes = size_t{16} << 20;

// Reads all bytes of a configuration file, certificate or key. The file may be empty. BAD_OPTIONS,
// with `path` and the reason: the file is missing or may not be read, is no regular file (a folder;
// or a pipe or device, which can be read only once or makes the caller wait), or has more than
// `max_bytes` bytes.
absl::StatusOr<std::string> ReadTextFile(const std::string& path,
                                         size_t max_bytes = kMaxTextFileBytes);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_TEXT_FILE_H_
