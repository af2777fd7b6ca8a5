// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/geometry/fundamental_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

namespace orbserve::cli {
namespace {

constexpr int kSample = 7;
constexpr int kRefinements = 4;  // of a new best model
constexpr int kJacobiSweeps = 12;
constexpr int kBisections = 60;
constexpr uint64_t kSeed = 0x6f72627365727665;

using Matrix3 = std::array<double, 9>;
using Vector9 = std::array<double, 9>;

// SplitMix64: small, and the same numbers everywhere.
class Random {
 public:
  // Returns a number in [0, count).
  size_t Below(size_t count) {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t value = state_;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    value ^= value >> 31;
    return static_cast<size_t>(value % count);
  }

 private:
  uint64_t state_ = kSeed;
};

// Moves the centroid of points to the origin and scales their mean distance from it to sqrt(2).
struct Normalisation {
  double scale = 1;
  double x = 0;
  double y = 0;
};

Normalisation NormalisationOf(absl::Span<const PointPair> pairs, double PointPair::*x,
                              double PointPair::*y) {
  Normalisation result;
  const auto count = static_cast<double>(pairs.size());
  for (const PointPair& pair : pairs) {
    result.x += pair.*x / count;
    result.y += pair.*y / count;
  }
  double distance = 0;
  for (const PointPair& pair : pairs) {
    distance += std::hypot(pair.*x - result.x, pair.*y - result.y) / count;
  }
  result.scale = distance > 0 ? std::numbers::sqrt2 / distance : 1;
  return result;
}

// Row of the equation p1^T F p0 = 0 for the nine entries of F.
Vector9 RowOf(const PointPair& p) {
  return {p.x1 * p.x0, p.x1 * p.y0, p.x1, p.y1 * p.x0, p.y1 * p.y0, p.y1, p.x0, p.y0, 1.0};
}

double Determinant(const Matrix3& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
         m[2] * (m[3] * m[7] - m[4] * m[6]);
}

// Scales to the Frobenius norm 1; false if the matrix is zero or not finite.
bool Normalise(Matrix3* m) {
  double sum = 0;
  for (const double value : *m) sum += value * value;
  if (!(sum > 0) || !std::isfinite(sum)) return false;
  const double factor = 1 / std::sqrt(sum);
  for (double& value : *m) value *= factor;
  return true;
}

// Matrix for pixels, from the one for normalised coordinates: T1^T F T0.
Matrix3 Denormalised(const Matrix3& f, const Normalisation& n0, const Normalisation& n1) {
  Matrix3 right;  // F T0
  for (int row = 0; row < 3; ++row) {
    const double a = f[3 * row] * n0.scale;
    const double b = f[3 * row + 1] * n0.scale;
    right[3 * row] = a;
    right[3 * row + 1] = b;
    right[3 * row + 2] = f[3 * row + 2] - a * n0.x - b * n0.y;
  }
  Matrix3 result;
  for (int column = 0; column < 3; ++column) {
    const double a = n1.scale * right[column];
    const double b = n1.scale * right[3 + column];
    result[column] = a;
    result[3 + column] = b;
    result[6 + column] = right[6 + column] - a * n1.x - b * n1.y;
  }
  return result;
}

// Real roots of a + b t + c t^2 + d t^3, in ascending order. Returns their number, 0 to 3.
int CubicRoots(double a, double b, double c, double d, double* roots) {
  const double largest = std::max({std::abs(a), std::abs(b), std::abs(c), std::abs(d)});
  if (!(largest > 0)) return 0;
  const auto value = [&](double t) { return a + t * (b + t * (c + t * d)); };
  // All roots lie within Cauchy's bound. A leading coefficient near 0 sends one root far away,
  // which stands for the second of the two matrices alone.
  const double lead = std::max(std::abs(d), largest * 1e-9);
  const double bound = 1 + largest / lead;
  // The turning points divide the line into parts with one root at most.
  double ends[4] = {-bound, bound, bound, bound};
  int parts = 1;
  const double discriminant = c * c - 3 * d * b;
  if (discriminant > 0) {
    const double q = -(c + std::copysign(std::sqrt(discriminant), c));
    double first = std::abs(d) > 0 ? q / (3 * d) : bound;
    double second = std::abs(q) > 0 ? b / q : bound;
    if (first > second) std::swap(first, second);
    for (const double turn : {first, second}) {
      if (turn > ends[parts - 1] && turn < bound) ends[parts++] = turn;
    }
    ends[parts] = bound;
  }
  int count = 0;
  for (int part = 0; part < parts; ++part) {
    double low = ends[part];
    double high = ends[part + 1];
    const bool rises = value(low) < 0;
    if (rises == (value(high) < 0)) continue;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = 0.5 * (low + high);
      ((value(middle) < 0) == rises ? low : high) = middle;
    }
    roots[count++] = 0.5 * (low + high);
  }
  return count;
}

// Two vectors that span the null space of seven rows, by elimination with full pivoting. False if
// the rows are not independent.
bool NullSpace(std::array<Vector9, kSample>* rows, Vector9* first, Vector9* second) {
  std::array<int, 9> columns = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (int step = 0; step < kSample; ++step) {
    int best_row = step;
    int best_column = step;
    double best = 0;
    for (int row = step; row < kSample; ++row) {
      for (int column = step; column < 9; ++column) {
        const double size = std::abs((*rows)[row][columns[column]]);
        if (size > best) {
          best = size;
          best_row = row;
          best_column = column;
        }
      }
    }
    if (!(best > 1e-9)) return false;
    std::swap((*rows)[step], (*rows)[best_row]);
    std::swap(columns[step], columns[best_column]);
    const Vector9& pivot = (*rows)[step];
    for (int row = 0; row < kSample; ++row) {
      if (row == step) continue;
      const double factor = (*rows)[row][columns[step]] / pivot[columns[step]];
      for (int column = step; column < 9; ++column) {
        (*rows)[row][columns[column]] -= factor * pivot[columns[column]];
      }
    }
  }
  const auto fill = [&](int free, Vector9* vector) {
    vector->fill(0);
    (*vector)[columns[free]] = 1;
    for (int step = 0; step < kSample; ++step) {
      (*vector)[columns[step]] = -(*rows)[step][columns[free]] / (*rows)[step][columns[step]];
    }
  };
  fill(7, first);
  fill(8, second);
  return true;
}

// Matrices of rank 2 through seven matches, in normalised coordinates. Returns their number.
int SevenPoints(absl::Span<const PointPair> normalised, const std::array<size_t, kSample>& sample,
                Matrix3* models) {
  std::array<Vector9, kSample> rows;
  for (int i = 0; i < kSample; ++i) rows[i] = RowOf(normalised[sample[i]]);
  Matrix3 first;
  Matrix3 second;
  if (!NullSpace(&rows, &first, &second)) return 0;
  // det(second + t (first - second)) is a cubic in t; four values give its coefficients.
  const auto at = [&](double t) {
    Matrix3 m;
    for (int i = 0; i < 9; ++i) m[i] = second[i] + t * (first[i] - second[i]);
    return m;
  };
  const double v0 = Determinant(at(0));
  const double v1 = Determinant(at(1));
  const double v2 = Determinant(at(2));
  const double v3 = Determinant(at(-1));
  const double c = (v1 + v3) / 2 - v0;
  const double d = (v2 - v0 - 4 * c - (v1 - v3)) / 6;
  const double b = (v1 - v3) / 2 - d;
  double roots[3];
  const int count = CubicRoots(v0, b, c, d, roots);
  for (int i = 0; i < count; ++i) models[i] = at(roots[i]);
  return count;
}

// Eigenvector of the smallest eigenvalue of a symmetric matrix of `kSize` rows, by Jacobi's method.
template <int kSize>
std::array<double, kSize> SmallestEigenvector(std::array<double, kSize * kSize> m) {
  std::array<double, kSize* kSize> vectors = {};
  for (int i = 0; i < kSize; ++i) vectors[i * kSize + i] = 1;
  for (int sweep = 0; sweep < kJacobiSweeps; ++sweep) {
    for (int p = 0; p < kSize; ++p) {
      for (int q = p + 1; q < kSize; ++q) {
        const double off = m[p * kSize + q];
        if (off == 0) continue;
        const double theta = (m[q * kSize + q] - m[p * kSize + p]) / (2 * off);
        const double t =
            std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        const double cosine = 1 / std::sqrt(t * t + 1);
        const double sine = t * cosine;
        for (int k = 0; k < kSize; ++k) {
          const double a = m[k * kSize + p];
          const double b = m[k * kSize + q];
          m[k * kSize + p] = cosine * a - sine * b;
          m[k * kSize + q] = sine * a + cosine * b;
        }
        for (int k = 0; k < kSize; ++k) {
          const double a = m[p * kSize + k];
          const double b = m[q * kSize + k];
          m[p * kSize + k] = cosine * a - sine * b;
          m[q * kSize + k] = sine * a + cosine * b;
          const double va = vectors[k * kSize + p];
          const double vb = vectors[k * kSize + q];
          vectors[k * kSize + p] = cosine * va - sine * vb;
          vectors[k * kSize + q] = sine * va + cosine * vb;
        }
      }
    }
  }
  int smallest = 0;
  for (int i = 1; i < kSize; ++i) {
    if (m[i * kSize + i] < m[smallest * kSize + smallest]) smallest = i;
  }
  std::array<double, kSize> vector;
  for (int k = 0; k < kSize; ++k) vector[k] = vectors[k * kSize + smallest];
  return vector;
}

// The nearest matrix of rank 2: F (I - v v^T), where v belongs to the smallest singular value.
Matrix3 RankTwo(const Matrix3& f) {
  Matrix3 squared = {};  // F^T F
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) squared[3 * i + j] += f[3 * k + i] * f[3 * k + j];
    }
  }
  const std::array<double, 3> v = SmallestEigenvector<3>(squared);
  Matrix3 result = f;
  for (int row = 0; row < 3; ++row) {
    const double along = f[3 * row] * v[0] + f[3 * row + 1] * v[1] + f[3 * row + 2] * v[2];
    for (int column = 0; column < 3; ++column) result[3 * row + column] -= along * v[column];
  }
  return result;
}

class Estimator {
 public:
  Estimator(absl::Span<const PointPair> pairs, const FundamentalOptions& options)
      : pairs_(pairs),
        options_(options),
        limit_(options.max_error_px * options.max_error_px),
        n0_(NormalisationOf(pairs, &PointPair::x0, &PointPair::y0)),
        n1_(NormalisationOf(pairs, &PointPair::x1, &PointPair::y1)) {
    normalised_.reserve(pairs.size());
    for (const PointPair& pair : pairs) {
      normalised_.push_back({.x0 = (pair.x0 - n0_.x) * n0_.scale,
                             .y0 = (pair.y0 - n0_.y) * n0_.scale,
                             .x1 = (pair.x1 - n1_.x) * n1_.scale,
                             .y1 = (pair.y1 - n1_.y) * n1_.scale});
    }
  }

  std::optional<FundamentalMatrix> Run() {
    int wanted = options_.max_samples;
    for (int round = 0; round < wanted; ++round) {
      Matrix3 models[3];
      const int count = SevenPoints(normalised_, Draw(), models);
      for (int i = 0; i < count; ++i) {
        Matrix3 f = Denormalised(models[i], n0_, n1_);
        if (!Normalise(&f) || !Accept(f)) continue;
        for (int step = 0; step < kRefinements && Refine(); ++step) {
        }
        wanted = std::min(wanted, SamplesFor(CountInliers(best_)));
      }
    }
    FundamentalMatrix result{.f = best_, .inliers = std::vector<bool>(pairs_.size())};
    for (size_t i = 0; i < pairs_.size(); ++i) {
      result.inliers[i] = SampsonSquared(best_, pairs_[i]) <= limit_;
      result.inlier_count += result.inliers[i] ? 1 : 0;
    }
    if (result.inlier_count < std::max(options_.min_inliers, ChanceInliers())) return std::nullopt;
    return result;
  }

 private:
  std::array<size_t, kSample> Draw() {
    std::array<size_t, kSample> sample;
    for (int i = 0; i < kSample; ++i) {
      do {
        sample[i] = random_.Below(pairs_.size());
      } while (std::find(sample.begin(), sample.begin() + i, sample[i]) != sample.begin() + i);
    }
    return sample;
  }

  // Makes `f` the best model if its cost is smaller.
  bool Accept(const Matrix3& f) {
    double cost = 0;
    for (const PointPair& pair : pairs_) {
      cost += std::min(SampsonSquared(f, pair), limit_);
      if (cost >= best_cost_) return false;
    }
    best_cost_ = cost;
    best_ = f;
    return true;
  }

  int CountInliers(const Matrix3& f) const {
    return static_cast<int>(std::count_if(pairs_.begin(), pairs_.end(), [&](const PointPair& pair) {
      return SampsonSquared(f, pair) <= limit_;
    }));
  }

  // Fits a matrix to all inliers of the best one (8 points or more); true if it is better.
  bool Refine() {
    std::array<double, 81> sums = {};
    int count = 0;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (SampsonSquared(best_, pairs_[i]) > limit_) continue;
      ++count;
      const Vector9 row = RowOf(normalised_[i]);
      for (int a = 0; a < 9; ++a) {
        for (int b = a; b < 9; ++b) sums[9 * a + b] += row[a] * row[b];
      }
    }
    if (count < kSample + 1) return false;
    for (int a = 0; a < 9; ++a) {
      for (int b = 0; b < a; ++b) sums[9 * a + b] = sums[9 * b + a];
    }
    Matrix3 f = Denormalised(RankTwo(SmallestEigenvector<9>(sums)), n0_, n1_);
    return Normalise(&f) && Accept(f);
  }

  // Samples that are needed for one without an outlier.
  int SamplesFor(int inliers) const {
    const double ratio = static_cast<double>(inliers) / static_cast<double>(pairs_.size());
    const double good = std::pow(ratio, kSample);
    if (good >= 1) return 1;
    if (good < 1e-9) return options_.max_samples;
    const double samples = std::ceil(std::log(1 - options_.confidence) / std::log(1 - good));
    return static_cast<int>(std::min(samples, static_cast<double>(options_.max_samples)));
  }

  // Number of inliers that matches without any relation stay below. A point lies within the largest
  // error of a line by chance as often as that band is part of the image; the best of many samples
  // has more, by some standard deviations.
  int ChanceInliers() const {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [x, y] :
         {std::pair(&PointPair::x0, &PointPair::y0), std::pair(&PointPair::x1, &PointPair::y1)}) {
      const auto [left, right] = std::minmax_element(
          pairs_.begin(), pairs_.end(),
          [x = x](const PointPair& a, const PointPair& b) { return a.*x < b.*x; });
      const auto [top, bottom] = std::minmax_element(
          pairs_.begin(), pairs_.end(),
          [y = y](const PointPair& a, const PointPair& b) { return a.*y < b.*y; });
      const double width = (*right).*x - (*left).*x;
      const double height = (*bottom).*y - (*top).*y;
      const double area = std::max(width * height, 1.0);
      least = std::min(least, area / std::max(std::hypot(width, height), 1.0));
    }
    // Sampson distances are smaller than distances to the line in one image, by sqrt(2).
    const double band_px = 2 * std::numbers::sqrt2 * options_.max_error_px;
    const double share = std::min(band_px / std::max(least, 1.0), 1.0);
    const double mean = share * static_cast<double>(pairs_.size());
    return kSample + static_cast<int>(std::ceil(mean + 8 * std::sqrt(mean * (1 - share))));
  }

  const absl::Span<const PointPair> pairs_;
  const FundamentalOptions& options_;
  const double limit_;
  const Normalisation n0_;
  const Normalisation n1_;
  std::vector<PointPair> normalised_;
  Random random_;
  Matrix3 best_ = {};
  double best_cost_ = std::numeric_limits<double>::infinity();
};

}  // namespace

double SampsonSquared(const std::array<double, 9>& f, const PointPair& p) {
  const double a0 = f[0] * p.x0 + f[1] * p.y0 + f[2];
  const double a1 = f[3] * p.x0 + f[4] * p.y0 + f[5];
  const double a2 = f[6] * p.x0 + f[7] * p.y0 + f[8];
  const double b0 = f[0] * p.x1 + f[3] * p.y1 + f[6];
  const double b1 = f[1] * p.x1 + f[4] * p.y1 + f[7];
  const double error = p.x1 * a0 + p.y1 * a1 + a2;
  const double slope = a0 * a0 + a1 * a1 + b0 * b0 + b1 * b1;
  return slope > 0 ? error * error / slope : std::numeric_limits<double>::infinity();
}

std::optional<FundamentalMatrix> EstimateFundamental(absl::Span<const PointPair> pairs,
                                                     const FundamentalOptions& options) {
  if (static_cast<int>(pairs.size()) < std::max(options.min_inliers, kSample + 1)) {
    return std::nullopt;
  }
  return Estimator(pairs, options).Run();
}

}  // namespace orbserve::cli
