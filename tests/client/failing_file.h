// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_CLIENT_FAILING_FILE_H_
#define ORBSERVE_TESTS_CLIENT_FAILING_FILE_H_

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace orbserve::testing {

// A file that gives `bytes` and then fails with EIO, like one on a disk that was pulled out.
inline FILE* FailingFile(const std::string& bytes) {
  const cookie_io_functions_t functions = {
      .read = [](void* cookie, char* buffer, size_t size) -> ssize_t {
        auto* const left = static_cast<std::string*>(cookie);
        const size_t count = std::min(size, left->size());
        if (count == 0) {
          errno = EIO;
          return -1;
        }
        std::memcpy(buffer, left->data(), count);
        left->erase(0, count);
        return static_cast<ssize_t>(count);
      },
      .write = nullptr,
      .seek = nullptr,
      .close =
          [](void* cookie) {
            delete static_cast<std::string*>(cookie);
            return 0;
          }};
  return fopencookie(new std::string(bytes), "rb", functions);
}

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CLIENT_FAILING_FILE_H_
