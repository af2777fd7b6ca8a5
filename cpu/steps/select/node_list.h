// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Node list: the selection of ORB-SLAM3, which spreads the keypoints of a level and leaves them in
// the order of its nodes (features/algo/node_list.h).

#ifndef ORBSERVE_CPU_STEPS_SELECT_NODE_LIST_H_
#define ORBSERVE_CPU_STEPS_SELECT_NODE_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu/steps/step.h"
#include "features/algo/node_list.h"
#include "features/algo/zone.h"

namespace orbserve::cpu {

// The node list of one level. Immutable once made.
class LevelNodeList {
 public:
  LevelNodeList() = default;
  // `width_px` and `height_px`: of a level that has zones and roots.
  LevelNodeList(int width_px, int height_px);

  // Moves the chosen ones of `number` different rank keys, whose responses are FAST scores, to the
  // front in the order of the answer, and returns their number, at most MostNodes(wanted, roots).
  // The other keys change places. `scratch`: ScratchBytes(wanted, number) or more, aligned to 8.
  int Keep(uint64_t* keys, int number, int wanted, uint8_t* scratch) const;
  size_t ScratchBytes(int wanted, int64_t number) const;

 private:
  struct Node {
    algo::QuadtreeBox box;
    int32_t begin;  // of its keys
    int32_t count;  // 0: it was split
  };
  // The parts of the scratch memory.
  struct Lists;

  int64_t MostOf(int wanted, int64_t number) const;
  int MakeRoots(uint64_t* keys, int number, Lists* lists) const;

  algo::NodeRoots roots_;
  algo::Zones zones_;
};

std::unique_ptr<Step> MakeNodeList(const StepSetup& setup);

}  // namespace orbserve::cpu

#endif  // ORBSERVE_CPU_STEPS_SELECT_NODE_LIST_H_
