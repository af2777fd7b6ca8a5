// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_listing.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/table_cells.h"
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

void AddMatches(const v1::FrameResult& result, JsonWriter* json) {
  json->Key("matches").BeginArray();
  for (const v1::FrameMatches& matches : result.matches()) {
    json->BeginObject().Key("target").String(TargetName(matches.target()));
    if (matches.target() == v1::MATCH_TARGET_REFERENCE) {
      json->Key("reference").String(matches.reference());
      json->Key("reference_version").UInt(matches.reference_version());
    } else {
      json->Key("target_sequence").UInt(matches.target_sequence());
    }
    json->Key("count").Int(matches.matches().query_index_size());
    if (const absl::Status error = client::StatusFromWire(matches.status()); !error.ok()) {
      AddError(error, json);
    }
    json->EndObject();
  }
  json->EndArray();
}

std::string JsonRow(const std::string& name, const v1::FrameResult& result,
                    const std::string& overlay) {
  JsonWriter json;
  json.BeginObject().Key("frame").String(name);
  json.Key("sequence").UInt(result.sequence());
  json.Key("timestamp_ns").Int(result.timestamp_ns());
  if (const absl::Status error = client::StatusFromWire(result.status()); !error.ok()) {
    AddError(error, &json);
  } else {
    AddImageSize(result.features(), &json);
    json.Key("features").Int(result.features().x_size());
    json.Key("truncated").Bool(result.features().truncated());
    AddPasses(result.features(), &json);
    AddMatches(result, &json);
    if (!overlay.empty()) json.Key("overlay").String(overlay);
    AddExecution(result.timings(), result.execution(), &json);
  }
  json.EndObject();
  return absl::StrCat(json.text(), "\n");
}

}  // namespace

StreamListing::StreamListing(Kind kind, std::vector<std::string> references, bool with_energy)
    : kind_(kind), references_(std::move(references)), with_energy_(with_energy) {}

std::string StreamListing::Heading() const {
  if (kind_ == Kind::kJson) return std::string();
  std::string text =
      absl::StrFormat("%-24s  %8s  %*s", "frame", "features", kCountColumns, "matches");
  for (const std::string& reference : references_) {
    absl::StrAppendFormat(&text, "  %*s", ColumnWidth(reference), NameOnOneLine(reference));
  }
  absl::StrAppendFormat(&text, "  %9s%s\n", "time/ms", with_energy_ ? "  energy/mJ" : "");
  return text;
}

std::string StreamListing::TableRow(const std::string& name, const v1::FrameResult& result) const {
  if (result.status().code() != 0) return std::string();
  std::string text =
      absl::StrFormat("%-24s  %8d  %*s", NameOnOneLine(name), result.features().x_size(),
                      kCountColumns, CountCell(result, v1::MATCH_TARGET_PREVIOUS, ""));
  for (const std::string& reference : references_) {
    absl::StrAppendFormat(&text, "  %*s", ColumnWidth(reference),
                          CountCell(result, v1::MATCH_TARGET_REFERENCE, reference));
  }
  absl::StrAppendFormat(&text, "  %9s", MillisecondsCell(result.timings().total_ns()));
  if (with_energy_) absl::StrAppendFormat(&text, "  %9s", EnergyCell(result.execution()));
  text.push_back('\n');
  return text;
}

std::string StreamListing::Row(const std::string& name, const v1::FrameResult& result,
                               const std::string& overlay) const {
  return kind_ == Kind::kJson ? JsonRow(name, result, overlay) : TableRow(name, result);
}

}  // namespace orbserve::cli
