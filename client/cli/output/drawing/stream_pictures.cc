// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/drawing/stream_pictures.h"

#include <utility>

#include "absl/strings/match.h"
#include "client/cli/file_io.h"
#include "client/cli/images/png_file.h"
#include "client/cli/output/drawing/y4m_writer.h"
#include "client/cli/output/output_names.h"

namespace orbserve::cli {
namespace {

class PictureFolder : public StreamPictures {
 public:
  explicit PictureFolder(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::string> Write(const std::string& name, const Picture& picture) override {
    const absl::StatusOr<std::string> png = EncodePng(picture);
    if (!png.ok()) return png.status();
    std::string path = PicturePath(folder_, name);
    if (absl::Status status = WriteFile(path, *png); !status.ok()) return status;
    return path;
  }

  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  const std::string folder_;
};

class PictureVideo : public StreamPictures {
 public:
  PictureVideo(const std::string& path, double fps) : path_(path), writer_(path, fps) {}

  absl::StatusOr<std::string> Write(const std::string& /*name*/, const Picture& picture) override {
    if (absl::Status added = writer_.Add(picture); !added.ok()) return added;
    return path_;
  }

  absl::Status Finish() override { return writer_.Finish(); }

 private:
  const std::string path_;
  Y4mWriter writer_;
};

}  // namespace

std::unique_ptr<StreamPictures> StreamPictures::Make(const std::string& destination, double fps) {
  if (IsVideo(destination)) return std::make_unique<PictureVideo>(destination, fps);
  return std::make_unique<PictureFolder>(destination);
}

bool StreamPictures::IsVideo(const std::string& destination) {
  return absl::EndsWithIgnoreCase(destination, ".y4m");
}

}  // namespace orbserve::cli
