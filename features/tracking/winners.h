// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The winners of a frame. New tracks begin at the best winners whose cells are free, so a stream
// with tracks needs all winners of its cells, also if its answers have only the best
// `max_features`, or fewer. It asks the backend for all of them and makes the answer by a cut on
// the host. The answer is the one that the backend would have given for `max_features`.

#ifndef ORBSERVE_FEATURES_TRACKING_WINNERS_H_
#define ORBSERVE_FEATURES_TRACKING_WINNERS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "features/options.h"
#include "features/types.h"

namespace orbserve {

// True for pipelines whose answer for `max_features` is a cut of the answer with all winners: the
// suppression CELL with the selection BEST.
bool CutsWinners(const PipelineOptions& pipeline);

// The pipeline that a frame with tracks is computed with: no capacity bounds the winners of one
// that passes CutsWinners(). Others are unchanged.
PipelineOptions PipelineOfWinners(const PipelineOptions& pipeline);

// The `max_features` that a frame with tracks asks its backend for: as many as the frame has cells
// for pipelines that pass CutsWinners(), and otherwise `wanted`.
int WinnersToAskFor(const PipelineOptions& pipeline, int width_px, int height_px, int wanted);

// Keeps the first `count` of `rows` of `features` in the order of the frame, and sorts them by it:
// response down, level up, y up, x up, row up. Keeps all where there are fewer.
void KeepFirstOfFrame(const Features& features, size_t count, std::vector<size_t>* rows);

// The answer of `pipeline` for `wanted` features, made of `winners`, the answer of
// PipelineOfWinners() for WinnersToAskFor(). `winners` itself where nothing is to be cut. The
// pipeline must pass CutsWinners(); frames with given keypoints, whose answers nothing cuts, come
// back unchanged.
std::shared_ptr<const Features> CutToWanted(const PipelineOptions& pipeline,
                                            std::shared_ptr<const Features> winners, int wanted);

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_TRACKING_WINNERS_H_
