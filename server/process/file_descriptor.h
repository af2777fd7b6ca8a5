// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_PROCESS_FILE_DESCRIPTOR_H_
#define ORBSERVE_SERVER_PROCESS_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace orbserve {

// Owns a descriptor, or none (-1), and closes it at its end.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Reset(other.Release());
    return *this;
  }
  ~FileDescriptor() { Reset(); }

  explicit operator bool() const { return number_ >= 0; }
  int get() const { return number_; }
  // Gives the descriptor to the caller.
  int Release() { return std::exchange(number_, -1); }
  void Reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PROCESS_FILE_DESCRIPTOR_H_
