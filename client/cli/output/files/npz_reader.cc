// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/output/files/npz_file.h"

namespace orbserve::cli {
namespace {

constexpr size_t kMaxEndSearch = kZipEndBytes + 65535;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kEncryptedFlag = 1;

uint16_t Get16(absl::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) | static_cast<uint8_t>(bytes[at + 1])
                                                                     << 8);
}

uint32_t Get32(absl::string_view bytes, size_t at) {
  return Get16(bytes, at) | static_cast<uint32_t>(Get16(bytes, at + 2)) << 16;
}

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a readable NPZ file: ", what));
}

// Entry of the central directory: one member of the archive.
struct Member {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint32_t packed_bytes = 0;
  uint32_t unpacked_bytes = 0;
  uint32_t offset = 0;
};

absl::StatusOr<std::vector<Member>> ReadDirectory(absl::string_view bytes) {
  if (bytes.size() < kZipEndBytes) return Malformed("too short for a ZIP archive");
  const size_t search_from = bytes.size() - std::min(bytes.size(), kMaxEndSearch);
  const size_t end = bytes.rfind(absl::string_view("PK\x05\x06", 4));
  if (end == absl::string_view::npos || end < search_from || bytes.size() - end < kZipEndBytes) {
    return Malformed("the end of the ZIP archive is missing");
  }
  const size_t count = Get16(bytes, end + 10);
  size_t at = Get32(bytes, end + 16);
  std::vector<Member> members;
  for (size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kZipCentralHeaderBytes ||
        bytes.substr(at, 4) != absl::string_view("PK\x01\x02", 4)) {
      return Malformed("the directory of the ZIP archive is damaged");
    }
    const size_t name_size = Get16(bytes, at + 28);
    const size_t rest = name_size + Get16(bytes, at + 30) + Get16(bytes, at + 32);
    if (end - at - kZipCentralHeaderBytes < rest) {
      return Malformed("the directory of the ZIP archive is damaged");
    }
    if ((Get16(bytes, at + 8) & kEncryptedFlag) != 0) return Malformed("it is encrypted");
    members.push_back({.name = std::string(bytes.substr(at + kZipCentralHeaderBytes, name_size)),
                       .method = Get16(bytes, at + 10),
                       .crc = Get32(bytes, at + 16),
                       .packed_bytes = Get32(bytes, at + 20),
                       .unpacked_bytes = Get32(bytes, at + 24),
                       .offset = Get32(bytes, at + 42)});
    at += kZipCentralHeaderBytes + rest;
  }
  return members;
}

absl::StatusOr<std::string> Inflate(absl::string_view packed, size_t unpacked_bytes) {
  std::string data(unpacked_bytes, '\0');
  z_stream stream = {};
  // Negative window bits select raw deflate, the form that ZIP uses.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Malformed("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(data.data());
  stream.avail_out = static_cast<uInt>(data.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return Malformed("a compressed array is damaged");
  return data;
}

absl::StatusOr<std::string> ReadMember(absl::string_view bytes, const Member& member) {
  const size_t at = member.offset;
  if (at > bytes.size() || bytes.size() - at < kZipLocalHeaderBytes ||
      bytes.substr(at, 4) != absl::string_view("PK\x03\x04", 4)) {
    return Malformed("a member of the ZIP archive is not where its directory says");
  }
  const size_t start = at + kZipLocalHeaderBytes + Get16(bytes, at + 26) + Get16(bytes, at + 28);
  if (start > bytes.size() || bytes.size() - start < member.packed_bytes) {
    return Malformed("the file ends early");
  }
  const absl::string_view packed = bytes.substr(start, member.packed_bytes);
  std::string data;
  if (member.method == kStored) {
    if (member.packed_bytes != member.unpacked_bytes) return Malformed("its sizes disagree");
    data = std::string(packed);
  } else if (member.method == kDeflated) {
    absl::StatusOr<std::string> inflated = Inflate(packed, member.unpacked_bytes);
    if (!inflated.ok()) return inflated.status();
    data = *std::move(inflated);
  } else {
    return Malformed("a compression that is neither none nor deflate");
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()) != member.crc) {
    return Malformed(absl::StrCat("checksum of ", member.name, " is wrong"));
  }
  return data;
}

// Returns the value of `'key':` in the header's dictionary.
absl::StatusOr<absl::string_view> ValueOf(absl::string_view dictionary, absl::string_view key) {
  const size_t at = dictionary.find(absl::StrCat("'", key, "'"));
  if (at == absl::string_view::npos) return Malformed(absl::StrCat("an array without ", key));
  absl::string_view rest = dictionary.substr(at + key.size() + 2);
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (!absl::ConsumePrefix(&rest, ":")) return Malformed("an array's header is damaged");
  rest = absl::StripLeadingAsciiWhitespace(rest);
  const char last = absl::StartsWith(rest, "(") ? ')' : ',';
  const size_t end = rest.find(last);
  if (end == absl::string_view::npos) return Malformed("an array's header is damaged");
  return rest.substr(0, end);
}

absl::StatusOr<NpzArray> ParseNpy(absl::string_view name, std::string bytes) {
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0) {
    return Malformed(absl::StrCat(std::string(name), " is no NPY array"));
  }
  const int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) return Malformed("an NPY format that is not 1, 2 or 3");
  const size_t prefix = version == 1 ? 10 : 12;
  const size_t header_size = version == 1 ? Get16(bytes, 8) : Get32(bytes, 8);
  if (bytes.size() - prefix < header_size) return Malformed("an array's header is cut");
  const absl::string_view header = absl::string_view(bytes).substr(prefix, header_size);

  const absl::StatusOr<absl::string_view> type = ValueOf(header, "descr");
  if (!type.ok()) return type.status();
  const absl::StatusOr<absl::string_view> order = ValueOf(header, "fortran_order");
  if (!order.ok()) return order.status();
  const absl::StatusOr<absl::string_view> shape = ValueOf(header, "shape");
  if (!shape.ok()) return shape.status();

  NpzArray array;
  array.name = std::string(name);
  array.type = std::string(absl::StripSuffix(absl::StripPrefix(*type, "'"), "'"));
  if (array.type.size() < 3 || (array.type[0] != '<' && array.type[0] != '|') ||
      std::string("fiub").find(array.type[1]) == std::string::npos) {
    return Malformed(
        absl::StrCat(array.name, " has type ", array.type, "; little-endian numbers are read"));
  }
  int item_bytes = 0;
  if (!absl::SimpleAtoi(array.type.substr(2), &item_bytes) || item_bytes < 1 || item_bytes > 16) {
    return Malformed(absl::StrCat(array.name, " has an unknown type"));
  }
  size_t size = static_cast<size_t>(item_bytes);
  for (const absl::string_view part : absl::StrSplit(shape->substr(1), ',')) {
    if (absl::StripAsciiWhitespace(part).empty()) continue;
    int64_t length = 0;
    if (!absl::SimpleAtoi(part, &length) || length < 0 ||
        (length > 0 && size > bytes.size() / static_cast<size_t>(length))) {
      return Malformed(absl::StrCat(array.name, " has a shape that its data do not fill"));
    }
    array.shape.push_back(length);
    size *= static_cast<size_t>(length);
  }
  if (array.shape.size() > 1 && *order != "False") {
    return Malformed(absl::StrCat(array.name, " is in Fortran order"));
  }
  if (bytes.size() - prefix - header_size != size) {
    return Malformed(absl::StrCat(array.name, " has a shape that its data do not fill"));
  }
  bytes.erase(0, prefix + header_size);
  array.data = std::move(bytes);
  return array;
}

}  // namespace

absl::StatusOr<std::vector<NpzArray>> DecodeNpz(absl::string_view bytes, size_t max_bytes) {
  const absl::StatusOr<std::vector<Member>> members = ReadDirectory(bytes);
  if (!members.ok()) return members.status();
  std::vector<NpzArray> arrays;
  size_t total = 0;
  for (const Member& member : *members) {
    const absl::string_view full_name = member.name;
    if (!absl::EndsWith(full_name, ".npy")) continue;
    total += member.unpacked_bytes;
    if (total > max_bytes) {
      return Malformed(absl::StrCat("more than ", max_bytes, " bytes of arrays"));
    }
    absl::StatusOr<std::string> data = ReadMember(bytes, member);
    if (!data.ok()) return data.status();
    absl::StatusOr<NpzArray> array =
        ParseNpy(full_name.substr(0, full_name.size() - 4), *std::move(data));
    if (!array.ok()) return array.status();
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

const NpzArray* FindArray(absl::Span<const NpzArray> arrays, absl::string_view name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [name](const NpzArray& array) { return array.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

}  // namespace orbserve::cli
