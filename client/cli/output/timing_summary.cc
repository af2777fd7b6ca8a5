// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/timing_summary.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/terminal_text.h"
#include "features/pipeline/stage.h"

namespace orbserve::cli {
namespace {

using Row = TimingSummary::Row;

constexpr double kNsPerMs = 1e6;

// Position of a stage in the pipeline: that of the first stage that `name` lists. kStageCount for
// an unknown name.
int PipelinePosition(absl::string_view name) {
  const absl::string_view first = name.substr(0, name.find('+'));
  int position = 0;
  while (position < kStageCount && StageName(static_cast<Stage>(position)) != first) ++position;
  return position;
}

Row MakeRow(const std::string& name, std::vector<uint64_t> durations_ns, bool sampled) {
  Row row{.name = name, .frames = static_cast<int64_t>(durations_ns.size()), .sampled = sampled};
  if (durations_ns.empty()) return row;
  std::sort(durations_ns.begin(), durations_ns.end());
  const size_t count = durations_ns.size();
  const auto ms = [&](size_t rank) { return static_cast<double>(durations_ns[rank]) / kNsPerMs; };
  row.median_ms = (ms((count - 1) / 2) + ms(count / 2)) / 2;
  row.p90_ms = ms((count * 9 + 9) / 10 - 1);
  return row;
}

}  // namespace

void TimingSummary::Add(const v1::FrameTimings& timings) {
  absl::MutexLock lock(&mutex_);
  const auto add = [this](const char* part, uint64_t duration_ns)
                       ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                         if (duration_ns > 0) parts_[part].durations_ns.push_back(duration_ns);
                       };
  add("admit", timings.admit_ns());
  add("decode_queue", timings.decode_queue_ns());
  add("decode", timings.decode_ns());
  add("queue", timings.queue_ns());
  add("upload", timings.upload_ns());
  add("compute", timings.compute_ns());
  add("download", timings.download_ns());
  add("track_queue", timings.track_queue_ns());
  add("match_queue", timings.match_queue_ns());
  add("send", timings.send_ns());
  add("total", timings.total_ns());
  for (const v1::StageTime& stage : timings.stages()) {
    Figures& figures = stages_[stage.stage()];
    figures.durations_ns.push_back(stage.duration_ns());
    figures.sampled |= stage.sampled();
  }
}

std::vector<Row> TimingSummary::Rows() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Row> stages;
  double all_ns = 0;
  for (const auto& [name, figures] : stages_) {
    double sum_ns = 0;
    for (const uint64_t duration_ns : figures.durations_ns) {
      sum_ns += static_cast<double>(duration_ns);
    }
    stages.push_back(MakeRow(name, figures.durations_ns, figures.sampled));
    stages.back().share = sum_ns;
    all_ns += sum_ns;
  }
  for (Row& stage : stages) stage.share = all_ns > 0 ? *stage.share / all_ns : 0;
  std::sort(stages.begin(), stages.end(), [](const Row& a, const Row& b) {
    return std::make_tuple(PipelinePosition(a.name), a.name) <
           std::make_tuple(PipelinePosition(b.name), b.name);
  });

  std::vector<Row> rows;
  for (const char* part : {"admit", "decode_queue", "decode", "queue", "upload", "compute",
                           "download", "track_queue", "match_queue", "send", "total"}) {
    const auto found = parts_.find(part);
    rows.push_back(found == parts_.end()
                       ? Row{.name = part}
                       : MakeRow(part, found->second.durations_ns, /*sampled=*/false));
    if (rows.back().name != "compute") continue;
    rows.insert(rows.end(), stages.begin(), stages.end());
  }
  return rows;
}

std::string TimingTable(const std::vector<Row>& rows) {
  int name_columns = 8;
  for (const Row& row : rows) {
    name_columns = std::max(name_columns, static_cast<int>(TerminalLine(row.name).size()));
  }
  std::string text = absl::StrFormat("%-*s  %8s  %10s  %10s  %7s  %s\n", name_columns, "stage",
                                     "frames", "median/ms", "p90/ms", "share/%", "sampled");
  const auto milliseconds = [](const Row& row, double value_ms) {
    return row.frames > 0 ? absl::StrFormat("%.3f", value_ms) : std::string("-");
  };
  for (const Row& row : rows) {
    const std::string share =
        row.share.has_value() ? absl::StrFormat("%.1f", *row.share * 100) : std::string("-");
    absl::StrAppendFormat(&text, "%-*s  %8d  %10s  %10s  %7s  %s\n", name_columns,
                          TerminalLine(row.name), row.frames, milliseconds(row, row.median_ms),
                          milliseconds(row, row.p90_ms), share, row.sampled ? "yes" : "no");
  }
  return text;
}

std::string TimingJson(const std::vector<Row>& rows) {
  JsonWriter json;
  json.BeginObject().Key("timing_summary").BeginArray();
  for (const Row& row : rows) {
    json.BeginObject().Key("stage").String(row.name);
    json.Key("frames").Int(row.frames);
    json.Key("median_ms");
    row.frames > 0 ? json.Double(row.median_ms) : json.Null();
    json.Key("p90_ms");
    row.frames > 0 ? json.Double(row.p90_ms) : json.Null();
    json.Key("share");
    row.share.has_value() ? json.Double(*row.share) : json.Null();
    json.Key("sampled").Bool(row.sampled).EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

}  // namespace orbserve::cli
