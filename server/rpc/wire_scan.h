// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Looks through a message before it is parsed. A parser makes objects of hundreds of bytes out of
// two bytes on the wire, so that the size of a message says little about the memory that it will
// take. The scan reads every field once, allocates next to nothing, and refuses a message that
//  - is cut off, or whose fields have broken tags, numbers, lengths or texts;
//  - has groups, which this contract does not use, or is nested too deeply;
//  - has too many unknown fields or too many bytes of them; some are allowed, because later
//    versions of the contract add fields;
//  - repeats a field too often: numbers by their elements, other fields by their occurrences;
//  - would take much more memory than it has bytes.
//
// The rules come from the descriptor of the message, once.

#ifndef ORBSERVE_SERVER_RPC_WIRE_SCAN_H_
#define ORBSERVE_SERVER_RPC_WIRE_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "features/errors.h"
#include "features/options.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"

namespace orbserve {

struct WireLimits {
  // Elements of each field of repeated numbers in the whole message. A Match may have two sets of
  // kMaxFeatures; the calls themselves refuse one that is larger, with the number of its rows.
  size_t max_elements = size_t{4} * kMaxFeatures;
  size_t max_occurrences = 1024;  // of each other field in the whole message
  size_t max_text_bytes = 4096;   // of one name or text; bytes fields are free
  size_t max_unknown_fields = 256;
  size_t max_unknown_bytes = size_t{64} << 10;
  int max_depth = 16;  // messages in messages
  // Memory of the parsed message: at most so many times its bytes, and some more. Columns of
  // unpacked numbers, as old libraries write them, take up to 3.8 times.
  size_t max_growth = 4;
  size_t free_bytes = size_t{1} << 20;
};

// The fields of a message and of the messages in it. Immutable, thread-safe.
class WireRules {
 public:
  // `root` must be of generated code: its prototypes tell the size of objects.
  explicit WireRules(const google::protobuf::Descriptor* root);

  // The rules of a generated message, made at the first call.
  template <typename Message>
  static const WireRules& Of() {
    static const WireRules* const rules = new WireRules(Message::descriptor());
    return *rules;
  }

 private:
  friend class WireScan;

  enum class Kind : uint8_t { kUnknown, kNumber, kText, kBytes, kMessage };
  struct Field {
    Kind kind = Kind::kUnknown;
    bool is_repeated_number = false;
    int wire_type = 0;         // kNumber
    uint16_t counter = 0;      // number of the field among all fields
    uint16_t message = 0;      // kMessage: index in messages_
    size_t element_bytes = 0;  // in memory: of a number, or of the object
    std::string name;          // "Frame.pixels"
  };
  struct Message {
    std::string name;
    std::vector<Field> fields;  // [number]
    size_t array_bytes = 0;     // of all its arrays of numbers, beside their numbers
  };

  uint16_t Add(const google::protobuf::Descriptor* descriptor);

  std::vector<const google::protobuf::Descriptor*> descriptors_;  // of messages_
  std::vector<Message> messages_;                                 // the root first
  uint16_t counters_ = 0;
};

// Scans messages of one kind. Keeps its memory from one message to the next. Not thread-safe.
class WireScan {
 public:
  // A field with a length, in bytes of the message.
  struct Place {
    int tag_at = 0;
    int begin = 0;  // of its contents
    int end = 0;
  };

  explicit WireScan(const WireRules& rules, const WireLimits& limits = {})
      : rules_(rules), limits_(limits), counts_(rules.counters_), places_(rules.counters_) {}

  // Reads a message of `size` bytes, up to 2 GiB. BAD_REQUEST for one that is broken or not of this
  // kind, TOO_LARGE for one that has or takes too much. The text names the field and its place.
  absl::Status Check(google::protobuf::io::ZeroCopyInputStream* message, size_t size);

  // Estimate of the memory that the last message takes when it is parsed.
  size_t memory_bytes() const { return memory_; }
  // The place of the field with the number `inner` in the field `outer` of the last message, which
  // passed, and that of `outer`. False unless there is one of each.
  bool FindOnly(int outer, int inner, Place* outer_place, Place* inner_place) const;

 private:
  using Input = google::protobuf::io::CodedInputStream;
  using Field = WireRules::Field;
  using Kind = WireRules::Kind;

  // Each reads the next part of the message. `bytes`: of the part.
  absl::Status ScanMessage(const WireRules::Message& message, int bytes, int depth, Input& in);
  absl::Status ScanField(const WireRules::Message& message, uint32_t tag, int depth, Input& in);
  absl::Status ScanBlock(const WireRules::Message& message, const Field& field, int bytes,
                         int depth, Input& in);
  absl::Status CheckText(const Field& field, int bytes, Input& in);

  absl::Status CountNumbers(const Field& field, size_t elements, bool is_packed);
  absl::Status CountOccurrence(const Field& field);
  absl::Status CountUnknown(const WireRules::Message& message, size_t bytes);
  absl::Status Broken(absl::string_view where) const;
  absl::Status Refuse(ErrorReason reason, absl::string_view text) const;

  const WireRules& rules_;
  const WireLimits limits_;
  // Of the last message.
  std::vector<uint32_t> counts_;  // [Field::counter]
  std::vector<Place> places_;     // [Field::counter], of the last occurrence
  std::string text_;              // one text of the message
  int field_at_ = 0;              // place of the field that is read
  size_t size_ = 0;
  size_t most_memory_ = 0;
  size_t memory_ = 0;
  size_t unknown_fields_ = 0;
  size_t unknown_bytes_ = 0;
};

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_WIRE_SCAN_H_
