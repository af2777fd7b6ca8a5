// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Features and matches of a whole run in files that other programs read: HDF5 in the layout of
// hloc, or a COLMAP database. docs/formats.md describes both. Nothing is seen under its name before
// Publish(), and equal runs give equal bytes.

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_STORE_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_STORE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/geometry/fundamental_matrix.h"
#include "client/cli/images/shard.h"
#include "client/cli/output/files/colmap_camera.h"
#include "client/cli/output/files/feature_files.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Matches of two images, of which both have features in the store.
struct MatchedPair {
  std::string query;
  std::string train;
  v1::MatchSet matches;
  bool verify = false;                        // a geometric check was asked for
  std::optional<FundamentalMatrix> geometry;  // its result; none if the check found no geometry
};

// True if the match `i` of `pair` passed every check that was asked for.
bool Survives(const MatchedPair& pair, int i);

// One thread at a time.
class FeatureStore {
 public:
  virtual ~FeatureStore() = default;

  // True if an earlier run has put features for the image called `image` into the store.
  virtual bool HasFeatures(const std::string& image) const = 0;
  // Adds the features of an image, or replaces those of an earlier run. The matches of that run
  // name rows of the features that are replaced: they are removed.
  virtual absl::Status PutFeatures(const std::string& image, const v1::FeatureSet& features) = 0;
  // True if an earlier run has put matches for the pair into the store.
  virtual bool HasMatches(const std::string& query, const std::string& train) const = 0;
  // Adds or replaces the matches of a pair.
  virtual absl::Status PutMatches(const MatchedPair& pair) = 0;
  // Gives the files their names. Called once, at the end.
  virtual absl::Status Publish() = 0;
};

// Place of a store.
struct StorePlace {
  std::string folder;
  Shard shard;        // shards of a run may share the folder: each has a file of its own
  bool keep = false;  // go on with the content of an earlier run
  ColmapCamera camera = {};
};

// Path of the file that keeps the features, of `format` kHdf5 or kColmap: "features.h5" or
// "database.db", and "features.0-of-4.h5" for a shard.
std::string FeatureStorePath(FeatureFormat format, const StorePlace& place);

// Creates the store of `format`. UNIMPLEMENTED: this program was built without the library of the
// format.
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenFeatureStore(FeatureFormat format,
                                                               const StorePlace& place);

// One for each format; OpenFeatureStore() chooses.
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenHdf5Store(const StorePlace& place);
absl::StatusOr<std::unique_ptr<FeatureStore>> OpenColmapStore(const StorePlace& place);

// Removes a folder of parts that a store was made of. The folder loses its name first: a run that
// is killed meanwhile leaves all parts or none.
void RemoveParts(const std::string& folder);

// Path of the file called `name` + `ending` in the place.
std::string PathInStore(const StorePlace& place, const char* name, const char* ending);

// A file that a library writes by its name, and that gets its own name when it is whole.
class StoreFile {
 public:
  // Creates missing folders, and removes what killed processes have left of the file. `keep`:
  // begins as a copy of the file `path`, if there is one.
  static absl::StatusOr<std::unique_ptr<StoreFile>> Create(const std::string& path, bool keep);
  // Removes the file unless Publish() succeeded.
  ~StoreFile();
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;

  const std::string& path() const { return path_; }        // when whole
  const std::string& working() const { return working_; }  // until then
  bool kept() const { return kept_; }                      // it began as a copy

  absl::Status Publish();

 private:
  StoreFile(std::string path, std::string working);

  const std::string path_;
  const std::string working_;
  bool kept_ = false;
  bool published_ = false;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_FILES_FEATURE_STORE_H_
