// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <turbojpeg.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/images/picture_size.h"
#include "client/cli/images/png_file.h"
#include "client/cli/images/pnm_file.h"
#include "client/cli/interrupt.h"
#include "features/algo/grey.h"

namespace orbserve::cli {
namespace {

// Above every image that fits into a message, and what a mistake (a video, a disk) is refused at.
constexpr int64_t kMaxFileBytes = 512LL << 20;

enum class ImageType { kUnknown, kJpeg, kPng, kPnm };

ImageType TypeOf(absl::string_view bytes) {
  constexpr absl::string_view kJpegStart("\xFF\xD8", 2);
  constexpr absl::string_view kPngStart("\x89PNG\r\n\x1A\n", 8);
  if (absl::StartsWith(bytes, kJpegStart)) return ImageType::kJpeg;
  if (absl::StartsWith(bytes, kPngStart)) return ImageType::kPng;
  if (bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7') {
    return ImageType::kPnm;
  }
  return ImageType::kUnknown;
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  // The error of the closing, where a full disk may show first.
  int Close() { return close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

absl::Status ErrnoStatus(const char* what) { return absl::ErrnoToStatus(errno, what); }

absl::StatusOr<Picture> DecodeJpeg(absl::string_view bytes, const PictureLimits& limits) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) return absl::ResourceExhaustedError("the JPEG decoder cannot start");
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  int width_px = 0;
  int height_px = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width_px, &height_px, &subsampling,
                          &colours) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JPEG file is damaged: ", tjGetErrorStr2(decoder.get())));
  }
  if (const absl::Status size = CheckPictureSize(width_px, height_px, limits); !size.ok()) {
    return size;
  }
  Picture picture;
  picture.width_px = width_px;
  picture.height_px = height_px;
  picture.channels = colours == TJCS_GRAY ? 1 : 3;
  picture.pixels.resize(picture.row_bytes() * height_px);
  if (tjDecompress2(decoder.get(), data, bytes.size(), picture.Row(0), width_px, 0, height_px,
                    picture.channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_LIMITSCANS) != 0 &&
      tjGetErrorCode(decoder.get()) != TJERR_WARNING) {
    return absl::InvalidArgumentError(
        absl::StrCat("the JPEG file is damaged: ", tjGetErrorStr2(decoder.get())));
  }
  return picture;
}

// Pixels that the frame header of a JPEG names; 0 when none is found. Source: ITU-T T.81, annex B.
size_t JpegPixels(absl::string_view bytes) {
  const auto byte = [bytes](size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(bytes[at]));
  };
  const auto number = [byte](size_t at) { return byte(at) << 8 | byte(at + 1); };
  constexpr size_t kFrameHeaderBytes = 9;  // marker, length, precision, height, width
  for (size_t at = 2; at + kFrameHeaderBytes <= bytes.size() && byte(at) == 0xFF;) {
    const size_t marker = byte(at + 1);
    if (marker == 0xFF) {
      ++at;  // a fill byte
    } else if (marker == 0xDA || marker == 0xD9) {
      return 0;  // pixels without a frame header, or the end
    } else if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 &&
               marker != 0xCC) {
      return number(at + 5) * number(at + 7);
    } else {
      at += 2 + number(at + 2);
    }
  }
  return 0;
}

// RGB to grey in place, without a second buffer.
void TurnGrey(Picture* picture) {
  if (picture->channels == 1) return;
  const size_t count = static_cast<size_t>(picture->width_px) * picture->height_px;
  auto* pixels = reinterpret_cast<uint8_t*>(picture->pixels.data());
  for (size_t i = 0; i < count; ++i) {
    pixels[i] = GreyFromRgb(pixels[3 * i], pixels[3 * i + 1], pixels[3 * i + 2]);
  }
  picture->pixels.resize(count);
  picture->channels = 1;
}

absl::StatusOr<Picture> Decode(ImageType type, std::string bytes, const PictureLimits& limits) {
  switch (type) {
    case ImageType::kJpeg:
      return DecodeJpeg(bytes, limits);
    case ImageType::kPng:
      return DecodePng(bytes, limits);
    case ImageType::kPnm:
      return DecodePnm(std::move(bytes), limits);
    case ImageType::kUnknown:
      break;
  }
  return absl::InvalidArgumentError("not an image that is read: JPEG, PNG, PGM or PPM");
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, const std::atomic<bool>* stop) {
  // O_NONBLOCK: a named pipe is opened though nobody writes to it yet; then we wait for them.
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return ErrnoStatus("cannot be opened");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus("cannot be read");
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError("is a folder, not a file");
  if (info.st_size > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("file too large: ", info.st_size, " bytes; allowed are ", kMaxFileBytes));
  }
  // One byte more than there should be, so that the end is seen without growing; pipes report no
  // size and grow.
  std::string bytes(static_cast<size_t>(std::max<int64_t>(info.st_size, 1 << 12)) + 1, '\0');
  size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() * 2);
    if (!S_ISREG(info.st_mode) && !AwaitReadable(file.get(), stop)) {
      return absl::CancelledError("interrupted");
    }
    const ssize_t count = read(file.get(), bytes.data() + used, bytes.size() - used);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) return ErrnoStatus("cannot be read");
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (static_cast<int64_t>(used) > kMaxFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("file too large; allowed are ", kMaxFileBytes, " bytes"));
    }
  }
  if (used == 0) return absl::InvalidArgumentError("the file is empty");
  bytes.resize(used);
  return bytes;
}

absl::Status WriteFile(const std::string& path, absl::string_view bytes) {
  const std::string beside = absl::StrCat(path, ".part", getpid());
  int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0 && errno == ENOENT) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": its folder cannot be made: ", error.message()));
    }
    fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd < 0) return ErrnoStatus(path.c_str());
  FileDescriptor file(fd);
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    const ssize_t count = write(file.get(), bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      status = ErrnoStatus(path.c_str());
    }
  }
  if (file.Close() != 0 && status.ok()) status = ErrnoStatus(path.c_str());
  if (status.ok() && std::rename(beside.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(path.c_str());
  }
  if (!status.ok()) unlink(beside.c_str());
  return status;
}

v1::Frame FrameOfPicture(Picture picture) {
  v1::Frame frame;
  frame.set_format(picture.channels == 1 ? v1::PIXEL_FORMAT_GRAY8 : v1::PIXEL_FORMAT_RGB8);
  frame.set_width_px(static_cast<uint32_t>(picture.width_px));
  frame.set_height_px(static_cast<uint32_t>(picture.height_px));
  frame.set_pixels(std::move(picture.pixels));
  return frame;
}

size_t WorkingBytes(const v1::Frame& frame) {
  const size_t pixels = frame.format() == v1::PIXEL_FORMAT_JPEG
                            ? JpegPixels(frame.pixels())
                            : static_cast<size_t>(frame.width_px()) * frame.height_px();
  return std::max(frame.pixels().size(), pixels) + frame.mask().pixels().size();
}

absl::StatusOr<v1::Frame> LoadFrame(const std::string& path, const PictureLimits& limits,
                                    const std::atomic<bool>* stop) {
  absl::StatusOr<std::string> bytes = ReadFile(path, stop);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  if (type == ImageType::kJpeg) {
    v1::Frame frame;
    frame.set_format(v1::PIXEL_FORMAT_JPEG);
    frame.set_pixels(*std::move(bytes));
    return frame;
  }
  absl::StatusOr<Picture> picture = Decode(type, *std::move(bytes), limits);
  if (!picture.ok()) return picture.status();
  TurnGrey(&*picture);
  return FrameOfPicture(*std::move(picture));
}

absl::StatusOr<Picture> LoadPicture(const std::string& path, const PictureLimits& limits) {
  struct stat info = {};
  if (stat(path.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) {
    return absl::InvalidArgumentError(
        "is a pipe or a device, which is read once only; to be drawn on it must be a file");
  }
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  return Decode(type, *std::move(bytes), limits);
}

absl::StatusOr<v1::Mask> LoadMask(const std::string& path, const PictureLimits& limits) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  const ImageType type = TypeOf(*bytes);
  if (type == ImageType::kJpeg) {
    // Its ringing would make pixels near an edge not quite 0.
    return absl::InvalidArgumentError("a mask must be PNG, PGM or PPM; got a JPEG");
  }
  absl::StatusOr<Picture> picture = Decode(type, *std::move(bytes), limits);
  if (!picture.ok()) return picture.status();
  if (picture->channels == 3) {
    const size_t count = static_cast<size_t>(picture->width_px) * picture->height_px;
    std::string& pixels = picture->pixels;
    for (size_t i = 0; i < count; ++i) {
      pixels[i] = static_cast<char>(pixels[3 * i] | pixels[3 * i + 1] | pixels[3 * i + 2]);
    }
    pixels.resize(count);
  }
  v1::Mask mask;
  mask.set_width_px(static_cast<uint32_t>(picture->width_px));
  mask.set_height_px(static_cast<uint32_t>(picture->height_px));
  mask.set_pixels(std::move(picture->pixels));
  return mask;
}

}  // namespace orbserve::cli
