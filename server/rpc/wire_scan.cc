// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/wire_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "google/protobuf/message.h"
#include "server/rpc/wire_cursor.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;

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
size_t CountVarints(BytePiece bytes) {
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

bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// True for well-formed UTF-8 (Unicode 15, table 3-7).
bool IsUtf8(BytePiece text) {
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = text[i++];
    if (first < 0x80) continue;
    size_t more = 0;
    // Range of the second byte: narrower for overlong forms, surrogates and beyond U+10FFFF.
    uint8_t least = 0x80;
    uint8_t most = 0xBF;
    if (first >= 0xC2 && first <= 0xDF) {
      more = 1;
    } else if (first >= 0xE0 && first <= 0xEF) {
      more = 2;
      if (first == 0xE0) least = 0xA0;
      if (first == 0xED) most = 0x9F;
    } else if (first >= 0xF0 && first <= 0xF4) {
      more = 3;
      if (first == 0xF0) least = 0x90;
      if (first == 0xF4) most = 0x8F;
    } else {
      return false;
    }
    if (more > text.size() - i || text[i] < least || text[i] > most) return false;
    for (size_t k = 1; k < more; ++k) {
      if (!IsContinuation(text[i + k])) return false;
    }
    i += more;
  }
  return true;
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
    switch (proto.type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        field.kind = Kind::kMessage;
        field.message = Add(proto.message_type());
        field.element_bytes = google::protobuf::MessageFactory::generated_factory()
                                  ->GetPrototype(proto.message_type())
                                  ->SpaceUsedLong() +
                              sizeof(void*);
        break;
      case FieldDescriptor::TYPE_STRING:
        field.kind = Kind::kText;
        field.element_bytes = kTextBytes;
        break;
      case FieldDescriptor::TYPE_BYTES:
        field.kind = Kind::kBytes;
        field.element_bytes = kTextBytes;
        break;
      case FieldDescriptor::TYPE_FLOAT:
      case FieldDescriptor::TYPE_FIXED32:
      case FieldDescriptor::TYPE_SFIXED32:
        field.kind = Kind::kFixed32;
        break;
      case FieldDescriptor::TYPE_DOUBLE:
      case FieldDescriptor::TYPE_FIXED64:
      case FieldDescriptor::TYPE_SFIXED64:
        field.kind = Kind::kFixed64;
        break;
      case FieldDescriptor::TYPE_GROUP:
        continue;  // the contract has none
      default:
        field.kind = Kind::kVarint;
    }
    if (field.element_bytes == 0) {
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

// One message on its way through the scan.
class WireScan::Pass {
 public:
  Pass(WireScan& scan, absl::Span<const BytePiece> message)
      : rules_(scan.rules_),
        limits_(scan.limits_),
        counts_(scan.counts_),
        text_(scan.text_),
        cursor_(message) {
    for (const BytePiece piece : message) end_ += piece.size();
    most_memory_ = limits_.free_bytes + limits_.max_growth * end_;
  }

  absl::Status Run() { return ScanMessage(rules_.messages_.front(), end_, 1); }
  size_t memory_bytes() const { return memory_; }

 private:
  using Field = WireRules::Field;
  using Kind = WireRules::Kind;

  // `end`: position of the first byte behind the message.
  absl::Status ScanMessage(const WireRules::Message& message, size_t end, int depth) {
    if (depth > limits_.max_depth) {
      return Refuse(ErrorReason::kBadRequest,
                    absl::StrCat("messages are nested more than ", limits_.max_depth, " deep"));
    }
    memory_ += message.array_bytes;
    static const Field kNone;
    while (cursor_.position() < end) {
      uint32_t number = 0;
      uint32_t wire_type = 0;
      if (!cursor_.ReadTag(&number, &wire_type) || cursor_.position() > end) {
        return Broken(message.name);
      }
      const Field& field = number < message.fields.size() ? message.fields[number] : kNone;
      ORBSERVE_RETURN_IF_ERROR(ScanField(message, field, wire_type, end, depth));
      if (memory_ > most_memory_) {
        return Refuse(ErrorReason::kTooLarge,
                      absl::StrCat("a message of ", end_, " bytes would take more than ",
                                   most_memory_, " bytes of memory; send fewer repetitions"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ScanField(const WireRules::Message& message, const Field& field, uint32_t wire_type,
                         size_t end, int depth) {
    uint64_t value = 0;
    switch (wire_type) {
      case kVarint:
        if (!cursor_.ReadVarint(kMaxVarintBytes, &value)) break;
        if (cursor_.position() > end) break;
        return field.kind == Kind::kVarint ? CountNumbers(field, 1) : CountUnknown(message, 0);
      case kFixed32:
      case kFixed64: {
        const size_t bytes = wire_type == kFixed32 ? 4 : 8;
        if (bytes > end - cursor_.position() || !cursor_.Skip(bytes)) break;
        const Kind kind = wire_type == kFixed32 ? Kind::kFixed32 : Kind::kFixed64;
        return field.kind == kind ? CountNumbers(field, 1) : CountUnknown(message, bytes);
      }
      case kLengthDelimited:
        if (!cursor_.ReadVarint(kMaxShortVarintBytes, &value)) break;
        if (cursor_.position() > end || value > end - cursor_.position()) break;
        return ScanBlock(message, field, static_cast<size_t>(value), depth);
      case kGroupBegin:
      case kGroupEnd:
        return Refuse(ErrorReason::kBadRequest,
                      absl::StrCat(message.name, " has a group, which no field of it is"));
      default:
        break;
    }
    return Broken(message.name);
  }

  absl::Status ScanBlock(const WireRules::Message& message, const Field& field, size_t bytes,
                         int depth) {
    switch (field.kind) {
      case Kind::kUnknown:
        cursor_.Skip(bytes);
        return CountUnknown(message, bytes);
      case Kind::kText:
        ORBSERVE_RETURN_IF_ERROR(CheckText(field, bytes));
        [[fallthrough]];
      case Kind::kBytes:
        cursor_.Skip(bytes);
        memory_ += field.element_bytes + bytes;
        return CountOccurrence(field);
      case Kind::kMessage:
        memory_ += field.element_bytes;
        ORBSERVE_RETURN_IF_ERROR(CountOccurrence(field));
        return ScanMessage(rules_.messages_[field.message], cursor_.position() + bytes, depth + 1);
      case Kind::kVarint:
      case Kind::kFixed32:
      case Kind::kFixed64:
        break;
    }
    if (!field.is_repeated_number) {
      cursor_.Skip(bytes);
      return CountUnknown(message, bytes);
    }
    // Packed numbers.
    size_t elements = 0;
    if (field.kind == Kind::kVarint) {
      uint8_t last = 0;
      cursor_.Walk(bytes, [&](BytePiece stretch) {
        elements += CountVarints(stretch);
        last = stretch.back();
      });
      if (last >= 0x80) return Broken(field.name);
    } else {
      const size_t each = field.kind == Kind::kFixed32 ? 4 : 8;
      if (bytes % each != 0) return Broken(field.name);
      elements = bytes / each;
      cursor_.Skip(bytes);
    }
    return CountNumbers(field, elements, /*is_packed=*/true);
  }

  // The text is the next `bytes`. A parser checks it, too, and writes a line about a bad one to
  // standard error.
  absl::Status CheckText(const Field& field, size_t bytes) {
    if (bytes > limits_.max_text_bytes) {
      return Refuse(ErrorReason::kTooLarge,
                    absl::StrCat(field.name, " has ", bytes, " bytes; at most ",
                                 limits_.max_text_bytes, " are allowed"));
    }
    text_.clear();
    WireCursor(cursor_).AppendTo(&text_, bytes);
    const BytePiece text(reinterpret_cast<const uint8_t*>(text_.data()), text_.size());
    if (IsUtf8(text)) return absl::OkStatus();
    return Refuse(ErrorReason::kBadRequest, absl::StrCat(field.name, " is not UTF-8"));
  }

  absl::Status CountNumbers(const Field& field, size_t elements, bool is_packed = false) {
    if (!field.is_repeated_number) return CountOccurrence(field);
    const bool is_exact = is_packed && field.kind != Kind::kVarint && counts_[field.counter] == 0;
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

  absl::Status CountOccurrence(const Field& field) {
    if (++counts_[field.counter] <= limits_.max_occurrences) return absl::OkStatus();
    return Refuse(ErrorReason::kTooLarge,
                  absl::StrCat(field.name, " is given more than ", limits_.max_occurrences,
                               " times in a message"));
  }

  absl::Status CountUnknown(const WireRules::Message& message, size_t bytes) {
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

  absl::Status Broken(absl::string_view where) const {
    return Refuse(ErrorReason::kBadRequest, absl::StrCat("the bytes are not a message of the type ",
                                                         rules_.messages_.front().name, ": ", where,
                                                         " is cut off or broken"));
  }
  absl::Status Refuse(ErrorReason reason, absl::string_view text) const {
    return MakeError(reason, absl::StrCat(text, " (at byte ", cursor_.position(), ")"));
  }

  const WireRules& rules_;
  const WireLimits& limits_;
  std::vector<uint32_t>& counts_;
  std::string& text_;
  WireCursor cursor_;
  size_t end_ = 0;
  size_t most_memory_ = 0;
  size_t memory_ = 0;
  size_t unknown_fields_ = 0;
  size_t unknown_bytes_ = 0;
};

WireScan::WireScan(const WireRules& rules, const WireLimits& limits)
    : rules_(rules), limits_(limits), counts_(rules.counters_) {}

absl::Status WireScan::Check(absl::Span<const BytePiece> message) {
  std::fill(counts_.begin(), counts_.end(), 0);
  Pass pass(*this, message);
  absl::Status status = pass.Run();
  memory_bytes_ = pass.memory_bytes();
  return status;
}

}  // namespace orbserve
