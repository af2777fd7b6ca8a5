// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/node_list.h"

#include <algorithm>
#include <array>

#include "cpu/steps/select/rank.h"
#include "features/algo/order.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"

namespace orbserve::cpu {
namespace {

int NodeX(uint64_t key) { return algo::RankKeyX(key) - algo::kZoneFramePx; }
int NodeY(uint64_t key) { return algo::RankKeyY(key) - algo::kZoneFramePx; }

class NodeListStep final : public Step {
 public:
  explicit NodeListStep(const StepSetup& setup) : pipeline_(setup.pipeline) {
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const LevelGeometry& level = pipeline_.level(l);
      if (!level.region.empty()) {
        lists_[static_cast<size_t>(l)] = LevelNodeList(level.width_px, level.height_px);
      }
    }
  }

  absl::string_view name() const override { return "node_list"; }
  StageSet stages() const override { return Stage::kSelect; }

  void Declare(WorkspaceLayout* layout) override {
    const PipelineOptions& options = pipeline_.spec.pipeline;
    for (int l = 0; l < pipeline_.level_count(); ++l) {
      const Region& region = pipeline_.level(l).region;
      if (region.empty()) continue;
      layout->AddScratch(lists_[static_cast<size_t>(l)].ScratchBytes(options.select.capacity,
                                                                     MaxCorners(options, region)));
    }
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.level(level).survivors > 0 ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const auto l = static_cast<size_t>(level);
    const int kept = lists_[l].Keep(frame.At(frame.lists.keys, level), frame.level(level).survivors,
                                    frame.cuts.by_response[l], frame.Scratch<uint8_t>());
    RankLevel(frame, level, kept, /*in_order=*/true);
  }

 private:
  const CompiledPipeline& pipeline_;
  std::array<LevelNodeList, kMaxLevels> lists_;
};

}  // namespace

// The list is rebuilt after each pass: the children, last made first, then the nodes that stayed.
struct LevelNodeList::Lists {
  Node* nodes;
  int count = 0;
  Node* rebuilt;   // the next list
  Node* children;  // in the order in which they were made
  int child_count = 0;
  uint64_t* open;  // algo::SortedNode() of the open children of a pass, in that order
  int open_count = 0;
  int gain = 0;  // nodes that the splits of a pass added

  Lists(uint8_t* scratch, int64_t most) {
    open = reinterpret_cast<uint64_t*>(scratch);
    nodes = reinterpret_cast<Node*>(open + most);
    rebuilt = nodes + most;
    children = rebuilt + most;
  }

  // Splits node `place`.
  void Split(uint64_t* keys, int place) {
    Node& node = nodes[place];
    const algo::QuadtreeBox box = node.box;
    const int mx = algo::QuadtreeSplit(box.x0, box.x1);
    const int my = algo::QuadtreeSplit(box.y0, box.y1);
    uint64_t* const begin = keys + node.begin;
    uint64_t* const end = begin + node.count;
    const auto is_left = [mx](uint64_t key) { return NodeX(key) < mx; };
    uint64_t* const lower =
        std::partition(begin, end, [my](uint64_t key) { return NodeY(key) < my; });
    uint64_t* const bounds[5] = {begin, std::partition(begin, lower, is_left), lower,
                                 std::partition(lower, end, is_left), end};
    for (int child = 0; child < 4; ++child) {
      const auto size = static_cast<int32_t>(bounds[child + 1] - bounds[child]);
      if (size == 0) continue;
      Node& made = children[child_count++];
      made = {box, static_cast<int32_t>(bounds[child] - keys), size};
      algo::EnterQuadtreeChild(child, &made.box);
      ++gain;
    }
    --gain;
    node.count = 0;
  }

  // Ends a pass.
  void Rebuild() {
    int next = 0;
    open_count = 0;
    for (int i = 0; i < child_count; ++i) {
      const Node& child = children[i];
      const int place = child_count - 1 - i;
      rebuilt[place] = child;
      if (child.count > 1) {
        open[open_count++] = algo::SortedNode(child.count, child.box.x0, place);
      }
    }
    next = child_count;
    for (int i = 0; i < count; ++i) {
      if (nodes[i].count > 0) rebuilt[next++] = nodes[i];
    }
    std::swap(nodes, rebuilt);
    count = next;
    child_count = 0;
    gain = 0;
  }
};

LevelNodeList::LevelNodeList(int width_px, int height_px)
    : roots_(algo::NodeRootsOf(width_px, height_px)), zones_(algo::ZonesOf(width_px, height_px)) {}

// Nodes of a list, and children of a pass, each have keys of their own.
int64_t LevelNodeList::MostOf(int wanted, int64_t number) const {
  return std::min<int64_t>(number, algo::MostNodes(wanted, roots_.count));
}

size_t LevelNodeList::ScratchBytes(int wanted, int64_t number) const {
  return static_cast<size_t>(MostOf(wanted, number)) * (sizeof(uint64_t) + 3 * sizeof(Node));
}

// Sorts the keys by their roots, in place: each root takes its own from those that follow.
int LevelNodeList::MakeRoots(uint64_t* keys, int number, Lists* lists) const {
  uint64_t* begin = keys;
  uint64_t* const all_end = keys + number;
  for (int root = 0; root < roots_.count && begin < all_end; ++root) {
    uint64_t* const end = std::partition(
        begin, all_end, [&](uint64_t key) { return roots_.RootOf(NodeX(key)) == root; });
    if (end > begin) {
      lists->nodes[lists->count++] = {roots_.BoxOf(root), static_cast<int32_t>(begin - keys),
                                      static_cast<int32_t>(end - begin)};
    }
    begin = end;
  }
  return lists->count;
}

int LevelNodeList::Keep(uint64_t* keys, int number, int wanted, uint8_t* scratch) const {
  if (number == 0) return 0;
  Lists lists(scratch, MostOf(wanted, number));
  MakeRoots(keys, number, &lists);
  for (;;) {
    const int before = lists.count;
    for (int i = 0; i < before; ++i) {
      if (lists.nodes[i].count > 1) lists.Split(keys, i);
    }
    lists.Rebuild();
    if (lists.count >= wanted || lists.count == before) break;
    if (lists.count + 3 * lists.open_count <= wanted) continue;
    // Largest first.
    while (lists.open_count > 0) {
      const int nodes = lists.count;
      algo::SortNodes(lists.open, lists.open_count);
      for (int i = lists.open_count - 1; i >= 0 && nodes + lists.gain < wanted; --i) {
        lists.Split(keys, algo::PlaceOfNode(lists.open[i]));
      }
      lists.Rebuild();
      if (lists.count >= wanted || lists.count == nodes) break;
    }
    break;
  }
  // The highest score of each node, of equal ones the first in the order of zones.
  for (int i = 0; i < lists.count; ++i) {
    const Node& node = lists.nodes[i];
    uint64_t best = keys[node.begin];
    for (int k = node.begin + 1; k < node.begin + node.count; ++k) {
      const uint64_t key = keys[k];
      const uint32_t rank = static_cast<uint32_t>(key >> 32);
      const uint32_t best_rank = static_cast<uint32_t>(best >> 32);
      if (rank > best_rank) continue;
      if (rank < best_rank || zones_.OrderOf(algo::RankKeyX(key), algo::RankKeyY(key)) <
                                  zones_.OrderOf(algo::RankKeyX(best), algo::RankKeyY(best))) {
        best = key;
      }
    }
    lists.open[i] = best;
  }
  std::copy_n(lists.open, lists.count, keys);
  return lists.count;
}

std::unique_ptr<Step> MakeNodeList(const StepSetup& setup) {
  return std::make_unique<NodeListStep>(setup);
}

}  // namespace orbserve::cpu
