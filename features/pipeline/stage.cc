// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "features/pipeline/stage.h"

#include "absl/strings/str_cat.h"

namespace orbserve {
namespace {

constexpr std::array<absl::string_view, kStageCount> kStageNames = {
    "decode", "pyramid", "detect", "suppress", "select", "orient", "describe", "match", "track"};
static_assert(static_cast<int>(Stage::kTrack) + 1 == kStageCount);

}  // namespace

absl::string_view StageName(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }

std::string StageSet::Name() const {
  std::string name;
  for (int i = 0; i < kStageCount; ++i) {
    const auto stage = static_cast<Stage>(i);
    if (Has(stage)) absl::StrAppend(&name, name.empty() ? "" : "+", StageName(stage));
  }
  return name;
}

}  // namespace orbserve
