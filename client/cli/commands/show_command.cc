// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve show

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/exit_code.h"
#include "client/cli/file_io.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/png_file.h"
#include "client/cli/output/console.h"
#include "client/cli/output/drawing/legend.h"
#include "client/cli/output/drawing/overlay.h"
#include "client/cli/output/files/feature_files.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/standard_output.h"

namespace orbserve::cli {
namespace {

// Draws the picture; returns the number of features.
absl::StatusOr<int> Show(const ShowOptions& options, const std::string& picture_path) {
  const auto named = [](const std::string& path, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", ErrorText(status)));
  };
  const absl::StatusOr<std::string> bytes = ReadFile(options.features);
  if (!bytes.ok()) return named(options.features, bytes.status());
  const absl::StatusOr<v1::FeatureSet> features = DecodeFeatures(*bytes);
  if (!features.ok()) return named(options.features, features.status());
  const absl::StatusOr<Picture> picture = LoadPicture(options.image, kWidestPictureLimits);
  if (!picture.ok()) return named(options.image, picture.status());
  const auto width = static_cast<uint32_t>(picture->width_px);
  const auto height = static_cast<uint32_t>(picture->height_px);
  if (features->image_width_px() != 0 &&
      (features->image_width_px() != width || features->image_height_px() != height)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.features, ": the features are of an image of ", features->image_width_px(), "x",
        features->image_height_px(), "; ", options.image, " has ", width, "x", height));
  }
  const absl::StatusOr<std::string> png =
      EncodePng(WithLegend(DrawFeatures(*picture, *features), FeatureLegend(*features)));
  if (!png.ok()) return png.status();
  if (absl::Status written = WriteFile(picture_path, *png); !written.ok()) return written;
  return features->x_size();
}

}  // namespace

int RunShow(const ShowOptions& options) {
  Console console(options.common.quiet);
  const std::string path =
      options.draw_file.empty()
          ? absl::StrCat(std::filesystem::path(options.image).filename().native(), ".features.png")
          : options.draw_file;
  absl::Status usable = CheckPictureFile(path);
  if (usable.ok()) usable = CheckNoInputReplaced({options.features, options.image}, {path});
  if (!usable.ok()) return Fail(&console, usable);
  const absl::StatusOr<int> count = Show(options, path);
  if (!count.ok()) {
    console.Error(ErrorText(count.status()));
    return kExitFailed;
  }
  console.Note(absl::StrCat(*count, " features drawn in ", path));
  return kExitOk;
}

}  // namespace orbserve::cli
