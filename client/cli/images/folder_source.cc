// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/folder_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/images/image_file.h"

namespace orbserve::cli {
namespace {

// Digits of a time since 1970, from 2001 to 2286.
constexpr size_t kSecondDigits = 10;
constexpr size_t kNanosecondDigits = 19;

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
    item.timestamp_ns = TimestampInName(file.relative);
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

std::optional<int64_t> TimestampInName(absl::string_view path) {
  const size_t folder = path.rfind('/');
  if (folder != absl::string_view::npos) path.remove_prefix(folder + 1);
  path = path.substr(0, path.rfind('.'));
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(path, absl::MaxSplits('.', 1));
  const auto& [whole, fraction] = parts;
  const auto is_digits = [](absl::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return absl::ascii_isdigit(static_cast<unsigned char>(c));
    });
  };
  int64_t number = 0;
  if (!is_digits(whole)) return std::nullopt;
  if (whole.size() == kNanosecondDigits && path == whole && absl::SimpleAtoi(whole, &number)) {
    return number;
  }
  if (whole.size() != kSecondDigits || !is_digits(fraction) || fraction.size() > 9) {
    return std::nullopt;
  }
  const std::string digits = absl::StrCat(std::string(whole), std::string(fraction),
                                          std::string(9 - fraction.size(), '0'));
  return absl::SimpleAtoi(digits, &number) ? std::optional<int64_t>(number) : std::nullopt;
}

std::unique_ptr<FrameSource> MakeFolderSource(std::vector<InputFile> files,
                                              const PictureLimits& limits, bool keep_pictures) {
  return std::make_unique<FolderSource>(std::move(files), limits, keep_pictures);
}

}  // namespace orbserve::cli
