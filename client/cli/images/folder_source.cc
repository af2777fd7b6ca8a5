// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/folder_source.h"

#include <utility>

#include "client/cli/images/image_file.h"

namespace orbserve::cli {
namespace {

class FolderSource : public FrameSource {
 public:
  FolderSource(std::vector<InputFile> files, const PictureLimits& limits, bool keep_pictures)
      : files_(std::move(files)), limits_(limits), keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (next_ == files_.size()) return std::nullopt;
    const InputFile& file = files_[next_++];
    Item item{.name = file.relative,
              .frame = file.problem.ok() ? LoadFrame(file.path, limits_)
                                         : absl::StatusOr<v1::Frame>(file.problem)};
    if (keep_pictures_ && item.frame.ok()) {
      absl::StatusOr<Picture> picture = LoadPicture(file.path, limits_);
      if (picture.ok()) {
        item.picture = *std::move(picture);
      } else {
        item.frame = picture.status();
      }
    }
    return item;
  }

  void Stop() override {}  // reading a file does not wait

  absl::Span<const InputFile> files() const override { return files_; }

 private:
  const std::vector<InputFile> files_;
  const PictureLimits limits_;
  const bool keep_pictures_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<FrameSource> MakeFolderSource(std::vector<InputFile> files,
                                              const PictureLimits& limits, bool keep_pictures) {
  return std::make_unique<FolderSource>(std::move(files), limits, keep_pictures);
}

}  // namespace orbserve::cli
