// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_DECODE_DECODE_HELPERS_H_
#define ORBSERVE_DECODE_DECODE_HELPERS_H_

#include <cstdint>
#include <functional>

namespace orbserve {

// Threads that may help to decode an image.
class DecodeHelpers {
 public:
  virtual ~DecodeHelpers() = default;

  // Has other threads call `help`: at most `most` of them, once each, at any time. When the image
  // is done, the call returns at once.
  virtual void Ask(int most, const std::function<void()>& help) = 0;
  // Pieces of compressed data are at least so large.
  virtual int64_t LeastPieceBytes() const { return kLeastPieceBytes; }
  // 40 µs of work, about what it takes to wake a thread.
  static constexpr int64_t kLeastPieceBytes = 8 << 10;
};

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_DECODE_HELPERS_H_
