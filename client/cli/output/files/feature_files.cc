// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/feature_files.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/files/npz_file.h"
#include "client/cli/output/json_writer.h"

namespace orbserve::cli {
namespace {

// 100,000 features with every column take 6 MB.
constexpr size_t kMaxArrayBytes = 64 << 20;
constexpr int64_t kMaxFeatures = 100'000;

constexpr char kCsvColumns[] = "image,x,y,size,angle,response,octave,descriptor\n";

// Array with the number of the wire's DescriptorType. It is left out where the number of bytes
// tells the kind.
constexpr char kDescriptorType[] = "descriptor_type";
// Array with the passes of MINIMUM_DISTANCE. It is left out where there were none.
constexpr char kSuppressionPasses[] = "suppression_passes";

// Arrays of the detector SIFT alone.
constexpr char kLayer[] = "layer";
constexpr char kLayerFraction[] = "layer_fraction";

// The kind that a number of bytes stands for.
v1::DescriptorType TypeOfBytes(uint32_t bytes) {
  if (bytes == 32) return v1::DESCRIPTOR_TYPE_RBRIEF_256;
  return bytes == 4 ? v1::DESCRIPTOR_TYPE_RBRIEF_32 : v1::DESCRIPTOR_TYPE_UNSPECIFIED;
}

template <typename T>
std::string BytesOf(const google::protobuf::RepeatedField<T>& column) {
  return std::string(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

NpzArray ColumnArray(const char* name, const google::protobuf::RepeatedField<float>& column) {
  return {.name = name, .type = "<f4", .shape = {column.size()}, .data = BytesOf(column)};
}

NpzArray NumbersArray(const char* name, const google::protobuf::RepeatedField<uint32_t>& column) {
  return {.name = name, .type = "<i4", .shape = {column.size()}, .data = BytesOf(column)};
}

// An array of one number.
NpzArray NumberArray(const char* name, int32_t number) {
  return {.name = name,
          .type = "<i4",
          .shape = {1},
          .data = std::string(reinterpret_cast<const char*>(&number), sizeof(number))};
}

std::string EncodeNpzFeatures(const v1::FeatureSet& features) {
  const int64_t count = features.x_size();
  std::vector<NpzArray> arrays;
  arrays.reserve(11);
  NpzArray xy{.name = "xy", .type = "<f4", .shape = {count, 2}};
  xy.data.resize(static_cast<size_t>(count) * 2 * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float point[2] = {features.x(static_cast<int>(i)), features.y(static_cast<int>(i))};
    std::memcpy(xy.data.data() + i * sizeof(point), point, sizeof(point));
  }
  arrays.push_back(std::move(xy));
  arrays.push_back(ColumnArray("size", features.size()));
  arrays.push_back(ColumnArray("angle", features.angle()));
  arrays.push_back(ColumnArray("response", features.response()));
  arrays.push_back({.name = "octave",
                    .type = "<i4",
                    .shape = {features.octave_size()},
                    .data = BytesOf(features.octave())});
  arrays.push_back({.name = "descriptors",
                    .type = "|u1",
                    .shape = {count, features.descriptor_bytes()},
                    .data = features.descriptors()});
  const int32_t image_size[2] = {static_cast<int32_t>(features.image_width_px()),
                                 static_cast<int32_t>(features.image_height_px())};
  NpzArray image{.name = "image_size", .type = "<i4", .shape = {2}};
  image.data.assign(reinterpret_cast<const char*>(image_size), sizeof(image_size));
  arrays.push_back(std::move(image));
  const v1::DescriptorType type = features.descriptor_type();
  if (features.descriptor_bytes() > 0 && type != v1::DESCRIPTOR_TYPE_UNSPECIFIED &&
      type != TypeOfBytes(features.descriptor_bytes())) {
    arrays.push_back(NumberArray(kDescriptorType, type));
  }
  if (features.has_suppression_passes()) {
    arrays.push_back(
        NumberArray(kSuppressionPasses, static_cast<int32_t>(features.suppression_passes())));
  }
  if (features.layer_size() > 0) {
    arrays.push_back(NumbersArray(kLayer, features.layer()));
    arrays.push_back(NumbersArray(kLayerFraction, features.layer_fraction()));
  }
  return EncodeNpz(arrays);
}

absl::string_view DescriptorOf(const v1::FeatureSet& features, int row) {
  const size_t bytes = features.descriptor_bytes();
  return absl::string_view(features.descriptors()).substr(row * bytes, bytes);
}

std::string EncodeJsonLine(const v1::FeatureSet& features, absl::string_view image) {
  JsonWriter json;
  json.BeginObject().Key("image").String(image);
  json.Key("image_size").BeginArray();
  json.UInt(features.image_width_px()).UInt(features.image_height_px()).EndArray();
  AddPasses(features, &json);
  json.Key("xy").BeginArray();
  for (int i = 0; i < features.x_size(); ++i) {
    json.BeginArray().Float(features.x(i)).Float(features.y(i)).EndArray();
  }
  json.EndArray();
  const auto add_column = [&json](const char* name, const auto& column) {
    json.Key(name).BeginArray();
    for (const float value : column) json.Float(value);
    json.EndArray();
  };
  add_column("size", features.size());
  add_column("angle", features.angle());
  add_column("response", features.response());
  json.Key("octave").BeginArray();
  for (const int32_t octave : features.octave()) json.Int(octave);
  json.EndArray();
  if (features.layer_size() > 0) {
    AddNumbers(kLayer, features.layer(), &json);
    AddNumbers(kLayerFraction, features.layer_fraction(), &json);
  }
  json.Key("descriptors").BeginArray();
  for (int i = 0; i < features.x_size(); ++i) json.Hex(DescriptorOf(features, i));
  json.EndArray().EndObject();
  return absl::StrCat(json.text(), "\n");
}

// Quotes a field if RFC 4180 requires it.
std::string CsvField(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == absl::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string EncodeCsv(const v1::FeatureSet& features, absl::string_view image, bool header) {
  std::string text = header ? kCsvColumns : "";
  const std::string name = CsvField(image);
  for (int i = 0; i < features.x_size(); ++i) {
    text.append(name);
    for (const float value : {features.x(i), features.y(i), features.size(i), features.angle(i),
                              features.response(i)}) {
      text.push_back(',');
      AppendFloat(value, &text);
    }
    absl::StrAppend(&text, ",", features.octave(i), ",");
    AppendHex(DescriptorOf(features, i), &text);
    text.push_back('\n');
  }
  return text;
}

absl::Status BadArray(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the NPZ file holds no features: ", what));
}

// Copies a column of `count` rows. A missing column is filled with `missing`.
template <typename T>
absl::Status ReadColumn(const std::vector<NpzArray>& arrays, const char* name, const char* type,
                        int64_t count, T missing, google::protobuf::RepeatedField<T>* column) {
  column->Resize(static_cast<int>(count), missing);
  const NpzArray* array = FindArray(arrays, name);
  if (array == nullptr) return absl::OkStatus();
  if (array->type != type || array->shape != std::vector<int64_t>{count}) {
    return BadArray(
        absl::StrCat("`", name, "` must have type ", type, " and shape (", count, ",)"));
  }
  // An empty column has no place in memory.
  if (count > 0) std::memcpy(column->mutable_data(), array->data.data(), array->data.size());
  return absl::OkStatus();
}

}  // namespace

bool KeepsAllInOneFile(FeatureFormat format) {
  return format == FeatureFormat::kHdf5 || format == FeatureFormat::kColmap;
}

absl::string_view FormatName(FeatureFormat format) {
  switch (format) {
    case FeatureFormat::kNpz:
      return "npz";
    case FeatureFormat::kJsonLines:
      return "jsonl";
    case FeatureFormat::kCsv:
      return "csv";
    case FeatureFormat::kHdf5:
      return "hdf5";
    case FeatureFormat::kColmap:
      return "colmap";
  }
  return "";
}

absl::StatusOr<FeatureFormat> ParseFormat(absl::string_view name) {
  for (const FeatureFormat format :
       {FeatureFormat::kNpz, FeatureFormat::kJsonLines, FeatureFormat::kCsv, FeatureFormat::kHdf5,
        FeatureFormat::kColmap}) {
    if (name == FormatName(format)) return format;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--format must be npz, jsonl, csv, hdf5 or colmap; got ", std::string(name)));
}

std::string EncodeFeatures(const v1::FeatureSet& features, FeatureFormat format,
                           absl::string_view image, bool csv_header) {
  switch (format) {
    case FeatureFormat::kNpz:
      return EncodeNpzFeatures(features);
    case FeatureFormat::kJsonLines:
      return EncodeJsonLine(features, image);
    case FeatureFormat::kCsv:
      return EncodeCsv(features, image, csv_header);
    case FeatureFormat::kHdf5:
    case FeatureFormat::kColmap:
      break;
  }
  return "";
}

absl::StatusOr<v1::FeatureSet> DecodeFeatures(absl::string_view npz) {
  absl::StatusOr<std::vector<NpzArray>> arrays = DecodeNpz(npz, kMaxArrayBytes);
  if (!arrays.ok()) return arrays.status();
  const NpzArray* xy = FindArray(*arrays, "xy");
  if (xy == nullptr || xy->type != "<f4" || xy->shape.size() != 2 || xy->shape[1] != 2) {
    return BadArray("`xy` must have type <f4 and shape (N, 2)");
  }
  const int64_t count = xy->shape[0];
  if (count > kMaxFeatures) {
    return BadArray(absl::StrCat(count, " rows; allowed are ", kMaxFeatures));
  }
  const NpzArray* descriptors = FindArray(*arrays, "descriptors");
  if (descriptors == nullptr || descriptors->type != "|u1" || descriptors->shape.size() != 2 ||
      descriptors->shape[0] != count) {
    return BadArray(
        absl::StrCat("`descriptors` must have type |u1 and shape (", count, ", bytes)"));
  }
  v1::FeatureSet features;
  features.mutable_x()->Resize(static_cast<int>(count), 0);
  features.mutable_y()->Resize(static_cast<int>(count), 0);
  for (int64_t i = 0; i < count; ++i) {
    float point[2];
    std::memcpy(point, xy->data.data() + i * sizeof(point), sizeof(point));
    features.set_x(static_cast<int>(i), point[0]);
    features.set_y(static_cast<int>(i), point[1]);
  }
  for (const absl::Status& status :
       {ReadColumn(*arrays, "size", "<f4", count, 31.0f, features.mutable_size()),
        ReadColumn(*arrays, "angle", "<f4", count, -1.0f, features.mutable_angle()),
        ReadColumn(*arrays, "response", "<f4", count, 0.0f, features.mutable_response()),
        ReadColumn(*arrays, "octave", "<i4", count, 0, features.mutable_octave())}) {
    if (!status.ok()) return status;
  }
  for (const auto& [name, column] :
       {std::pair(kLayer, features.mutable_layer()),
        std::pair(kLayerFraction, features.mutable_layer_fraction())}) {
    if (FindArray(*arrays, name) == nullptr) continue;
    const absl::Status status = ReadColumn(*arrays, name, "<i4", count, 0u, column);
    if (!status.ok()) return status;
  }
  features.set_descriptor_bytes(static_cast<uint32_t>(descriptors->shape[1]));
  features.set_descriptors(descriptors->data);
  const auto read_number = [&arrays](const char* name,
                                     std::optional<int32_t>& number) -> absl::Status {
    const NpzArray* const array = FindArray(*arrays, name);
    if (array == nullptr) return absl::OkStatus();
    if (array->type != "<i4" || array->shape != std::vector<int64_t>{1}) {
      return BadArray(absl::StrCat("`", name, "` must have type <i4 and shape (1,)"));
    }
    std::memcpy(&number.emplace(), array->data.data(), sizeof(int32_t));
    return absl::OkStatus();
  };
  std::optional<int32_t> type;
  std::optional<int32_t> passes;
  if (absl::Status status = read_number(kDescriptorType, type); !status.ok()) return status;
  if (absl::Status status = read_number(kSuppressionPasses, passes); !status.ok()) return status;
  // The server refuses numbers that it does not know.
  if (type.has_value()) features.set_descriptor_type(static_cast<v1::DescriptorType>(*type));
  if (passes.has_value()) features.set_suppression_passes(static_cast<uint32_t>(*passes));
  if (const NpzArray* image = FindArray(*arrays, "image_size");
      image != nullptr && image->type == "<i4" && image->shape == std::vector<int64_t>{2}) {
    int32_t size[2];
    std::memcpy(size, image->data.data(), sizeof(size));
    if (size[0] > 0 && size[1] > 0) {
      features.set_image_width_px(static_cast<uint32_t>(size[0]));
      features.set_image_height_px(static_cast<uint32_t>(size[1]));
    }
  }
  return features;
}

}  // namespace orbserve::cli
