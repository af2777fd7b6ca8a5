// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Protobuf's wire format byte by byte, for messages that no library would write.

#ifndef ORBSERVE_TESTS_SERVER_RPC_WIRE_BYTES_H_
#define ORBSERVE_TESTS_SERVER_RPC_WIRE_BYTES_H_

#include <cstdint>
#include <string>

namespace orbserve::wire {

// `padding`: bytes more than the value needs.
inline std::string Varint(uint64_t value, int padding = 0) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  for (int i = 0; i < padding; ++i) {
    bytes.back() = static_cast<char>(bytes.back() | 0x80);
    bytes.push_back('\0');
  }
  return bytes;
}

inline std::string Tag(uint32_t field, uint32_t wire_type, int padding = 0) {
  return Varint(field << 3 | wire_type, padding);
}

inline std::string Number(uint32_t field, uint64_t value) { return Tag(field, 0) + Varint(value); }

// A field with a length: bytes, a text, a message or packed numbers.
inline std::string Bytes(uint32_t field, const std::string& value, int tag_padding = 0,
                         int length_padding = 0) {
  return Tag(field, 2, tag_padding) + Varint(value.size(), length_padding) + value;
}

inline std::string Repeat(const std::string& bytes, size_t times) {
  std::string all;
  all.reserve(bytes.size() * times);
  for (size_t i = 0; i < times; ++i) all += bytes;
  return all;
}

}  // namespace orbserve::wire

#endif  // ORBSERVE_TESTS_SERVER_RPC_WIRE_BYTES_H_
