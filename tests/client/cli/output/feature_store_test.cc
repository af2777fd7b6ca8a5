// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/feature_store.h"

#include <hdf5.h>
#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using ::orbserve::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `count` features; feature i lies at (10 i + offset, i) and has the bytes b i, b i + 1, ... where
// b is `descriptor_bytes`.
v1::FeatureSet Features(int count, float offset = 0, int descriptor_bytes = 32) {
  v1::FeatureSet features;
  features.set_image_width_px(640);
  features.set_image_height_px(480);
  features.set_descriptor_bytes(static_cast<uint32_t>(descriptor_bytes));
  for (int i = 0; i < count; ++i) {
    features.add_x(static_cast<float>(10 * i) + offset);
    features.add_y(static_cast<float>(i));
    features.add_size(31);
    features.add_angle(i == 0 ? -1.0f : 90.0f);
    features.add_response(static_cast<float>(i) / 2);
    features.add_octave(i);
    for (int b = 0; b < descriptor_bytes; ++b) {
      features.mutable_descriptors()->push_back(static_cast<char>(descriptor_bytes * i + b));
    }
  }
  return features;
}

// Matches 0-1 and 2-0, of which the second is an outlier.
MatchedPair Pair(const std::string& query, const std::string& train, bool verify) {
  MatchedPair pair{.query = query, .train = train, .verify = verify};
  for (const auto& [q, t, d] : {std::array{0, 1, 64}, std::array{2, 0, 128}}) {
    pair.matches.add_query_index(q);
    pair.matches.add_train_index(t);
    pair.matches.add_distance(d);
  }
  if (verify) {
    pair.geometry = {.f = {1, 2, 3, 4, 5, 6, 7, 8, 9}, .inliers = {true, false}, .inlier_count = 1};
  }
  return pair;
}

void Fill(FeatureStore* store) {
  ASSERT_TRUE(store->PutFeatures("in/b.png", Features(3)).ok());
  ASSERT_TRUE(store->PutFeatures("a.png", Features(2, 0.25f)).ok());
  ASSERT_TRUE(store->PutMatches(Pair("in/b.png", "a.png", true)).ok());
}

template <typename T>
std::vector<T> ReadArray(const std::string& path, const char* name, hid_t type,
                         std::vector<hsize_t>* shape) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t array = H5Dopen2(file, name, H5P_DEFAULT);
  EXPECT_GE(array, 0) << name;
  const hid_t space = H5Dget_space(array);
  shape->assign(static_cast<size_t>(H5Sget_simple_extent_ndims(space)), 0);
  H5Sget_simple_extent_dims(space, shape->data(), nullptr);
  std::vector<T> values(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
  H5Dread(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Sclose(space);
  H5Dclose(array);
  H5Fclose(file);
  return values;
}

class FeatureStoreTest : public ::testing::Test {
 protected:
  std::string Folder() const { return folder_ / "out"; }
  std::unique_ptr<FeatureStore> Open(FeatureFormat format, bool keep = false) {
    auto store = OpenFeatureStore(format, {.folder = Folder(), .keep = keep});
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  // Runs a query whose rows have one column; a blob is read as the numbers T.
  std::vector<std::string> Rows(const std::string& query) {
    std::vector<std::string> rows;
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open_v2((folder_ / "out/database.db").c_str(), &database,
                              SQLITE_OPEN_READONLY, nullptr),
              SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, query.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const void* const bytes = sqlite3_column_blob(statement, 0);
      const int size = sqlite3_column_bytes(statement, 0);
      rows.emplace_back(static_cast<const char*>(bytes), static_cast<size_t>(size));
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return rows;
  }
  template <typename T>
  std::vector<T> Blob(const std::string& query) {
    const std::vector<std::string> rows = Rows(query);
    EXPECT_EQ(rows.size(), 1u) << query;
    if (rows.empty()) return {};
    std::vector<T> values(rows[0].size() / sizeof(T));
    std::memcpy(values.data(), rows[0].data(), rows[0].size());
    return values;
  }

  TemporaryFolder folder_;
};

TEST_F(FeatureStoreTest, Hdf5HasTheLayoutOfHloc) {
  auto store = Open(FeatureFormat::kHdf5);
  Fill(store.get());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/features.h5"));
  ASSERT_TRUE(store->Publish().ok());
  const std::string path = folder_ / "out/features.h5";
  std::vector<hsize_t> shape;
  EXPECT_THAT(ReadArray<float>(path, "in/b.png/keypoints", H5T_NATIVE_FLOAT, &shape),
              ElementsAre(0, 0, 10, 1, 20, 2));
  EXPECT_THAT(shape, ElementsAre(3, 2));
  const auto descriptors =
      ReadArray<uint8_t>(path, "in/b.png/descriptors", H5T_NATIVE_UINT8, &shape);
  EXPECT_THAT(shape, ElementsAre(32, 3));
  EXPECT_EQ(descriptors[3 * 5 + 2], 2 * 32 + 5);  // byte 5 of feature 2
  EXPECT_THAT(ReadArray<float>(path, "a.png/scores", H5T_NATIVE_FLOAT, &shape), ElementsAre(0, .5));
  EXPECT_THAT(ReadArray<int32_t>(path, "a.png/image_size", H5T_NATIVE_INT32, &shape),
              ElementsAre(640, 480));
  const std::string matches = folder_ / "out/matches.h5";
  // The outlier is left out; a score is the share of equal bits.
  EXPECT_THAT(ReadArray<int32_t>(matches, "in-b.png/a.png/matches0", H5T_NATIVE_INT32, &shape),
              ElementsAre(1, -1, -1));
  EXPECT_THAT(
      ReadArray<float>(matches, "in-b.png/a.png/matching_scores0", H5T_NATIVE_FLOAT, &shape),
      ElementsAre(0.75f, 0, 0));
}

TEST_F(FeatureStoreTest, ColmapHasItsTables) {
  auto store = Open(FeatureFormat::kColmap);
  Fill(store.get());
  ASSERT_TRUE(store->Publish().ok());
  EXPECT_THAT(Rows("SELECT name FROM images ORDER BY image_id"), ElementsAre("in/b.png", "a.png"));
  // A camera for each folder and size.
  EXPECT_THAT(Blob<double>("SELECT params FROM cameras WHERE camera_id = 1"),
              ElementsAre(768, 320, 240, 0));
  EXPECT_THAT(Rows("SELECT COUNT(*) || '' FROM cameras"), ElementsAre("2"));
  // Places count from the corner of the image, and angles are radians.
  EXPECT_THAT(
      Blob<float>("SELECT data FROM keypoints WHERE image_id = 2"),
      ElementsAre(0.75f, 0.5f, 15.5f, 0, 10.75f, 1.5f, 15.5f, ::testing::FloatEq(1.5707964f)));
  EXPECT_EQ(Blob<uint8_t>("SELECT data FROM descriptors WHERE image_id = 1")[33], 33);
  const int64_t pair = int64_t{2147483647} * 1 + 2;
  const std::string where = absl::StrCat(" WHERE pair_id = ", pair);
  EXPECT_THAT(Blob<uint32_t>("SELECT data FROM matches" + where), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(Blob<uint32_t>("SELECT data FROM two_view_geometries" + where), ElementsAre(0, 1));
  // The matrix belongs to the moved places: the point (0.5, 0.5) has the line of our (0, 0).
  const auto f = Blob<double>("SELECT F FROM two_view_geometries" + where);
  EXPECT_DOUBLE_EQ(f[0] * 0.5 + f[1] * 0.5 + f[2], 3);
  EXPECT_DOUBLE_EQ((f[0] + f[1]) * 0.25 + f[2] * 0.5 + (f[3] + f[4]) * 0.25 + f[5] * 0.5 +
                       (f[6] + f[7]) * 0.5 + f[8],
                   9);
}

TEST_F(FeatureStoreTest, DescriptorsOf64BytesAreWhole) {
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    auto store = Open(format);
    for (const char* const name : {"a.png", "b.png"}) {
      ASSERT_TRUE(store->PutFeatures(name, Features(3, 0, 64)).ok());
    }
    ASSERT_TRUE(store->PutMatches(Pair("a.png", "b.png", false)).ok());
    ASSERT_TRUE(store->Publish().ok());
  }
  std::vector<hsize_t> shape;
  const auto descriptors = ReadArray<uint8_t>(folder_ / "out/features.h5", "a.png/descriptors",
                                              H5T_NATIVE_UINT8, &shape);
  EXPECT_THAT(shape, ElementsAre(64, 3));
  EXPECT_EQ(descriptors[3 * 63 + 2], 2 * 64 + 63);  // byte 63 of feature 2
  EXPECT_THAT(ReadArray<float>(folder_ / "out/matches.h5", "a.png/b.png/matching_scores0",
                               H5T_NATIVE_FLOAT, &shape),
              ElementsAre(1 - 64.0f / 512, 0, 1 - 128.0f / 512));
  EXPECT_THAT(Rows("SELECT rows || ' ' || cols FROM descriptors WHERE image_id = 1"),
              ElementsAre("3 64"));
  EXPECT_EQ(Blob<uint8_t>("SELECT data FROM descriptors WHERE image_id = 1")[2 * 64 + 63],
            2 * 64 + 63);
}

TEST_F(FeatureStoreTest, SiftHasItsLayersAndScoresByTheAngleBetweenDescriptors) {
  v1::FeatureSet features = Features(3, 0, 128);
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_SIFT);
  for (const uint32_t value : {1u, 2u, 3u}) {
    features.add_layer(value);
    features.add_layer_fraction(85 * value);
  }
  MatchedPair pair = Pair("a.png", "b.png", false);
  pair.matches.set_distance(0, 2 * 512 * 512);  // a right angle
  pair.matches.set_distance(1, 0);
  auto store = Open(FeatureFormat::kHdf5);
  for (const char* const name : {"a.png", "b.png"}) {
    ASSERT_TRUE(store->PutFeatures(name, features).ok());
  }
  ASSERT_TRUE(store->PutMatches(pair).ok());
  ASSERT_TRUE(store->Publish().ok());
  const std::string path = folder_ / "out/features.h5";
  std::vector<hsize_t> shape;
  EXPECT_THAT(ReadArray<uint32_t>(path, "a.png/layers", H5T_NATIVE_UINT32, &shape),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(ReadArray<uint32_t>(path, "a.png/layer_fractions", H5T_NATIVE_UINT32, &shape),
              ElementsAre(85, 170, 255));
  EXPECT_THAT(ReadArray<float>(folder_ / "out/matches.h5", "a.png/b.png/matching_scores0",
                               H5T_NATIVE_FLOAT, &shape),
              ElementsAre(0.5f, 0, 1));
}

TEST_F(FeatureStoreTest, DescriptorsOfSiftHaveUnitLengthForHloc) {
  v1::FeatureSet features = Features(3, 0, 128);
  features.set_descriptor_type(v1::DESCRIPTOR_TYPE_L1_ROOT_SIFT);
  std::string bytes(3 * 128, '\0');  // the third feature has no gradients
  bytes[0] = 3;
  bytes[127] = 4;
  bytes[128 + 1] = static_cast<char>(255);
  features.set_descriptors(bytes);
  auto store = Open(FeatureFormat::kHdf5);
  ASSERT_TRUE(store->PutFeatures("a.png", features).ok());
  ASSERT_TRUE(store->Publish().ok());
  std::vector<hsize_t> shape;
  const auto descriptors =
      ReadArray<float>(folder_ / "out/features.h5", "a.png/descriptors", H5T_NATIVE_FLOAT, &shape);
  EXPECT_THAT(shape, ElementsAre(128, 3));
  EXPECT_EQ(descriptors[0], 0.6f);
  EXPECT_EQ(descriptors[3 * 127], 0.8f);
  EXPECT_EQ(descriptors[3 + 1], 1.0f);
  EXPECT_EQ(descriptors[2], 0.0f);
}

TEST_F(FeatureStoreTest, ColmapPutsTheSmallerNumberFirst) {
  auto store = Open(FeatureFormat::kColmap);
  ASSERT_TRUE(store->PutFeatures("a.png", Features(3)).ok());
  ASSERT_TRUE(store->PutFeatures("b.png", Features(3)).ok());
  ASSERT_TRUE(store->PutMatches(Pair("b.png", "a.png", true)).ok());
  EXPECT_FALSE(store->PutMatches(Pair("b.png", "none.png", true)).ok());
  ASSERT_TRUE(store->Publish().ok());
  EXPECT_THAT(Blob<uint32_t>("SELECT data FROM matches"), ElementsAre(1, 0, 0, 2));
  const auto f = Blob<double>("SELECT F FROM two_view_geometries");
  EXPECT_EQ(f[1], 4);  // transposed
}

TEST_F(FeatureStoreTest, EqualRunsGiveEqualBytesAndAnUnfinishedOneNone) {
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    const std::string path = FeatureStorePath(format, {.folder = Folder()});
    std::string first;
    for (int run = 0; run < 2; ++run) {
      auto store = Open(format);
      Fill(store.get());
      ASSERT_TRUE(store->Publish().ok());
      if (run == 0) first = TemporaryFolder::Read(path);
      EXPECT_EQ(TemporaryFolder::Read(path), first);
    }
    { Fill(Open(format).get()); }
    EXPECT_EQ(TemporaryFolder::Read(path), first);
    std::filesystem::remove_all(Folder());
    { Fill(Open(format).get()); }
    EXPECT_TRUE(std::filesystem::is_empty(Folder()));
  }
}

TEST_F(FeatureStoreTest, AKeptStoreGrows) {
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    {
      auto store = Open(format);
      ASSERT_TRUE(store->PutFeatures("in/b.png", Features(3)).ok());
      ASSERT_TRUE(store->Publish().ok());
    }
    auto store = Open(format, /*keep=*/true);
    EXPECT_TRUE(store->HasFeatures("in/b.png"));
    EXPECT_FALSE(store->HasFeatures("in/c.png"));
    EXPECT_FALSE(store->HasFeatures("other/b.png"));
    ASSERT_TRUE(store->PutFeatures("in/b.png", Features(1)).ok());
    ASSERT_TRUE(store->PutFeatures("in/c.png", Features(2)).ok());
    ASSERT_TRUE(store->Publish().ok());
  }
  std::vector<hsize_t> shape;
  ReadArray<float>(folder_ / "out/features.h5", "in/b.png/keypoints", H5T_NATIVE_FLOAT, &shape);
  EXPECT_THAT(shape, ElementsAre(1, 2));
  EXPECT_THAT(Rows("SELECT rows || '' FROM keypoints ORDER BY image_id"), ElementsAre("1", "2"));
  EXPECT_THAT(Rows("SELECT COUNT(*) || '' FROM cameras"), ElementsAre("1"));
}

// Matches name rows of the features. They go when the features change.
TEST_F(FeatureStoreTest, NewFeaturesRemoveTheMatchesOfTheOldOnes) {
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    {
      auto store = Open(format);
      for (const char* name : {"a.png", "in/b.png", "c.png"}) {
        ASSERT_TRUE(store->PutFeatures(name, Features(3)).ok());
      }
      EXPECT_FALSE(store->HasMatches("a.png", "in/b.png"));
      ASSERT_TRUE(store->PutMatches(Pair("a.png", "in/b.png", true)).ok());
      ASSERT_TRUE(store->PutMatches(Pair("a.png", "c.png", true)).ok());
      ASSERT_TRUE(store->PutMatches(Pair("in/b.png", "c.png", true)).ok());
      ASSERT_TRUE(store->Publish().ok());
    }
    auto store = Open(format, /*keep=*/true);
    EXPECT_TRUE(store->HasMatches("a.png", "in/b.png"));
    EXPECT_FALSE(store->HasMatches("a.png", "d.png"));
    ASSERT_TRUE(store->PutFeatures("in/b.png", Features(2)).ok());
    EXPECT_FALSE(store->HasMatches("a.png", "in/b.png"));
    EXPECT_TRUE(store->HasMatches("a.png", "c.png"));
    EXPECT_FALSE(store->HasMatches("in/b.png", "c.png"));
    ASSERT_TRUE(store->PutMatches(Pair("a.png", "c.png", false)).ok());
    ASSERT_TRUE(store->Publish().ok());
  }
  // Matches without a check have no geometry, also in place of those that had one.
  EXPECT_THAT(Rows("SELECT COUNT(*) || '' FROM matches"), ElementsAre("1"));
  EXPECT_THAT(Rows("SELECT pair_id FROM two_view_geometries"), IsEmpty());
  std::vector<hsize_t> shape;
  EXPECT_THAT(ReadArray<int32_t>(folder_ / "out/matches.h5", "a.png/c.png/matches0",
                                 H5T_NATIVE_INT32, &shape),
              ElementsAre(1, -1, 0));
}

TEST_F(FeatureStoreTest, AKnownCameraIsThatOfNewAndOfKeptImages) {
  const std::string query = "SELECT params FROM cameras WHERE camera_id = ";
  {
    auto store = Open(FeatureFormat::kColmap);
    Fill(store.get());
    ASSERT_TRUE(store->Publish().ok());
  }
  EXPECT_THAT(Rows("SELECT DISTINCT prior_focal_length || '' FROM cameras"), ElementsAre("0"));
  const auto open = [&](const ColmapCamera& camera) {
    return OpenFeatureStore(FeatureFormat::kColmap,
                            {.folder = Folder(), .keep = true, .camera = camera});
  };
  auto store = open({.model = 1, .params = {700, 701, 320.5, 240.5}});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->PutFeatures("new/c.png", Features(1)).ok());
  v1::FeatureSet small = Features(1);
  small.set_image_width_px(320);
  const absl::Status other_size = (*store)->PutFeatures("d.png", small);
  EXPECT_THAT(std::string(other_size.message()), HasSubstr("d.png has 320x480"));
  ASSERT_TRUE((*store)->Publish().ok());
  EXPECT_THAT(Rows("SELECT model || ' ' || prior_focal_length FROM cameras"),
              ElementsAre("1 1", "1 1", "1 1"));
  for (const char* camera : {"1", "2", "3"}) {
    EXPECT_THAT(Blob<double>(query + camera), ElementsAre(700, 701, 320.5, 240.5));
  }
  // A focal length holds for images of all sizes.
  store = open({.focal_px = 500});
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->PutFeatures("d.png", small).ok());
  ASSERT_TRUE((*store)->Publish().ok());
  EXPECT_THAT(Blob<double>(query + "1"), ElementsAre(500, 320, 240, 0));
  EXPECT_THAT(Blob<double>(query + "4"), ElementsAre(500, 160, 240, 0));
  const auto refused = open({.model = 0, .params = {500, 320, 240}});
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("images of one size"));
}

TEST_F(FeatureStoreTest, ImagesWithoutFeaturesAreKept) {
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    auto store = Open(format);
    ASSERT_TRUE(store->PutFeatures("a.png", Features(0)).ok());
    ASSERT_TRUE(store->PutFeatures("b.png", Features(0)).ok());
    ASSERT_TRUE(store->PutMatches({.query = "a.png", .train = "b.png"}).ok());
    ASSERT_TRUE(store->Publish().ok());
  }
  EXPECT_THAT(Rows("SELECT pair_id FROM two_view_geometries"), IsEmpty());
}

TEST_F(FeatureStoreTest, AFileOfAnotherKindIsRefused) {
  folder_.Write("out/features.h5", "no HDF5");
  folder_.Write("out/database.db", "no database at all, but long enough to have a header");
  for (const FeatureFormat format : {FeatureFormat::kHdf5, FeatureFormat::kColmap}) {
    const auto store = OpenFeatureStore(format, {.folder = Folder(), .keep = true});
    ASSERT_FALSE(store.ok());
    EXPECT_THAT(std::string(store.status().message()),
                HasSubstr(FeatureStorePath(format, {.folder = Folder()})));
  }
}

TEST(FeatureStorePath, ShardsHaveFilesOfTheirOwn) {
  EXPECT_EQ(FeatureStorePath(FeatureFormat::kHdf5, {.folder = "out"}), "out/features.h5");
  EXPECT_EQ(FeatureStorePath(FeatureFormat::kColmap, {.folder = "out", .shard = {1, 4}}),
            "out/database.1-of-4.db");
}

}  // namespace
}  // namespace orbserve::cli
