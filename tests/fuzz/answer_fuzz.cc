// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Answers of a server, from their bytes through the checks of the client library to everything that
// the program makes of them: files, tables, JSON, pictures. An answer that passes the checks must
// be safe to use. tests/fuzz/answer_requests.h has the requests and the form of an input.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/cli/commands/pair_run.h"
#include "client/cli/commands/stream_listing.h"
#include "client/cli/geometry/fundamental_matrix.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/drawing/contact_sheet.h"
#include "client/cli/output/drawing/legend.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/drawing/track_tails.h"
#include "client/cli/output/energy_summary.h"
#include "client/cli/output/files/feature_files.h"
#include "client/cli/output/files/match_files.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/power_listing.h"
#include "client/cli/output/terminal_text.h"
#include "client/cli/output/timing_summary.h"
#include "client/src/answer_check.h"
#include "google/protobuf/stubs/logging.h"
#include "orbserve/client.h"
#include "tests/fuzz/answer_requests.h"
#include "tests/fuzz/require.h"

namespace orbserve::cli {
namespace {

// True if the answer may be used. An error must say what is wrong.
bool IsRight(const absl::Status& check) {
  RequireReason(check);
  return check.ok();
}

void RequireHarmless(const std::string& text) {
  Require(TerminalText(text) == text, "a text for people controls no terminal");
}

Picture BlankPicture() {
  return {.width_px = kAnswerWidthPx,
          .height_px = kAnswerHeightPx,
          .channels = 1,
          .pixels = std::string(static_cast<size_t>(kAnswerWidthPx) * kAnswerHeightPx, '\x40')};
}

void UseFeatures(const v1::FeatureSet& features) {
  const std::string npz = EncodeFeatures(features, FeatureFormat::kNpz, "image");
  const auto decoded = DecodeFeatures(npz);
  Require(decoded.ok(), "a file of features can be read again");
  Require(
      decoded->x_size() == features.x_size() && decoded->descriptors() == features.descriptors(),
      "a file has what was answered");
  RequireHarmless(EncodeFeatures(features, FeatureFormat::kJsonLines, "image"));
  RequireHarmless(EncodeFeatures(features, FeatureFormat::kCsv, "image"));
  const Picture picture = BlankPicture();
  Require(!WithLegend(DrawFeatures(picture, features), FeatureLegend(features)).pixels.empty(),
          "features can be drawn");
  ContactSheet sheet;
  Require(sheet.Add("image", picture, features, 1).ok(), "a small picture can be drawn");
}

void UseExecution(const v1::FrameTimings& timings, const v1::Execution& execution) {
  JsonWriter json;
  json.BeginObject();
  AddExecution(timings, execution, &json);
  RequireHarmless(json.EndObject().text());
  TimingSummary summary;
  summary.Add(timings);
  RequireHarmless(TimingTable(summary.Rows()));
  RequireHarmless(TimingJson(summary.Rows()));
  EnergySummary energy;
  energy.Add(execution);
  RequireHarmless(EnergyText(energy.Finish({}, {}, 1)));
}

void UseMatches(const v1::MatchSet& matches, const v1::FeatureSet& query,
                const v1::FeatureSet& train) {
  Require(CheckRows(matches, query.x_size(), train.x_size()).ok(), "rows exist");
  MatchedPair pair{.query = "a", .train = "b", .matches = matches, .verify = true};
  pair.geometry = EstimateFundamental(PlacesOf(matches, query, train), {.max_samples = 20});
  const auto decoded = DecodeMatches(EncodeMatches(pair), "a", "b");
  Require(decoded.ok() && decoded->matches.distance_size() == matches.distance_size(),
          "a file of matches can be read again");
  const Picture picture = BlankPicture();
  const std::vector<bool> inliers(static_cast<size_t>(matches.distance_size()), true);
  Require(!DrawMatches(picture, query, picture, train, matches, &inliers).pixels.empty(), "drawn");
  Require(!DrawMatched(picture, query, matches).pixels.empty(), "drawn");
  Require(!DrawMotion(picture, query, train, matches).pixels.empty(), "drawn");
}

void FuzzExtract(const std::string& bytes) {
  static const v1::ExtractRequest request = AnswerExtract();
  v1::ExtractResponse response;
  if (!response.ParseFromString(bytes)) return;
  if (!IsRight(client::CheckExtractAnswer(request, response))) return;
  UseFeatures(response.features());
  UseExecution(response.timings(), response.execution());
}

void FuzzMatch(const std::string& bytes) {
  static const v1::MatchRequest request = AnswerMatch();
  v1::MatchResponse response;
  if (!response.ParseFromString(bytes)) return;
  if (!IsRight(client::CheckMatchAnswer(request, response))) return;
  UseFeatures(response.query_features());
  UseMatches(response.matches(), response.query_features(), response.train_features());
  UseExecution(response.timings(), response.execution());
}

// What the program makes of the results of a stream.
class StreamUser {
 public:
  void Use(const v1::FrameResult& result) {
    const StreamRow row{.name = "frame", .result = &result};
    RequireHarmless(table_.Row(row));
    RequireHarmless(json_.Row(row));
    RequireReason(client::StatusFromWire(result.status()));
    if (result.status().code() != 0) {
      if (previous_.has_value() && previous_->sequence() == result.sequence()) previous_.reset();
      return;
    }
    UseFeatures(result.features());
    UseExecution(result.timings(), result.execution());
    tails_.Take(result, std::nullopt);
    Require(!DrawTracks(BlankPicture(), tails_).pixels.empty(), "tracks can be drawn");
    for (const v1::FrameMatches& matches : result.matches()) {
      // Rows of features that were not answered are only bounded.
      if (matches.target() != v1::MATCH_TARGET_PREVIOUS || !result.has_features() ||
          !previous_.has_value() || matches.target_sequence() != previous_->sequence()) {
        continue;
      }
      UseMatches(matches.matches(), result.features(), previous_->features());
    }
    previous_.reset();
    if (result.has_features()) previous_ = result;
  }

 private:
  const StreamListing table_{StreamListing::Kind::kTable, {.keyframes = true, .tracks = true}};
  const StreamListing json_{StreamListing::Kind::kJson, {.keyframes = true, .tracks = true}};
  TrackTails tails_;
  std::optional<v1::FrameResult> previous_;
};

void FuzzStream(absl::string_view bytes) {
  client::StreamCheck check;
  v1::StreamFramesRequest request;
  *request.mutable_open() = AnswerOpen();
  check.Sent(request);
  for (uint64_t i = 0; i < kAnswerFrames; ++i) {
    static const std::vector<v1::Frame> frames = {AnswerFrame(0), AnswerFrame(1), AnswerFrame(2)};
    *request.mutable_frame() = frames[i];
    check.Sent(request);
  }
  *request.mutable_open() = AnswerOpen();
  check.Sent(request);
  StreamUser user;
  // The first opening, the results, the second opening, one going_away; then nothing is right.
  for (uint64_t taken = 0; bytes.size() >= 2; ++taken) {
    const size_t size = static_cast<uint8_t>(bytes[0]) | static_cast<size_t>(bytes[1]) << 8;
    const absl::string_view next = bytes.substr(2, size);
    bytes.remove_prefix(2 + next.size());
    v1::StreamFramesResponse response;
    if (!response.ParseFromArray(next.data(), static_cast<int>(next.size()))) return;
    if (!IsRight(check.Take(response))) return;
    Require(taken < kAnswerFrames + 3, "a stream has no more answers than it may have");
    if (response.has_result()) user.Use(response.result());
    if (response.has_going_away()) {
      Require(!client::StatusFromWire(response.going_away().status()).ok(),
              "a going_away is an error");
    }
  }
}

void FuzzReferences(const std::string& bytes) {
  v1::ListReferencesResponse response;
  if (!response.ParseFromString(bytes)) return;
  if (!IsRight(client::CheckReferencesPage({}, "a", response))) return;
  std::string last = "a";
  for (const v1::ReferenceInfo& info : response.references()) {
    RequireHarmless(info.name());
    Require(info.name() > last, "pages go on");
    last = info.name();
  }
}

void FuzzInfo(const std::string& bytes) {
  v1::GetServerInfoResponse info;
  if (!info.ParseFromString(bytes)) return;
  if (!IsRight(client::CheckServerInfoAnswer(info))) return;
  RequireHarmless(PowerTable(info, info, 1));
  RequireHarmless(PowerJson(info, info, 1));
  EscapeTexts(&info);
  RequireHarmless(info.version());
  for (const v1::PresetInfo& preset : info.presets()) RequireHarmless(preset.description());
}

void Fuzz(uint8_t kind, const std::string& bytes) {
  switch (static_cast<AnswerKind>(kind % static_cast<uint8_t>(AnswerKind::kCount))) {
    case AnswerKind::kExtract:
      return FuzzExtract(bytes);
    case AnswerKind::kMatch:
      return FuzzMatch(bytes);
    case AnswerKind::kStream:
      return FuzzStream(bytes);
    case AnswerKind::kReferences:
      return FuzzReferences(bytes);
    default:
      return FuzzInfo(bytes);
  }
}

}  // namespace
}  // namespace orbserve::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_quiet = [] {
    google::protobuf::SetLogHandler(nullptr);  // it would write a line for each bad message
    return true;
  }();
  if (is_quiet && size > 0) {
    orbserve::cli::Fuzz(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  }
  return 0;
}
