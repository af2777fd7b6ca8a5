// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/wire_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wire_format_lite.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// Arrays of numbers double when they are full, and an arena keeps the old ones: for n numbers up to
// 2n in the last array, and as many in those before it. One packed block of numbers of a fixed size
// gets an array that it fits into.
constexpr size_t kArrayGrowth = 4;
// Header and least room of an array that has a number.
constexpr size_t kArrayBytes = 16;
// Object and pointer of a text, beside its bytes.
constexpr size_t kTextBytes = sizeof(std::string) + 2 * sizeof(void*);
// Place and contents of an unknown field, beside its bytes.
constexpr size_t kUnknownBytes = 96;

size_t NumberBytes(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return 8;
    case FieldDescriptor::CPPTYPE_BOOL:
      return 1;
    default:
      return 4;
  }
}

// Ends of varints among the bytes: those whose high bit is clear.
size_t CountVarints(absl::Span<const uint8_t> bytes) {
  size_t count = 0;
  size_t i = 0;
  constexpr uint64_t kHighBits = 0x8080808080808080;
  for (; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    count += static_cast<size_t>(std::popcount(~word & kHighBits));
  }
  for (; i < bytes.size(); ++i) count += bytes[i] < 0x80 ? 1 : 0;
  return count;
}

// Reads a tag or a length. The parser, too, refuses one of more than five bytes.
bool ReadShortNumber(google::protobuf::io::CodedInputStream& in, uint64_t* value) {
  constexpr int kMaxBytes = 5;
  const int begin = in.CurrentPosition();
  return in.ReadVarint64(value) && in.CurrentPosition() - begin <= kMaxBytes;
}

}  // namespace

WireRules::WireRules(const google::protobuf::Descriptor* root) { Add(root); }

uint16_t WireRules::Add(const google::protobuf::Descriptor* descriptor) {
  const auto known = std::find(descriptors_.begin(), descriptors_.end(), descriptor);
  if (known != descriptors_.end()) return static_cast<uint16_t>(known - descriptors_.begin());
  const auto index = static_cast<uint16_t>(messages_.size());
  descriptors_.push_back(descriptor);
  messages_.push_back({.name = descriptor->name()});
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& proto = *descriptor->field(i);
    Field field;
    field.name = absl::StrCat(descriptor->name(), ".", proto.name());
    field.counter = counters_++;
    if (proto.type() == FieldDescriptor::TYPE_MESSAGE) {
      field.kind = Kind::kMessage;
      field.message = Add(proto.message_type());
      field.element_bytes = google::protobuf::MessageFactory::generated_factory()
                                ->GetPrototype(proto.message_type())
                                ->SpaceUsedLong() +
                            sizeof(void*);
    } else if (proto.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      field.kind = proto.type() == FieldDescriptor::TYPE_STRING ? Kind::kText : Kind::kBytes;
      field.element_bytes = kTextBytes;
    } else {
      field.kind = Kind::kNumber;
      field.wire_type = WireFormatLite::WireTypeForFieldType(
          static_cast<WireFormatLite::FieldType>(proto.type()));
      field.is_repeated_number = proto.is_repeated();
      if (proto.is_repeated()) messages_[index].array_bytes += kArrayBytes;
      field.element_bytes = NumberBytes(proto);
    }
    std::vector<Field>& fields = messages_[index].fields;
    const auto number = static_cast<size_t>(proto.number());
    if (fields.size() <= number) fields.resize(number + 1);
    fields[number] = std::move(field);
  }
  return index;
}

absl::Status WireScan::Check(google::protobuf::io::ZeroCopyInputStream* message, size_t size) {
  std::fill(counts_.begin(), counts_.end(), 0);
  size_ = size;
  most_memory_ = limits_.free_bytes + limits_.max_growth * size;
  memory_ = unknown_fields_ = unknown_bytes_ = 0;
  field_at_ = 0;
  if (size > size_t{std::numeric_limits<int32_t>::max()}) return Broken("it");
  Input in(message);
  return ScanMessage(rules_.messages_.front(), static_cast<int>(size), 1, in);
}

bool WireScan::FindOnly(int outer, int inner, Place* outer_place, Place* inner_place) const {
  const Field& around = rules_.messages_.front().fields[static_cast<size_t>(outer)];
  const Field& field = rules_.messages_[around.message].fields[static_cast<size_t>(inner)];
  *outer_place = places_[around.counter];
  *inner_place = places_[field.counter];
  return counts_[around.counter] == 1 && counts_[field.counter] == 1;
}

absl::Status WireScan::ScanMessage(const WireRules::Message& message, int bytes, int depth,
                                   Input& in) {
  if (depth > limits_.max_depth) {
    return Refuse(ErrorReason::kBadRequest,
                  absl::StrCat("messages are nested more than ", limits_.max_depth, " deep"));
  }
  memory_ += message.array_bytes;
  const int end = in.CurrentPosition() + bytes;
  const Input::Limit limit = in.PushLimit(bytes);
  while (in.CurrentPosition() < end) {
    field_at_ = in.CurrentPosition();
    uint64_t tag = 0;
    if (!ReadShortNumber(in, &tag)) return Broken(message.name);
    // A tag is the lower 32 bits of its number.
    ORBSERVE_RETURN_IF_ERROR(ScanField(message, static_cast<uint32_t>(tag), depth, in));
    if (memory_ > most_memory_) {
      return Refuse(ErrorReason::kTooLarge,
                    absl::StrCat("a message of ", size_, " bytes would take more than ",
                                 most_memory_, " bytes of memory; send fewer repetitions"));
    }
  }
  in.PopLimit(limit);
  return absl::OkStatus();
}

absl::Status WireScan::ScanField(const WireRules::Message& message, uint32_t tag, int depth,
                                 Input& in) {
  static const Field kNone;
  const uint32_t number = WireFormatLite::GetTagFieldNumber(tag);
  if (number == 0) return Broken(message.name);
  const Field& field = number < message.fields.size() ? message.fields[number] : kNone;
  const int wire_type = WireFormatLite::GetTagWireType(tag);
  uint64_t value = 0;
  int bytes = 0;  // without a varint's
  switch (wire_type) {
    case WireFormatLite::WIRETYPE_VARINT:
      if (!in.ReadVarint64(&value)) return Broken(message.name);
      break;
    case WireFormatLite::WIRETYPE_FIXED32:
    case WireFormatLite::WIRETYPE_FIXED64:
      bytes = wire_type == WireFormatLite::WIRETYPE_FIXED32 ? 4 : 8;
      if (!in.Skip(bytes)) return Broken(message.name);
      break;
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
      if (!ReadShortNumber(in, &value) || value > static_cast<uint64_t>(in.BytesUntilLimit())) {
        return Broken(message.name);
      }
      return ScanBlock(message, field, static_cast<int>(value), depth, in);
    case WireFormatLite::WIRETYPE_START_GROUP:
    case WireFormatLite::WIRETYPE_END_GROUP:
      return Refuse(ErrorReason::kBadRequest,
                    absl::StrCat(message.name, " has a group, which no field of it is"));
    default:
      return Broken(message.name);
  }
  return field.kind == Kind::kNumber && field.wire_type == wire_type
             ? CountNumbers(field, 1, /*is_packed=*/false)
             : CountUnknown(message, static_cast<size_t>(bytes));
}

// Its bytes are there: the length was checked.
absl::Status WireScan::ScanBlock(const WireRules::Message& message, const Field& field, int bytes,
                                 int depth, Input& in) {
  const auto size = static_cast<size_t>(bytes);
  if (field.kind != Kind::kUnknown) {
    const int begin = in.CurrentPosition();
    places_[field.counter] = {field_at_, begin, begin + bytes};
  }
  switch (field.kind) {
    case Kind::kText:
      memory_ += field.element_bytes + size;
      ORBSERVE_RETURN_IF_ERROR(CheckText(field, bytes, in));
      return CountOccurrence(field);
    case Kind::kBytes:
      memory_ += field.element_bytes + size;
      in.Skip(bytes);
      return CountOccurrence(field);
    case Kind::kMessage:
      memory_ += field.element_bytes;
      ORBSERVE_RETURN_IF_ERROR(CountOccurrence(field));
      return ScanMessage(rules_.messages_[field.message], bytes, depth + 1, in);
    case Kind::kUnknown:
    case Kind::kNumber:
      break;
  }
  if (!field.is_repeated_number) {
    in.Skip(bytes);
    return CountUnknown(message, size);
  }
  // Packed numbers.
  if (field.wire_type != WireFormatLite::WIRETYPE_VARINT) {
    const size_t each = field.wire_type == WireFormatLite::WIRETYPE_FIXED32 ? 4 : 8;
    in.Skip(bytes);
    return size % each == 0 ? CountNumbers(field, size / each, /*is_packed=*/true)
                            : Broken(field.name);
  }
  size_t elements = 0;
  uint8_t last = 0;
  const void* data = nullptr;
  for (int left = bytes, stretch = 0; left > 0; left -= stretch) {
    in.GetDirectBufferPointer(&data, &stretch);
    stretch = std::min(stretch, left);
    const absl::Span<const uint8_t> numbers(static_cast<const uint8_t*>(data),
                                            static_cast<size_t>(stretch));
    elements += CountVarints(numbers);
    last = numbers.back();
    in.Skip(stretch);
  }
  return last < 0x80 ? CountNumbers(field, elements, /*is_packed=*/true) : Broken(field.name);
}

// A parser checks texts, too, and writes a line about a bad one to standard error.
absl::Status WireScan::CheckText(const Field& field, int bytes, Input& in) {
  if (static_cast<size_t>(bytes) > limits_.max_text_bytes) {
    return Refuse(ErrorReason::kTooLarge,
                  absl::StrCat(field.name, " has ", bytes, " bytes; at most ",
                               limits_.max_text_bytes, " are allowed"));
  }
  in.ReadString(&text_, bytes);
  if (google::protobuf::internal::IsStructurallyValidUTF8(text_)) return absl::OkStatus();
  return Refuse(ErrorReason::kBadRequest, absl::StrCat(field.name, " is not UTF-8"));
}

absl::Status WireScan::CountNumbers(const Field& field, size_t elements, bool is_packed) {
  if (!field.is_repeated_number) return CountOccurrence(field);
  const bool is_exact = is_packed && field.wire_type != WireFormatLite::WIRETYPE_VARINT &&
                        counts_[field.counter] == 0;
  memory_ += (is_exact ? 2 : kArrayGrowth) * elements * field.element_bytes;
  // Empty blocks cost time.
  const size_t count = counts_[field.counter] + std::max<size_t>(elements, 1);
  if (count > limits_.max_elements) {
    return Refuse(ErrorReason::kTooLarge,
                  absl::StrCat(field.name, " has more than ", limits_.max_elements, " elements"));
  }
  counts_[field.counter] = static_cast<uint32_t>(count);
  return absl::OkStatus();
}

absl::Status WireScan::CountOccurrence(const Field& field) {
  if (++counts_[field.counter] <= limits_.max_occurrences) return absl::OkStatus();
  return Refuse(ErrorReason::kTooLarge,
                absl::StrCat(field.name, " is given more than ", limits_.max_occurrences,
                             " times in a message"));
}

absl::Status WireScan::CountUnknown(const WireRules::Message& message, size_t bytes) {
  memory_ += kUnknownBytes + bytes;
  unknown_bytes_ += bytes;
  if (++unknown_fields_ <= limits_.max_unknown_fields &&
      unknown_bytes_ <= limits_.max_unknown_bytes) {
    return absl::OkStatus();
  }
  return Refuse(ErrorReason::kTooLarge,
                absl::StrCat("fields that this server does not know, the last one in ",
                             message.name, ": ", unknown_fields_, " with ", unknown_bytes_,
                             " bytes; at most ", limits_.max_unknown_fields, " with ",
                             limits_.max_unknown_bytes, " are allowed"));
}

absl::Status WireScan::Broken(absl::string_view where) const {
  return Refuse(ErrorReason::kBadRequest,
                absl::StrCat("the bytes are not a message of the type ",
                             rules_.messages_.front().name, ": ", where, " is cut off or broken"));
}

absl::Status WireScan::Refuse(ErrorReason reason, absl::string_view text) const {
  return MakeError(reason, absl::StrCat(text, " (at byte ", field_at_, ")"));
}

}  // namespace orbserve
