// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_listing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/table_cells.h"
#include "client/cli/wire_names.h"
#include "orbserve/client.h"

namespace orbserve::cli {
namespace {

constexpr int kCountColumns = 8;  // width of a column of numbers of matches

// Cell with the number of matches with a target; `reference` is empty for the previous frame.
std::string CountCell(const v1::FrameResult& result, v1::MatchTarget target,
                      const std::string& reference) {
  for (const v1::FrameMatches& matches : result.matches()) {
    if (matches.target() != target || matches.reference() != reference) continue;
    if (matches.status().code() != 0) return "failed";
    return absl::StrCat(matches.matches().query_index_size());
  }
  return "-";
}

// Width of the column of a reference, whose name is the column's name.
int ColumnWidth(const std::string& reference) {
  return std::max(kCountColumns, static_cast<int>(NameOnOneLine(reference).size()));
}

const char* TargetName(v1::MatchTarget target) {
  switch (target) {
    case v1::MATCH_TARGET_PREVIOUS:
      return "previous";
    case v1::MATCH_TARGET_KEYFRAME:
      return "keyframe";
    case v1::MATCH_TARGET_REFERENCE:
      return "reference";
    default:
      return "unknown";
  }
}

void AddTracks(const v1::FrameResult& result, JsonWriter* json) {
  json->Key("tracks").BeginArray();
  for (const v1::Track& track : result.tracks()) {
    json->BeginObject().Key("id").UInt(track.id());
    json->Key("x").Float(track.x()).Key("y").Float(track.y());
    json->Key("age_frames").UInt(track.age_frames());
    json->Key("residual").Float(track.residual());
    json->Key("gain").Float(track.gain()).Key("offset").Float(track.offset()).EndObject();
  }
  json->EndArray().Key("ended").BeginArray();
  for (const v1::EndedTrack& ended : result.ended_tracks()) {
    json->BeginObject().Key("id").UInt(ended.id());
    const auto* const reason = v1::TrackEnd_descriptor()->FindValueByNumber(ended.reason());
    // A server may be newer than this program.
    json->Key("reason").String(reason == nullptr ? "UNKNOWN" : ShortName(*reason)).EndObject();
  }
  json->EndArray();
}

void AddAffine(const char* key, const Affine& map, JsonWriter* json) {
  json->Key(key).BeginArray();
  for (const double value : {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0}) json->Exact(value);
  json->EndArray();
}

void AddTruth(const StreamRow& row, JsonWriter* json) {
  json->Key("truth").BeginObject();
  AddAffine("to_photo", row.truth->to_photo, json);
  if (row.truth->from_previous.has_value()) {
    AddAffine("from_previous", *row.truth->from_previous, json);
  }
  if (row.track_error_px.has_value()) {
    json->Key("median_track_error_px").Double(*row.track_error_px);
  }
  json->EndObject();
}

// Cells of the true motion since the frame before: shift of the middle of the frame, zoom, turn.
std::string TruthCells(const StreamRow& row) {
  if (!row.truth->from_previous.has_value()) {
    return absl::StrFormat("  %7s  %7s  %7s  %7s", "-", "-", "-", "-");
  }
  const Affine& motion = *row.truth->from_previous;
  const double x = (static_cast<double>(row.result->features().image_width_px()) - 1) / 2;
  const double y = (static_cast<double>(row.result->features().image_height_px()) - 1) / 2;
  const std::array<double, 2> moved = motion(x, y);
  return absl::StrFormat("  %7.3f  %7.3f  %7.5f  %7.4f", moved[0] - x, moved[1] - y,
                         std::hypot(motion.xx, motion.yx),
                         std::atan2(motion.yx, motion.xx) * 180 / std::numbers::pi);
}

std::string TrackCells(const v1::FrameResult& result) {
  double age = 0;
  for (const v1::Track& track : result.tracks()) age += track.age_frames();
  const int count = result.tracks_size();
  return absl::StrFormat("  %6d  %8s  %6d", count,
                         count == 0 ? "-" : absl::StrFormat("%.1f", age / count),
                         result.ended_tracks_size());
}

// Cells of the server's time and the round trip, "-" for a frame that was not written, and the age.
std::string TimeCells(const StreamRow& row) {
  std::string text;
  const bool is_written = row.times.round_trip > absl::ZeroDuration();
  for (const absl::Duration time : {row.times.server, row.times.round_trip}) {
    absl::StrAppendFormat(&text, "  %9s",
                          is_written ? MillisecondsCell(absl::ToInt64Nanoseconds(time)) : "-");
  }
  absl::StrAppendFormat(&text, "  %9s", MillisecondsCell(absl::ToInt64Nanoseconds(row.times.age)));
  return text;
}

}  // namespace

void StreamListing::AddMatches(const StreamRow& row, JsonWriter* json) const {
  json->Key("matches").BeginArray();
  for (const v1::FrameMatches& matches : row.result->matches()) {
    const v1::MatchSet& set = matches.matches();
    json->BeginObject().Key("target").String(TargetName(matches.target()));
    if (matches.target() == v1::MATCH_TARGET_REFERENCE) {
      json->Key("reference").String(matches.reference());
      json->Key("reference_version").UInt(matches.reference_version());
    } else {
      json->Key("target_sequence").UInt(matches.target_sequence());
    }
    json->Key("count").Int(set.query_index_size());
    if (contents_.matches) {
      AddNumbers("query_index", set.query_index(), json);
      AddNumbers("train_index", set.train_index(), json);
      AddNumbers("distance", set.distance(), json);
      AddPoints("query_xy", set.query_index(), row.result->features(), json);
      if (matches.target() == v1::MATCH_TARGET_PREVIOUS && row.previous != nullptr) {
        AddPoints("train_xy", set.train_index(), *row.previous, json);
      }
    }
    if (const absl::Status error = client::StatusFromWire(matches.status()); !error.ok()) {
      AddError(error, json);
    }
    json->EndObject();
  }
  json->EndArray();
}

StreamListing::StreamListing(Kind kind, Contents contents)
    : kind_(kind), contents_(std::move(contents)) {}

std::string StreamListing::Heading() const {
  if (kind_ == Kind::kJson) return std::string();
  std::string text =
      absl::StrFormat("%-24s  %8s  %*s", "frame", "features", kCountColumns, "matches");
  if (contents_.keyframes) absl::StrAppendFormat(&text, "  %*s", kCountColumns, "keyframe");
  for (const std::string& reference : contents_.references) {
    absl::StrAppendFormat(&text, "  %*s", ColumnWidth(reference), NameOnOneLine(reference));
  }
  if (contents_.tracks)
    absl::StrAppendFormat(&text, "  %6s  %8s  %6s", "tracks", "mean-age", "ended");
  if (contents_.truth) {
    absl::StrAppendFormat(&text, "  %7s  %7s  %7s  %7s", "true-dx", "true-dy", "zoom", "turn");
    if (contents_.tracks) absl::StrAppendFormat(&text, "  %8s", "error/px");
  }
  absl::StrAppendFormat(&text, "  %9s  %9s  %9s%s\n", "answer/ms", "trip/ms", "age/ms",
                        contents_.energy ? "  energy/mJ" : "");
  return text;
}

std::string StreamListing::TableRow(const StreamRow& row) const {
  const v1::FrameResult& result = *row.result;
  const std::string name = NameOnOneLine(row.name);
  const std::string& reason = result.status().reason();
  if (reason == kDropped || reason == kLate) {
    std::string text = absl::StrFormat("%-24s  %8s", name, reason == kDropped ? "dropped" : "late");
    text.resize(std::max(text.size(), Heading().find("  answer/ms")), ' ');
    return absl::StrCat(text, TimeCells(row), "\n");
  }
  if (result.status().code() != 0) return std::string();
  std::string text =
      absl::StrFormat("%-24s  %8d  %*s", name, result.features().x_size(), kCountColumns,
                      CountCell(result, v1::MATCH_TARGET_PREVIOUS, ""));
  if (contents_.keyframes) {
    absl::StrAppendFormat(&text, "  %*s", kCountColumns,
                          CountCell(result, v1::MATCH_TARGET_KEYFRAME, ""));
  }
  for (const std::string& reference : contents_.references) {
    absl::StrAppendFormat(&text, "  %*s", ColumnWidth(reference),
                          CountCell(result, v1::MATCH_TARGET_REFERENCE, reference));
  }
  if (contents_.tracks) absl::StrAppend(&text, TrackCells(result));
  if (contents_.truth && row.truth.has_value()) {
    absl::StrAppend(&text, TruthCells(row));
    if (contents_.tracks) {
      absl::StrAppendFormat(
          &text, "  %8s",
          row.track_error_px.has_value() ? absl::StrFormat("%.3f", *row.track_error_px) : "-");
    }
  }
  absl::StrAppend(&text, TimeCells(row));
  if (contents_.energy) absl::StrAppendFormat(&text, "  %9s", EnergyCell(result.execution()));
  text.push_back('\n');
  return text;
}

std::string StreamListing::JsonRow(const StreamRow& row) const {
  const v1::FrameResult& result = *row.result;
  JsonWriter json;
  json.BeginObject().Key("frame").String(row.name);
  json.Key("sequence").UInt(result.sequence());
  json.Key("timestamp_ns").Int(result.timestamp_ns());
  if (row.reconnected.has_value()) {
    json.Key("reconnected").BeginObject().Key("attempts").Int(row.reconnected->attempts);
    json.Key("lost").BeginArray();
    for (const uint64_t sequence : row.reconnected->lost_sequences) json.UInt(sequence);
    json.EndArray().EndObject();
  }
  json.Key("age_ms").Double(absl::ToDoubleMilliseconds(row.times.age));
  if (row.times.round_trip > absl::ZeroDuration()) {
    json.Key("round_trip_ms").Double(absl::ToDoubleMilliseconds(row.times.round_trip));
    json.Key("server_ms").Double(absl::ToDoubleMilliseconds(row.times.server));
  }
  if (const absl::Status error = client::StatusFromWire(result.status()); !error.ok()) {
    AddError(error, &json);
  } else {
    AddImageSize(result.features(), &json);
    json.Key("features").Int(result.features().x_size());
    json.Key("truncated").Bool(result.features().truncated());
    AddPasses(result.features(), &json);
    json.Key("keyframe").Bool(result.keyframe());
    AddMatches(row, &json);
    if (contents_.tracks) AddTracks(result, &json);
    if (row.truth.has_value()) AddTruth(row, &json);
    if (!row.overlay.empty()) json.Key("overlay").String(row.overlay);
    AddExecution(result.timings(), result.execution(), &json);
  }
  json.EndObject();
  return absl::StrCat(json.text(), "\n");
}

std::string StreamListing::Row(const StreamRow& row) const {
  return kind_ == Kind::kJson ? JsonRow(row) : TableRow(row);
}

}  // namespace orbserve::cli
