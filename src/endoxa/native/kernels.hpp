// The inner loops of scoring under a belief. Each gives, to the last bit, what the NumPy code beside its caller gives:
// the same operations in the same order, none of them fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core.hpp"

namespace endoxa {

enum class Kind { AP = 0, nDCG = 1, RR = 2, P = 3, R = 4, Success = 5 };

// A measure: the least relevant grade, and the cut-off, 0 for none.
struct Asked {
  Kind kind;
  double rel;
  std::int64_t k;
};

// Values of lists, of every system for every judged query; a list that is not there is empty.
struct Values {
  std::vector<double> value;           // [measure, system, query]; NaN where it is undefined
  std::vector<std::uint8_t> present;   // [system, query]: whether the run has the list
  std::vector<std::int64_t> coverage;  // [system, 4]: lists of unknown queries; items, judged and tied ones of the others
};

// The rows of query q are offsets[q] … offsets[q + 1] − 1, by descending grade. False where `found` has another row.
bool scored(const Found& found, std::size_t systems, const std::int64_t* offsets, const double* grades,
            std::size_t queries, const std::vector<Asked>& asked, Values& values);

// Σ hits / rank over the relevant items of each list, in every world: Lists.precisions.
//   table   [rows, worlds]      1 where an item is relevant in a world
//   at      [depth, lists]      the row of the item at each place of each list
//   weight  [lists, depth]      1 / rank, or 0 behind the cut-off
//   total   [lists, worlds]     the result
void precisions(const std::uint8_t* table, const std::int64_t* at, const double* weight, std::size_t depth,
                std::size_t lists, std::size_t worlds, double* total);

// The first two moments of Σ hits / rank at each node t of an integral: closed_forms._hits_over_rank.
//   p, rank  [depth, lists]     chance and rank of each item
//   step     how many items are summed before they are added to the second moment
//   mean, square  [lists, nodes]  the results; `square` only where `spread` is asked for
void hits_over_rank(const double* p, const double* rank, const double* t, std::size_t depth, std::size_t lists,
                    std::size_t nodes, std::size_t step, bool spread, double* mean, double* square);

}  // namespace endoxa
