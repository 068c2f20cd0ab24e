// The inner loops of scoring under a belief. Each gives, to the last bit, what the NumPy code beside its caller gives:
// the same operations in the same order, none of them fused.
#pragma once

#include <cstddef>
#include <cstdint>

namespace endoxa {

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
