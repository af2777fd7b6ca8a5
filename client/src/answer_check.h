// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Checks what a server answers against the wire contract, before a caller sees it: lengths of
// columns, ranges, finite numbers, counts and order. An answer that passes can be used without
// further checks: its rows exist in every column, and its indices name rows that exist.
//
// An error is DATA_LOSS, and its text names the field, the value that was given and those that are
// allowed. Fields that later versions of the contract add, and enum values without consequence for
// other fields, are not refused.

#ifndef ORBSERVE_CLIENT_SRC_ANSWER_CHECK_H_
#define ORBSERVE_CLIENT_SRC_ANSWER_CHECK_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::client {

// Largest number of references that any server keeps.
inline constexpr int kMaxListedReferences = 10'000'000;

absl::Status CheckExtractAnswer(const v1::ExtractRequest& request,
                                const v1::ExtractResponse& response);
absl::Status CheckMatchAnswer(const v1::MatchRequest& request, const v1::MatchResponse& response);
absl::Status CheckPutReferenceAnswer(const v1::PutReferenceRequest& request,
                                     const v1::PutReferenceResponse& response);
// Checks one page. `last_name`: the last name of the page before, after which names go on; "" for
// the first page. A page that names a next one must have references, so that pages come to an end.
absl::Status CheckReferencesPage(const v1::ListReferencesRequest& request,
                                 absl::string_view last_name,
                                 const v1::ListReferencesResponse& response);
absl::Status CheckServerInfoAnswer(const v1::GetServerInfoResponse& response);

// Checks the messages of one connection of a stream in their order: each `opened` and each `result`
// must answer the oldest message that was sent and not answered, and `going_away` comes once. Not
// thread-safe.
class StreamCheck {
 public:
  // Notes a message in the order in which messages are sent, before it is sent.
  void Sent(const v1::StreamFramesRequest& request);
  // Checks the next message of the server. Must not be called again after an error.
  absl::Status Take(const v1::StreamFramesResponse& response);

 private:
  // A message that the server has to answer.
  struct Expected {
    std::optional<v1::StreamOpen> open;  // only its options for results; no value: a frame
    uint64_t sequence = 0;
    int64_t timestamp_ns = 0;
    uint32_t width_px = 0;
    uint32_t height_px = 0;
    std::optional<int> given_keypoints;
  };

  // A frame whose features were answered.
  struct Target {
    std::optional<uint64_t> sequence;  // no value: not known
    int count = 0;                     // of its features
  };

  absl::Status TakeOpened(const v1::StreamOpened& opened);
  absl::Status TakeResult(const v1::FrameResult& result);
  // Remembers the features of a right result.
  void NoteTarget(const v1::FrameResult& result);
  absl::Status CheckFrameMatches(const v1::FrameResult& result) const;
  absl::Status CheckTracks(const Expected& frame, const v1::FrameResult& result) const;

  std::deque<Expected> expected_;
  v1::StreamOpen open_;      // in force for the next result
  bool is_opened_ = false;   // the first `opened` has come
  bool going_away_ = false;  // `going_away` has come
  // Targets of matches, as far as their answers told: the last frame that did not fail, and the
  // last keyframe.
  Target previous_;
  Target keyframe_;
};

}  // namespace orbserve::client

#endif  // ORBSERVE_CLIENT_SRC_ANSWER_CHECK_H_
