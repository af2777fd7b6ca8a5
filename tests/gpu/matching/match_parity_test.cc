// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA backend's matches are the CPU backend's: every option, any number of pairs, from any
// thread; and a large pair holds up nothing.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/backend.h"
#include "gpu/frame_state.h"
#include "tests/gpu/gpu_test_support.h"
#include "tests/support/match_oracle.h"

namespace orbserve::gpu {
namespace {

using ::orbserve::testing::OracleMatch;

using FeatureSet = std::shared_ptr<const Features>;

// Random descriptors; with few `kinds` (0 = any) there are many ties. Places lie on a grid of
// quarter pixels, which puts many on the edges of windows.
FeatureSet MakeSet(size_t count, int bytes, unsigned kinds, std::mt19937* random) {
  auto features = std::make_shared<Features>();
  features->descriptor_bytes = bytes;
  // Sets of other numbers of bytes need a name.
  if (bytes != 4 && bytes != 32) {
    features->descriptor_type = bytes == 128 ? Descriptor::kSift : Descriptor::kRBrief256;
  }
  features->Resize(count);
  for (size_t i = 0; i < features->descriptors.size(); ++i) {
    const auto any = static_cast<unsigned>((*random)());
    features->descriptors[i] = static_cast<uint8_t>(kinds == 0   ? any
                                                    : i % 32 < 2 ? any % kinds
                                                                 : 7);
  }
  for (size_t i = 0; i < count; ++i) {
    features->x[i] = static_cast<float>((*random)() % 2560) * 0.25f;
    features->y[i] = static_cast<float>((*random)() % 1920) * 0.25f;
  }
  return features;
}

std::vector<MatchOptions> EveryOption() {
  return {{1},
          {2},
          {3},
          {16},
          {1, 0.8f},
          {1, 1.0f, true},
          {1, 0.0f, true},
          {2, 0.0f, false, 100},
          {1, 0.9f, true, 120},
          {1, 0.0f, false, 256, 40.0f},
          {1, 0.8f, false, 256, 25.25f, -12.5f, 3.0f},
          {1, 0.9f, true, 120, 100.0f, 7.75f},
          {2, 0.0f, false, 200, 60.0f, 0.0f, -20.0f},
          {16, 0.0f, false, 256, 150.0f}};
}

MatchOptions WithWindow(MatchOptions options, float window_px, float offset_x_px = 0.0f,
                        float offset_y_px = 0.0f) {
  options.window_px = window_px;
  options.offset_x_px = offset_x_px;
  options.offset_y_px = offset_y_px;
  return options;
}

// Places of MakeSet() within a band, or near lines that lie askew.
constexpr std::array<double, 9> kLines = {0, -0.002, 0.4, 0.0017, 0, -0.9, -0.3, 1.1, 12};
std::vector<MatchOptions> EveryBand() {
  std::vector<MatchOptions> bands;
  for (const MatchOptions& base : {MatchOptions{.k = 1},
                                   {.k = 1, .ratio = 0.9f},
                                   {.k = 1, .cross_check = true},
                                   {.k = 1, .ratio = 0.95f, .cross_check = true},
                                   {.k = 2},
                                   {.k = 16}}) {
    const auto add = [&](auto change) {
      MatchOptions options = base;
      change(options);
      bands.push_back(options);
    };
    add([](MatchOptions& o) { o.min_dx_px = -2.25f; });
    add([](MatchOptions& o) { o.max_dx_px = 31.75f; });
    add([](MatchOptions& o) { o.max_dy_px = 0.0f; });
    add([](MatchOptions& o) {
      o.min_dx_px = 0.0f;
      o.max_dx_px = 200.0f;
      o.max_dy_px = 4.5f;
    });
    add([](MatchOptions& o) {
      o.fundamental = {0, 0, 0, 0, 0, -1, 0, 1, 2.25};
      o.max_epipolar_px = 3.0f;
    });
    add([](MatchOptions& o) {
      o.fundamental = kLines;
      o.max_epipolar_px = 12.0f;
    });
    add([](MatchOptions& o) {
      o.window_px = 120.0f;
      o.offset_x_px = -7.75f;
      o.offset_y_px = 3.0f;
      o.min_dx_px = -50.0f;
      o.max_dy_px = 60.0f;
      o.fundamental = kLines;
      o.max_epipolar_px = 80.0f;
    });
  }
  return bands;
}

struct Pair {
  FeatureSet query;
  FeatureSet train;
  MatchOptions options;
};

class MatchParityTest : public GpuTest {
 protected:
  using Flag = std::shared_ptr<std::atomic<bool>>;

  static std::future<MatchBatchAnswer> Submit(FeatureBackend& backend, std::vector<MatchJob> jobs) {
    auto promise = std::make_shared<std::promise<MatchBatchAnswer>>();
    std::future<MatchBatchAnswer> answer = promise->get_future();
    backend.SubmitMatches(std::move(jobs), [promise](MatchBatchAnswer given) {
      promise->set_value(std::move(given));
    });
    return answer;
  }

  // The jobs of one request, each set imported once.
  static std::vector<MatchJob> Import(FeatureBackend& backend, const std::vector<Pair>& pairs,
                                      const Flag& cancelled = nullptr) {
    std::vector<std::pair<FeatureSet, std::shared_ptr<const FrameState>>> states;
    const auto state = [&](const FeatureSet& set) {
      const auto known = std::find_if(states.begin(), states.end(),
                                      [&](const auto& entry) { return entry.first == set; });
      if (known != states.end()) return known->second;
      states.emplace_back(set, *backend.ImportState(set));
      return states.back().second;
    };
    std::vector<MatchJob> jobs;
    jobs.reserve(pairs.size());
    for (const Pair& pair : pairs) {
      jobs.push_back({state(pair.query), state(pair.train), pair.options, cancelled});
    }
    return jobs;
  }

  static MatchBatchAnswer Match(FeatureBackend& backend, const std::vector<Pair>& pairs) {
    return Submit(backend, Import(backend, pairs)).get();
  }

  // Compares the device's matches with the oracle's; returns how many there are.
  size_t ExpectOraclesMatches(const std::vector<Pair>& pairs, const std::string& what) {
    const MatchBatchAnswer answer = Match(*gpu_, pairs);
    EXPECT_EQ(answer.pairs.size(), pairs.size());
    size_t matched = 0;
    for (size_t i = 0; i < std::min(pairs.size(), answer.pairs.size()); ++i) {
      const MatchOptions& options = pairs[i].options;
      const Matches expected =
          OracleMatch(*pairs[i].query, *pairs[i].train, options,
                      {options.window_px, options.offset_x_px, options.offset_y_px});
      EXPECT_TRUE(answer.pairs[i].status.ok()) << answer.pairs[i].status;
      EXPECT_TRUE(SameMatches(expected, answer.pairs[i].matches)) << what << " pair " << i;
      matched += expected.count();
    }
    return matched;
  }

  static void ExpectEqual(const std::vector<Pair>& pairs, const MatchBatchAnswer& expected,
                          const MatchBatchAnswer& actual) {
    ASSERT_EQ(actual.pairs.size(), pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
      const MatchOptions& options = pairs[i].options;
      SCOPED_TRACE(::testing::Message()
                   << "pair " << i << " of " << pairs.size() << ": " << pairs[i].query->count()
                   << " x " << pairs[i].train->count() << " of " << pairs[i].query->descriptor_bytes
                   << " bytes, k " << options.k << " ratio " << options.ratio
                   << (options.cross_check ? " cross-check" : "") << " distance "
                   << options.max_distance << " window " << options.window_px << " at "
                   << options.offset_x_px << ", " << options.offset_y_px);
      EXPECT_EQ(expected.pairs[i].status, actual.pairs[i].status);
      EXPECT_TRUE(SameMatches(expected.pairs[i].matches, actual.pairs[i].matches));
    }
  }

  void ExpectSame(const std::vector<Pair>& pairs) {
    ExpectEqual(pairs, Match(*cpu_, pairs), Match(*gpu_, pairs));
  }

  // Pairs of all sizes up to `largest`, none and one often among them.
  static std::vector<Pair> RandomPairs(int count, unsigned largest, std::mt19937* random) {
    const auto one_of = [&](unsigned n) { return static_cast<unsigned>((*random)()) % n; };
    const std::vector<MatchOptions> options = EveryOption();
    std::vector<FeatureSet> sets[2];
    for (unsigned i = 0; i < 24; ++i) {
      const size_t rows = one_of(4) == 0 ? one_of(3) : one_of(1 + one_of(largest));
      sets[i % 2].push_back(MakeSet(rows, i % 2 == 0 ? 32 : 4, one_of(2) == 0 ? 0 : 3, random));
    }
    std::vector<Pair> pairs;
    for (int i = 0; i < count; ++i) {
      const auto& kind = sets[one_of(4) == 0 ? 1 : 0];
      // Now and then of two kinds, which is an error of that pair.
      const auto& other = one_of(16) == 0 ? sets[1] : kind;
      pairs.push_back({kind[one_of(12)], other[one_of(12)],
                       options[one_of(static_cast<unsigned>(options.size()))]});
    }
    return pairs;
  }
};

TEST_F(MatchParityTest, EveryOptionAtTheEdgesOfBlocks) {
  std::mt19937 random(17);
  for (const auto& [queries, trains] : std::vector<std::pair<int, int>>{{1, 1},
                                                                        {1, 2},
                                                                        {5, 1},
                                                                        {7, 300},
                                                                        {129, 127},
                                                                        {2000, 2000},
                                                                        {513, 1025},
                                                                        {33, 5000},
                                                                        {0, 5},
                                                                        {5, 0}}) {
    for (const int bytes : {128, 64, 32, 16, 8, 4}) {
      for (const unsigned kinds : {0u, 3u}) {
        const auto query = MakeSet(static_cast<size_t>(queries), bytes, kinds, &random);
        const auto train = MakeSet(static_cast<size_t>(trains), bytes, kinds, &random);
        std::vector<Pair> pairs;
        for (const MatchOptions& options : EveryOption()) {
          pairs.push_back({query, train, options});
          ExpectSame({pairs.back()});  // alone, which splits train sets
        }
        ExpectSame(pairs);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(MatchParityTest, ManyPairsOfUnequalSizesInOneRequest) {
  std::mt19937 random(31);
  for (const int count : {2, 25, 300}) {
    ExpectSame(RandomPairs(count, 900, &random));
    if (HasFailure()) return;
  }
}

TEST_F(MatchParityTest, RequestsOfManyThreadsAtATime) {
  std::vector<std::future<void>> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.push_back(std::async(std::launch::async, [this, t] {
      std::mt19937 random(100 + t);
      for (int round = 0; round < 3; ++round) {
        const std::vector<Pair> pairs =
            RandomPairs(1 + static_cast<int>(random() % 30), 400, &random);
        const MatchBatchAnswer expected = Match(*cpu_, pairs);
        // The sets stay on the device, and others bring theirs.
        const std::vector<MatchJob> jobs = Import(*gpu_, pairs);
        for (int again = 0; again < 10; ++again) {
          ExpectEqual(pairs, expected, Submit(*gpu_, jobs).get());
          if (HasFailure()) return;
        }
        // Pair by pair, all at once.
        std::vector<std::future<MatchBatchAnswer>> answers;
        answers.reserve(jobs.size());
        for (const MatchJob& job : jobs) answers.push_back(Submit(*gpu_, {job}));
        MatchBatchAnswer together;
        for (auto& answer : answers) together.pairs.push_back(answer.get().pairs.at(0));
        ExpectEqual(pairs, expected, together);
      }
    }));
  }
  for (auto& thread : threads) thread.get();
}

TEST_F(MatchParityTest, LargePairsInSlices) {
  std::mt19937 random(37);
  const auto rows = static_cast<size_t>(EnvironmentNumber("ORBSERVE_TEST_ROWS", 30'000));
  const auto large = MakeSet(rows, 32, 0, &random);
  const auto ties = MakeSet(rows, 32, 3, &random);
  const auto some = MakeSet(7'001, 32, 3, &random);
  const auto few = MakeSet(20, 32, 3, &random);
  const auto huge = MakeSet(100'000, 32, 0, &random);
  const auto short_large = MakeSet(rows, 4, 0, &random);
  const auto short_some = MakeSet(7'001, 4, 0, &random);
  const auto wide_large = MakeSet(rows, 64, 0, &random);
  const auto wide_some = MakeSet(7'001, 64, 3, &random);
  const auto vectors_large = MakeSet(rows, 128, 0, &random);
  const auto vectors_ties = MakeSet(7'001, 128, 3, &random);
  ExpectSame({{large, ties, {1, 0.0f, true}},
              {ties, some, {1, 0.95f, true}},
              {some, ties, {2, 0.0f, false, 40}},
              {large, some, {3}},
              {short_large, short_some, {1, 0.9f}},
              {wide_large, wide_some, {1, 0.9f, true}},
              {vectors_large, vectors_ties, {1, 0.95f, true}},
              {vectors_ties, vectors_large, {2}},
              {vectors_ties, vectors_ties, {16}},
              {huge, few, {16}},  // few distances, many results
              {few, huge, {1, 0.0f, true}},
              {few, some, {1}}});
  ExpectSame({{large, ties, WithWindow({1, 0.95f, true}, 30.0f, 4.5f, -2.0f)},
              {ties, some, WithWindow({3}, 55.0f)},
              {short_large, short_some, WithWindow({1, 0.0f, true}, 1000.0f)},
              {huge, few, WithWindow({16}, 80.0f)},
              {few, huge, WithWindow({2}, 20.0f, 0.0f, 11.0f)}});
  MatchOptions band = {.k = 1, .ratio = 0.95f, .cross_check = true};
  band.min_dx_px = 0.0f;
  band.max_dx_px = 90.0f;
  band.max_dy_px = 2.0f;
  MatchOptions lines = {.k = 1, .cross_check = true};
  lines.fundamental = kLines;
  lines.max_epipolar_px = 4.0f;
  ExpectSame({{large, ties, band},
              {ties, some, lines},
              {vectors_large, vectors_ties, lines},
              {short_large, short_some, band}});
}

TEST_F(MatchParityTest, MatchesInAWindowAreTheOracles) {
  std::mt19937 random(53);
  size_t matched = 0;
  for (int set = 0; set < 60; ++set) {
    const int bytes = std::vector<int>{32, 4, 64, 128}[static_cast<size_t>(set % 4)];
    const unsigned kinds = set % 8 < 4 ? 3 : 0;
    std::vector<Pair> pairs;
    for (const MatchOptions& options : EveryOption()) {
      pairs.push_back({MakeSet(random() % 150, bytes, kinds, &random),
                       MakeSet(random() % 150, bytes, kinds, &random),
                       WithWindow(options, static_cast<float>(1 + random() % 1200) * 0.25f,
                                  static_cast<float>(random() % 80) * 0.25f - 10.0f,
                                  static_cast<float>(random() % 80) * 0.25f - 10.0f)});
    }
    matched += ExpectOraclesMatches(pairs, absl::StrCat("set ", set, " bytes ", bytes));
  }
  EXPECT_GT(matched, 10'000u);
}

TEST_F(MatchParityTest, MatchesInABandAreTheOracles) {
  std::mt19937 random(54);
  size_t matched = 0;
  for (int set = 0; set < 12; ++set) {
    const int bytes = std::vector<int>{32, 4, 8, 16, 64, 128}[static_cast<size_t>(set % 6)];
    std::vector<Pair> pairs;
    for (const MatchOptions& options : EveryBand()) {
      pairs.push_back({MakeSet(random() % 400, bytes, set < 6 ? 3 : 0, &random),
                       MakeSet(random() % 400, bytes, set < 6 ? 3 : 0, &random), options});
    }
    ExpectSame(pairs);
    matched += ExpectOraclesMatches(pairs, absl::StrCat("set ", set, " bytes ", bytes));
  }
  EXPECT_GT(matched, 10'000u);
}

TEST_F(MatchParityTest, PlacesFarAwayOrNotFiniteMatchAsOnTheCpu) {
  std::mt19937 random(59);
  const auto query = std::make_shared<Features>(*MakeSet(300, 32, 3, &random));
  const auto train = std::make_shared<Features>(*MakeSet(500, 32, 3, &random));
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& side : {query, train}) {
    side->x[0] = side->y[1] = kNaN;
    side->x[2] = kInfinity;
    side->y[3] = -kInfinity;
    side->x[4] = 3e38f;
    side->y[5] = -1e30f;
  }
  std::vector<Pair> pairs;
  for (const float window_px : {1e-40f, 0.25f, 300.0f, 3e38f}) {
    for (const float offset_px : {0.0f, 3e38f}) {
      pairs.push_back({query, train, WithWindow({4}, window_px, offset_px)});
      pairs.push_back({query, train, WithWindow({1, 0.9f, true}, window_px, 0.0f, offset_px)});
    }
  }
  for (const MatchOptions& options : EveryBand()) pairs.push_back({query, train, options});
  ExpectSame(pairs);
}

TEST_F(MatchParityTest, PlacesGoUpOnceAndOnlyForPairsWithAWindow) {
  std::mt19937 random(61);
  const auto set = MakeSet(200, 32, 3, &random);
  const auto state = *gpu_->ImportState(set);
  const auto* const gpu_state = dynamic_cast<const GpuFrameState*>(state.get());
  ASSERT_NE(gpu_state, nullptr);
  Submit(*gpu_, {{state, state, {1}}}).get();
  EXPECT_NE(gpu_state->OnDevice(0, StatePart::kDescriptors), nullptr);
  EXPECT_EQ(gpu_state->OnDevice(0, StatePart::kPlaces), nullptr);
  Submit(*gpu_, {{state, state, WithWindow({1}, 10.0f)}, {state, state, WithWindow({1}, 20.0f)}})
      .get();
  const auto places = gpu_state->OnDevice(0, StatePart::kPlaces);
  EXPECT_NE(places, nullptr);
  Submit(*gpu_, {{state, state, WithWindow({1}, 10.0f)}}).get();
  EXPECT_EQ(gpu_state->OnDevice(0, StatePart::kPlaces), places);
}

TEST_F(MatchParityTest, ALargeRequestStopsWhenCancelledAndOthersGoOnMeanwhile) {
  std::mt19937 random(41);
  const auto a = MakeSet(100'000, 32, 0, &random);
  const auto b = MakeSet(100'000, 32, 0, &random);
  const std::vector<Pair> small = RandomPairs(40, 600, &random);
  const MatchBatchAnswer expected = Match(*cpu_, small);
  const auto plan = gpu_->MakePlan({320, 240, {}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const TestFrame frame = {MakeImage(Content::kShapes, 320, 240, &random), {}, {500, 20}};
  const auto expect_others = [&] {
    ExpectEqual(small, expected, Match(*gpu_, small));
    EXPECT_TRUE(Compute(*gpu_, *plan, {frame}).frames.at(0).status.ok());
  };
  expect_others();  // loads the device's code

  // 1.3e12 distances: seconds of an H200.
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  const std::vector<Pair> large(64, Pair{a, b, {1, 0.0f, true}});
  std::future<MatchBatchAnswer> stopped = Submit(*gpu_, Import(*gpu_, large, cancelled));
  for (int i = 0; i < 4; ++i) expect_others();
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "what was asked for meanwhile waited for the large request";
  cancelled->store(true);
  const MatchBatchAnswer answer = stopped.get();
  ASSERT_EQ(answer.pairs.size(), large.size());
  EXPECT_EQ(answer.pairs.back().status.code(), absl::StatusCode::kCancelled);
  for (const MatchAnswer& pair : answer.pairs) {
    if (!pair.status.ok()) {
      EXPECT_EQ(pair.status.code(), absl::StatusCode::kCancelled);
    }
    EXPECT_EQ(pair.matches.count() > 0, pair.status.ok());
  }
  expect_others();
}

TEST_F(MatchParityTest, CancelledBeforeItBeginsAndWithoutPairs) {
  std::mt19937 random(43);
  const auto set = MakeSet(50, 32, 0, &random);
  std::vector<MatchJob> jobs = Import(*gpu_, {{set, set, {1}}, {set, set, {1}}});
  jobs[0].cancelled = std::make_shared<std::atomic<bool>>(true);
  const MatchBatchAnswer answer = Submit(*gpu_, std::move(jobs)).get();
  EXPECT_EQ(answer.pairs.at(0).status.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(answer.pairs.at(1).status.ok());
  EXPECT_EQ(answer.pairs.at(1).matches.count(), 50u);
  EXPECT_TRUE(Submit(*gpu_, {}).get().pairs.empty());
}

TEST_F(MatchParityTest, APairThatFindsNoMemoryFailsAloneAndIdleMemoryIsUsedAgain) {
  GpuBackendOptions options;
  options.devices = {0};
  options.lanes = 1;
  options.memory_limit_bytes = int64_t{12} << 20;
  const auto small = MakeGpu(options);
  ASSERT_NE(small, nullptr);
  std::mt19937 random(47);
  const auto few = MakeSet(100, 32, 0, &random);
  std::vector<Pair> pairs;
  pairs.reserve(3);
  // 4 MiB each, as memory of states is kept in powers of two: the third does not fit beside the
  // other two.
  for (int i = 0; i < 3; ++i) pairs.push_back({MakeSet(100'000, 32, 0, &random), few, {1}});
  const MatchBatchAnswer expected = Match(*cpu_, pairs);
  MatchBatchAnswer answer = Match(*small, pairs);
  EXPECT_EQ(answer.pairs.at(2).status.code(), absl::StatusCode::kResourceExhausted)
      << answer.pairs.at(2).status;
  answer.pairs[2] = expected.pairs[2];
  ExpectEqual(pairs, expected, answer);
  // The first two are gone; now it fits, and others of another size instead of it.
  const std::vector<Pair> third = {pairs[2]};
  ExpectEqual(third, Match(*cpu_, third), Match(*small, third));
  std::vector<Pair> others;
  others.reserve(8);
  for (int i = 0; i < 8; ++i) others.push_back({MakeSet(30'000, 32, 0, &random), few, {1}});
  ExpectEqual(others, Match(*cpu_, others), Match(*small, others));
  // Both sides large, backwards too: no more memory than the sets themselves.
  const std::vector<Pair> both = {{pairs[0].query, few, {2}},
                                  {pairs[1].query, others[0].query, {1, 0.0f, true, 60}}};
  ExpectEqual(both, Match(*cpu_, both), Match(*small, both));
}

TEST_F(MatchParityTest, StatesOfFramesMatchAsTheirFeaturesDo) {
  std::mt19937 random(19);
  const PlanSpec spec = {640, 480, {}};
  const TestImage image = MakeImage(Content::kShapes, 680, 500, &random);
  std::vector<TestFrame> frames;
  for (const int shift : {0, 9}) {
    frames.push_back(
        {Crop(image, shift, shift, 640, 480), {}, {1000, 15}, nullptr, KeepState::kFeatures});
  }
  MatchBatchAnswer answers[2];
  for (int b = 0; b < 2; ++b) {
    FeatureBackend& backend = b == 0 ? *cpu_ : *gpu_;
    const auto plan = backend.MakePlan(spec);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const FrameBatchAnswer answer = Compute(backend, *plan, frames);
    ASSERT_TRUE(answer.frames[0].status.ok()) << answer.frames[0].status;
    ASSERT_NE(answer.frames[0].state, nullptr);
    const auto& query = answer.frames[0].state;
    const auto& train = answer.frames[1].state;
    // The second frame lies 9 pixels to the right and below.
    answers[b] = Submit(backend, {{query, train, {1, 0.8f, true}},
                                  {query, train, WithWindow({1, 0.8f, true}, 4.0f, -9.0f, -9.0f)}})
                     .get();
  }
  for (size_t pair = 0; pair < 2; ++pair) {
    EXPECT_GT(answers[0].pairs[pair].matches.count(), 100u);
    EXPECT_TRUE(SameMatches(answers[0].pairs[pair].matches, answers[1].pairs[pair].matches));
  }
}

}  // namespace
}  // namespace orbserve::gpu
