// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Takes the place of hdf5_store.cc in a build without HDF5.

#include "client/cli/output/files/feature_store.h"

namespace orbserve::cli {

absl::StatusOr<std::unique_ptr<FeatureStore>> OpenHdf5Store(const StorePlace&) {
  return absl::UnimplementedError(
      "--format hdf5: this program was built without HDF5 (ORBSERVE_HDF5=OFF)");
}

}  // namespace orbserve::cli
