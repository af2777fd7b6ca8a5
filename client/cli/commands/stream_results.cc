// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/stream_results.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/failure.h"
#include "client/cli/file_io.h"
#include "client/cli/images/png_file.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/overlay.h"
#include "client/cli/output/standard_output.h"
#include "orbserve/client.h"

namespace orbserve::cli {

StreamResults::StreamResults(const StreamListing* listing, std::string draw_folder,
                             int64_t frame_count, Console* console)
    : listing_(listing), draw_folder_(std::move(draw_folder)), console_(console) {
  PrintText(listing_->Heading());
  // Rows of a table show the progress already.
  if (listing_->kind() == StreamListing::Kind::kJson && frame_count > 0) {
    console_->StartProgress(frame_count, "frames");
  }
}

void StreamResults::Take(const FrameSender::Sent& sent, v1::FrameResult result) {
  if (const absl::Status status = client::StatusFromWire(result.status()); !status.ok()) {
    Fail(sent, status);
    PrintText(listing_->Row(sent.name, result, ""));
    console_->Progress(totals_.done + totals_.failed, totals_.failed);
    return;
  }
  const v1::FrameMatches* previous = CheckMatches(sent, result);
  std::string overlay;
  if (sent.picture.has_value()) {
    absl::StatusOr<std::string> drawn = Draw(sent, result, previous);
    if (!drawn.ok()) {
      Fail(sent, drawn.status());
      previous_ = std::move(*result.mutable_features());
      return;
    }
    overlay = *std::move(drawn);
  }
  ++totals_.done;
  if (previous != nullptr) ++totals_.matched;
  PrintText(listing_->Row(sent.name, result, overlay));
  // People and programs follow a stream while it runs.
  std::fflush(stdout);
  console_->Progress(totals_.done + totals_.failed, totals_.failed);
  previous_ = std::move(*result.mutable_features());
}

void StreamResults::Fail(const FrameSender::Sent& sent, const absl::Status& error) {
  ++totals_.failed;
  console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": ", ErrorText(error)));
}

const v1::FrameMatches* StreamResults::CheckMatches(const FrameSender::Sent& sent,
                                                    const v1::FrameResult& result) {
  const v1::FrameMatches* previous = nullptr;
  bool any_failed = false;
  for (const v1::FrameMatches& matches : result.matches()) {
    if (matches.status().code() == 0) {
      if (matches.target() == v1::MATCH_TARGET_PREVIOUS) previous = &matches;
      continue;
    }
    any_failed = true;
    const std::string target = matches.target() == v1::MATCH_TARGET_REFERENCE
                                   ? absl::StrCat("reference ", matches.reference())
                                   : std::string("the frame before");
    if (!reported_.insert(target).second) continue;
    console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": no matches with ", target, ": ",
                                 ErrorText(client::StatusFromWire(matches.status()))));
  }
  if (any_failed) ++totals_.unmatched;
  return previous;
}

absl::StatusOr<std::string> StreamResults::Draw(const FrameSender::Sent& sent,
                                                const v1::FrameResult& result,
                                                const v1::FrameMatches* previous) const {
  const Picture picture = previous == nullptr ? DrawFeatures(*sent.picture, result.features())
                                              : DrawMotion(*sent.picture, result.features(),
                                                           previous_, previous->matches());
  const absl::StatusOr<std::string> png = EncodePng(picture);
  if (!png.ok()) return png.status();
  const std::string path = PicturePath(draw_folder_, sent.name);
  if (absl::Status status = WriteFile(path, *png); !status.ok()) return status;
  return path;
}

}  // namespace orbserve::cli
