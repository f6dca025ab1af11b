// Sums of many runs of points at once, as trees of batched affine additions.
#pragma once

#include "kernels/portable.h"
#include "parallel/arena.h"

namespace forebay {

// Scratch of one lane, for at most `capacity` entries at a time. A run r is entries starts[r] to starts[r +
// 1], and its sum is handed out under ids[r].
template <class G>
struct RunScratch {
    const Kernels& kernels;
    uint32_t* entries;
    uint32_t* ids;
    uint32_t* starts;
    Pair* pairs;
    typename G::Affine* slots;
    PairScratch<G> scratch;

    RunScratch(Arena& arena, size_t capacity, const Kernels& kernels)
        : kernels(kernels),
          entries(arena.take<uint32_t>(capacity)),
          ids(arena.take<uint32_t>(capacity)),
          starts(arena.take<uint32_t>(capacity + 1)),
          pairs(arena.take<Pair>(capacity)),
          slots(arena.take<typename G::Affine>(capacity)),
          scratch(arena, capacity) {}
};

// Entries of a chunk: what the kernels work best on.
template <class G>
size_t chunk_entries(const Kernels& kernels) {
    return sizeof(typename G::Affine) == sizeof(G1::Affine) ? kernels.chunk_g1 : kernels.chunk_g2;
}

template <class G>
size_t batch_pairs(const Kernels& kernels) {
    return sizeof(typename G::Affine) == sizeof(G1::Affine) ? kernels.batch_g1 : kernels.batch_g2;
}

// Sums `runs` runs of entries (point << 1 | negative) and calls emit(id, sum). Destroys ids and starts.
template <class G, class Emit>
void sum_runs(const typename G::Affine* points, const uint32_t* entries, size_t runs,
              const RunScratch<G>& lane, const Emit& emit) {
    const typename G::Affine* source = points;
    const size_t batch = batch_pairs<G>(lane.kernels);
    bool first_round = true;
    while (runs > 0) {
        const auto operand = [&](uint32_t k) { return first_round ? entries[k] : k << 1; };
        size_t pairs = 0, kept = 0;
        uint32_t out = 0, begin = lane.starts[0];
        for (size_t run = 0; run < runs; run++) {
            const uint32_t end = lane.starts[run + 1];
            if (end - begin == 1) {
                typename G::Affine sum = source[operand(begin) >> 1];
                if (operand(begin) & 1) negate_if(sum.y, sum.y, true);
                emit(lane.ids[run], sum);
                begin = end;
                continue;
            }
            lane.ids[kept] = lane.ids[run];
            lane.starts[kept++] = out;
            for (; begin + 1 < end; begin += 2) {
                lane.pairs[pairs++] = {operand(begin), operand(begin + 1), out++};
            }
            if (begin < end) lane.pairs[pairs++] = {operand(begin), kNoOperand, out++};
            begin = end;
        }
        lane.starts[kept] = out;
        // In order, as a sum may take the place of an operand of an earlier one.
        for (size_t first = 0; first < pairs; first += batch) {
            add_pairs(lane.kernels, Points<G>{source, source, lane.slots}, lane.pairs + first,
                      std::min(batch, pairs - first), lane.scratch);
        }
        source = lane.slots;
        first_round = false;
        runs = kept;
    }
}

}  // namespace forebay
