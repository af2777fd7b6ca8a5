// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve stream: one thread reads and sends frames, the calling thread receives results.

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/commands/frame_sender.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/commands/stream_listing.h"
#include "client/cli/commands/stream_open.h"
#include "client/cli/commands/stream_results.h"
#include "client/cli/exit_code.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/drawing/stream_pictures.h"
#include "client/cli/output/output_names.h"
#include "client/cli/output/table_cells.h"

namespace orbserve::cli {
namespace {

// Time to leave a server that does not answer after an interrupt. Results that have come by then
// are too many to be drawn in time.
class Patience {
 public:
  bool is_over() {
    if (!Interrupted()) return false;
    if (!end_.has_value())
      end_ = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(kInterruptGrace);
    return std::chrono::steady_clock::now() >= *end_;
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

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
  if (totals.failed + totals.lost + totals.unmatched + left_out > 0) return kExitFailed;
  // Frames that are dropped or late were asked for by options, but not all of them.
  return totals.done == 0 && totals.answered() > 0 ? kExitFailed : kExitOk;
}

std::string Summary(const StreamResults& results, const v1::StreamOpen& open, int64_t left_out,
                    int64_t lost_by_camera, absl::Duration duration) {
  StreamTotals totals = results.totals();
  const double seconds = absl::ToDoubleSeconds(duration);
  std::string text = absl::StrCat(totals.done, " frames");
  if (open.match_previous()) {
    absl::StrAppend(&text, ", ", totals.matched, " with matches to the frame before");
    if (totals.unmatched > 0)
      absl::StrAppend(&text, ", ", totals.unmatched, " with failed matches");
  } else if (!open.track()) {
    absl::StrAppend(&text, ", no descriptors to match");
  }
  if (open.track()) absl::StrAppendFormat(&text, ", %.1f tracks on average", results.mean_tracks());
  absl::StrAppend(&text, ", ", totals.failed + left_out, " failed");
  totals.failed = 0;
  absl::StrAppend(&text, NotDone(totals));
  if (lost_by_camera > 0) absl::StrAppend(&text, ", ", lost_by_camera, " dropped by the camera");
  if (totals.reconnected > 0) absl::StrAppend(&text, ", connected again ", totals.reconnected, "x");
  absl::StrAppendFormat(&text, ", %.2f s, %.1f frames a second", seconds,
                        static_cast<double>(totals.done) / std::max(seconds, 1e-9));
  return text;
}

// Checks that no drawing takes the place of an input.
absl::Status CheckDrawing(const StreamOptions& options, const FrameSource& source) {
  if (options.draw.empty()) return absl::OkStatus();
  std::vector<std::string> inputs = {options.source.empty() ? options.photo : options.source};
  if (!options.image.mask_file.empty()) inputs.push_back(options.image.mask_file);
  if (!StreamPictures::IsVideo(options.draw)) {
    if (absl::Status name = CheckPictureFolder(options.draw); !name.ok()) return name;
    return CheckNoInputDrawnOver(source.files(), inputs, options.draw);
  }
  for (const InputFile& file : source.files()) inputs.push_back(file.path);
  return CheckNoInputReplaced(inputs, {options.draw});
}

// The parts of a stream that exist before it is opened.
struct Prepared {
  RequestSetup setup;
  v1::StreamOpen open;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<FrameSource> source;
};

absl::StatusOr<Prepared> Prepare(const StreamOptions& options, absl::Duration reconnect_for,
                                 Console* console) {
  Prepared prepared;
  if (absl::Status checked = CheckStreamOptions(options); !checked.ok()) return checked;
  const absl::StatusOr<FrameSourceOptions> source_options = SourceOptionsOf(options);
  if (!source_options.ok()) return source_options.status();
  absl::StatusOr<RequestSetup> setup = ReadRequestSetup(options.image);
  if (!setup.ok()) return setup.status();
  prepared.setup = *std::move(setup);
  absl::StatusOr<std::unique_ptr<Engine>> engine =
      Engine::Start(options.common, reconnect_for, [&](const absl::Status& reason) {
        console->Note(absl::StrCat("trying for ", absl::FormatDuration(reconnect_for), ": ",
                                   ErrorText(reason)));
      });
  if (!engine.ok()) return engine.status();
  prepared.engine = *std::move(engine);
  const absl::Status accepted = CheckRequestSetup(prepared.setup, prepared.engine.get());
  if (!accepted.ok()) return accepted;
  absl::StatusOr<v1::StreamOpen> open =
      MakeStreamOpen(options, prepared.setup, prepared.engine->info());
  if (!open.ok()) return open.status();
  prepared.open = *std::move(open);
  absl::StatusOr<std::unique_ptr<FrameSource>> source =
      OpenFrameSource(*source_options, prepared.engine->picture_limits());
  if (!source.ok()) return source.status();
  prepared.source = *std::move(source);
  if (absl::Status drawing = CheckDrawing(options, *prepared.source); !drawing.ok()) return drawing;
  return prepared;
}

// Number of items that the source will give; 0 if it is not known.
int64_t CountOf(const StreamOptions& options, const FrameSource& source) {
  if (source.count() == 0 || options.frames == 0) return std::max(source.count(), options.frames);
  return std::min(source.count(), options.frames);
}

}  // namespace

int RunStream(const StreamOptions& given) {
  StreamOptions options = given;
  CompleteStreamOptions(&options);
  Console console(options.common.quiet);
  const absl::Duration reconnect_for =
      options.common.server.empty()
          ? absl::ZeroDuration()
          : absl::Seconds(options.reconnect_s.value_or(kReconnectSeconds));
  absl::StatusOr<Prepared> prepared = Prepare(options, reconnect_for, &console);
  if (!prepared.ok()) return Fail(&console, prepared.status());
  Engine* const engine = prepared->engine.get();
  FrameSource* const source = prepared->source.get();

  const StreamListing listing(
      options.common.json ? StreamListing::Kind::kJson : StreamListing::Kind::kTable,
      {.references = options.references,
       .keyframes = options.match_keyframe,
       .tracks = options.track,
       .truth = !options.photo.empty(),
       .energy = HasPowerSource(engine->info()),
       .matches = options.matches});
  std::unique_ptr<StreamPictures> pictures;
  if (!options.draw.empty()) {
    pictures = StreamPictures::Make(options.draw, options.fps > 0 ? options.fps : source->fps());
  }

  StreamResults* taker = nullptr;  // of events, which come with results only
  const absl::StatusOr<std::unique_ptr<client::FrameStream>> stream = engine->client()->OpenStream(
      prepared->open,
      {.reconnect_for = reconnect_for,
       .jpeg_age = absl::Seconds(options.jpeg_age_s.value_or(0)),
       .on_event = [&taker](const client::StreamEvent& event) { taker->Take(event); }});
  if (!stream.ok()) return Fail(&console, stream.status());
  if (const client::LinkState link = (*stream)->link(); link.limits) {
    console.Note(absl::StrFormat("the link limits: its way there and back takes %.1f ms",
                                 absl::ToDoubleMilliseconds(link.way)));
  }
  // An opening cannot be interrupted. Until here a signal ends the process, which has no outputs.
  CatchInterrupts();

  const absl::Time start = absl::Now();
  StreamResults results(&listing, pictures.get(), options.track, CountOf(options, *source),
                        &console);
  taker = &results;
  absl::Status ended;
  int64_t left_out = 0;
  int64_t lost_by_camera = 0;
  {
    Patience patience;
    FrameSender sender(source, stream->get(), &prepared->setup, &engine->info().limits(),
                       options.fps, options.frames, &console);
    for (;;) {
      if (patience.is_over()) {
        ended = absl::CancelledError("interrupted");
        break;
      }
      client::FrameTimes times;
      absl::StatusOr<std::optional<v1::FrameResult>> result;
      if (!(*stream)->Receive(kInterruptPoll, &result, &times)) continue;
      if (!result.ok()) ended = result.status();
      if (!result.ok() || !result->has_value()) break;
      std::optional<FrameSender::Sent> sent = sender.TakeOldest();
      if (!sent.has_value()) {
        ended = absl::InternalError("the server has answered more frames than were sent");
        (*stream)->Cancel();
        break;
      }
      results.Take(*sent, **std::move(result), times, (*stream)->link());
    }
    if (!ended.ok()) (*stream)->Cancel();
    left_out = sender.left_out();
    lost_by_camera = sender.lost_by_camera();
  }
  console.EndProgress();
  if (pictures != nullptr) {
    if (const absl::Status drawn = pictures->Finish(); !drawn.ok()) {
      console.Error(ErrorText(drawn));
      ++left_out;
    }
  }
  console.Note(Summary(results, prepared->open, left_out, lost_by_camera, absl::Now() - start));
  return ExitCodeFor(&console, ended, results.totals(), left_out);
}

}  // namespace orbserve::cli
