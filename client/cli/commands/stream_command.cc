// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve stream: one thread reads and sends frames, the calling thread receives results.

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cli/commands/command_support.h"
#include "client/cli/exit_code.h"
#include "client/cli/images/frame_source.h"
#include "client/cli/images/image_file.h"
#include "client/cli/images/inputs.h"
#include "client/cli/images/png_file.h"
#include "client/cli/interrupt.h"
#include "client/cli/output/overlay.h"

namespace orbserve::cli {
namespace {

constexpr int kMaxReferences = 16;
constexpr absl::Duration kPoll = absl::Milliseconds(50);
// How long an interrupted stream waits for the results of what it has sent.
constexpr absl::Duration kInterruptGrace = absl::Seconds(3);
constexpr double kNsPerSecond = 1e9;
constexpr int kCountColumns = 8;  // of the table

struct StreamTotals {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t matched = 0;    // frames with matches to the frame before
  int64_t unmatched = 0;  // frames with features of which a match failed
};

// Sends the frames of a source at their pace, on a thread of its own.
class Sender {
 public:
  // What has been sent and not been answered.
  struct Sent {
    std::string name;
    std::optional<Picture> picture;
  };

  // Everything outlives the sender. `fps` 0: as fast as the stream takes them. A frame over
  // `limits` fails alone, where gRPC would end the stream.
  Sender(FrameSource* source, client::FrameStream* stream, const ImageSetup* setup,
         const v1::ServerLimits* limits, double fps, Console* console)
      : source_(source),
        stream_(stream),
        setup_(setup),
        limits_(limits),
        fps_(fps),
        console_(console),
        thread_([this] { Loop(); }) {}

  // Ends sending first, so that the thread ends; a stream that holds it back must be cancelled.
  ~Sender() {
    source_->Stop();
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    thread_.join();
  }

  // The oldest unanswered frame. Results come in the order of the frames, so that there is one.
  std::optional<Sent> TakeOldest() {
    absl::MutexLock lock(&mutex_);
    if (sent_.empty()) return std::nullopt;
    Sent oldest = std::move(sent_.front());
    sent_.pop_front();
    return oldest;
  }

  // Frames that could not be read, or not be sent.
  int64_t unreadable() {
    absl::MutexLock lock(&mutex_);
    return unreadable_;
  }

 private:
  // Until the frame's turn; false when the command is to stop.
  bool WaitForTurn(absl::Time turn) {
    absl::MutexLock lock(&mutex_);
    while (!stop_ && !Interrupted()) {
      const absl::Duration left = turn - absl::Now();
      if (left <= absl::ZeroDuration()) return true;
      mutex_.AwaitWithTimeout(absl::Condition(&stop_), std::min(left, kPoll));
    }
    return false;
  }

  void Loop() {
    const absl::Time start = absl::Now();
    uint64_t sequence = 0;
    for (int64_t index = 0;; ++index) {
      std::optional<FrameSource::Item> item = source_->Next();
      if (!item.has_value()) break;
      if (!item->frame.ok()) {
        LeaveOut(item->name, item->frame.status());
        continue;
      }
      const double seconds = fps_ > 0 ? static_cast<double>(index) / fps_ : 0;
      if (!WaitForTurn(start + absl::Seconds(seconds))) break;
      v1::StreamFramesRequest request;
      v1::Frame& frame = *request.mutable_frame();
      frame = *std::move(item->frame);
      frame.set_sequence(sequence);
      frame.set_timestamp_ns(TimestampNs(index));
      if (setup_->mask.has_value()) *frame.mutable_mask() = *setup_->mask;
      if (const absl::Status size = CheckMessageSize(request, *limits_); !size.ok()) {
        LeaveOut(item->name, size);
        continue;
      }
      ++sequence;
      {
        absl::MutexLock lock(&mutex_);
        sent_.push_back({.name = item->name, .picture = std::move(item->picture)});
      }
      if (!stream_->Send(std::move(frame)).ok()) break;
    }
    (void)stream_->CloseSend();
  }

  void LeaveOut(const std::string& name, const absl::Status& why) {
    console_->Error(absl::StrCat(NameOnOneLine(name), ": ", ErrorText(why)));
    absl::MutexLock lock(&mutex_);
    ++unreadable_;
  }

  // Frames of a known rate are stamped by it, so that a run can be repeated; others by the clock.
  int64_t TimestampNs(int64_t index) const {
    const double rate = fps_ > 0 ? fps_ : source_->fps();
    if (rate > 0) return static_cast<int64_t>(static_cast<double>(index) * kNsPerSecond / rate);
    return absl::ToUnixNanos(absl::Now());
  }

  FrameSource* const source_;
  client::FrameStream* const stream_;
  const ImageSetup* const setup_;
  const v1::ServerLimits* const limits_;
  const double fps_;
  Console* const console_;
  absl::Mutex mutex_;
  std::deque<Sent> sent_ ABSL_GUARDED_BY(mutex_);
  int64_t unreadable_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when everything else is there
};

// Ends a stream whose server does not answer any more after an interrupt: Receive cannot look up.
class InterruptGuard {
 public:
  explicit InterruptGuard(client::FrameStream* stream)
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

  ~InterruptGuard() {
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

// Matches with the frame before, or what became of them; null when none were to be had.
const v1::FrameMatches* WithPrevious(const v1::FrameResult& result) {
  for (const v1::FrameMatches& matches : result.matches()) {
    if (matches.target() == v1::MATCH_TARGET_PREVIOUS) return &matches;
  }
  return nullptr;
}

// The same with a reference.
const v1::FrameMatches* WithReference(const v1::FrameResult& result, const std::string& name) {
  for (const v1::FrameMatches& matches : result.matches()) {
    if (matches.target() == v1::MATCH_TARGET_REFERENCE && matches.reference() == name) {
      return &matches;
    }
  }
  return nullptr;
}

bool Failed(const v1::FrameMatches& matches) { return matches.status().code() != 0; }

// Their number for a table.
std::string CountText(const v1::FrameMatches* matches) {
  if (matches == nullptr) return "-";
  if (Failed(*matches)) return "failed";
  return absl::StrCat(matches->matches().query_index_size());
}

// Of the column of a reference, which has its name at the head.
int ColumnWidth(const std::string& reference) {
  return std::max(kCountColumns, static_cast<int>(NameOnOneLine(reference).size()));
}

const char* TargetName(v1::MatchTarget target) {
  switch (target) {
    case v1::MATCH_TARGET_PREVIOUS:
      return "previous";
    case v1::MATCH_TARGET_KEYFRAME:
      return "keyframe";
    case v1::MATCH_TARGET_REFERENCE:
      return "reference";
    default:
      return "unknown";
  }
}

void PrintResultJson(const std::string& name, const v1::FrameResult& result,
                     const std::string& overlay) {
  const v1::FeatureSet& features = result.features();
  JsonWriter json;
  json.BeginObject().Key("frame").String(name);
  json.Key("sequence").UInt(result.sequence());
  json.Key("timestamp_ns").Int(result.timestamp_ns());
  const absl::Status status = client::StatusFromWire(result.status());
  if (!status.ok()) {
    AddError(status, &json);
    json.EndObject();
    PrintLine(json.text());
    return;
  }
  json.Key("image_size").BeginArray();
  json.UInt(features.image_width_px()).UInt(features.image_height_px()).EndArray();
  json.Key("features").Int(features.x_size());
  json.Key("truncated").Bool(features.truncated());
  json.Key("matches").BeginArray();
  for (const v1::FrameMatches& matches : result.matches()) {
    json.BeginObject().Key("target").String(TargetName(matches.target()));
    if (matches.target() == v1::MATCH_TARGET_REFERENCE) {
      json.Key("reference").String(matches.reference());
      json.Key("reference_version").UInt(matches.reference_version());
    } else {
      json.Key("target_sequence").UInt(matches.target_sequence());
    }
    json.Key("count").Int(matches.matches().query_index_size());
    if (const absl::Status reason = client::StatusFromWire(matches.status()); !reason.ok()) {
      AddError(reason, &json);
    }
    json.EndObject();
  }
  json.EndArray();
  if (!overlay.empty()) json.Key("overlay").String(overlay);
  AddExecution(result.timings(), result.execution(), &json);
  json.EndObject();
  PrintLine(json.text());
}

// Receives, prints and draws the results of one stream.
class Receiver {
 public:
  Receiver(const StreamOptions* options, Console* console, int64_t count, bool with_energy)
      : options_(options), console_(console), count_(count), with_energy_(with_energy) {
    if (!options_->common.json) PrintHeading();
    if (options_->common.json && count_ > 0) console_->StartProgress(count_, "frames");
  }

  const StreamTotals& totals() const { return totals_; }

  void Take(const Sender::Sent& sent, v1::FrameResult result) {
    const absl::Status status = client::StatusFromWire(result.status());
    if (!status.ok()) {
      ++totals_.failed;
      console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": ", ErrorText(status)));
      if (options_->common.json) PrintResultJson(sent.name, result, "");
      console_->Progress(totals_.done + totals_.failed, totals_.failed);
      return;
    }
    ReportFailedMatches(sent, result);
    const v1::FrameMatches* previous = WithPrevious(result);
    if (previous != nullptr && Failed(*previous)) previous = nullptr;
    std::string overlay;
    if (sent.picture.has_value()) {
      const absl::Status drawn = Draw(sent, result, previous, &overlay);
      if (!drawn.ok()) {
        ++totals_.failed;
        console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": ", ErrorText(drawn)));
        previous_ = std::move(*result.mutable_features());
        return;
      }
    }
    ++totals_.done;
    if (previous != nullptr) ++totals_.matched;
    if (options_->common.json) {
      PrintResultJson(sent.name, result, overlay);
    } else {
      PrintRow(sent, result);
    }
    // A stream is watched while it runs.
    std::fflush(stdout);
    console_->Progress(totals_.done + totals_.failed, totals_.failed);
    previous_ = std::move(*result.mutable_features());
  }

 private:
  void PrintHeading() const {
    absl::PrintF("%-24s  %8s  %*s", "frame", "features", kCountColumns, "matches");
    for (const std::string& name : options_->references) {
      absl::PrintF("  %*s", ColumnWidth(name), NameOnOneLine(name));
    }
    absl::PrintF("  %9s%s\n", "time/ms", with_energy_ ? "  energy/mJ" : "");
  }

  void PrintRow(const Sender::Sent& sent, const v1::FrameResult& result) const {
    absl::PrintF("%-24s  %8d  %*s", NameOnOneLine(sent.name), result.features().x_size(),
                 kCountColumns, CountText(WithPrevious(result)));
    for (const std::string& name : options_->references) {
      absl::PrintF("  %*s", ColumnWidth(name), CountText(WithReference(result, name)));
    }
    absl::PrintF("  %9.2f", static_cast<double>(result.timings().total_ns()) / 1e6);
    if (with_energy_) absl::PrintF("  %9s", EnergyText(result.execution()));
    absl::PrintF("\n");
  }

  // Says why matches failed, of every target the first time only: a reference that is not there is
  // missing for every frame.
  void ReportFailedMatches(const Sender::Sent& sent, const v1::FrameResult& result) {
    bool any = false;
    for (const v1::FrameMatches& matches : result.matches()) {
      if (!Failed(matches)) continue;
      any = true;
      const std::string target = matches.target() == v1::MATCH_TARGET_REFERENCE
                                     ? absl::StrCat("reference ", matches.reference())
                                     : std::string("the frame before");
      if (!reported_.insert(target).second) continue;
      console_->Error(absl::StrCat(NameOnOneLine(sent.name), ": no matches with ", target, ": ",
                                   ErrorText(client::StatusFromWire(matches.status()))));
    }
    if (any) ++totals_.unmatched;
  }

  absl::Status Draw(const Sender::Sent& sent, const v1::FrameResult& result,
                    const v1::FrameMatches* previous, std::string* overlay) {
    const Picture picture = previous == nullptr ? DrawFeatures(*sent.picture, result.features())
                                                : DrawMotion(*sent.picture, result.features(),
                                                             previous_, previous->matches());
    const absl::StatusOr<std::string> png = EncodePng(picture);
    if (!png.ok()) return png.status();
    *overlay = PicturePath(options_->draw_folder, sent.name);
    return WriteFile(*overlay, *png);
  }

  const StreamOptions* const options_;
  Console* const console_;
  const int64_t count_;
  const bool with_energy_;
  StreamTotals totals_;
  std::set<std::string> reported_;  // whose matches have failed
  v1::FeatureSet previous_;         // of the frame answered before
};

absl::StatusOr<v1::StreamOpen> MakeOpen(const StreamOptions& options, const ImageSetup& setup) {
  if (options.track) {
    return absl::UnimplementedError("--track: tracks are not available in this version");
  }
  if (options.references.size() > kMaxReferences) {
    return absl::InvalidArgumentError(absl::StrCat("at most ", kMaxReferences,
                                                   " references can be matched with; got ",
                                                   options.references.size()));
  }
  v1::StreamOpen open;
  *open.mutable_pipeline() = setup.pipeline;
  open.set_match_previous(true);
  for (const std::string& reference : options.references) open.add_references(reference);
  v1::MatchOptions* match = open.mutable_pipeline()->mutable_match();
  if (options.cross_check) match->set_cross_check(true);
  if (options.ratio.has_value()) match->set_ratio(*options.ratio);
  if (options.max_distance.has_value()) match->set_max_distance(*options.max_distance);
  return open;
}

// What the outcome of the stream means for the caller.
int ExitCodeFor(Console* console, const absl::Status& ended, const StreamTotals& totals,
                int64_t unreadable) {
  if (Interrupted()) {
    console->Error("interrupted; what was done is kept");
    return kExitInterrupted;
  }
  if (!ended.ok()) {
    console->Error(absl::StrCat("the stream has ended early: ", ErrorText(ended)));
    return ended.code() == absl::StatusCode::kUnavailable ? kExitUnreachable : kExitFailed;
  }
  return totals.failed + totals.unmatched + unreadable > 0 ? kExitFailed : kExitOk;
}

}  // namespace

int RunStream(const StreamOptions& given) {
  StreamOptions options = given;
  Console console(options.common.quiet);
  // References live in a server.
  if (!options.references.empty() && options.common.server.empty()) {
    options.common.server = kDefaultServer;
  }
  const absl::StatusOr<ImageSetup> setup = SetUpImages(options.image);
  if (!setup.ok()) return Fail(&console, setup.status());
  const absl::StatusOr<v1::StreamOpen> open = MakeOpen(options, *setup);
  if (!open.ok()) return Fail(&console, open.status());
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options.common);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::Status taken = CheckSetup(*setup, engine->get());
  if (!taken.ok()) return Fail(&console, taken);
  const absl::StatusOr<std::unique_ptr<FrameSource>> source =
      OpenFrameSource(options.source, (*engine)->picture_limits(), !options.draw_folder.empty(),
                      options.draw_folder);
  if (!source.ok()) return Fail(&console, source.status());

  CatchInterrupts();
  const absl::StatusOr<std::unique_ptr<client::FrameStream>> stream =
      (*engine)->client()->OpenStream(*open);
  if (!stream.ok()) return Fail(&console, stream.status());

  const absl::Time start = absl::Now();
  Receiver receiver(&options, &console, (*source)->count(), HasPowerSource((*engine)->info()));
  absl::Status ended;
  int64_t unreadable = 0;
  {
    const InterruptGuard guard(stream->get());
    Sender sender(source->get(), stream->get(), &*setup, &(*engine)->info().limits(), options.fps,
                  &console);
    for (;;) {
      absl::StatusOr<std::optional<v1::FrameResult>> result = (*stream)->Receive();
      if (!result.ok()) ended = result.status();
      if (!result.ok() || !result->has_value()) break;
      std::optional<Sender::Sent> sent = sender.TakeOldest();
      if (!sent.has_value()) {
        ended = absl::InternalError("the server has answered more frames than were sent");
        (*stream)->Cancel();
        break;
      }
      receiver.Take(*sent, **std::move(result));
    }
    if (!ended.ok()) (*stream)->Cancel();
    unreadable = sender.unreadable();
  }
  console.EndProgress();
  const StreamTotals& totals = receiver.totals();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const std::string unmatched =
      totals.unmatched > 0 ? absl::StrCat(", ", totals.unmatched, " with failed matches") : "";
  console.Note(
      absl::StrFormat("%d frames, %d with matches to the frame before%s, %d failed, %.2f s, "
                      "%.1f frames a second",
                      totals.done, totals.matched, unmatched, totals.failed + unreadable, seconds,
                      static_cast<double>(totals.done) / std::max(seconds, 1e-9)));
  return ExitCodeFor(&console, ended, totals, unreadable);
}

}  // namespace orbserve::cli
