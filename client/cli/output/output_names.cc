// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/output_names.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/output/terminal_text.h"

namespace orbserve::cli {
namespace {

// Device and inode: two paths with the same pair are the same file.
using FileId = std::pair<dev_t, ino_t>;

FileId IdOf(const struct stat& info) { return {info.st_dev, info.st_ino}; }

}  // namespace

std::string PicturePath(const std::string& picture_folder, const std::string& relative) {
  return (std::filesystem::path(picture_folder) / absl::StrCat(relative, ".png")).native();
}

absl::Status CheckPictureFile(const std::string& path) {
  const std::filesystem::path name = path;
  if (absl::AsciiStrToLower(name.extension().native()) == ".png") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--draw writes PNG: ", path, " must end in .png, for example ",
                   std::filesystem::path(name).replace_extension(".png").native()));
}

absl::Status CheckPictureFolder(const std::string& path) {
  const std::string ending =
      absl::AsciiStrToLower(std::filesystem::path(path).extension().native());
  std::error_code ignored;
  for (const char* const file :
       {".png", ".jpg", ".jpeg", ".gif", ".mp4", ".avi", ".mkv", ".webm"}) {
    if (ending != file || std::filesystem::is_directory(path, ignored)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--draw ", path,
                     ": pictures are written into a folder, one PNG for each "
                     "image; give the name of a folder"));
  }
  return absl::OkStatus();
}

absl::Status CheckOneOutputEach(absl::Span<const InputFile> files) {
  absl::flat_hash_map<std::string, const std::string*> seen;
  for (const InputFile& file : files) {
    if (!file.problem.ok()) continue;
    const auto [at, added] = seen.emplace(file.relative, &file.path);
    if (!added) {
      return absl::InvalidArgumentError(absl::StrCat("two inputs would write one output, ",
                                                     file.relative, ": ", *at->second, " and ",
                                                     file.path));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNoInputReplaced(absl::Span<const std::string> inputs,
                                  absl::Span<const std::string> outputs) {
  // An output that is a link is replaced as a link; the file that it points to is kept.
  absl::flat_hash_map<FileId, const std::string*> replaced;
  struct stat info = {};
  for (const std::string& output : outputs) {
    if (lstat(output.c_str(), &info) == 0) replaced.emplace(IdOf(info), &output);
  }
  if (replaced.empty()) return absl::OkStatus();
  for (const std::string& input : inputs) {
    for (const auto look : {&lstat, &stat}) {
      if (look(input.c_str(), &info) != 0) continue;
      const auto found = replaced.find(IdOf(info));
      if (found == replaced.end()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the input ", input, " would be replaced by the output ", *found->second));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNoInputDrawnOver(absl::Span<const InputFile> files,
                                   absl::Span<const std::string> others,
                                   const std::string& picture_folder) {
  std::vector<std::string> inputs(others.begin(), others.end());
  std::vector<std::string> pictures;
  for (const std::string& other : others) {
    // An input may be the picture of an earlier run.
    const std::string name = std::filesystem::path(other).stem().native();
    if (files.empty() && absl::c_all_of(name, absl::ascii_isdigit)) {
      pictures.push_back(PicturePath(picture_folder, name));
    }
  }
  for (const InputFile& file : files) {
    inputs.push_back(file.path);
    pictures.push_back(PicturePath(picture_folder, file.relative));
  }
  return CheckNoInputReplaced(inputs, pictures);
}

std::string NameOnOneLine(absl::string_view name) {
  return TerminalLine(absl::StrReplaceAll(name, {{"\\", "\\\\"}}));
}

}  // namespace orbserve::cli
