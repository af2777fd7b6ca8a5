// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// NPZ: a ZIP archive of NPY arrays, as numpy.savez writes and numpy.load reads.
// Sources: NEP 1 (NPY format 1.0), PKWARE APPNOTE.TXT.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FILES_NPZ_FILE_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FILES_NPZ_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace orbserve::cli {

// Fixed parts of a ZIP archive: before a file, of a file in the directory, behind the directory.
inline constexpr size_t kZipLocalHeaderBytes = 30;
inline constexpr size_t kZipCentralHeaderBytes = 46;
inline constexpr size_t kZipEndBytes = 22;

// One array in C order, little-endian.
struct NpzArray {
  std::string name;            // without ".npy"
  std::string type;            // "<f4", "<i4", "|u1"
  std::vector<int64_t> shape;  // one or two lengths
  std::string data;            // product of shape times size of type
};

// Returns an archive with these arrays in this order. Members are stored with fixed dates: equal
// arrays give equal bytes. The archive must be smaller than 4 GiB.
std::string EncodeNpz(absl::Span<const NpzArray> arrays);

// Returns the arrays of an archive: stored or deflated, NPY formats 1 to 3, any numeric type. The
// checksums are verified. At most `max_bytes` of array data are unpacked.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<std::vector<NpzArray>> DecodeNpz(absl::string_view bytes, size_t max_bytes);

// The array called `name`; null if there is none.
const NpzArray* FindArray(absl::Span<const NpzArray> arrays, absl::string_view name);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FILES_NPZ_FILE_H_
