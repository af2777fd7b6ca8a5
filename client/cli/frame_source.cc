// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/frame_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/image_file.h"
#include "client/cli/inputs.h"
#include "client/cli/interrupt.h"
#include "client/cli/y4m_reader.h"

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

  int64_t count() const override { return static_cast<int64_t>(files_.size()); }
  double fps() const override { return 0; }

 private:
  const std::vector<InputFile> files_;
  const PictureLimits limits_;
  const bool keep_pictures_;
  size_t next_ = 0;
};

class VideoSource : public FrameSource {
 public:
  VideoSource(std::string name, std::unique_ptr<Y4mReader> reader, bool keep_pictures)
      : name_(std::move(name)), reader_(std::move(reader)), keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (ended_) return std::nullopt;
    absl::StatusOr<std::optional<Picture>> picture = reader_->Next();
    if (picture.ok() && !picture->has_value()) {
      ended_ = true;
      if (next_ > 0 || Interrupted()) return std::nullopt;
      return Item{.name = name_,
                  .frame = absl::InvalidArgumentError("the Y4M video has no frames")};
    }
    Item item{.name = absl::StrFormat("%06d", next_++), .frame = v1::Frame()};
    if (!picture.ok()) {
      // Where the next frame would begin is not known any more.
      ended_ = true;
      item.frame = picture.status();
      return item;
    }
    if (keep_pictures_) item.picture = **picture;
    item.frame = FrameOfPicture(**std::move(picture));
    return item;
  }

  int64_t count() const override { return 0; }
  double fps() const override { return reader_->fps(); }

 private:
  const std::string name_;
  const std::unique_ptr<Y4mReader> reader_;
  const bool keep_pictures_;
  int64_t next_ = 0;
  bool ended_ = false;
};

// Whether the file begins as a Y4M video does; false also where it cannot be read. A pipe is taken
// for one unseen: what is read of it is gone, and images do not come that way.
bool IsVideo(const std::string& path) {
  struct stat kind = {};
  if (stat(path.c_str(), &kind) != 0) return false;
  if (S_ISFIFO(kind.st_mode)) return true;
  FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return false;
  char start[16];
  const size_t size = std::fread(start, 1, sizeof(start), file);
  std::fclose(file);
  return Y4mReader::Recognises(absl::string_view(start, size));
}

// A descriptor whose reads end when the command is interrupted.
int DescriptorOf(void* cookie) { return static_cast<int>(reinterpret_cast<intptr_t>(cookie)); }

ssize_t ReadUnlessInterrupted(void* cookie, char* buffer, size_t size) {
  if (AwaitReadable(DescriptorOf(cookie))) return read(DescriptorOf(cookie), buffer, size);
  return 0;  // as if the video ended here
}

int CloseDescriptor(void* cookie) { return close(DescriptorOf(cookie)); }

// Takes `fd` over, also when it fails (a null pointer).
FILE* OpenInterruptible(int fd) {
  const cookie_io_functions_t functions = {
      .read = ReadUnlessInterrupted, .write = nullptr, .seek = nullptr, .close = CloseDescriptor};
  FILE* file = fopencookie(reinterpret_cast<void*>(static_cast<intptr_t>(fd)), "rb", functions);
  if (file == nullptr) close(fd);
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const std::string& source,
                                                             const PictureLimits& limits,
                                                             bool keep_pictures,
                                                             const std::string& excluded_folder) {
  if (absl::StartsWith(source, "/dev/video")) {
    return absl::UnimplementedError(absl::StrCat(
        source,
        ": cameras are not available in this version; pipe Y4M from another program into -"));
  }
  if (source == "-" || IsVideo(source)) {
    const int fd = source == "-" ? dup(STDIN_FILENO) : open(source.c_str(), O_RDONLY | O_CLOEXEC);
    FILE* file = fd < 0 ? nullptr : OpenInterruptible(fd);
    if (file == nullptr) return absl::ErrnoToStatus(errno, source.c_str());
    const std::string name = source == "-" ? "stdin" : source;
    absl::StatusOr<std::unique_ptr<Y4mReader>> reader = Y4mReader::Create(file, limits);
    if (!reader.ok()) {
      return absl::Status(reader.status().code(),
                          absl::StrCat(name, ": ", std::string(reader.status().message())));
    }
    return std::make_unique<VideoSource>(name, *std::move(reader), keep_pictures);
  }
  std::istringstream no_names;
  absl::StatusOr<std::vector<InputFile>> files = ExpandInputs({source}, no_names, excluded_folder);
  if (!files.ok()) return files.status();
  return std::make_unique<FolderSource>(*std::move(files), limits, keep_pictures);
}

}  // namespace orbserve::cli
