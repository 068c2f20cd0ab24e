#include "kernels.hpp"

#include <algorithm>
#include <vector>

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

}  // namespace

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
