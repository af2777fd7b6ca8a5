// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_SERVING_STREAM_MESSAGE_BYTES_H_
#define ORBSERVE_SERVER_SERVING_STREAM_MESSAGE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace orbserve {

// The bytes of a message in a block of their own.
struct MessageBytes {
  struct Free {
    void operator()(uint8_t* bytes) const { ::operator delete(bytes); }
  };
  std::unique_ptr<uint8_t, Free> data;
  size_t size = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_SERVING_STREAM_MESSAGE_BYTES_H_
