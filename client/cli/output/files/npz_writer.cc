// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <zlib.h>

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/output/files/npz_file.h"

namespace orbserve::cli {
namespace {

static_assert(std::endian::native == std::endian::little,
              "NPY data are written in the byte order of the host");

constexpr uint16_t kZipVersion = 20;     // 2.0: lowest version that readers accept
constexpr uint16_t kFixedTime = 0;       // 00:00:00
constexpr uint16_t kFixedDate = 0x0021;  // 1980-01-01, the first date of the ZIP format
constexpr size_t kNpyAlignment = 64;     // of the data in an NPY file, required by the format

void Append16(uint16_t value, std::string* out) {
  out->push_back(static_cast<char>(value & 0xFF));
  out->push_back(static_cast<char>(value >> 8));
}

void Append32(uint32_t value, std::string* out) {
  Append16(static_cast<uint16_t>(value & 0xFFFF), out);
  Append16(static_cast<uint16_t>(value >> 16), out);
}

std::string NpyHeader(const NpzArray& array) {
  // Python's tuple of one element has a comma, a longer one has none at its end.
  std::string text =
      absl::StrCat("{'descr': '", array.type, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(array.shape, ", "), array.shape.size() == 1 ? ",), }" : "), }");
  constexpr size_t kPrefixBytes = 10;
  const size_t used = kPrefixBytes + text.size() + 1;
  text.append((kNpyAlignment - used % kNpyAlignment) % kNpyAlignment, ' ');
  text.push_back('\n');
  std::string header("\x93NUMPY\x01\x00", 8);
  Append16(static_cast<uint16_t>(text.size()), &header);
  header.append(text);
  return header;
}

// Appends the fields that local and central headers share, beginning with the version.
void AppendCommon(uint32_t crc, uint32_t size, size_t name_size, std::string* out) {
  Append16(kZipVersion, out);
  Append16(0, out);  // flags
  Append16(0, out);  // stored
  Append16(kFixedTime, out);
  Append16(kFixedDate, out);
  Append32(crc, out);
  Append32(size, out);  // packed
  Append32(size, out);  // unpacked
  Append16(static_cast<uint16_t>(name_size), out);
  Append16(0, out);  // extra field
}

}  // namespace

std::string EncodeNpz(absl::Span<const NpzArray> arrays) {
  size_t total = kZipEndBytes;
  std::vector<std::string> headers;
  headers.reserve(arrays.size());
  for (const NpzArray& array : arrays) {
    headers.push_back(NpyHeader(array));
    total += kZipLocalHeaderBytes + kZipCentralHeaderBytes + 2 * (array.name.size() + 4) +
             headers.back().size() + array.data.size();
  }

  std::string archive;
  archive.reserve(total);
  std::string central;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::string name = absl::StrCat(arrays[i].name, ".npy");
    const std::string& header = headers[i];
    const std::string& data = arrays[i].data;
    uLong crc = crc32(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size());
    const auto size = static_cast<uint32_t>(header.size() + data.size());
    const auto offset = static_cast<uint32_t>(archive.size());

    archive.append("PK\x03\x04", 4);
    AppendCommon(static_cast<uint32_t>(crc), size, name.size(), &archive);
    archive.append(name).append(header).append(data);

    central.append("PK\x01\x02", 4);
    Append16(kZipVersion, &central);  // made by
    AppendCommon(static_cast<uint32_t>(crc), size, name.size(), &central);
    Append16(0, &central);  // comment
    Append16(0, &central);  // disk
    Append16(0, &central);  // internal attributes
    Append32(0, &central);  // external attributes
    Append32(offset, &central);
    central.append(name);
  }
  const auto central_offset = static_cast<uint32_t>(archive.size());
  archive.append(central);
  archive.append("PK\x05\x06", 4);
  Append16(0, &archive);  // this disk
  Append16(0, &archive);  // disk of the central directory
  Append16(static_cast<uint16_t>(arrays.size()), &archive);
  Append16(static_cast<uint16_t>(arrays.size()), &archive);
  Append32(static_cast<uint32_t>(central.size()), &archive);
  Append32(central_offset, &archive);
  Append16(0, &archive);  // comment
  return archive;
}

}  // namespace orbserve::cli
