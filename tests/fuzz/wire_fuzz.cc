// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The scan of hostile messages. The first byte chooses the kind of request and the size of the
// pieces, the rest is the message. Beside what the sanitizers see, three promises are checked: a
// refusal has a reason in words; the answer does not depend on the pieces; a message that passes
// takes no more memory than the scan says.

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/rpc/wire_scan.h"
#include "tests/fuzz/require.h"

namespace orbserve {
namespace {

template <typename Message>
void Fuzz(const uint8_t* data, size_t size, size_t piece_bytes) {
  WireScan scan(WireRules::Of<Message>());
  const auto check = [&](size_t piece) {
    google::protobuf::io::ArrayInputStream stream(data, static_cast<int>(size),
                                                  static_cast<int>(piece));
    return scan.Check(&stream, size);
  };
  const absl::Status in_pieces = check(piece_bytes);
  const absl::Status status = check(size);
  Require(in_pieces == status, "the answer does not depend on the pieces");
  RequireReason(status);
  if (!status.ok()) return;
  Message message;
  // A packed number of more than ten bytes is left to the parser.
  if (!message.ParseFromArray(data, static_cast<int>(size))) return;
  Require(message.SpaceUsedLong() <= sizeof(message) + scan.memory_bytes(),
          "the memory of the message");
}

}  // namespace
}  // namespace orbserve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece_bytes = size_t{1} + data[0] / 4;
  const int kind = data[0] % 4;
  ++data;
  --size;
  switch (kind) {
    case 0:
      orbserve::Fuzz<orbserve::v1::StreamFramesRequest>(data, size, piece_bytes);
      break;
    case 1:
      orbserve::Fuzz<orbserve::v1::ExtractRequest>(data, size, piece_bytes);
      break;
    case 2:
      orbserve::Fuzz<orbserve::v1::MatchRequest>(data, size, piece_bytes);
      break;
    default:
      orbserve::Fuzz<orbserve::v1::PutReferenceRequest>(data, size, piece_bytes);
  }
  return 0;
}
