// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/frame_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/y4m_reader.h"
#include "client/cli/interrupt.h"

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
  double fps() const override { return 0; }

 private:
  const std::vector<InputFile> files_;
  const PictureLimits limits_;
  const bool keep_pictures_;
  size_t next_ = 0;
};

// Set when reading shall end; shared with the file that is being read.
using StopFlag = std::shared_ptr<std::atomic<bool>>;

class VideoSource : public FrameSource {
 public:
  VideoSource(std::string name, std::unique_ptr<Y4mReader> reader, StopFlag stop,
              bool keep_pictures)
      : name_(std::move(name)),
        reader_(std::move(reader)),
        stop_(std::move(stop)),
        keep_pictures_(keep_pictures) {}

  std::optional<Item> Next() override {
    if (ended_) return std::nullopt;
    absl::StatusOr<std::optional<Picture>> picture = reader_->Next();
    // Stopping cuts the current frame off, which is not an error of the video.
    if (*stop_ || Interrupted()) {
      ended_ = true;
      return std::nullopt;
    }
    if (picture.ok() && !picture->has_value()) {
      ended_ = true;
      if (next_ > 0) return std::nullopt;
      return Item{.name = name_,
                  .frame = absl::InvalidArgumentError("the Y4M video has no frames")};
    }
    Item item{.name = absl::StrFormat("%06d", next_++), .frame = v1::Frame()};
    if (!picture.ok()) {
      // The beginning of the next frame is unknown.
      ended_ = true;
      item.frame = picture.status();
      return item;
    }
    if (keep_pictures_) item.picture = **picture;
    item.frame = FrameOfPicture(**std::move(picture));
    return item;
  }

  void Stop() override { *stop_ = true; }

  absl::Span<const InputFile> files() const override { return {}; }
  double fps() const override { return reader_->fps(); }

 private:
  const std::string name_;
  const std::unique_ptr<Y4mReader> reader_;
  const StopFlag stop_;
  const bool keep_pictures_;
  int64_t next_ = 0;
  bool ended_ = false;
};

// True if the file begins like a Y4M video; false if it cannot be read. A pipe counts as a video
// without a look at it: bytes read from a pipe are gone, and images do not come through pipes here.
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

// A file descriptor whose reads end when the command is interrupted or `stop` is set.
struct Descriptor {
  int fd;
  StopFlag stop;
};

ssize_t ReadUnlessStopped(void* cookie, char* buffer, size_t size) {
  const auto* from = static_cast<const Descriptor*>(cookie);
  if (AwaitReadable(from->fd, from->stop.get())) return read(from->fd, buffer, size);
  return 0;  // end of file
}

int CloseDescriptor(void* cookie) {
  const std::unique_ptr<Descriptor> from(static_cast<Descriptor*>(cookie));
  return close(from->fd);
}

// Takes ownership of `fd`, even if it fails and returns a null pointer.
FILE* OpenInterruptible(int fd, StopFlag stop) {
  const cookie_io_functions_t functions = {
      .read = ReadUnlessStopped, .write = nullptr, .seek = nullptr, .close = CloseDescriptor};
  auto from = std::make_unique<Descriptor>(Descriptor{fd, std::move(stop)});
  FILE* file = fopencookie(from.get(), "rb", functions);
  if (file == nullptr) {
    close(fd);
  } else {
    (void)from.release();  // the file owns it now
  }
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameSource>> OpenFrameSource(const std::string& source,
                                                             const PictureLimits& limits,
                                                             const std::string& picture_folder) {
  if (absl::StartsWith(source, "/dev/video")) {
    return absl::UnimplementedError(absl::StrCat(
        source,
        ": cameras are not available in this version; pipe Y4M from another program into -"));
  }
  const bool keep_pictures = !picture_folder.empty();
  if (source == "-" || IsVideo(source)) {
    const int fd = source == "-" ? dup(STDIN_FILENO) : open(source.c_str(), O_RDONLY | O_CLOEXEC);
    auto stop = std::make_shared<std::atomic<bool>>(false);
    FILE* file = fd < 0 ? nullptr : OpenInterruptible(fd, stop);
    if (file == nullptr) return absl::ErrnoToStatus(errno, source.c_str());
    const std::string name = source == "-" ? "stdin" : source;
    absl::StatusOr<std::unique_ptr<Y4mReader>> reader = Y4mReader::Create(file, limits);
    if (!reader.ok()) {
      return absl::Status(reader.status().code(),
                          absl::StrCat(name, ": ", std::string(reader.status().message())));
    }
    return std::make_unique<VideoSource>(name, *std::move(reader), std::move(stop), keep_pictures);
  }
  std::istringstream no_names;
  absl::StatusOr<std::vector<InputFile>> files = ExpandInputs({source}, no_names, picture_folder);
  if (!files.ok()) return files.status();
  return std::make_unique<FolderSource>(*std::move(files), limits, keep_pictures);
}

}  // namespace orbserve::cli
