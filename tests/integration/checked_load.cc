// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/integration/checked_load.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "features/errors.h"
#include "grpcpp/support/channel_arguments.h"
#include "server/server.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

constexpr size_t kMaxComplaints = 10;

std::string ReasonOfWire(const absl::Status& status) {
  return client::WireStatusOf(status).reason();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExpectedAnswers>> ExpectedAnswers::Compute(int width_px,
                                                                          int height_px) {
  server::Config config;
  config.set_listen("");
  config.set_http_listen("");
  config.mutable_backend()->set_name("cpu");
  ORBSERVE_ASSIGN_OR_RETURN(const auto server, Server::Create(config));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  ORBSERVE_ASSIGN_OR_RETURN(const std::unique_ptr<client::Client> client,
                            client::Client::Connect(server->InProcessChannel(arguments), {}));

  std::unique_ptr<ExpectedAnswers> expected(new ExpectedAnswers);
  std::vector<v1::FeatureSet> features;
  for (uint32_t i = 0; i < kFrames; ++i) {
    expected->frames_.push_back(MakeFrame(width_px, height_px, 1000 + i));
    v1::ExtractRequest request;
    *request.mutable_frame() = expected->frames_.back();
    ORBSERVE_ASSIGN_OR_RETURN(v1::ExtractResponse response, client->Extract(request));
    if (response.features().x_size() < 100) return absl::InternalError("frames without features");
    expected->features_.push_back(response.features().SerializeAsString());
    features.push_back(std::move(*response.mutable_features()));
  }
  for (const v1::FeatureSet& query : features) {
    std::vector<std::string>& row = expected->matches_.emplace_back();
    for (const v1::FeatureSet& train : features) {
      v1::MatchRequest request;
      *request.mutable_query_features() = query;
      *request.mutable_train_features() = train;
      ORBSERVE_ASSIGN_OR_RETURN(const v1::MatchResponse response, client->Match(request));
      row.push_back(response.matches().SerializeAsString());
    }
  }
  return expected;
}

v1::Frame ExpectedAnswers::FrameOf(uint64_t sequence) const {
  v1::Frame frame = frames_[sequence % kFrames];
  frame.set_sequence(sequence);
  return frame;
}

bool ExpectedAnswers::IsRight(uint64_t sequence, const v1::FeatureSet& features) const {
  return features.SerializeAsString() == features_[sequence % kFrames];
}

bool ExpectedAnswers::IsRight(uint64_t sequence, uint64_t target,
                              const v1::MatchSet& matches) const {
  return matches.SerializeAsString() == matches_[sequence % kFrames][target % kFrames];
}

CheckedLoad::CheckedLoad(const ExpectedAnswers* expected, std::string address, int clients,
                         std::string refusal)
    : expected_(*expected), address_(std::move(address)), refusal_(std::move(refusal)) {
  for (int i = 0; i < clients; ++i) {
    threads_.emplace_back([this, i] {
      if (i % 2 == 0) {
        CallUntilRefused(i);
      } else {
        StreamUntilRefused(i);
      }
    });
  }
}

// A test that has failed may leave the server as it is.
CheckedLoad::~CheckedLoad() {
  abandoned_ = true;
  Join();
}

void CheckedLoad::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::string CheckedLoad::Complaints() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrJoin(complaints_, "\n");
}

void CheckedLoad::Complain(const std::string& what) {
  ++wrong_;
  absl::MutexLock lock(&mutex_);
  if (complaints_.size() < kMaxComplaints) complaints_.push_back(what);
}

void CheckedLoad::CallUntilRefused(int number) {
  auto client = client::Client::Connect(address_, {.client_id = absl::StrCat("unary-", number)});
  if (!client.ok()) return Complain(std::string(client.status().message()));
  for (uint64_t sequence = static_cast<uint64_t>(number); !abandoned_; ++sequence) {
    v1::ExtractRequest request;
    *request.mutable_frame() = expected_.FrameOf(sequence);
    const auto response = (*client)->Extract(request);
    if (response.ok()) {
      if (expected_.IsRight(sequence, response->features())) {
        ++ok_;
      } else {
        Complain(absl::StrCat("Extract ", sequence, ": other features"));
      }
      continue;
    }
    if (!absl::IsUnavailable(response.status())) {
      Complain(absl::StrCat("Extract: ", response.status().ToString()));
    } else if (const std::string reason = ReasonOfWire(response.status()); reason == refusal_) {
      ++refused_;
    } else if (reason.empty()) {
      ++unreached_;
    } else {
      Complain(absl::StrCat("Extract: ", response.status().ToString()));
    }
    return;
  }
}

void CheckedLoad::StreamUntilRefused(int number) {
  auto client = client::Client::Connect(address_, {.client_id = absl::StrCat("stream-", number)});
  if (!client.ok()) return Complain(std::string(client.status().message()));
  v1::StreamOpen open;
  open.set_match_previous(true);
  auto stream = (*client)->OpenStream(open);
  if (!stream.ok()) return Complain(absl::StrCat("stream: ", stream.status().ToString()));
  std::thread sender([&] {
    for (uint64_t sequence = 0; !(*stream)->going_away() && !abandoned_; ++sequence) {
      if (!(*stream)->Send(expected_.FrameOf(sequence)).ok()) return;
    }
    (void)(*stream)->CloseSend();
  });
  for (;;) {
    const auto result = (*stream)->Receive();
    if (result.ok() && result->has_value()) {
      CheckResult(**result);
      continue;
    }
    // The end: well, as it was asked to go away, or with the reason.
    if (!result.ok()) {
      const std::string reason = ReasonOfWire(result.status());
      if (absl::IsUnavailable(result.status()) && reason.empty()) {
        ++unreached_;
      } else if (!absl::IsUnavailable(result.status()) || reason != refusal_) {
        Complain(absl::StrCat("stream: ", result.status().ToString()));
      }
    } else if (!(*stream)->going_away() && !abandoned_) {
      Complain("a stream ended that was not told to");
    }
    break;
  }
  sender.join();
}

void CheckedLoad::CheckResult(const v1::FrameResult& result) {
  if (result.status().code() != 0) {
    if (result.status().reason() == refusal_) {
      ++refused_;
    } else {
      Complain(absl::StrCat("frame: ", result.status().ShortDebugString()));
    }
    return;
  }
  if (!expected_.IsRight(result.sequence(), result.features())) {
    Complain(absl::StrCat("frame ", result.sequence(), ": other features"));
    return;
  }
  for (const v1::FrameMatches& matches : result.matches()) {
    const bool is_right =
        matches.status().code() != 0
            ? matches.status().reason() == refusal_
            : expected_.IsRight(result.sequence(), matches.target_sequence(), matches.matches());
    if (!is_right) {
      Complain(absl::StrCat("frame ", result.sequence(), ": other matches ",
                            matches.status().ShortDebugString()));
      return;
    }
  }
  ++ok_;
}

}  // namespace orbserve
