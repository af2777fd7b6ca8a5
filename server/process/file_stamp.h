// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_FILE_STAMP_H_
#define ORBSERVE_SERVER_PROCESS_FILE_STAMP_H_

#include <cstdint>
#include <string>

namespace orbserve {

// Tells whether a file was replaced or written to: links are followed, so that a link that points
// elsewhere counts. All zero for a file that is not there.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t changed_ns = 0;

  friend bool operator==(const FileStamp& a, const FileStamp& b) = default;
};

FileStamp StampOf(const std::string& path);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_FILE_STAMP_H_
