// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Takes the place of colmap_store.cc in a build without SQLite.

#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenColmapStore(const StorePlace&) {
  return absl::UnimplementedError(
      "--format colmap: this program was built without SQLite (ORBSERVE_SQLITE=OFF)");
}

}  // namespace orbserve::cli
