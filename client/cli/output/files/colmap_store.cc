// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A COLMAP database. Source of the tables: COLMAP 3.9, src/colmap/scene/database.cc and
// doc/database.rst. Later versions add their own tables when they open one.

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {
namespace {

constexpr char kTables[] = R"(
CREATE TABLE IF NOT EXISTS cameras (
  camera_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, model INTEGER NOT NULL,
  width INTEGER NOT NULL, height INTEGER NOT NULL, params BLOB,
  prior_focal_length INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS images (
  image_id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL UNIQUE,
  camera_id INTEGER NOT NULL, prior_qw REAL, prior_qx REAL, prior_qy REAL, prior_qz REAL,
  prior_tx REAL, prior_ty REAL, prior_tz REAL,
  CONSTRAINT image_id_check CHECK(image_id >= 0 and image_id < 2147483647),
  FOREIGN KEY(camera_id) REFERENCES cameras(camera_id));
CREATE UNIQUE INDEX IF NOT EXISTS index_name ON images(name);
CREATE TABLE IF NOT EXISTS keypoints (
  image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB,
  FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE IF NOT EXISTS descriptors (
  image_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB,
  FOREIGN KEY(image_id) REFERENCES images(image_id) ON DELETE CASCADE);
CREATE TABLE IF NOT EXISTS matches (
  pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB);
CREATE TABLE IF NOT EXISTS two_view_geometries (
  pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB,
  config INTEGER NOT NULL, F BLOB, E BLOB, H BLOB, qvec BLOB, tvec BLOB);
)";

constexpr int kSchemaVersion = 3900;  // of COLMAP 3.9; a newer COLMAP brings it up to date
constexpr int64_t kMaxImages = 2147483647;
constexpr int kUncalibrated = 3;  // two-view geometry with a fundamental matrix
constexpr int kDegenerate = 1;    // two-view geometry that was looked for and not found
// COLMAP's origin is the top-left corner of the top-left pixel, ours its centre.
constexpr float kOrigin = 0.5f;

template <typename T>
absl::string_view BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A prepared statement. Values are bound in the order of its question marks.
class Statement {
 public:
  Statement(sqlite3* database, const char* text) {
    sqlite3_prepare_v2(database, text, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Int(int64_t value) {
    sqlite3_bind_int64(statement_, ++bound_, value);
    return *this;
  }
  Statement& Text(absl::string_view value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& Blob(absl::string_view value) {
    // An empty blob has a pointer, too: without one it would be NULL.
    sqlite3_bind_blob64(statement_, ++bound_, value.empty() ? "" : value.data(), value.size(),
                        SQLITE_TRANSIENT);
    return *this;
  }

  // Runs to the end; false on an error.
  bool Run() { return statement_ != nullptr && sqlite3_step(statement_) == SQLITE_DONE; }
  // Goes on to the next row; false after the last.
  bool Step() { return statement_ != nullptr && sqlite3_step(statement_) == SQLITE_ROW; }
  int64_t NumberAt(int column) { return sqlite3_column_int64(statement_, column); }
  std::string TextAt(int column) {
    const unsigned char* const text = sqlite3_column_text(statement_, column);
    return {reinterpret_cast<const char*>(text),
            static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class ColmapStore : public FeatureStore {
 public:
  ColmapStore(std::unique_ptr<StoreFile> file, ColmapCamera camera)
      : file_(std::move(file)), camera_(std::move(camera)) {}
  ~ColmapStore() override { sqlite3_close(database_); }

  absl::Status Open() {
    if (sqlite3_open(file_->working().c_str(), &database_) != SQLITE_OK) return Failed();
    // The file is not seen before it is whole: it needs no journal and no wait for the disk.
    if (!Execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;") || !Execute(kTables) ||
        (!file_->kept() && !Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion))) ||
        !Execute("BEGIN")) {
      return Failed();
    }
    LoadImages();
    return camera_.has_focal() ? UpdateCameras() : absl::OkStatus();
  }

  bool HasFeatures(const std::string& image) const override { return ids_.contains(image); }

  absl::Status PutFeatures(const std::string& image, const v1::FeatureSet& features) override {
    const absl::StatusOr<int64_t> camera = CameraFor(image, features);
    if (!camera.ok()) return camera.status();
    int64_t id = IdOf(image);
    if (id < 0) {
      if (!Statement(database_, "INSERT INTO images (name, camera_id) VALUES (?, ?)")
               .Text(image)
               .Int(*camera)
               .Run()) {
        return Failed();
      }
      id = sqlite3_last_insert_rowid(database_);
      ids_[image] = id;
    } else if (!Statement(database_, "UPDATE images SET camera_id = ? WHERE image_id = ?")
                    .Int(*camera)
                    .Int(id)
                    .Run() ||
               !DropMatchesOf(id)) {
      return Failed();
    }
    const int count = features.x_size();
    std::vector<float> rows;
    rows.reserve(static_cast<size_t>(count) * 4);
    for (int i = 0; i < count; ++i) {
      const float angle = i < features.angle_size() ? std::max(features.angle(i), 0.0f) : 0.0f;
      rows.push_back(features.x(i) + kOrigin);
      rows.push_back(features.y(i) + kOrigin);
      rows.push_back(i < features.size_size() ? features.size(i) / 2 : 1.0f);
      rows.push_back(angle * std::numbers::pi_v<float> / 180.0f);
    }
    if (!Statement(database_, "INSERT OR REPLACE INTO keypoints VALUES (?, ?, 4, ?)")
             .Int(id)
             .Int(count)
             .Blob(BytesOf(rows))
             .Run() ||
        !Statement(database_,
                   "INSERT OR REPLACE INTO descriptors (image_id, rows, cols, data) "
                   "VALUES (?, ?, ?, ?)")
             .Int(id)
             .Int(count)
             .Int(features.descriptor_bytes())
             .Blob(features.descriptors())
             .Run()) {
      return Failed();
    }
    return absl::OkStatus();
  }

  bool HasMatches(const std::string& query, const std::string& train) const override {
    const int64_t a = IdOf(query);
    const int64_t b = IdOf(train);
    if (a < 0 || b < 0) return false;
    return Statement(database_, "SELECT 1 FROM matches WHERE pair_id = ?").Int(PairId(a, b)).Step();
  }

  absl::Status PutMatches(const MatchedPair& pair) override {
    const int64_t query = IdOf(pair.query);
    const int64_t train = IdOf(pair.train);
    if (query < 0 || train < 0) {
      return absl::InternalError(absl::StrCat("no features of ", pair.query, " or ", pair.train));
    }
    // The image with the smaller number comes first.
    const bool swap = query > train;
    const int64_t id = PairId(query, train);
    std::vector<uint32_t> all;
    std::vector<uint32_t> inliers;
    for (int i = 0; i < pair.matches.query_index_size(); ++i) {
      std::pair<uint32_t, uint32_t> rows(pair.matches.query_index(i), pair.matches.train_index(i));
      if (swap) std::swap(rows.first, rows.second);
      all.insert(all.end(), {rows.first, rows.second});
      if (Survives(pair, i)) inliers.insert(inliers.end(), {rows.first, rows.second});
    }
    if (!Statement(database_, "INSERT OR REPLACE INTO matches VALUES (?, ?, 2, ?)")
             .Int(id)
             .Int(static_cast<int64_t>(all.size() / 2))
             .Blob(BytesOf(all))
             .Run()) {
      return Failed();
    }
    if (!pair.verify) {
      const bool dropped =
          Statement(database_, "DELETE FROM two_view_geometries WHERE pair_id = ?").Int(id).Run();
      return dropped ? absl::OkStatus() : Failed();
    }
    Statement geometry(database_,
                       "INSERT OR REPLACE INTO two_view_geometries (pair_id, rows, cols, data, "
                       "config, F, E, H, qvec, tvec) VALUES (?, ?, 2, ?, ?, ?, ?, ?, ?, ?)");
    geometry.Int(id).Int(static_cast<int64_t>(inliers.size() / 2)).Blob(BytesOf(inliers));
    const std::array<double, 9> none = {};
    std::array<double, 9> f = none;
    if (pair.geometry.has_value()) {
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
          f[3 * row + column] = pair.geometry->f[swap ? 3 * column + row : 3 * row + column];
        }
      }
      f = Shifted(f);
    }
    const auto matrix = [](const std::array<double, 9>& m) {
      return absl::string_view(reinterpret_cast<const char*>(m.data()), sizeof(m));
    };
    const double rotation[4] = {1, 0, 0, 0};
    const double translation[3] = {0, 0, 0};
    geometry.Int(pair.geometry.has_value() ? kUncalibrated : kDegenerate)
        .Blob(matrix(f))
        .Blob(matrix(none))
        .Blob(matrix(none))
        .Blob({reinterpret_cast<const char*>(rotation), sizeof(rotation)})
        .Blob({reinterpret_cast<const char*>(translation), sizeof(translation)});
    return geometry.Run() ? absl::OkStatus() : Failed();
  }

  absl::Status Publish() override {
    if (!Execute("COMMIT") || sqlite3_close(std::exchange(database_, nullptr)) != SQLITE_OK) {
      return Failed();
    }
    return file_->Publish();
  }

 private:
  // The matrix for places that have moved by kOrigin: T^T F T with T = translation by -kOrigin.
  static std::array<double, 9> Shifted(const std::array<double, 9>& f) {
    std::array<double, 9> g = f;
    for (int row = 0; row < 3; ++row) {
      g[3 * row + 2] -= kOrigin * (g[3 * row] + g[3 * row + 1]);
    }
    for (int column = 0; column < 3; ++column) {
      g[6 + column] -= kOrigin * (g[column] + g[3 + column]);
    }
    return g;
  }

  static int64_t PairId(int64_t image, int64_t other) {
    return kMaxImages * std::min(image, other) + std::max(image, other);
  }

  bool DropMatchesOf(int64_t image) {
    for (const char* const text :
         {"DELETE FROM matches WHERE pair_id / ?1 = ?2 OR pair_id % ?1 = ?2",
          "DELETE FROM two_view_geometries WHERE pair_id / ?1 = ?2 OR pair_id % ?1 = ?2"}) {
      if (!Statement(database_, text).Int(kMaxImages).Int(image).Run()) return false;
    }
    return true;
  }

  // Reads the images and cameras of an earlier run.
  void LoadImages() {
    Statement images(database_,
                     "SELECT name, image_id, cameras.camera_id, width, height FROM images JOIN "
                     "cameras ON cameras.camera_id = images.camera_id");
    while (images.Step()) {
      const std::string name = images.TextAt(0);
      ids_[name] = images.NumberAt(1);
      cameras_.emplace(CameraKey(name, images.NumberAt(3), images.NumberAt(4)), images.NumberAt(2));
    }
  }

  // Number of the image; -1 if it is unknown.
  int64_t IdOf(const std::string& image) const {
    const auto known = ids_.find(image);
    return known == ids_.end() ? -1 : known->second;
  }

  // The images of one folder and size share a camera.
  static std::string CameraKey(const std::string& image, int64_t width, int64_t height) {
    return absl::StrCat(std::filesystem::path(image).parent_path().native(), "|", width, "x",
                        height);
  }

  // Number of the camera of an image.
  absl::StatusOr<int64_t> CameraFor(const std::string& image, const v1::FeatureSet& features) {
    const uint32_t width = features.image_width_px();
    const uint32_t height = features.image_height_px();
    if (absl::Status size = CheckOneSize(image, width, height); !size.ok()) return size;
    const std::string key = CameraKey(image, width, height);
    const auto known = cameras_.find(key);
    if (known != cameras_.end()) return known->second;
    const std::vector<double> params = camera_.ParamsFor(width, height);
    if (!Statement(database_,
                   "INSERT INTO cameras (model, width, height, params, prior_focal_length) VALUES "
                   "(?, ?, ?, ?, ?)")
             .Int(camera_.model)
             .Int(width)
             .Int(height)
             .Blob(BytesOf(params))
             .Int(camera_.has_focal() ? 1 : 0)
             .Run()) {
      return Failed();
    }
    return cameras_[key] = sqlite3_last_insert_rowid(database_);
  }

  // INVALID_ARGUMENT: the parameters that were given are those of images of another size.
  absl::Status CheckOneSize(const std::string& image, int64_t width, int64_t height) {
    if (camera_.params.empty()) return absl::OkStatus();
    if (one_size_.image.empty()) one_size_ = {image, width, height};
    if (width == one_size_.width && height == one_size_.height) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "--camera-params hold for images of one size: ", one_size_.image, " has ", one_size_.width,
        "x", one_size_.height, ", ", image, " has ", width, "x", height));
  }

  // Gives the cameras of an earlier run the parameters that are known now.
  absl::Status UpdateCameras() {
    struct Known {
      int64_t id, width, height;
      std::string image;
    };
    std::vector<Known> all;
    {
      Statement cameras(
          database_,
          "SELECT cameras.camera_id, width, height, MIN(name) FROM cameras JOIN "
          "images ON images.camera_id = cameras.camera_id GROUP BY cameras.camera_id");
      while (cameras.Step()) {
        all.push_back(
            {cameras.NumberAt(0), cameras.NumberAt(1), cameras.NumberAt(2), cameras.TextAt(3)});
      }
    }
    for (const Known& camera : all) {
      absl::Status size = CheckOneSize(camera.image, camera.width, camera.height);
      if (!size.ok()) return size;
      const std::vector<double> params = camera_.ParamsFor(static_cast<uint32_t>(camera.width),
                                                           static_cast<uint32_t>(camera.height));
      if (!Statement(database_,
                     "UPDATE cameras SET model = ?, params = ?, prior_focal_length = 1 WHERE "
                     "camera_id = ?")
               .Int(camera_.model)
               .Blob(BytesOf(params))
               .Int(camera.id)
               .Run()) {
        return Failed();
      }
    }
    return absl::OkStatus();
  }

  bool Execute(const std::string& text) {
    return sqlite3_exec(database_, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  absl::Status Failed() const {
    return absl::UnknownError(
        absl::StrCat(file_->path(), ": ",
                     database_ != nullptr ? sqlite3_errmsg(database_) : "cannot be written"));
  }

  // An image that the given parameters hold for, and its size; no name before the first.
  struct OneSize {
    std::string image;
    int64_t width = 0;
    int64_t height = 0;
  };

  std::unique_ptr<StoreFile> file_;
  const ColmapCamera camera_;
  OneSize one_size_;
  sqlite3* database_ = nullptr;
  absl::flat_hash_map<std::string, int64_t> ids_;      // of images, by name
  absl::flat_hash_map<std::string, int64_t> cameras_;  // by folder and size
};

}  // namespace

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenColmapStore(const StorePlace& place) {
  absl::StatusOr<std::unique_ptr<StoreFile>> file =
      StoreFile::Create(FeatureStorePath(FeatureFormat::kColmap, place), place.keep);
  if (!file.ok()) return file.status();
  auto store = std::make_unique<ColmapStore>(*std::move(file), place.camera);
  if (absl::Status status = store->Open(); !status.ok()) return status;
  return store;
}

}  // namespace orbserve::cli
