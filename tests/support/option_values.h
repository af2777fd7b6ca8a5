// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Every value of every option of a pipeline: as options, on the wire, and as flags of the program
// `orbserve`. docs/coverage.md lists the tests that go through them.

#ifndef ORBSERVE_TESTS_SUPPORT_OPTION_VALUES_H_
#define ORBSERVE_TESTS_SUPPORT_OPTION_VALUES_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "features/options.h"
#include "tests/support/image_makers.h"

namespace orbserve::testing {

// One value of one option, in a pipeline that has a use for it.
struct OptionValue {
  std::string name;  // "score_SAD_ARC"
  PipelineOptions pipeline;
  FrameParameters parameters;
  // `pipeline` with another value of the option.
  PipelineOptions other_pipeline;
  FrameParameters other_parameters;
  // True unless the option is a hint: answers with the two values differ on OptionValueImage().
  bool changes_answer = true;
  // Parts of orbserve.v1.Pipeline as text, to be merged in order over the preset `orb`.
  std::vector<std::string> wire;
  // Flags and their values over the preset `orb`.
  std::vector<std::pair<std::string, std::string>> flags;
};

// In the order of orbserve.v1.Pipeline. The first and the last value of every range are there, and
// all values of every enum.
const std::vector<OptionValue>& OptionValues();

// One value of one option of matching. The flags are those over the preset `orb`, `wire` is
// orbserve.v1.MatchOptions.
struct MatchOptionValue {
  std::string name;
  MatchOptions options;
  MatchOptions other;
  std::string wire;
  std::vector<std::pair<std::string, std::string>> flags;
};
const std::vector<MatchOptionValue>& MatchOptionValues();

// One value of one option of tracks. The flags are those over the preset `vio`, `wire` is
// orbserve.v1.TrackOptions.
struct TrackOptionValue {
  std::string name;
  TrackOptions options;
  TrackOptions other;
  std::string wire;
  std::vector<std::pair<std::string, std::string>> flags;
};
const std::vector<TrackOptionValue>& TrackOptionValues();

// Every score with every comparison of neighbours that may go with it.
std::vector<std::pair<Score, Compare>> ScoresAndComparisons();

TestImage OptionValueImage();
// OptionValueImage() from a little to the left and above, with noise: a query to match with it.
TestImage OptionValueQueryImage();

// Frames of a stream whose tracks differ between the values of every option of tracks: the camera
// moves over a scene that becomes lighter, with noise.
std::vector<TestImage> OptionValueFrames();

// Names parameterised tests and prints their parameter.
struct NameOfOptionValue {
  template <typename TestParamInfo>
  std::string operator()(const TestParamInfo& value) const {
    return value.param.name;
  }
};
inline void PrintTo(const OptionValue& value, std::ostream* os) { *os << value.name; }
inline void PrintTo(const MatchOptionValue& value, std::ostream* os) { *os << value.name; }
inline void PrintTo(const TrackOptionValue& value, std::ostream* os) { *os << value.name; }

}  // namespace orbserve::testing

#endif  // ORBSERVE_TESTS_SUPPORT_OPTION_VALUES_H_
