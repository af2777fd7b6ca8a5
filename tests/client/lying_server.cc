// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/client/lying_server.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace orbserve::testing {
namespace {

constexpr int kWidthPx = 320;  // of frames that do not say their size
constexpr int kHeightPx = 240;
constexpr int kRows = 12;
constexpr uint32_t kDescriptorBytes = 32;

v1::FeatureSet FeaturesOf(const v1::Frame& frame) {
  const bool is_known = frame.width_px() > 0;
  return RightFeatures(is_known ? static_cast<int>(frame.width_px()) : kWidthPx,
                       is_known ? static_cast<int>(frame.height_px()) : kHeightPx, kRows);
}

void FillMatches(int count, v1::MatchSet* matches) {
  for (int i = 0; i < count; ++i) {
    matches->add_query_index(static_cast<uint32_t>(i));
    matches->add_train_index(static_cast<uint32_t>(i));
    matches->add_distance(static_cast<uint32_t>(i));
  }
}

void FillExecution(v1::FrameTimings* timings, v1::Execution* execution) {
  timings->set_total_ns(2'000'000);
  timings->add_stages()->set_stage("detect");
  execution->set_batch_size(1);
  execution->set_backend("cpu");
  execution->set_device("cpu");
}

}  // namespace

v1::FeatureSet RightFeatures(int width_px, int height_px, int count) {
  v1::FeatureSet features;
  for (int i = 0; i < count; ++i) {
    features.add_x(static_cast<float>(i * 7 % width_px));
    features.add_y(static_cast<float>(i * 5 % height_px));
    features.add_size(31);
    features.add_angle(static_cast<float>(i % 360));
    features.add_response(static_cast<float>(count - i));
    features.add_octave(0);
  }
  features.set_descriptor_bytes(kDescriptorBytes);
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_256);
  features.set_descriptors(std::string(static_cast<size_t>(count) * kDescriptorBytes, 'd'));
  features.set_image_width_px(static_cast<uint32_t>(width_px));
  features.set_image_height_px(static_cast<uint32_t>(height_px));
  return features;
}

v1::GetServerInfoResponse RightInfo() {
  v1::GetServerInfoResponse info;
  info.set_version("0.1.0");
  info.add_backends("cpu");
  info.set_active_backend("cpu");
  v1::DeviceInfo& device = *info.add_devices();
  device.set_device("cpu");
  device.set_name("processor");
  for (const char* name : {"orb", "vio", "odometry", "klt-corners"}) {
    v1::PresetInfo& preset = *info.add_presets();
    preset.set_name(name);
    preset.set_available(true);
    preset.mutable_pipeline()->set_preset(name);
    preset.mutable_pipeline()->mutable_describe()->set_descriptor_type(
        v1::DESCRIPTOR_TYPE_RBRIEF_256);
  }
  v1::ServerLimits& limits = *info.mutable_limits();
  limits.set_max_side_px(8192);
  limits.set_max_pixels(1 << 26);
  limits.set_max_message_bytes(96 << 20);
  limits.set_max_batch(16);
  limits.set_max_queue_frames_per_client(256);
  info.set_power_source("none");
  return info;
}

v1::ReferenceInfo RightReference(const std::string& name) {
  v1::ReferenceInfo info;
  info.set_name(name);
  info.set_version(1);
  info.set_feature_count(kRows);
  info.set_descriptor_bytes(kDescriptorBytes);
  info.set_descriptor_type(v1::DESCRIPTOR_TYPE_RBRIEF_256);
  info.set_size_bytes(1000);
  return info;
}

v1::FrameResult RightResult(const v1::Frame& frame) {
  v1::FrameResult result;
  result.set_sequence(frame.sequence());
  result.set_timestamp_ns(frame.timestamp_ns());
  FillExecution(result.mutable_timings(), result.mutable_execution());
  *result.mutable_features() = FeaturesOf(frame);
  return result;
}

LyingServer::LyingServer() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);  // frames are larger than the 4 MiB of gRPC's default
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
}

LyingServer::~LyingServer() { server_->Shutdown(std::chrono::system_clock::now()); }

void LyingServer::Begin(grpc::ServerContext* context) {
  ++calls_;
  while (is_silent && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
}

grpc::Status LyingServer::GetServerInfo(grpc::ServerContext*, const v1::GetServerInfoRequest*,
                                        v1::GetServerInfoResponse* response) {
  *response = RightInfo();
  if (const auto lie = info.Get()) lie(response);
  return grpc::Status::OK;
}

grpc::Status LyingServer::Extract(grpc::ServerContext* context, const v1::ExtractRequest* request,
                                  v1::ExtractResponse* response) {
  Begin(context);
  response->set_sequence(request->frame().sequence());
  response->set_timestamp_ns(request->frame().timestamp_ns());
  FillExecution(response->mutable_timings(), response->mutable_execution());
  *response->mutable_features() = FeaturesOf(request->frame());
  const auto lie = extract.Get();
  return lie ? lie(response) : grpc::Status::OK;
}

grpc::Status LyingServer::Match(grpc::ServerContext* context, const v1::MatchRequest* request,
                                v1::MatchResponse* response) {
  Begin(context);
  FillExecution(response->mutable_timings(), response->mutable_execution());
  int query = request->query_features().x_size();
  int train = request->train_features().x_size();
  if (request->has_query_frame()) {
    *response->mutable_query_features() = FeaturesOf(request->query_frame());
    query = kRows;
  }
  if (request->has_train_frame()) {
    *response->mutable_train_features() = FeaturesOf(request->train_frame());
    train = kRows;
  }
  if (request->has_train_reference()) {
    response->set_reference_version(1);
    train = kRows;
  }
  FillMatches(std::min(query, train), response->mutable_matches());
  if (const auto lie = match.Get()) lie(response);
  return grpc::Status::OK;
}

grpc::Status LyingServer::PutReference(grpc::ServerContext* context,
                                       const v1::PutReferenceRequest* request,
                                       v1::PutReferenceResponse* response) {
  Begin(context);
  *response->mutable_reference() = RightReference(request->name());
  if (const auto lie = put.Get()) lie(response);
  return grpc::Status::OK;
}

grpc::Status LyingServer::ListReferences(grpc::ServerContext* context,
                                         const v1::ListReferencesRequest* request,
                                         v1::ListReferencesResponse* response) {
  Begin(context);
  // Three pages of two references.
  const bool is_first = request->page_token().empty();
  const char page = is_first ? 'a' : static_cast<char>(request->page_token()[0] + 1);
  for (const char* name : {"1", "2"}) {
    *response->add_references() = RightReference(absl::StrCat(std::string(1, page), name));
  }
  if (page < 'c') response->set_next_page_token(absl::StrCat(std::string(1, page), "2"));
  response->set_used_bytes(1000);
  response->set_capacity_bytes(1 << 30);
  if (const auto lie = list.Get()) lie(response);
  return grpc::Status::OK;
}

grpc::Status LyingServer::StreamFrames(grpc::ServerContext* context, Stream* stream) {
  v1::StreamFramesRequest request;
  if (!stream->Read(&request)) return grpc::Status::CANCELLED;
  Begin(context);
  v1::StreamFramesResponse response;
  const auto open = [&] {
    response.Clear();
    response.mutable_opened()->set_stream_id(1);
    response.mutable_opened()->set_max_in_flight(4);
    if (const auto lie = opened.Get()) lie(response.mutable_opened());
    return stream->Write(response);
  };
  open();
  if (const auto rest = after_opened.Get()) {
    rest(stream);
    return grpc::Status::OK;
  }
  bool match_previous = request.open().match_previous();
  bool track = request.open().track();
  std::optional<uint64_t> previous;
  while (stream->Read(&request)) {
    if (request.has_open()) {
      match_previous = request.open().match_previous();
      track = request.open().track();
      open();
      continue;
    }
    response.Clear();
    v1::FrameResult& answer = *response.mutable_result();
    answer = RightResult(request.frame());
    if (match_previous && previous.has_value()) {
      v1::FrameMatches& matches = *answer.add_matches();
      matches.set_target(v1::MATCH_TARGET_PREVIOUS);
      matches.set_target_sequence(*previous);
      FillMatches(kRows, matches.mutable_matches());
    }
    for (uint64_t id = 1; track && id <= 3; ++id) {
      v1::Track& one = *answer.add_tracks();
      one.set_id(id);
      one.set_x(static_cast<float>(id));
      one.set_gain(1);
    }
    previous = request.frame().sequence();
    if (const auto lie = result.Get()) lie(&answer);
    if (!stream->Write(response)) break;
  }
  return grpc::Status::OK;
}

}  // namespace orbserve::testing
