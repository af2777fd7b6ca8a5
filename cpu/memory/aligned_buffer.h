// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CPU_MEMORY_ALIGNED_BUFFER_H_
#define ORBSERVE_CPU_MEMORY_ALIGNED_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace orbserve::cpu {

// Owns bytes aligned to a cache line, with unspecified contents. Large buffers cost address space
// only, until they are written.
class AlignedBuffer {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }

  // Replaces what was there. False, and empty, when the memory is not to be had.
  [[nodiscard]] bool Allocate(size_t size) {
    ::operator delete (data_, std::align_val_t{kAlignment});
    data_ =
        static_cast<uint8_t*>(::operator new (size, std::align_val_t{kAlignment}, std::nothrow));
    size_ = data_ != nullptr ? size : 0;
    return data_ != nullptr;
  }

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_MEMORY_ALIGNED_BUFFER_H_
