// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CONTACT_SHEET_H_
#define ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CONTACT_SHEET_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "client/cli/images/picture.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// One HTML page with a small picture of every image of a run and its features. The page has
// everything in it and runs no scripts. Keeps about 20 KiB of each image. Thread-safe.
class ContactSheet {
 public:
  // Adds an image. `answer_ms`: time of its answer.
  absl::Status Add(const std::string& name, const Picture& picture, const v1::FeatureSet& features,
                   double answer_ms);

  // Returns the page, with the images in the order of `names`. Images that were not added are
  // listed as failed.
  std::string Page(absl::Span<const std::string> names) const;

 private:
  struct Entry {
    std::string jpeg;
    int features = 0;
    int width_px = 0;  // of the image
    int height_px = 0;
    double answer_ms = 0;
  };

  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

// Returns `picture` with its longer side at most `side_px` long: each pixel is the mean of the
// pixels that it replaces.
Picture Smaller(const Picture& picture, int side_px);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OUTPUT_DRAWING_CONTACT_SHEET_H_
