// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve stream: one thread reads and sends frames, the calling thread receives results.

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/frame_sender.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/commands/stream_listing.h"
#include "client/cli/commands/stream_results.h"
#include "client/cli/exit_code.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

constexpr int kMaxReferences = 16;
constexpr absl::Duration kPoll = absl::Milliseconds(50);
// Time that an interrupted stream waits for the results of the frames it has sent.
constexpr absl::Duration kInterruptGrace = absl::Seconds(3);

// Cancels a stream whose server does not answer after an interrupt. FrameStream::Receive does not
// notice interrupts.
class CancelOnInterrupt {
 public:
  explicit CancelOnInterrupt(client::FrameStream* stream)
      : thread_([this, stream] {
          absl::MutexLock lock(&mutex_);
          absl::Time give_up = absl::InfiniteFuture();
          while (!mutex_.AwaitWithTimeout(absl::Condition(&done_), kPoll)) {
            if (!Interrupted()) continue;
            if (give_up == absl::InfiniteFuture()) give_up = absl::Now() + kInterruptGrace;
            if (absl::Now() < give_up) continue;
            stream->Cancel();
            return;
          }
        }) {}

  ~CancelOnInterrupt() {
    {
      absl::MutexLock lock(&mutex_);
      done_ = true;
    }
    thread_.join();
  }

 private:
  absl::Mutex mutex_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

absl::StatusOr<v1::StreamOpen> MakeOpen(const StreamOptions& options, const RequestSetup& setup) {
  if (options.track) {
    return absl::UnimplementedError("--track: tracks are not available in this version");
  }
  if (options.references.size() > kMaxReferences) {
    return absl::InvalidArgumentError(absl::StrCat("--reference can be given up to ",
                                                   kMaxReferences, " times; got ",
                                                   options.references.size()));
  }
  v1::StreamOpen open;
  *open.mutable_pipeline() = setup.pipeline;
  for (const std::string& reference : options.references) open.add_references(reference);
  return open;
}

// Decides whether frames are matched with the frame before: they are if the pipeline has
// descriptors. INVALID_ARGUMENT when it has none and options ask for matches.
absl::Status SetMatching(const StreamOptions& options, const RequestSetup& setup,
                         const v1::GetServerInfoResponse& server, v1::StreamOpen* open) {
  const v1::Pipeline pipeline = EffectivePipeline(setup.pipeline, server);
  const bool has_descriptors = pipeline.describe().descriptor_type() != v1::DESCRIPTOR_TYPE_NONE;
  open->set_match_previous(has_descriptors);
  if (has_descriptors) return absl::OkStatus();
  const std::string asked = options.references.empty()
                                ? MatchingFlagOf(setup.flags)
                                : absl::StrCat("--reference ", options.references[0]);
  if (asked.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(asked, " needs descriptors to match, and describe.descriptor_type is NONE"));
}

int ExitCodeFor(Console* console, const absl::Status& ended, const StreamTotals& totals,
                int64_t left_out) {
  if (Interrupted()) {
    console->Error("interrupted; finished outputs are kept");
    return kExitInterrupted;
  }
  if (!ended.ok()) {
    console->Error(absl::StrCat("the stream has ended early: ", ErrorText(ended)));
    return ended.code() == absl::StatusCode::kUnavailable ? kExitUnreachable : kExitFailed;
  }
  return totals.failed + totals.unmatched + left_out > 0 ? kExitFailed : kExitOk;
}

std::string Summary(const StreamTotals& totals, bool matches, int64_t left_out,
                    absl::Duration duration) {
  const double seconds = absl::ToDoubleSeconds(duration);
  std::string matched = "no descriptors to match";
  if (matches) {
    matched = absl::StrCat(totals.matched, " with matches to the frame before");
    if (totals.unmatched > 0) {
      absl::StrAppend(&matched, ", ", totals.unmatched, " with failed matches");
    }
  }
  return absl::StrFormat("%d frames, %s, %d failed, %.2f s, %.1f frames a second", totals.done,
                         matched, totals.failed + left_out, seconds,
                         static_cast<double>(totals.done) / std::max(seconds, 1e-9));
}

}  // namespace

int RunStream(const StreamOptions& given) {
  StreamOptions options = given;
  Console console(options.common.quiet);
  // References are kept by servers only.
  if (!options.references.empty() && options.common.server.empty()) {
    options.common.server = kDefaultServer;
  }
  const absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return Fail(&console, setup.status());
  absl::StatusOr<v1::StreamOpen> open = MakeOpen(options, *setup);
  if (!open.ok()) return Fail(&console, open.status());
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status accepted = CheckRequestSetup(*setup, engine->get());
  if (!accepted.ok()) return Fail(&console, accepted);
  const absl::Status matching = SetMatching(options, *setup, (*engine)->info(), &*open);
  if (!matching.ok()) return Fail(&console, matching);
  const absl::StatusOr<std::unique_ptr<FrameSource>> source =
      OpenFrameSource(options.source, (*engine)->picture_limits(), options.draw_folder);
  if (!source.ok()) return Fail(&console, source.status());
  if (!options.draw_folder.empty()) {
    const absl::Status kept = CheckNoInputDrawnOver((*source)->files(), options.draw_folder);
    if (!kept.ok()) return Fail(&console, kept);
  }

  CatchInterrupts();
  const absl::StatusOr<std::unique_ptr<client::FrameStream>> stream =
      (*engine)->client()->OpenStream(*open);
  if (!stream.ok()) return Fail(&console, stream.status());

  const absl::Time start = absl::Now();
  const StreamListing listing(
      options.common.json ? StreamListing::Kind::kJson : StreamListing::Kind::kTable,
      options.references, HasPowerSource((*engine)->info()));
  StreamResults results(&listing, options.draw_folder,
                        static_cast<int64_t>((*source)->files().size()), &console);
  absl::Status ended;
  int64_t left_out = 0;
  {
    const CancelOnInterrupt guard(stream->get());
    FrameSender sender(source->get(), stream->get(), &*setup, &(*engine)->info().limits(),
                       options.fps, &console);
    for (;;) {
      absl::StatusOr<std::optional<v1::FrameResult>> result = (*stream)->Receive();
      if (!result.ok()) ended = result.status();
      if (!result.ok() || !result->has_value()) break;
      std::optional<FrameSender::Sent> sent = sender.TakeOldest();
      if (!sent.has_value()) {
        ended = absl::InternalError("the server has answered more frames than were sent");
        (*stream)->Cancel();
        break;
      }
      results.Take(*sent, **std::move(result));
    }
    if (!ended.ok()) (*stream)->Cancel();
    left_out = sender.left_out();
  }
  console.EndProgress();
  console.Note(Summary(results.totals(), open->match_previous(), left_out, absl::Now() - start));
  return ExitCodeFor(&console, ended, results.totals(), left_out);
}

}  // namespace orbserve::cli
