// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/images/inputs.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace orbserve::cli {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kFeatureEnding = ".npz";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool HasKnownEnding(const fs::path& path) {
  const std::string ending = absl::AsciiStrToLower(path.extension().native());
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".pgm" ||
         ending == ".ppm" || ending == ".pnm";
}

// Relative path of a file that is given by itself: the path as given if it stays below the working
// folder, else the name of the file.
std::string RelativeNameOf(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  if (normal.is_absolute() || (normal.begin() != normal.end() && *normal.begin() == "..")) {
    return normal.filename().native();
  }
  return normal.native();
}

// True if an entry with a known ending is listed. A broken link, or one to a place that cannot be
// read, is listed too: opening it reports the error, while leaving it out would lose an image
// without a message.
bool IsImageEntry(const fs::directory_entry& entry) {
  std::error_code ignored;
  switch (entry.status(ignored).type()) {
    case fs::file_type::regular:
    case fs::file_type::none:
    case fs::file_type::not_found:
    case fs::file_type::unknown:
      return true;
    default:
      return false;
  }
}

// Adds the files below `folder` whose path is wanted, with names relative to `root`. A folder below
// it that cannot be read is listed instead of its content, for the reason given above.
std::error_code AddEntries(const fs::path& folder, const fs::path& root,
                           const std::string& picture_folder, bool (*wanted)(const fs::path&),
                           std::vector<InputFile>* files) {
  std::error_code error;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (absl::StartsWith(path.filename().native(), ".")) continue;
    const std::string relative = path.lexically_relative(root).native();
    if (entry->is_directory(ignored)) {
      if (entry->is_symlink(ignored)) continue;  // may form a cycle
      if (!picture_folder.empty() && fs::equivalent(path, picture_folder, ignored)) continue;
      if (AddEntries(path, root, picture_folder, wanted, files)) {
        files->push_back({path.native(), relative, absl::OkStatus()});
      }
    } else if (wanted(path) && IsImageEntry(*entry)) {
      files->push_back({path.native(), relative, absl::OkStatus()});
    }
  }
  return error;
}

void AddFolder(const std::string& folder, const std::string& picture_folder, bool or_features,
               std::vector<InputFile>* files) {
  const size_t before = files->size();
  std::error_code error = AddEntries(folder, folder, picture_folder, HasKnownEnding, files);
  if (!error && or_features && files->size() == before) {
    error = AddEntries(
        folder, folder, picture_folder,
        [](const fs::path& path) { return IsFeatureFile(path.native()); }, files);
  }
  if (error) {
    files->push_back(
        {folder, RelativeNameOf(folder),
         absl::InvalidArgumentError(absl::StrCat("the folder cannot be read: ", error.message()))});
  } else if (files->size() == before) {
    files->push_back(
        {folder, RelativeNameOf(folder),
         absl::InvalidArgumentError(
             or_features
                 ? "no image in this folder (jpg, jpeg, png, pgm, ppm, pnm), and no NPZ file"
                 : "no image in this folder (jpg, jpeg, png, pgm, ppm, pnm)")});
  }
  std::sort(
      files->begin() + static_cast<std::ptrdiff_t>(before), files->end(),
      [](const InputFile& a, const InputFile& b) { return NaturalLess(a.relative, b.relative); });
}

absl::Status AddInput(const std::string& input, const std::string& picture_folder, bool or_features,
                      std::vector<InputFile>* files) {
  std::error_code error;
  if (!fs::is_directory(input, error)) {
    files->push_back({input, RelativeNameOf(input), absl::OkStatus()});
    return absl::OkStatus();
  }
  if (!picture_folder.empty() && fs::equivalent(input, picture_folder, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--draw ", picture_folder, " is the folder ", input,
                     " that images are read from; draw into another, or into one below it"));
  }
  AddFolder(input, picture_folder, or_features, files);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<InputFile>> Expand(absl::Span<const std::string> inputs,
                                              std::istream& names,
                                              const std::string& picture_folder, bool or_features) {
  std::vector<InputFile> files;
  for (const std::string& input : inputs) {
    if (input != "-") {
      if (absl::Status added = AddInput(input, picture_folder, or_features, &files); !added.ok())
        return added;
      continue;
    }
    for (std::string name; std::getline(names, name);) {
      if (absl::EndsWith(name, "\r")) name.pop_back();
      if (name.empty()) continue;
      if (absl::Status added = AddInput(name, picture_folder, or_features, &files); !added.ok())
        return added;
    }
  }
  const bool has_image = std::any_of(files.begin(), files.end(),
                                     [](const InputFile& file) { return file.problem.ok(); });
  if (!has_image && !files.empty()) {
    std::string text = absl::StrCat(files[0].path, ": ", std::string(files[0].problem.message()));
    if (files.size() > 1) {
      absl::StrAppend(&text, "; no image in the other ", files.size() - 1, " folders either");
    }
    return absl::InvalidArgumentError(text);
  }
  return files;
}

}  // namespace

bool NaturalLess(absl::string_view a, absl::string_view b) {
  const absl::string_view whole_a = a;
  const absl::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a[0]) && IsDigit(b[0])) {
      const auto take_number = [](absl::string_view* text) {
        while (text->size() > 1 && (*text)[0] == '0' && IsDigit((*text)[1])) {
          text->remove_prefix(1);
        }
        size_t length = 0;
        while (length < text->size() && IsDigit((*text)[length])) ++length;
        const absl::string_view number = text->substr(0, length);
        text->remove_prefix(length);
        return number;
      };
      const absl::string_view number_a = take_number(&a);
      const absl::string_view number_b = take_number(&b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
      continue;
    }
    if (a[0] != b[0]) {
      // The separator sorts before every other byte, which keeps the content of a folder together.
      if (a[0] == '/' || b[0] == '/') return a[0] == '/';
      return static_cast<uint8_t>(a[0]) < static_cast<uint8_t>(b[0]);
    }
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // equal except for leading zeros
}

bool IsFeatureFile(absl::string_view path) {
  return absl::EndsWithIgnoreCase(path, kFeatureEnding);
}

absl::StatusOr<std::vector<InputFile>> ExpandInputs(absl::Span<const std::string> inputs,
                                                    std::istream& names,
                                                    const std::string& picture_folder) {
  return Expand(inputs, names, picture_folder, /*or_features=*/false);
}

absl::StatusOr<std::vector<InputFile>> ExpandImagesOrFeatures(absl::Span<const std::string> inputs,
                                                              std::istream& names) {
  absl::StatusOr<std::vector<InputFile>> files =
      Expand(inputs, names, /*picture_folder=*/"", /*or_features=*/true);
  if (!files.ok()) return files;
  for (InputFile& file : *files) {
    if (IsFeatureFile(file.relative)) {
      file.relative.resize(file.relative.size() - kFeatureEnding.size());
    }
  }
  return files;
}

}  // namespace orbserve::cli
