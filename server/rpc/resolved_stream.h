// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Options of one `open` of a stream, checked and resolved. They hold for all frames up to the next
// `open`; a frame keeps those that it arrived under.

#ifndef ORBSERVE_SERVER_RPC_RESOLVED_STREAM_H_
#define ORBSERVE_SERVER_RPC_RESOLVED_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orbserve/v1/orbserve.pb.h"
#include "server/clients/client_id.h"
#include "server/rpc/conversion/pipeline.h"
#include "server/serving/stream/stream.h"

namespace orbserve {

struct ResolvedStream {
  std::shared_ptr<const ResolvedPipeline> pipeline;
  uint32_t deadline_ms = 0;  // of a frame, 0 = none
  StreamOptions options;

  // Wanted number of features of a frame with these parameters.
  int WantedFeatures(const v1::FrameParameters& frame) const;
  // `wanted`: WantedFeatures() of the frame, and so the number of tracks, unless frames before it
  // wanted more.
  ResponseBound ResponseBoundOf(int wanted, const MatchOptions& match) const;
  // BAD_OPTIONS where so many tracks would keep too many bytes of patches (template FIRST).
  absl::Status CheckTracks(int wanted) const;
};

// `client`: of the stream. BAD_OPTIONS, BAD_REQUEST, UNSUPPORTED.
absl::StatusOr<ResolvedStream> StreamFromProto(const v1::StreamOpen& open,
                                               const StreamLimits& limits, const ClientId& client);

// Fills in everything of `opened` that follows from the options.
void StreamToProto(const ResolvedStream& stream, v1::StreamOpened* opened);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RPC_RESOLVED_STREAM_H_
