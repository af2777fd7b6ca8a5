// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A server on a free port of the loopback whose answers are right until a test makes them wrong.

#ifndef ORBSERVE_TESTS_CLIENT_LYING_SERVER_H_
#define ORBSERVE_TESTS_CLIENT_LYING_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

namespace orbserve::testing {

// Right answers, which a lie changes.
v1::FeatureSet RightFeatures(int width_px, int height_px, int count);
v1::GetServerInfoResponse RightInfo();
v1::ReferenceInfo RightReference(const std::string& name);
// Answer to a frame of a stream that asked for matches with the frame before and for tracks.
v1::FrameResult RightResult(const v1::Frame& frame);

// A function that a test sets while threads of the server may look at it.
template <typename Signature>
class Lie;
template <typename Result, typename... Arguments>
class Lie<Result(Arguments...)> {
 public:
  using Function = std::function<Result(Arguments...)>;

  Lie& operator=(Function function) {
    absl::MutexLock lock(&mutex_);
    function_ = std::move(function);
    return *this;
  }
  // Empty: the truth.
  Function Get() const {
    absl::MutexLock lock(&mutex_);
    return function_;
  }

 private:
  mutable absl::Mutex mutex_;
  Function function_ ABSL_GUARDED_BY(mutex_);
};

class LyingServer final : private v1::Features::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::StreamFramesResponse, v1::StreamFramesRequest>;

  LyingServer();
  // Ends calls that are under way.
  ~LyingServer() override;

  const std::string& address() const { return address_; }
  // Calls that have begun, those for its own description left out.
  int calls() const { return calls_; }

  // Lies, which change the right answer of each call.
  Lie<void(v1::GetServerInfoResponse*)> info;
  Lie<grpc::Status(v1::ExtractResponse*)> extract;
  Lie<void(v1::MatchResponse*)> match;
  Lie<void(v1::PutReferenceResponse*)> put;
  Lie<void(v1::ListReferencesResponse*)> list;
  Lie<void(v1::StreamOpened*)> opened;
  Lie<void(v1::FrameResult*)> result;
  // Takes the place of the answers to a stream behind the first `opened`. Should end when a write
  // fails.
  Lie<void(Stream*)> after_opened;
  // No call but the one for the description is answered before its client gives up.
  std::atomic<bool> is_silent = false;

 private:
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;
  grpc::Status Extract(grpc::ServerContext* context, const v1::ExtractRequest* request,
                       v1::ExtractResponse* response) override;
  grpc::Status Match(grpc::ServerContext* context, const v1::MatchRequest* request,
                     v1::MatchResponse* response) override;
  grpc::Status PutReference(grpc::ServerContext* context, const v1::PutReferenceRequest* request,
                            v1::PutReferenceResponse* response) override;
  grpc::Status ListReferences(grpc::ServerContext* context,
                              const v1::ListReferencesRequest* request,
                              v1::ListReferencesResponse* response) override;
  grpc::Status StreamFrames(grpc::ServerContext* context, Stream* stream) override;

  void Begin(grpc::ServerContext* context);

  std::atomic<int> calls_ = 0;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_CLIENT_LYING_SERVER_H_
