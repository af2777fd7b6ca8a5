// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The text that `orbserve extract` writes to standard output for its images.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_LISTING_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_LISTING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/cli/images/inputs.h"
#include "client/cli/output/files/feature_files.h"
#include "client/cli/output/timing_summary.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

class ExtractListing {
 public:
  enum class Kind { kNothing, kTable, kJson, kFeatures };

  // `format`: of the features that kFeatures writes. `files`: every image, for the width of the
  // table. `with_energy`: the table has a column of it.
  ExtractListing(Kind kind, FeatureFormat format, absl::Span<const InputFile> files,
                 bool with_energy);

  Kind kind() const { return kind_; }

  // Line of column names; empty if the listing has none.
  std::string Heading() const;

  // Text for one image. `output`, `overlay`: files written for it, may be empty.
  std::string Row(const InputFile& file, const v1::ExtractResponse& response,
                  const std::string& output, const std::string& overlay) const;

  // Text for the summary of all images, to follow the last row.
  std::string TimingRows(const TimingSummary& timings) const;

  // Text for an image that failed; empty except in JSON.
  std::string ErrorRow(const InputFile& file, const absl::Status& error) const;

 private:
  std::string TableRow(const InputFile& file, const v1::ExtractResponse& response) const;

  const Kind kind_;
  const FeatureFormat format_;
  const bool with_energy_;
  int name_columns_ = 5;  // width of the table's first column, at least that of its name
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_EXTRACT_LISTING_H_
