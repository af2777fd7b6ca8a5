// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/jpeg_split.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "decode/jpeg_damage.h"
#include "decode/jpeg_lanes.h"
#include "decode/jpeg_markers.h"
#include "decode/jpeg_writer.h"
#include "features/host_device.h"

namespace orbserve {
namespace {

constexpr int kLanes = kJpegMaxLanes;
// Destuffed bytes of one lane in one round.
constexpr int64_t kMostBytes = 32 << 10;
// Below it the bits until a lane has synchronised, some 2,000 with 4:2:0, are too many.
constexpr int64_t kLeastBytes = 1 << 10;
// Luma blocks of one lane in one round: their coefficients stay in a second-level cache. If its
// bytes have more, as in a clear sky, it ends early.
constexpr int kLaneBlocks = 1024;
constexpr int kGapBlocks = 64;  // of a lane between two others
// Several threads decode a scan in so many pieces. More would lose more at their seams, fewer where
// the threads meet.
constexpr int64_t kPieces = 10;
constexpr int64_t kMostPieceBytes = 32 << 10;
constexpr int kLastBits = 7;  // fewer than 8 bits may be left over

template <int kBlocks>
struct LaneRecord {
  alignas(64) int16_t coefficients[(kBlocks + 1 + kJpegBlocksBehind) * kJpegBlockCoefficients];
  uint64_t starts[kBlocks + 1];  // of MCUs; the last one is where the next would begin
};

// Kept for the next image of the thread. Made for overwriting: without zeros in the records, an
// image touches the memory of the blocks that it has.
struct Space {
  // The lanes' bytes, and up to two MCUs more: those that are left of the last round, and those
  // that the lanes read beyond their end. If the data end there, an MCU at their end is read from
  // the bytes behind. 64: steps of copying and reading.
  static constexpr size_t kWindowBytes = kLanes * kMostBytes + 2 * (kJpegMaxMcuBytes + 32);
  uint8_t window[kWindowBytes + kJpegMaxMcuBytes + 64] = {};
  LaneRecord<kLaneBlocks> lanes[kLanes];
  LaneRecord<kGapBlocks> gap;
};
static_assert(sizeof(Space) <= kJpegSplitBytes);

// A place at `bytes` behind `from`, or soon after it, that is not between a 0xFF and its 0.
const uint8_t* JpegSeamAt(const JpegScan& scan, const uint8_t* from, int64_t bytes) {
  const uint8_t* const end = scan.bytes.data() + scan.bytes.size();
  const uint8_t* seam = from + std::clamp<int64_t>(bytes, 0, end - from);
  while (seam > from && seam < end && seam[-1] == 0xFF) ++seam;
  return seam;
}

// A piece of the data, which one thread decodes in lanes into memory of its own.
class Piece {
 public:
  // `scan` and `space` outlive it.
  Piece(const JpegScan& scan, Space* space)
      : scan_(scan),
        space_(*space),
        kept_(scan.luma_across * scan.luma_down),
        most_mcus_(kLaneBlocks / kept_),
        read_end_(space->window),
        seam_bit_(JpegBitOf(space->window)) {}

  // Reads the bytes from `from` to `seam`, where the next piece begins, and those of an MCU more.
  // Afterwards only the tables of the scan are needed.
  void Read(const uint8_t* from, const uint8_t* seam) {
    from_ = from;
    read_end_ = space_.window;
    ReadOn(seam);
  }
  // Moves to this piece what another one has read from `bit` on, itself perhaps. Returns where that
  // bit is now.
  uint64_t TakeFrom(const Piece& other, uint64_t bit) {
    const uint8_t* const unread = JpegByteOf(bit);
    const auto size = static_cast<size_t>(other.read_end_ - unread);
    const uint64_t seam = other.seam_bit_ - JpegBitOf(unread);
    std::memmove(space_.window, unread, size);
    read_end_ = space_.window + size;
    seam_bit_ = window_bit() + seam;  // before the window if the bit is beyond it
    from_ = other.from_;
    has_all_ = other.has_all_;
    return window_bit() + (bit & 7);
  }
  // Reads on to `seam`.
  void ReadOn(const uint8_t* seam) {
    uint8_t* to = read_end_;
    has_all_ = CopyJpegBytes(&from_, seam, &to, RoomEnd()) && from_ < seam;
    seam_bit_ = JpegBitOf(to);
    read_end_ = to;
    ReadBeyond();
  }
  // Reads the bytes of an MCU that begins before the seam.
  void ReadBeyond() {
    if (has_all_) return;
    const uint8_t* const end = scan_.bytes.data() + scan_.bytes.size();
    const uint8_t* const last =
        std::min<const uint8_t*>(JpegByteOf(seam_bit_ + 8 * kJpegMaxMcuBytes), RoomEnd());
    has_all_ = CopyJpegBytes(&from_, end, &read_end_, last);
  }

  // Decodes from `bit` on, where an MCU begins of which `mcus` are left.
  void Decode(uint64_t bit, int64_t mcus) {
    mcus_left_ = mcus;
    is_true_ = true;
    DecodeFrom(bit);
  }
  // Decodes from the first byte on, with a guess that an MCU begins there.
  void DecodeByGuess() {
    is_true_ = false;
    DecodeFrom(window_bit());
  }
  // Decodes from `bit` on, where an MCU begins of which `mcus` are left, to the first MCU that
  // begins at `end_bit` or later, or to one before it: what is between two lanes.
  const JpegLane& DecodeGap(uint64_t bit, uint64_t end_bit, int64_t mcus) {
    Begin(gap_, space_.gap, bit, end_bit, std::min<int64_t>(kGapBlocks / kept_, mcus));
    JpegLane* const lanes[] = {&gap_};
    RunJpegLanes(lanes);
    return gap_;
  }

  bool is_true() const { return is_true_; }  // the first lane begins with an MCU of the image
  int lane_count() const { return lane_count_; }
  const JpegLane& lane(int i) const { return lanes_[i]; }
  const uint64_t* StartsOf(const JpegLane& lane) const {
    return &lane == &gap_ ? space_.gap.starts : space_.lanes[&lane - lanes_].starts;
  }
  int64_t CountOf(const JpegLane& lane) const { return lane.starts - StartsOf(lane); }
  // Returns where the coefficients of the MCUs from `first` on lie.
  int16_t* CoefficientsOf(const JpegLane& lane, int64_t first) {
    int16_t* const all =
        &lane == &gap_ ? space_.gap.coefficients : space_.lanes[&lane - lanes_].coefficients;
    return all + first * kept_ * kJpegBlockCoefficients;
  }

  uint64_t window_bit() const { return JpegBitOf(space_.window); }
  uint64_t seam_bit() const { return seam_bit_; }
  const uint8_t* read_end() const { return read_end_; }
  const uint8_t* from() const { return from_; }  // what is read next
  bool has_all() const { return has_all_; }      // the data end at read_end()
  std::optional<uint64_t> data_end() const {
    return has_all_ ? std::optional<uint64_t>(JpegBitOf(read_end_)) : std::nullopt;
  }

 private:
  void DecodeFrom(uint64_t bit) {
    const uint8_t* const begin = JpegByteOf(bit);
    const int64_t bytes = static_cast<int64_t>(seam_bit_ - JpegBitOf(begin)) / 8;
    lane_count_ = bytes >= kLanes * kLeastBytes ? kLanes : 1;
    const int64_t lane_bytes = DivUp<int64_t>(bytes, lane_count_);
    const uint64_t last_end =
        has_all_ ? JpegBitOf(read_end_) - kLastBits : JpegBitOf(read_end_ - kJpegMaxMcuBytes);
    for (int i = 0; i < lane_count_; ++i) {
      const uint64_t end = std::min(JpegBitOf(begin + (i + 1) * lane_bytes), last_end);
      BeginLane(i, i == 0 ? bit : JpegBitOf(begin + i * lane_bytes), end);
    }
    RunLanes();
  }

  uint8_t* RoomEnd() const { return space_.window + Space::kWindowBytes; }

  bool IsTrue(int i) const { return is_true_ && i == 0; }

  void BeginLane(int i, uint64_t bit, uint64_t end_bit) {
    Begin(lanes_[i], space_.lanes[i], bit, end_bit,
          IsTrue(i) ? std::min(most_mcus_, mcus_left_) : most_mcus_);
  }
  template <typename Record>
  void Begin(JpegLane& lane, Record& record, uint64_t bit, uint64_t end_bit, int64_t mcus) {
    lane = {};
    lane.bit = bit;
    lane.end_bit = end_bit;
    lane.mcus = mcus;
    lane.blocks = scan_.blocks.data();
    lane.coefficients = record.coefficients;
    lane.starts = record.starts;
    *lane.starts = bit;
  }

  void RunLanes() {
    std::array<int, kLanes> running = {};
    int count = lane_count_;
    for (int i = 0; i < count; ++i) running[i] = i;
    std::array<JpegLane*, kLanes> lanes = {};
    while (count > 0) {
      for (int i = 0; i < count; ++i) lanes[i] = &lanes_[running[i]];
      RunJpegLanes(absl::MakeSpan(lanes.data(), static_cast<size_t>(count)));
      for (int i = 0; i < count;) {
        const JpegLane& lane = *lanes[i];
        bool stopped = lane.stop != JpegStop::kNone;
        if (stopped && lane.stop != JpegStop::kPause && !IsTrue(running[i]) &&
            lane.bit < lane.end_bit) {
          // The guess was wrong so far, or the file is damaged here, which the lane before finds.
          BeginLane(running[i], lane.bit + 1, lane.end_bit);
          stopped = false;
        }
        if (!stopped) {
          ++i;
          continue;
        }
        --count;
        running[i] = running[count];
        lanes[i] = lanes[count];
      }
    }
  }

  const JpegScan& scan_;
  Space& space_;
  const int kept_;  // blocks of an MCU
  const int64_t most_mcus_;
  const uint8_t* from_ = nullptr;
  uint8_t* read_end_;
  uint64_t seam_bit_;
  bool has_all_ = false;
  bool is_true_ = true;
  int64_t mcus_left_ = 0;
  int lane_count_ = 0;
  JpegLane lanes_[kLanes];
  JpegLane gap_;
};

struct SharedPiece {
  Space space;
  std::optional<Piece> piece;
};

// Memory of shared pieces. To get it from the system takes longer than it takes to fill it.
class SharedPieceMemory {
 public:
  static SharedPieceMemory& Get() {
    static auto* const memory = new SharedPieceMemory;
    return *memory;
  }

  std::unique_ptr<SharedPiece> Lease() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (idle_.empty()) return std::make_unique_for_overwrite<SharedPiece>();
    std::unique_ptr<SharedPiece> piece = std::move(idle_.back());
    idle_.pop_back();
    return piece;
  }
  void GiveBack(std::unique_ptr<SharedPiece> piece) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(piece));
  }

 private:
  static constexpr size_t kMostIdle = kJpegSharedBytes / sizeof(SharedPiece);

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<SharedPiece>> idle_ ABSL_GUARDED_BY(mutex_);
};

// Pieces at the end of the data that other threads decode, the last one first, while the thread
// that has the image comes from its beginning. It takes those that are done when it gets to them,
// decodes the others itself, and waits for nobody: a helper may be late, or lose its processor.
class SharedPieces {
 public:
  // Piece i goes from seams[i] to seams[i + 1]. The tables of the scan are standard ones: they
  // outlive it.
  SharedPieces(const JpegScan& scan, std::vector<const uint8_t*> seams)
      : scan_(scan),
        seams_(std::move(seams)),
        pieces_(static_cast<size_t>(count())),
        owner_end_(std::max(0, count() - kMost)),
        helpers_begin_(count()) {}
  ~SharedPieces() {
    for (std::unique_ptr<SharedPiece>& piece : pieces_) {
      if (piece != nullptr) SharedPieceMemory::Get().GiveBack(std::move(piece));
    }
  }

  // Pieces that helpers may decode at most.
  static constexpr int kMost = static_cast<int>(kJpegSharedBytes / sizeof(SharedPiece));

  // The part of a helper, at any time.
  void Help() ABSL_LOCKS_EXCLUDED(mutex_) {
    while (true) {
      size_t number = 0;
      {
        absl::MutexLock lock(&mutex_);
        if (owner_end_ >= helpers_begin_) return;
        number = static_cast<size_t>(--helpers_begin_);
        ++reading_;
      }
      std::unique_ptr<SharedPiece> own = SharedPieceMemory::Get().Lease();
      Piece& piece = own->piece.emplace(scan_, &own->space);
      piece.Read(seams_[number], seams_[number + 1]);
      {
        absl::MutexLock lock(&mutex_);
        --reading_;
      }
      piece.DecodeByGuess();
      absl::MutexLock lock(&mutex_);
      pieces_[number] = std::move(own);
    }
  }

  int count() const { return static_cast<int>(seams_.size()) - 1; }
  const uint8_t* seam(int i) const { return seams_[static_cast<size_t>(i)]; }
  // Takes piece i, and all before it, from the helpers. Null if it is not done.
  Piece* Take(int i) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    owner_end_ = std::max(owner_end_, i + 1);
    SharedPiece* const piece = pieces_[static_cast<size_t>(i)].get();
    return piece == nullptr ? nullptr : &*piece->piece;
  }
  // Afterwards no helper reads the bytes of the scan.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    owner_end_ = count();
    mutex_.Await(absl::Condition(
        +[](int* reading) { return *reading == 0; }, &reading_));
  }

 private:
  const JpegScan scan_;
  const std::vector<const uint8_t*> seams_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<SharedPiece>> pieces_ ABSL_GUARDED_BY(mutex_);  // null: not done
  int owner_end_ ABSL_GUARDED_BY(mutex_);      // the pieces before it are the owner's
  int helpers_begin_ ABSL_GUARDED_BY(mutex_);  // those from it on are the helpers'
  int reading_ ABSL_GUARDED_BY(mutex_) = 0;    // helpers that read bytes of the scan
};

class Splitter {
 public:
  // `shared`: pieces of the scan, some of which helpers decode; null = none.
  Splitter(const JpegScan& scan, const MutableImageView& out, Space* space, SharedPieces* shared)
      : scan_(scan),
        most_mcus_(kLaneBlocks / (scan.luma_across * scan.luma_down)),
        shared_(shared),
        writer_(&scan, out, 0),
        own_(scan, space),
        place_(&own_),
        bit_(own_.window_bit()) {
    own_.Read(scan.bytes.data(), scan.bytes.data());
  }

  JpegEnd Run(std::chrono::steady_clock::time_point deadline) {
    while (mcu_ < scan_.mcus()) {
      if (std::chrono::steady_clock::now() > deadline) {
        end_.status = JpegOutOfTime();
        return std::move(end_);
      }
      if (!Round()) return std::move(end_);
    }
    CheckRest();
    return std::move(end_);
  }

 private:
  bool Fail(JpegFlaw flaw, int64_t mcu) {
    end_.status = JpegDamage(flaw, scan_, mcu);
    return false;
  }

  // Goes on in the next piece, or in the present one, if its lanes did not get to the seam.
  bool Round() {
    if (bit_ < place_->seam_bit()) {
      TakeUnread();
      own_.ReadBeyond();
    } else if (shared_ != nullptr && next_ < shared_->count() && GotTo(shared_->seam(next_))) {
      Piece* const piece = shared_->Take(next_++);
      if (piece != nullptr) {
        bit_ = piece->window_bit() + (bit_ - place_->seam_bit());
        place_ = piece;
        return Follow();
      }
      TakeUnread();
      // The lane may have read beyond the seam by more than a small piece.
      while (shared_->seam(next_) < own_.from()) ++next_;
      own_.ReadOn(shared_->seam(next_));
    } else {
      TakeUnread();
      own_.ReadOn(NextSeam());
    }
    own_.Decode(bit_, scan_.mcus() - mcu_);
    return Follow();
  }

  // False if the data ended before `seam`: at a marker that does not belong there.
  bool GotTo(const uint8_t* seam) const { return place_->from() >= seam; }

  void TakeUnread() {
    bit_ = own_.TakeFrom(*place_, bit_);
    place_ = &own_;
  }

  const uint8_t* NextSeam() const {
    const uint8_t* const end = scan_.bytes.data() + scan_.bytes.size();
    const int64_t kept = own_.read_end() - JpegByteOf(bit_);
    const int64_t left = kept + (end - own_.from());
    const int64_t mcus_left = scan_.mcus() - mcu_;
    // Half of the room for an even picture: MCUs differ in length.
    const int64_t cap = std::clamp(left * most_mcus_ / (2 * mcus_left), kLeastBytes, kMostBytes);
    const int64_t rounds = std::max<int64_t>(1, DivUp(left, kLanes * cap));
    const int64_t piece = kLanes * std::clamp(DivUp(left, rounds * kLanes), kLeastBytes, cap);
    return JpegSeamAt(scan_, own_.from(), piece - kept);
  }

  // Takes `count` MCUs of a lane from its `first` on, and writes them.
  bool Take(const JpegLane& lane, int64_t first, int64_t count) {
    count = std::min(count, scan_.mcus() - mcu_);
    end_.decided &= writer_.Write(place_->CoefficientsOf(lane, first), count);
    mcu_ += count;
    bit_ = place_->StartsOf(lane)[first + count];
    // After at least one MCU: an error if the data were over before.
    const std::optional<uint64_t> data_end = place_->data_end();
    if (!data_end.has_value() || bit_ <= *data_end) return true;
    return Fail(JpegFlaw::kEndsEarly, mcu_ - 1);
  }

  // Takes the MCUs of the present piece's lanes that are known to be right.
  bool Follow() {
    int next = 0;
    if (place_->is_true()) {
      const JpegLane& first = place_->lane(next++);
      if (!Take(first, 0, place_->CountOf(first))) return false;
      if (first.stop != JpegStop::kPause) return Fail(FlawOf(first, place_->data_end()), mcu_);
    }
    for (; next < place_->lane_count(); ++next) {
      const JpegLane& lane = place_->lane(next);
      const uint64_t* const starts = place_->StartsOf(lane);
      const int64_t count = place_->CountOf(lane);
      int64_t at = 0;
      while (mcu_ < scan_.mcus()) {
        while (at < count && starts[at] < bit_) ++at;
        if (starts[at] == bit_) {
          if (!Take(lane, at, count - at)) return false;
          break;
        }
        if (at == count) break;  // the lane has gone astray
        if (!TakeUntil(starts[at])) return false;
      }
    }
    return true;
  }

  // Decodes from the present place to the first MCU that begins at `end_bit` or later, or to one
  // before it.
  bool TakeUntil(uint64_t end_bit) {
    const std::optional<uint64_t> data_end = place_->data_end();
    if (data_end.has_value() && bit_ >= *data_end) return Fail(JpegFlaw::kEndsEarly, mcu_);
    const JpegLane& gap = place_->DecodeGap(bit_, end_bit, scan_.mcus() - mcu_);
    if (!Take(gap, 0, place_->CountOf(gap))) return false;
    return gap.stop == JpegStop::kPause || Fail(FlawOf(gap, data_end), mcu_);
  }

  // After the last MCU.
  void CheckRest() {
    if (!place_->has_all()) {
      TakeUnread();
      own_.ReadOn(JpegSeamAt(scan_, own_.from(), kLeastBytes));
    }
    if (!place_->has_all() || JpegBitOf(place_->read_end()) - bit_ > kLastBits) {
      Fail(JpegFlaw::kLeftOver, mcu_ - 1);
    } else if (!AreJpegFillBytes(place_->from(), scan_.bytes.data() + scan_.bytes.size())) {
      Fail(JpegFlaw::kExtraMarker, mcu_ - 1);
    }
  }

  const JpegScan& scan_;
  const int64_t most_mcus_;
  SharedPieces* const shared_;
  int next_ = 0;  // of the shared pieces
  JpegWriter writer_;
  Piece own_;
  Piece* place_;  // the present place is in the window of this piece:
  uint64_t bit_;  // the beginning of MCU mcu_
  int64_t mcu_ = 0;
  JpegEnd end_;
};

// Returns where the pieces of a scan for several threads begin, and its end. The list is empty if
// the scan is too small, or has tables of its own, which end with the image.
std::vector<const uint8_t*> SeamsToShare(const JpegScan& scan, int64_t least_piece) {
  const auto size = static_cast<int64_t>(scan.bytes.size());
  const auto is_last = [](const JpegBlockKind& block) { return block.last; };
  const auto has_own = [](const JpegBlockKind& block) { return block.skips == nullptr; };
  const auto last = std::find_if(scan.blocks.begin(), scan.blocks.end(), is_last);
  if (size < 4 * least_piece || std::any_of(scan.blocks.begin(), last + 1, has_own)) return {};
  // Half of the room for an even picture.
  const int64_t most = size * kLaneBlocks / (scan.luma_across * scan.luma_down * scan.mcus());
  const int64_t piece = std::clamp(std::min(size / kPieces, most), least_piece, kMostPieceBytes);
  const uint8_t* const end = scan.bytes.data() + size;
  std::vector<const uint8_t*> seams = {scan.bytes.data()};
  while (end - seams.back() >= 2 * piece) seams.push_back(JpegSeamAt(scan, seams.back(), piece));
  if (seams.back() < end) seams.push_back(end);
  return seams;
}

}  // namespace

JpegEnd DecodeBySynchronising(const JpegScan& scan, const MutableImageView& out,
                              std::chrono::steady_clock::time_point deadline,
                              DecodeHelpers* helpers) {
  thread_local std::unique_ptr<Space> space;
  if (space == nullptr) space = std::make_unique_for_overwrite<Space>();
  std::shared_ptr<SharedPieces> shared;
  if (helpers != nullptr) {
    std::vector<const uint8_t*> seams = SeamsToShare(scan, helpers->LeastPieceBytes());
    if (!seams.empty()) {
      shared = std::make_shared<SharedPieces>(scan, std::move(seams));
      helpers->Ask(std::min(shared->count() - 1, SharedPieces::kMost),
                   [shared] { shared->Help(); });
    }
  }
  JpegEnd end = Splitter(scan, out, space.get(), shared.get()).Run(deadline);
  if (shared != nullptr) shared->Finish();
  return end;
}

}  // namespace orbserve
