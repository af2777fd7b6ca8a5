// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/steps/select/quadtree.h"

#include <algorithm>
#include <array>

#include "cpu/kernels/selection.h"
#include "cpu/steps/select/rank.h"
#include "features/algo/quadtree.h"
#include "features/host_device.h"
#include "features/pipeline/capacity.h"

namespace orbserve::cpu {
namespace {

// Nodes of the first grid for each keypoint that is wanted. Four times as many are one round more.
constexpr int64_t kNodesPerKeypoint = 16;
// Most nodes of the grid, where the roots are not more: counts of 256 KiB.
constexpr int64_t kMaxNodes = 1 << 16;

// Divides scratch memory into arrays.
class Arrays {
 public:
  explicit Arrays(uint8_t* memory) : next_(memory) {}
  template <typename T>
  T* Next(size_t count) {
    T* const array = reinterpret_cast<T*>(next_);
    next_ += RoundUp<size_t>(count * sizeof(T), alignof(uint64_t));
    return array;
  }

 private:
  uint8_t* next_;
};

class Quadtree final : public Step {
 public:
  explicit Quadtree(const StepSetup& setup) : pipeline_(setup.pipeline) {
    for (size_t l = 0; l < pipeline_.pyramid.levels.size(); ++l) {
      const Region& region = pipeline_.pyramid.levels[l].region;
      if (!region.empty()) trees_[l] = LevelQuadtree(region);
    }
  }

  absl::string_view name() const override { return "quadtree"; }
  StageSet stages() const override { return Stage::kSelect; }

  void Declare(WorkspaceLayout* layout) override {
    const PipelineOptions& options = pipeline_.spec.pipeline;
    for (size_t l = 0; l < pipeline_.pyramid.levels.size(); ++l) {
      const Region& region = pipeline_.pyramid.levels[l].region;
      if (region.empty()) continue;
      // A tree is made for fewer keypoints than the level has candidates.
      const int64_t most = std::min<int64_t>(options.select.capacity, MaxCorners(options, region));
      layout->AddScratch(trees_[l].ScratchBytes(static_cast<int>(most)));
    }
  }
  size_t table_bytes() const override {
    size_t bytes = 0;
    for (const LevelQuadtree& tree : trees_) bytes += tree.table_bytes();
    return bytes;
  }

  int Begin(FrameContext& frame, int level) const override {
    return frame.level(level).survivors > 0 ? 1 : 0;
  }

  void Run(FrameContext& frame, int level, int /*task*/) const override {
    const auto l = static_cast<size_t>(level);
    RankLevel(frame, level,
              trees_[l].Keep(frame.At(frame.lists.keys, level), frame.level(level).survivors,
                             frame.cuts.by_response[l], frame.Scratch<uint8_t>()));
  }

 private:
  const CompiledPipeline& pipeline_;
  std::array<LevelQuadtree, kMaxLevels> trees_;
};

// Writes the paths of the pixels `begin` to `end` of a side, which are those of a node of `depth`
// with the path `node` so far. Those behind its middle take `child` in the next step.
void WritePaths(int begin, int end, int depth, uint64_t node, int child, uint64_t* paths) {
  if (end - begin <= 1 || depth == algo::kQuadtreeDepth) {
    std::fill(paths + begin, paths + end, node << (2 * (algo::kQuadtreeDepth - depth)));
    return;
  }
  const int middle = algo::QuadtreeSplit(begin, end);
  WritePaths(begin, middle, depth + 1, node << 2, child, paths);
  WritePaths(middle, end, depth + 1, node << 2 | static_cast<uint64_t>(child), child, paths);
}

// Returns the paths of the pixels of a side: algo::QuadtreePath() with 0 for the other coordinate,
// at a tenth of its cost. `roots`: along the side, whose numbers grow by `root_step`.
std::vector<uint64_t> SidePaths(int side, int roots, int root_step, int child) {
  std::vector<uint64_t> paths(static_cast<size_t>(side));
  for (int i = 0; i < roots; ++i) {
    WritePaths(algo::QuadtreePartBegin(side, i, roots), algo::QuadtreePartBegin(side, i + 1, roots),
               /*depth=*/0, static_cast<uint64_t>(i * root_step), child, paths.data());
  }
  return paths;
}

}  // namespace

// Neither coordinate has a part in what the other one decides, and pixel 0 takes the left, or
// upper, child at every step.
LevelQuadtree::LevelQuadtree(const Region& region) : region_(region) {
  const algo::QuadtreeRoots roots = algo::QuadtreeRootsOf(region.width(), region.height());
  roots_ = roots.columns * roots.rows;
  column_path_ = SidePaths(region.width(), roots.columns, /*root_step=*/1, /*child=*/1);
  row_path_ = SidePaths(region.height(), roots.rows, /*root_step=*/roots.columns, /*child=*/2);
}

int LevelQuadtree::GridDepth(int64_t most_nodes) const {
  int64_t nodes = roots_;
  int depth = 0;
  while (depth < algo::kQuadtreeDepth && 4 * nodes <= most_nodes) {
    nodes *= 4;
    ++depth;
  }
  return depth;
}

size_t LevelQuadtree::ScratchBytes(int wanted) const {
  // The counts of all depths are at most a third more than those of the deepest.
  const int64_t counts = 4 * std::max<int64_t>(kMaxNodes, roots_) / 3 + algo::kQuadtreeDepth + 1;
  // Every split but the last leaves fewer nodes than are wanted; it leaves up to three more.
  const int64_t leaves = std::max<int64_t>(roots_, static_cast<int64_t>(wanted) + 3);
  return static_cast<size_t>(counts) * sizeof(int32_t) + sizeof(uint64_t) +
         static_cast<size_t>(leaves) * (sizeof(uint64_t) + sizeof(Split));
}

int LevelQuadtree::Keep(uint64_t* keys, int number, int wanted, uint8_t* scratch) const {
  if (wanted <= 0) return 0;
  if (number <= wanted) return number;
  // Crowded candidates need a finer grid than others.
  const int deepest = GridDepth(kMaxNodes);
  for (int depth = GridDepth(std::min(kNodesPerKeypoint * wanted, kMaxNodes)); depth <= deepest;
       depth += 2) {
    const int kept = KeepByCounts(keys, number, wanted, depth, scratch);
    if (kept > 0) return kept;
  }
  return KeepByPaths(keys, number, wanted, scratch);
}

// How many nodes a round leaves, and what each split adds, follows from the number of candidates in
// each node of a grid: two passes over the candidates and none that sorts them. Returns 0 and
// leaves the keys as they are if the tree is deeper than the grid.
int LevelQuadtree::KeepByCounts(uint64_t* keys, int number, int wanted, int grid_depth,
                                uint8_t* scratch) const {
  Arrays arrays(scratch);
  std::array<int32_t*, algo::kQuadtreeDepth + 1> counts;  // [depth][node]
  std::array<int32_t, algo::kQuadtreeDepth + 1> nodes;    // [depth], those that are not empty
  const auto count_of = [this](int depth) { return static_cast<size_t>(roots_) << (2 * depth); };
  const auto shift_of = [](int depth) { return 2 * (algo::kQuadtreeDepth - depth); };

  {
    const size_t cells = count_of(grid_depth);
    int32_t* const grid = arrays.Next<int32_t>(cells);
    std::fill_n(grid, cells, 0);
    const int shift = shift_of(grid_depth);
    for (int i = 0; i < number; ++i) ++grid[PathOf(keys[i]) >> shift];
    int32_t filled = 0;
    for (size_t i = 0; i < cells; ++i) filled += grid[i] > 0 ? 1 : 0;
    if (filled < wanted) return 0;
    counts[static_cast<size_t>(grid_depth)] = grid;
    nodes[static_cast<size_t>(grid_depth)] = filled;
  }
  int round = grid_depth;  // the first after which there are as many nodes as are wanted
  while (round > 0) {
    const size_t cells = count_of(round - 1);
    const int32_t* const children = counts[static_cast<size_t>(round)];
    int32_t* const parents = arrays.Next<int32_t>(cells);
    int32_t filled = 0;
    for (size_t i = 0; i < cells; ++i) {
      const int32_t* const four = children + 4 * i;
      parents[i] = four[0] + four[1] + four[2] + four[3];
      filled += parents[i] > 0 ? 1 : 0;
    }
    counts[static_cast<size_t>(round - 1)] = parents;
    nodes[static_cast<size_t>(round - 1)] = filled;
    if (filled < wanted) break;
    --round;
  }

  // The counts of the last round's nodes become numbers of leaves.
  int32_t* const leaf_of = counts[static_cast<size_t>(round)];
  int leaves = 0;
  if (round == 0) {
    for (size_t i = 0; i < count_of(0); ++i) {
      if (leaf_of[i] > 0) leaf_of[i] = leaves++;
    }
  } else {
    const int depth = round - 1;
    int32_t left = nodes[static_cast<size_t>(depth)];
    Split* const splits = arrays.Next<Split>(static_cast<size_t>(left));
    int split_count = 0;
    const int32_t* const parents = counts[static_cast<size_t>(depth)];
    for (size_t i = 0; i < count_of(depth); ++i) {
      if (parents[i] == 0) continue;
      int32_t* const four = leaf_of + 4 * i;
      if (parents[i] == 1) {
        std::fill_n(four, 4, leaves++);
        continue;
      }
      const int gain = (four[0] > 0) + (four[1] > 0) + (four[2] > 0) + (four[3] > 0) - 1;
      splits[split_count++] = {
          algo::QuadtreeSplitKey(static_cast<uint64_t>(i) << shift_of(depth), depth, parents[i],
                                 region_.width(), region_.height()),
          static_cast<int32_t>(i), parents[i], gain};
    }
    std::sort(splits, splits + split_count,
              [](const Split& a, const Split& b) { return a.order < b.order; });
    for (int s = 0; s < split_count; ++s) {
      int32_t* const four = leaf_of + 4 * static_cast<size_t>(splits[s].node);
      if (left >= wanted) {
        std::fill_n(four, 4, leaves++);
        continue;
      }
      left += splits[s].gain;
      for (int child = 0; child < 4; ++child) {
        if (four[child] > 0) four[child] = leaves++;
      }
    }
  }

  uint64_t* const best = arrays.Next<uint64_t>(static_cast<size_t>(leaves));
  std::fill_n(best, leaves, ~uint64_t{0});
  const int shift = shift_of(round);
  for (int i = 0; i < number; ++i) {
    uint64_t& of_leaf = best[leaf_of[PathOf(keys[i]) >> shift]];
    of_leaf = std::min(of_leaf, keys[i]);
  }
  std::copy_n(best, leaves, keys);
  return KeepFirstKeys(keys, leaves, wanted);
}

// For a tree of any depth: candidates sorted by path hold every node as a run, and the number of
// nodes at a depth is the number of neighbours that part at it or above.
int LevelQuadtree::KeepByPaths(uint64_t* keys, int number, int wanted, uint8_t* scratch) const {
  std::sort(keys, keys + number, [this](uint64_t a, uint64_t b) { return PathOf(a) < PathOf(b); });
  const auto fork_at = [this, keys](int i) {
    return algo::QuadtreeFork(PathOf(keys[i - 1]), PathOf(keys[i]));
  };
  std::array<int32_t, algo::kQuadtreeDepth + 1> forks{};
  for (int i = 1; i < number; ++i) ++forks[static_cast<size_t>(fork_at(i))];
  int round = 0;
  int nodes = 1 + forks[0];
  while (nodes < wanted) nodes += forks[static_cast<size_t>(++round)];
  // Nodes that the last round splits; where it is round 0, all of them stay.
  const int depth = std::max(round - 1, 0);
  if (round > 0) nodes -= forks[static_cast<size_t>(round)];

  Arrays arrays(scratch);
  Split* const splits = arrays.Next<Split>(static_cast<size_t>(nodes));
  int split_count = 0;
  for (int begin = 0; begin < number;) {
    int end = begin + 1;
    int gain = 0;
    for (; end < number; ++end) {
      const int fork = fork_at(end);
      if (fork <= depth) break;
      gain += fork == round ? 1 : 0;
    }
    splits[split_count++] = {algo::QuadtreeSplitKey(PathOf(keys[begin]), depth, end - begin,
                                                    region_.width(), region_.height()),
                             begin, end - begin, gain};
    begin = end;
  }
  // Single candidates come last in this order and add nothing.
  std::sort(splits, splits + split_count,
            [](const Split& a, const Split& b) { return a.order < b.order; });
  uint64_t* const best = arrays.Next<uint64_t>(static_cast<size_t>(std::max(nodes, wanted + 3)));
  int leaves = 0;
  for (int s = 0; s < split_count; ++s) {
    const Split& split = splits[s];
    const bool is_split = round > 0 && nodes < wanted;
    if (is_split) nodes += split.gain;
    best[leaves] = keys[split.node];
    for (int i = split.node + 1; i < split.node + split.count; ++i) {
      if (is_split && fork_at(i) == round) best[++leaves] = keys[i];
      best[leaves] = std::min(best[leaves], keys[i]);
    }
    ++leaves;
  }
  std::copy_n(best, leaves, keys);
  return KeepFirstKeys(keys, leaves, wanted);
}

std::unique_ptr<Step> MakeQuadtree(const StepSetup& setup) {
  return std::make_unique<Quadtree>(setup);
}

}  // namespace orbserve::cpu
