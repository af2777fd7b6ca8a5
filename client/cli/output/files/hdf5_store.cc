// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// HDF5 as hloc reads it: `features.h5` has a group for each image, `matches.h5` one for each pair.
// Source of the layout: hloc (Hierarchical-Localization) 1.5, hloc/utils/io.py, extract_features.py
// and match_features.py.

#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {
namespace {

constexpr float kDescriptorBitsPerByte = 8;
constexpr hsize_t kSiftBytes = 128;
// Norm of a descriptor of SIFT.
constexpr float kSiftNorm = 512;

// `matching_scores0` of a distance between descriptors of `bytes`. SIFT: half of 1 plus the cosine
// of the angle between them, which is hloc's score.
float ScoreOf(uint32_t distance, hsize_t bytes) {
  const float most = bytes == kSiftBytes ? 4 * kSiftNorm * kSiftNorm
                                         : static_cast<float>(bytes) * kDescriptorBitsPerByte;
  return std::max(1.0f - static_cast<float>(distance) / std::max(most, 1.0f), 0.0f);
}

// Descriptors of SIFT, one column for each keypoint, as hloc's matchers take them: of unit length.
std::vector<float> UnitColumns(const std::string& descriptors, size_t count) {
  std::vector<float> columns(kSiftBytes * count);
  for (size_t i = 0; i < count; ++i) {
    const auto* const values =
        reinterpret_cast<const uint8_t*>(descriptors.data()) + kSiftBytes * i;
    uint32_t squares = 0;
    for (size_t b = 0; b < kSiftBytes; ++b) squares += uint32_t{values[b]} * values[b];
    const float norm = std::sqrt(static_cast<float>(std::max(squares, 1u)));
    for (size_t b = 0; b < kSiftBytes; ++b) columns[b * count + i] = values[b] / norm;
  }
  return columns;
}

// Bytes of descriptors, one column for each keypoint.
std::string ByteColumns(const std::string& descriptors, size_t bytes, size_t count) {
  std::string columns(bytes * count, '\0');
  for (size_t i = 0; i < count; ++i) {
    for (size_t b = 0; b < bytes; ++b) columns[b * count + i] = descriptors[i * bytes + b];
  }
  return columns;
}

// An identifier of the library, closed by the function of its kind.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() { Close(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;

  hid_t id() const { return id_; }
  bool ok() const { return id_ >= 0; }
  // False if what was written could not be stored.
  bool Close() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Properties that create missing groups, and that keep no times: equal runs give equal bytes.
Handle LinkProperties() {
  Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(properties.id(), 1);
  return properties;
}

Handle TimelessProperties(hid_t kind) {
  Handle properties(H5Pcreate(kind), H5Pclose);
  H5Pset_obj_track_times(properties.id(), 0);
  return properties;
}

// A file of HDF5 that is being written.
class Hdf5File {
 public:
  static absl::StatusOr<std::unique_ptr<Hdf5File>> Open(const std::string& path, bool keep) {
    // The library's own report of errors would stand on standard error.
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    absl::StatusOr<std::unique_ptr<StoreFile>> store = StoreFile::Create(path, keep);
    if (!store.ok()) return store.status();
    const char* const name = (*store)->working().c_str();
    Handle file = (*store)->kept()
                      ? Handle(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose)
                      : Handle(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    if (!file.ok()) {
      return absl::InvalidArgumentError((*store)->kept()
                                            ? absl::StrCat(path, ": is not a readable HDF5 file")
                                            : absl::StrCat(path, ": cannot be created"));
    }
    return std::unique_ptr<Hdf5File>(new Hdf5File(*std::move(store), std::move(file)));
  }

  // True if there is an object of this name. Each part of a path must be asked for by itself.
  bool Has(const std::string& name) const {
    std::string prefix;
    for (const absl::string_view part : absl::StrSplit(name, '/')) {
      absl::StrAppend(&prefix, prefix.empty() ? "" : "/", std::string(part));
      if (H5Lexists(file_.id(), prefix.c_str(), H5P_DEFAULT) <= 0) return false;
    }
    return true;
  }

  // Creates the group, in place of one of an earlier run.
  absl::StatusOr<Handle> NewGroup(const std::string& name) {
    if (absl::Status removed = Remove(name); !removed.ok()) return removed;
    const Handle links = LinkProperties();
    const Handle creation = TimelessProperties(H5P_GROUP_CREATE);
    Handle group(H5Gcreate2(file_.id(), name.c_str(), links.id(), creation.id(), H5P_DEFAULT),
                 H5Gclose);
    if (!group.ok()) return Failed();
    return group;
  }

  // Adds an array in C order to a group.
  absl::Status AddArray(const Handle& group, const char* name, hid_t type,
                        const std::vector<hsize_t>& shape, const void* data) {
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                       H5Sclose);
    const Handle creation = TimelessProperties(H5P_DATASET_CREATE);
    const Handle array(
        H5Dcreate2(group.id(), name, type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT),
        H5Dclose);
    if (!array.ok()) return Failed();
    if (std::find(shape.begin(), shape.end(), hsize_t{0}) != shape.end()) return absl::OkStatus();
    if (H5Dwrite(array.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) return Failed();
    return absl::OkStatus();
  }

  // Names of the groups in the file itself.
  std::vector<std::string> Groups() const {
    std::vector<std::string> names;
    H5G_info_t info = {};
    if (H5Gget_info(file_.id(), &info) < 0) return names;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const auto name_at = [&](char* name, size_t size) {
        return H5Lget_name_by_idx(file_.id(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name, size,
                                  H5P_DEFAULT);
      };
      const ssize_t length = name_at(nullptr, 0);
      if (length <= 0) continue;
      std::string name(static_cast<size_t>(length) + 1, '\0');
      name_at(name.data(), name.size());
      name.pop_back();
      names.push_back(std::move(name));
    }
    return names;
  }

  // Shape of an array; empty if there is none of this name.
  std::vector<hsize_t> ShapeOf(const std::string& name) const {
    if (!Has(name)) return {};
    const Handle array(H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!array.ok()) return {};
    const Handle space(H5Dget_space(array.id()), H5Sclose);
    const int lengths = H5Sget_simple_extent_ndims(space.id());
    std::vector<hsize_t> shape(static_cast<size_t>(std::max(lengths, 0)));
    H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    return shape;
  }

  absl::Status Remove(const std::string& name) {
    if (Has(name) && H5Ldelete(file_.id(), name.c_str(), H5P_DEFAULT) < 0) return Failed();
    return absl::OkStatus();
  }

  absl::Status Publish() {
    if (!file_.Close()) return Failed();
    return store_->Publish();
  }

 private:
  Hdf5File(std::unique_ptr<StoreFile> store, Handle file)
      : store_(std::move(store)), file_(std::move(file)) {}

  absl::Status Failed() const {
    return absl::UnknownError(absl::StrCat(store_->path(), ": cannot be written"));
  }

  std::unique_ptr<StoreFile> store_;  // outlives the handle
  Handle file_;
};

std::string MatchesPath(const StorePlace& place) { return PathInStore(place, "matches", ".h5"); }

class Hdf5Store : public FeatureStore {
 public:
  // `matches`: null if there are none of an earlier run.
  Hdf5Store(StorePlace place, std::unique_ptr<Hdf5File> features, std::unique_ptr<Hdf5File> matches)
      : place_(std::move(place)), features_(std::move(features)), matches_(std::move(matches)) {}

  bool HasFeatures(const std::string& image) const override { return features_->Has(image); }

  absl::Status PutFeatures(const std::string& image, const v1::FeatureSet& features) override {
    if (HasFeatures(image)) {
      if (absl::Status dropped = DropMatchesOf(image); !dropped.ok()) return dropped;
    }
    absl::StatusOr<Handle> group = features_->NewGroup(image);
    if (!group.ok()) return group.status();
    const auto count = static_cast<size_t>(features.x_size());
    const size_t bytes = features.descriptor_bytes();
    std::vector<float> points(2 * count);
    for (size_t i = 0; i < count; ++i) {
      points[2 * i] = features.x(static_cast<int>(i));
      points[2 * i + 1] = features.y(static_cast<int>(i));
    }
    const bool sift = bytes == kSiftBytes;
    std::vector<float> units;
    std::string columns;
    if (sift) {
      units = UnitColumns(features.descriptors(), count);
    } else {
      columns = ByteColumns(features.descriptors(), bytes, count);
    }
    const int32_t size[2] = {static_cast<int32_t>(features.image_width_px()),
                             static_cast<int32_t>(features.image_height_px())};
    struct Array {
      const char* name;
      hid_t type;
      std::vector<hsize_t> shape;
      const void* data;
    };
    const hsize_t rows = count;
    std::vector<Array> arrays = {
        Array{"keypoints", H5T_NATIVE_FLOAT, {rows, 2}, points.data()},
        Array{"scores", H5T_NATIVE_FLOAT, {rows}, features.response().data()},
        Array{"descriptors",
              sift ? H5T_NATIVE_FLOAT : H5T_NATIVE_UINT8,
              {bytes, rows},
              sift ? static_cast<const void*>(units.data()) : columns.data()},
        Array{"image_size", H5T_NATIVE_INT32, {2}, size},
        Array{"sizes", H5T_NATIVE_FLOAT, {rows}, features.size().data()},
        Array{"angles", H5T_NATIVE_FLOAT, {rows}, features.angle().data()},
        Array{"octaves", H5T_NATIVE_INT32, {rows}, features.octave().data()}};
    if (features.layer_size() > 0) {  // of the detector SIFT
      arrays.push_back({"layers", H5T_NATIVE_UINT32, {rows}, features.layer().data()});
      arrays.push_back(
          {"layer_fractions", H5T_NATIVE_UINT32, {rows}, features.layer_fraction().data()});
    }
    for (const Array& array : arrays) {
      if (absl::Status status =
              features_->AddArray(*group, array.name, array.type, array.shape, array.data);
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  bool HasMatches(const std::string& query, const std::string& train) const override {
    return matches_ != nullptr && matches_->Has(PairName(query, train));
  }

  absl::Status PutMatches(const MatchedPair& pair) override {
    if (matches_ == nullptr) {
      absl::StatusOr<std::unique_ptr<Hdf5File>> file =
          Hdf5File::Open(MatchesPath(place_), place_.keep);
      if (!file.ok()) return file.status();
      matches_ = *std::move(file);
    }
    const std::vector<hsize_t> shape = features_->ShapeOf(pair.query + "/descriptors");
    if (shape.size() != 2) return absl::InternalError(absl::StrCat("no features of ", pair.query));
    const size_t rows = shape[1];
    absl::StatusOr<Handle> group = matches_->NewGroup(PairName(pair.query, pair.train));
    if (!group.ok()) return group.status();
    std::vector<int32_t> train(rows, -1);
    std::vector<float> scores(rows, 0.0f);
    for (int i = 0; i < pair.matches.query_index_size(); ++i) {
      const size_t query = pair.matches.query_index(i);
      if (!Survives(pair, i) || query >= rows || train[query] >= 0) continue;
      train[query] = static_cast<int32_t>(pair.matches.train_index(i));
      scores[query] = ScoreOf(pair.matches.distance(i), shape[0]);
    }
    absl::Status status =
        matches_->AddArray(*group, "matches0", H5T_NATIVE_INT32, {rows}, train.data());
    if (status.ok()) {
      status =
          matches_->AddArray(*group, "matching_scores0", H5T_NATIVE_FLOAT, {rows}, scores.data());
    }
    return status;
  }

  absl::Status Publish() override {
    if (absl::Status status = features_->Publish(); !status.ok()) return status;
    return matches_ == nullptr ? absl::OkStatus() : matches_->Publish();
  }

 private:
  absl::Status DropMatchesOf(const std::string& image) {
    if (matches_ == nullptr) return absl::OkStatus();
    absl::Status status = matches_->Remove(Flat(image));
    for (const std::string& query : matches_->Groups()) {
      if (!status.ok()) break;
      status = matches_->Remove(absl::StrCat(query, "/", Flat(image)));
    }
    return status;
  }

  // hloc names a pair by two groups, in which names have no folders.
  static std::string Flat(const std::string& name) {
    return absl::StrReplaceAll(name, {{"/", "-"}});
  }
  static std::string PairName(const std::string& query, const std::string& train) {
    return absl::StrCat(Flat(query), "/", Flat(train));
  }

  const StorePlace place_;
  std::unique_ptr<Hdf5File> features_;
  std::unique_ptr<Hdf5File> matches_;  // null before the first pair
};

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenHdf5Store(const StorePlace& place) {
  absl::StatusOr<std::unique_ptr<Hdf5File>> features =
      Hdf5File::Open(FeatureStorePath(FeatureFormat::kHdf5, place), place.keep);
  if (!features.ok()) return features.status();
  std::unique_ptr<Hdf5File> matches;
  std::error_code ignored;
  if (place.keep && std::filesystem::exists(MatchesPath(place), ignored)) {
    absl::StatusOr<std::unique_ptr<Hdf5File>> kept = Hdf5File::Open(MatchesPath(place), true);
    if (!kept.ok()) return kept.status();
    matches = *std::move(kept);
  }
  return std::make_unique<Hdf5Store>(place, *std::move(features), std::move(matches));
}

}  // namespace orbserve::cli
