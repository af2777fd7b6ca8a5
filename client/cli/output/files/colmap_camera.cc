// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/colmap_camera.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/nearest_word.h"

namespace orbserve::cli {
namespace {

constexpr double kFocalShare = 1.2;  // of the longer side: COLMAP's own guess without EXIF
constexpr double kOmega = 0.01;      // COLMAP's first value of the angle of a FOV camera

// Source: COLMAP 3.9, src/colmap/sensor/models.h. The place in the list is COLMAP's number.
struct Model {
  const char* name;
  const char* params;
};
constexpr Model kModels[] = {
    {"SIMPLE_PINHOLE", "f,cx,cy"},
    {"PINHOLE", "fx,fy,cx,cy"},
    {"SIMPLE_RADIAL", "f,cx,cy,k"},
    {"RADIAL", "f,cx,cy,k1,k2"},
    {"OPENCV", "fx,fy,cx,cy,k1,k2,p1,p2"},
    {"OPENCV_FISHEYE", "fx,fy,cx,cy,k1,k2,k3,k4"},
    {"FULL_OPENCV", "fx,fy,cx,cy,k1,k2,p1,p2,k3,k4,k5,k6"},
    {"FOV", "fx,fy,cx,cy,omega"},
    {"SIMPLE_RADIAL_FISHEYE", "f,cx,cy,k"},
    {"RADIAL_FISHEYE", "f,cx,cy,k1,k2"},
    {"THIN_PRISM_FISHEYE", "fx,fy,cx,cy,k1,k2,p1,p2,k3,k4,sx1,sy1"},
};

std::vector<std::string> ParamsOf(int model) { return absl::StrSplit(kModels[model].params, ','); }

bool IsFocal(const std::string& name) { return name[0] == 'f'; }

absl::Status UnknownModel(const std::string& given) {
  std::vector<std::string> names;
  for (const Model& model : kModels) names.emplace_back(model.name);
  const std::string nearest = NearestWord(given, names);
  return absl::InvalidArgumentError(
      absl::StrCat("--camera-model must be one of ", absl::StrJoin(names, ", "), "; got ", given,
                   nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

}  // namespace

std::vector<double> ColmapCamera::ParamsFor(uint32_t width_px, uint32_t height_px) const {
  if (!params.empty()) return params;
  const double focal = focal_px > 0 ? focal_px : kFocalShare * std::max(width_px, height_px);
  std::vector<double> guess;
  for (const std::string& name : ParamsOf(model)) {
    guess.push_back(IsFocal(name)     ? focal
                    : name == "cx"    ? width_px / 2.0
                    : name == "cy"    ? height_px / 2.0
                    : name == "omega" ? kOmega
                                      : 0.0);
  }
  return guess;
}

absl::StatusOr<ColmapCamera> ParseColmapCamera(const ColmapCameraOptions& options) {
  ColmapCamera camera{.focal_px = options.focal_px};
  if (!options.model.empty()) {
    const auto* const model = std::find_if(std::begin(kModels), std::end(kModels),
                                           [&](const Model& m) { return options.model == m.name; });
    if (model == std::end(kModels)) return UnknownModel(options.model);
    camera.model = static_cast<int>(model - std::begin(kModels));
  }
  if (options.params.empty()) return camera;
  if (options.focal_px > 0) {
    return absl::InvalidArgumentError(
        "--focal and --camera-params both say the focal length; give one of them");
  }
  const Model& model = kModels[camera.model];
  const std::vector<std::string> names = ParamsOf(camera.model);
  const std::vector<std::string> parts = absl::StrSplit(options.params, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    double value = 0;
    const bool is_number = absl::SimpleAtod(parts[i], &value) && std::isfinite(value);
    if (parts.size() != names.size() || !is_number) {
      return absl::InvalidArgumentError(absl::StrCat("--camera-params of ", model.name, " are the ",
                                                     names.size(), " numbers ", model.params,
                                                     "; got ", options.params));
    }
    if (IsFocal(names[i]) && value <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--camera-params: ", names[i], " must be above 0; got ", parts[i]));
    }
    camera.params.push_back(value);
  }
  return camera;
}

absl::StatusOr<ColmapCamera> CameraFor(const ColmapCameraOptions& options, bool to_colmap) {
  if (options.given() && !to_colmap) {
    const char* const name = options.focal_px > 0    ? "--focal"
                             : options.model.empty() ? "--camera-params"
                                                     : "--camera-model";
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no effect: it needs --format colmap"));
  }
  return ParseColmapCamera(options);
}

}  // namespace orbserve::cli
