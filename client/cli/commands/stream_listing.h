// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The text that `orbserve stream` writes to standard output for its frames.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_

#include <string>
#include <vector>

#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

class StreamListing {
 public:
  enum class Kind { kTable, kJson };

  // `references`: names that the stream matches with; the table has a column for each.
  // `with_energy`: the table has a column of it.
  StreamListing(Kind kind, std::vector<std::string> references, bool with_energy);

  Kind kind() const { return kind_; }

  // Line of column names; empty for JSON.
  std::string Heading() const;

  // Text for one frame. `overlay`: picture written for it, may be empty. The table has no row for a
  // frame that failed.
  std::string Row(const std::string& name, const v1::FrameResult& result,
                  const std::string& overlay) const;

 private:
  std::string TableRow(const std::string& name, const v1::FrameResult& result) const;

  const Kind kind_;
  const std::vector<std::string> references_;
  const bool with_energy_;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_STREAM_LISTING_H_
