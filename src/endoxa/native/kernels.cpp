#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// Built for the plain processor and for one with AVX2, chosen when the program starts. AVX2 alone fuses nothing.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    defined(__gnu_linux__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

namespace endoxa {

namespace {

// One item of a list in all worlds.
WIDE void count(const std::uint8_t* __restrict relevant, double weight, std::size_t worlds,
                std::int32_t* __restrict hits, double* __restrict total) {
  for (std::size_t world = 0; world < worlds; ++world) {
    const std::int32_t is = relevant[world];
    hits[world] += is;
    total[world] += static_cast<double>(hits[world] * is) * weight;
  }
}

// What is known of a list before its next item, at each node: E[H+1], E[X].
WIDE void step_mean(double p, double over, const double* __restrict t, std::size_t nodes, double* __restrict hits,
                    double* __restrict mean) {
  const double left = 1 - p;
  for (std::size_t node = 0; node < nodes; ++node) {
    const double raised = p * t[node];
    const double chance = raised / (left + raised);
    mean[node] += chance * over * hits[node];
    hits[node] += chance;
  }
}

// The same with Var[H], E[X(H+1)], and the two parts of E[X²] since the last sum.
WIDE void step_square(double p, double over, const double* __restrict t, std::size_t nodes, double* __restrict hits,
                      double* __restrict mean, double* __restrict free, double* __restrict mixed,
                      double* __restrict own, double* __restrict cross) {
  const double left = 1 - p;
  for (std::size_t node = 0; node < nodes; ++node) {
    const double raised = p * t[node];
    const double chance = raised / (left + raised);
    const double share = chance * over;
    const double gained = share * hits[node];
    const double squared = (hits[node] * hits[node] + free[node]) * share;
    own[node] += squared * over;
    cross[node] += share * mixed[node];
    mixed[node] += gained + squared + chance * mean[node];
    free[node] += chance - chance * chance;
    mean[node] += gained;
    hits[node] += chance;
  }
}

// The sum in NumPy's order: in eight sums, of halves where there are more than 128 numbers.
double sum_of(const double* values, std::size_t count) {
  if (count < 8) {
    double sum = -0.0;
    for (std::size_t at = 0; at < count; ++at) sum += values[at];
    return sum;
  }
  if (count > 128) {
    const std::size_t half = count / 2 / 8 * 8;
    return sum_of(values, half) + sum_of(values + half, count - half);
  }
  double sums[8];
  std::copy(values, values + 8, sums);
  std::size_t at = 8;
  for (; at < count / 8 * 8; at += 8)
    for (std::size_t part = 0; part < 8; ++part) sums[part] += values[at + part];
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; at < count; ++at) sum += values[at];
  return sum;
}

// The padded length of a list, as in measures/evaluate.py.
std::size_t padded(std::size_t count) {
  std::size_t step = 8;
  if (count > 128) {
    std::size_t bits = 0;
    while ((std::size_t{1} << bits) < count) ++bits;
    step = std::max<std::size_t>(std::size_t{1} << (bits - 3), 8);
  }
  return std::max<std::size_t>((count + step - 1) / step, 1) * step;
}

// What the values of one list are made from.
class List {
 public:
  List(const Found& found, const double* grades) : found_(found), grades_(grades) {}

  // The judged items from `begin` to `end`, of a query whose pool has the rows from `first` to `last`.
  void take(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    begin_ = begin, end_ = end, first_ = first, last_ = last;
  }

  double value(const Asked& asked) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::int64_t k = asked.k == 0 ? std::numeric_limits<std::int64_t>::max() : asked.k;
    if (asked.kind == Kind::nDCG) {
      const double best = ideal(k), gained = discounted(k);
      return best == 0 ? nan : gained / best;
    }
    if (asked.kind == Kind::RR || asked.kind == Kind::Success) {
      for (std::size_t at = begin_; at < end_ && found_.rank[at] <= k; ++at) {
        if (grade(at) >= asked.rel) return asked.kind == Kind::RR ? 1 / static_cast<double>(found_.rank[at]) : 1.0;
      }
      return 0;
    }
    double hits = 0;
    terms_.assign(padded(end_ - begin_), 0.0);
    for (std::size_t at = begin_; at < end_ && found_.rank[at] <= k; ++at) {
      if (grade(at) < asked.rel) continue;
      hits += 1;
      terms_[at - begin_] = hits * (1.0 / static_cast<double>(found_.rank[at]));
    }
    if (asked.kind == Kind::P) return hits / static_cast<double>(k);
    double total = 0;
    for (std::size_t row = first_; row < last_ && grades_[row] >= asked.rel; ++row) total += 1;
    if (total == 0) return nan;
    return (asked.kind == Kind::R ? hits : sum_of(terms_.data(), terms_.size())) / total;
  }

 private:
  double grade(std::size_t at) const { return grades_[found_.row[at]]; }

  double discount(std::size_t rank) {
    if (rank >= discounts_.size()) {
      const std::size_t before = discounts_.size();
      discounts_.resize(2 * rank);
      for (std::size_t at = before; at < discounts_.size(); ++at)
        discounts_[at] = 1 / std::log2(static_cast<double>(at) + 1.0);
    }
    return discounts_[rank];
  }

  double discounted(std::int64_t k) {
    terms_.assign(padded(end_ - begin_), 0.0);
    for (std::size_t at = begin_; at < end_ && found_.rank[at] <= k; ++at) {
      const double worth = grade(at);
      if (worth > 0) terms_[at - begin_] = worth * discount(static_cast<std::size_t>(found_.rank[at]));
    }
    return sum_of(terms_.data(), terms_.size());
  }

  double ideal(std::int64_t k) {
    const std::size_t size = padded(last_ - first_), cut = std::min(size, static_cast<std::size_t>(k));
    terms_.assign(cut, 0.0);
    for (std::size_t at = 0; at < std::min(cut, last_ - first_); ++at) {
      const double worth = grades_[first_ + at];
      if (worth > 0) terms_[at] = worth * discount(at + 1);
    }
    return sum_of(terms_.data(), terms_.size());
  }

  const Found& found_;
  const double* grades_;
  std::size_t begin_ = 0, end_ = 0, first_ = 0, last_ = 0;
  std::vector<double> terms_, discounts_ = std::vector<double>(1, 0.0);
};

}  // namespace

bool scored(const Found& found, std::size_t systems, const std::int64_t* offsets, const double* grades,
            std::size_t queries, const std::vector<Asked>& asked, Values& values) {
  const std::size_t cells = systems * queries;
  values.value.assign(asked.size() * cells, 0.0);
  values.present.assign(cells, 0);
  values.coverage.assign(4 * systems, 0);
  List list(found, grades);
  const auto fill = [&](std::size_t system, std::size_t query, std::size_t begin, std::size_t end) {
    list.take(begin, end, static_cast<std::size_t>(offsets[query]), static_cast<std::size_t>(offsets[query + 1]));
    for (std::size_t row = 0; row < asked.size(); ++row)
      values.value[row * cells + system * queries + query] = list.value(asked[row]);
  };
  std::size_t item = 0;
  for (std::size_t number = 0; number < found.place.size(); ++number) {
    const auto system = static_cast<std::size_t>(found.system[number]);
    if (system >= systems) return false;
    std::int64_t* const coverage = values.coverage.data() + 4 * system;
    if (found.place[number] < 0) {
      ++coverage[0];
      continue;
    }
    const auto query = static_cast<std::size_t>(found.place[number]);
    if (query >= queries) return false;
    const std::size_t begin = item;
    for (; item < found.owner.size() && found.owner[item] == static_cast<std::int64_t>(number); ++item) {
      if (found.row[item] < offsets[query] || found.row[item] >= offsets[query + 1]) return false;
      if (grades[found.row[item]] >= 0) ++coverage[2];
    }
    coverage[1] += found.size[number];
    coverage[3] += found.tied[number];
    values.present[system * queries + query] = 1;
    fill(system, query, begin, item);
  }
  for (std::size_t system = 0; system < systems; ++system)
    for (std::size_t query = 0; query < queries; ++query)
      if (values.present[system * queries + query] == 0) fill(system, query, 0, 0);
  return item == found.owner.size();
}

void precisions(const std::uint8_t* table, const std::int64_t* at, const double* weight, std::size_t depth,
                std::size_t lists, std::size_t worlds, double* total) {
  std::vector<std::int32_t> hits(worlds);
  for (std::size_t list = 0; list < lists; ++list) {
    std::fill(hits.begin(), hits.end(), 0);
    double* own = total + list * worlds;
    std::fill(own, own + worlds, 0.0);
    for (std::size_t place = 0; place < depth; ++place) {
      const auto row = static_cast<std::size_t>(at[place * lists + list]);
      count(table + row * worlds, weight[list * depth + place], worlds, hits.data(), own);
    }
  }
}

void hits_over_rank(const double* p, const double* rank, const double* t, std::size_t depth, std::size_t lists,
                    std::size_t nodes, std::size_t step, bool spread, double* mean, double* square) {
  std::vector<double> room(5 * nodes);
  double *hits = room.data(), *free = hits + nodes, *mixed = free + nodes, *own = mixed + nodes, *cross = own + nodes;
  for (std::size_t list = 0; list < lists; ++list) {
    std::fill(room.begin(), room.end(), 0.0);
    std::fill(hits, hits + nodes, 1.0);
    double *first = mean + list * nodes, *second = square + list * nodes;
    std::fill(first, first + nodes, 0.0);
    if (spread) std::fill(second, second + nodes, 0.0);
    for (std::size_t begin = 0; begin < depth; begin += step) {
      const std::size_t end = std::min(depth, begin + step);
      for (std::size_t place = begin; place < end; ++place) {
        const double chance = p[place * lists + list], over = 1 / rank[place * lists + list];
        if (chance == 0) continue;
        if (spread) {
          step_square(chance, over, t, nodes, hits, first, free, mixed, own, cross);
        } else {
          step_mean(chance, over, t, nodes, hits, first);
        }
      }
      for (std::size_t node = 0; spread && node < nodes; ++node) {
        second[node] += own[node];
        second[node] += 2 * cross[node];
        own[node] = cross[node] = 0;
      }
    }
  }
}

}  // namespace endoxa
