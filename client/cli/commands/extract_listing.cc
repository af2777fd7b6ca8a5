// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/extract_listing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

std::string JsonRow(const InputFile& file, const v1::ExtractResponse& response,
                    const std::string& output, const std::string& overlay) {
  const v1::FeatureSet& features = response.features();
  JsonWriter json;
  json.BeginObject().Key("image").String(file.relative);
  AddImageSize(features, &json);
  json.Key("features").Int(features.x_size());
  json.Key("truncated").Bool(features.truncated());
  AddPasses(features, &json);
  if (!output.empty()) json.Key("output").String(output);
  if (!overlay.empty()) json.Key("overlay").String(overlay);
  AddExecution(response.timings(), response.execution(), &json);
  json.EndObject();
  return absl::StrCat(json.text(), "\n");
}

}  // namespace

ExtractListing::ExtractListing(Kind kind, FeatureFormat format, absl::Span<const InputFile> files,
                               bool with_energy)
    : kind_(kind), format_(format), with_energy_(with_energy) {
  for (const InputFile& file : files) {
    if (!file.problem.ok()) continue;
    name_columns_ = std::max(name_columns_, static_cast<int>(NameOnOneLine(file.relative).size()));
  }
}

std::string ExtractListing::Heading() const {
  if (kind_ == Kind::kTable) {
    return absl::StrFormat("%-*s  %11s  %8s  %9s%s\n", name_columns_, "image", "size", "features",
                           "answer/ms", with_energy_ ? "  energy/mJ" : "");
  }
  if (kind_ == Kind::kFeatures && format_ == FeatureFormat::kCsv) {
    return EncodeFeatures(v1::FeatureSet(), format_, "");
  }
  return std::string();
}

std::string ExtractListing::TableRow(const InputFile& file,
                                     const v1::ExtractResponse& response) const {
  const v1::FeatureSet& features = response.features();
  const std::string row = absl::StrFormat(
      "%-*s  %11s  %8d  %9s", name_columns_, NameOnOneLine(file.relative), SizeCell(features),
      features.x_size(), MillisecondsCell(response.timings().total_ns()));
  if (!with_energy_) return absl::StrCat(row, "\n");
  return absl::StrFormat("%s  %9s\n", row, EnergyCell(response.execution()));
}

std::string ExtractListing::Row(const InputFile& file, const v1::ExtractResponse& response,
                                const std::string& output, const std::string& overlay) const {
  switch (kind_) {
    case Kind::kNothing:
      break;
    case Kind::kTable:
      return TableRow(file, response);
    case Kind::kJson:
      return JsonRow(file, response, output, overlay);
    case Kind::kFeatures:
      return EncodeFeatures(response.features(), format_, file.relative, /*csv_header=*/false);
  }
  return std::string();
}

std::string ExtractListing::TimingRows(const TimingSummary& timings) const {
  if (kind_ == Kind::kJson) return absl::StrCat(TimingJson(timings.Rows()), "\n");
  // An empty line separates two tables.
  return absl::StrCat(kind_ == Kind::kTable ? "\n" : "", TimingTable(timings.Rows()));
}

std::string ExtractListing::ErrorRow(const InputFile& file, const absl::Status& error) const {
  if (kind_ != Kind::kJson) return std::string();
  JsonWriter json;
  json.BeginObject().Key("image").String(file.relative);
  AddError(error, &json);
  json.EndObject();
  return absl::StrCat(json.text(), "\n");
}

}  // namespace orbserve::cli
