// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve match

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/pair_run.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/png_file.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/drawing/legend.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

void AddSide(const char* key, const std::string& name, const v1::FeatureSet& features,
             JsonWriter* json) {
  json->Key(key).BeginObject().Key("image").String(name);
  AddImageSize(features, json);
  json->Key("features").Int(features.x_size());
  AddPasses(features, json);
  json->EndObject();
}

using Geometry = std::optional<FundamentalMatrix>;

void AddGeometry(const v1::MatchSet& matches, const Geometry& geometry, JsonWriter* json) {
  json->Key("inliers").BeginArray();
  for (int i = 0; i < matches.query_index_size(); ++i) {
    json->Bool(geometry.has_value() && geometry->inliers[static_cast<size_t>(i)]);
  }
  json->EndArray().Key("fundamental");
  if (!geometry.has_value()) {
    json->Null();
    return;
  }
  json->BeginArray();
  for (const double value : geometry->f) json->Exact(value);
  json->EndArray();
}

void PrintJson(const MatchCommandOptions& options, const v1::MatchResponse& response,
               const Geometry& geometry) {
  const bool reference = !options.reference.empty();
  const v1::MatchSet& matches = response.matches();
  JsonWriter json;
  json.BeginObject();
  AddSide("query", options.inputs[0], response.query_features(), &json);
  if (reference) {
    json.Key("reference").BeginObject().Key("name").String(options.reference);
    json.Key("version").UInt(response.reference_version()).EndObject();
  } else {
    AddSide("train", options.inputs[1], response.train_features(), &json);
  }
  json.Key("matches").Int(matches.query_index_size());
  json.Key("ratio_undefined").Bool(matches.ratio_undefined());
  AddNumbers("query_index", matches.query_index(), &json);
  AddNumbers("train_index", matches.train_index(), &json);
  AddNumbers("distance", matches.distance(), &json);
  AddPoints("query_xy", matches.query_index(), response.query_features(), &json);
  if (!reference) {
    AddPoints("train_xy", matches.train_index(), response.train_features(), &json);
  }
  if (options.verify) AddGeometry(matches, geometry, &json);
  AddExecution(response.timings(), response.execution(), &json);
  json.EndObject();
  PrintLine(json.text());
}

void PrintSummary(const MatchCommandOptions& options, const v1::MatchResponse& response,
                  const Geometry& geometry) {
  const v1::MatchSet& matches = response.matches();
  std::vector<uint32_t> distances(matches.distance().begin(), matches.distance().end());
  std::sort(distances.begin(), distances.end());
  const auto print_side = [](const char* side, const std::string& name,
                             const v1::FeatureSet& features) {
    PrintTable(absl::StrFormat("%-9s  %s  %s  %d features\n", side, name, SizeCell(features),
                               features.x_size()));
  };
  print_side("query", options.inputs[0], response.query_features());
  if (options.reference.empty()) {
    print_side("train", options.inputs[1], response.train_features());
  } else {
    PrintTable(absl::StrFormat("%-9s  %s  version %d\n", "reference", options.reference,
                               response.reference_version()));
  }
  PrintTable(absl::StrFormat("%-9s  %d", "matches", distances.size()));
  if (!distances.empty()) {
    PrintTable(absl::StrFormat("  distance %d to %d bits, median %d", distances.front(),
                               distances.back(), distances[distances.size() / 2]));
  }
  if (matches.ratio_undefined()) {
    PrintTable(absl::StrFormat("  a ratio test needs two train descriptors or more"));
  }
  if (options.verify && geometry.has_value()) {
    PrintTable(absl::StrFormat("\n%-9s  %d within %g px of one epipolar geometry", "inliers",
                               geometry->inlier_count, options.verify_px.value_or(kVerifyPx)));
  } else if (options.verify) {
    PrintTable(absl::StrFormat("\n%-9s  0: the matches fit no epipolar geometry", "inliers"));
  }
  PrintTable(absl::StrFormat("\n%-9s  %s ms after the images had arrived\n", "answer",
                             MillisecondsCell(response.timings().total_ns())));
  if (response.execution().has_energy_joules()) {
    PrintTable(absl::StrFormat("%-9s  %s mJ\n", "energy", EnergyCell(response.execution())));
  }
}

// The picture of an input; an error begins with its name.
absl::StatusOr<Picture> LoadInput(const std::string& path, const PictureLimits& limits) {
  absl::StatusOr<Picture> picture = LoadPicture(path, limits);
  if (picture.ok()) return picture;
  return absl::Status(picture.status().code(),
                      absl::StrCat(NameOnOneLine(path), ": ", ErrorText(picture.status())));
}

absl::Status Draw(const MatchCommandOptions& options, const v1::MatchResponse& response,
                  const Geometry& geometry, const PictureLimits& limits) {
  const absl::StatusOr<Picture> query = LoadInput(options.inputs[0], limits);
  if (!query.ok()) return query.status();
  Picture overlay;
  if (options.reference.empty()) {
    const absl::StatusOr<Picture> train = LoadInput(options.inputs[1], limits);
    if (!train.ok()) return train.status();
    const std::vector<bool> inliers =
        geometry.has_value() ? geometry->inliers : std::vector<bool>();
    const int count = response.matches().query_index_size();
    const int kept = geometry.has_value() ? geometry->inlier_count : 0;
    overlay =
        WithLegend(DrawMatches(*query, response.query_features(), *train, response.train_features(),
                               response.matches(), options.inliers ? &inliers : nullptr),
                   options.inliers ? InlierLegend(kept, count - kept) : DistanceLegend(count));
  } else {
    overlay = WithLegend(DrawMatched(*query, response.query_features(), response.matches()),
                         DistanceLegend(response.matches().query_index_size()));
  }
  const absl::StatusOr<std::string> png = EncodePng(overlay);
  if (!png.ok()) return png.status();
  return WriteFile(options.draw_file, *png);
}

absl::StatusOr<v1::MatchRequest> MakeRequest(const MatchCommandOptions& options,
                                             const RequestSetup& setup,
                                             const PictureLimits& limits) {
  v1::MatchRequest request;
  *request.mutable_pipeline() = setup.pipeline;
  const auto load = [&](const std::string& path, v1::Frame* to) {
    absl::StatusOr<v1::Frame> frame = LoadMaskedFrame(path, setup, limits);
    if (!frame.ok()) {
      return absl::Status(frame.status().code(),
                          absl::StrCat(path, ": ", ErrorText(frame.status())));
    }
    *to = *std::move(frame);
    return absl::OkStatus();
  };
  if (const absl::Status query = load(options.inputs[0], request.mutable_query_frame());
      !query.ok()) {
    return query;
  }
  if (!options.reference.empty()) {
    request.set_train_reference(options.reference);
    return request;
  }
  if (const absl::Status train = load(options.inputs[1], request.mutable_train_frame());
      !train.ok()) {
    return train;
  }
  return request;
}

// The text of a call's error. Where the server names the side that has failed, the text begins with
// its image.
std::string CallErrorText(const MatchCommandOptions& options, const absl::Status& error) {
  std::string text = ErrorText(error);
  size_t image = 0;
  for (const char* const side : {"query_frame: ", "train_frame: "}) {
    const size_t found = text.find(side);
    if (found != std::string::npos && image < options.inputs.size()) {
      text.erase(found, std::strlen(side));
      return absl::StrCat(NameOnOneLine(options.inputs[image]), ": ", text);
    }
    ++image;
  }
  return text;
}

}  // namespace

int RunMatch(const MatchCommandOptions& given) {
  if (given.has_pairs()) return RunMatchPairs(given);
  MatchCommandOptions options = given;
  Console console(options.common.quiet);
  const size_t wanted = options.reference.empty() ? 2 : 1;
  if (options.inputs.size() != wanted) {
    console.Error(
        options.reference.empty()
            ? "match needs two images; or --reference NAME and one image; or folders, with "
              "--exhaustive, --sequential N or --pairs FILE"
            : "match --reference needs one image");
    return kExitUsage;
  }
  if (!options.out_folder.empty() || !options.format.empty() || options.resume ||
      options.camera.given()) {
    console.Error(
        "--out, --format, --resume and options of COLMAP need --exhaustive, --sequential N or "
        "--pairs FILE");
    return kExitUsage;
  }
  if (options.inliers && options.draw_file.empty()) {
    console.Error("--inliers colours a picture; it needs --draw FILE.png");
    return kExitUsage;
  }
  options.verify |= options.inliers;
  if (options.verify_px.has_value() && !options.verify) {
    console.Error(
        absl::StrCat("--verify-px ", *options.verify_px, " has no effect: it needs --verify"));
    return kExitUsage;
  }
  if (options.verify && !options.reference.empty()) {
    console.Error("--verify needs the places of both sides, which a reference does not answer");
    return kExitUsage;
  }
  if (!options.draw_file.empty()) {
    const absl::Status name = CheckPictureFile(options.draw_file);
    if (!name.ok()) return Fail(&console, name);
    std::vector<std::string> inputs = options.inputs;
    inputs.push_back(options.image.mask_file);
    const absl::Status kept = CheckNoInputReplaced(inputs, {options.draw_file});
    if (!kept.ok()) return Fail(&console, kept);
  }
  // References are kept by servers only.
  if (!options.reference.empty() && options.common.server.empty()) {
    options.common.server = kDefaultServer;
  }
  const absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return Fail(&console, setup.status());
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(*setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);

  const PictureLimits limits = (*engine)->picture_limits();
  const absl::StatusOr<v1::MatchRequest> request = MakeRequest(options, *setup, limits);
  if (!request.ok()) {
    console.Error(ErrorText(request.status()));
    return kExitFailed;
  }
  const absl::Status size = CheckMessageSize(*request, (*engine)->info().limits());
  if (!size.ok()) {
    console.Error(absl::StrCat("the images are ", ErrorText(size)));
    return kExitFailed;
  }
  const absl::StatusOr<v1::MatchResponse> response = (*engine)->client()->Match(*request);
  if (!response.ok()) {
    console.Error(CallErrorText(options, response.status()));
    return ExitCodeOfCall(response.status());
  }
  Geometry geometry;
  if (options.verify) {
    if (absl::Status rows = CheckRows(response->matches(), response->query_features().x_size(),
                                      response->train_features().x_size());
        !rows.ok()) {
      return FailCall(&console, rows);
    }
    geometry = EstimateFundamental(
        PlacesOf(response->matches(), response->query_features(), response->train_features()),
        {.max_error_px = options.verify_px.value_or(kVerifyPx)});
  }
  options.common.json ? PrintJson(options, *response, geometry)
                      : PrintSummary(options, *response, geometry);
  if (options.draw_file.empty()) return kExitOk;
  // The matches are printed even if their picture fails.
  const absl::Status drawn = Draw(options, *response, geometry, limits);
  if (drawn.ok()) return kExitOk;
  console.Error(ErrorText(drawn));
  return kExitFailed;
}

}  // namespace orbserve::cli
