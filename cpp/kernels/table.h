// The one table of kernels. Everything above it is independent of the processor.
#pragma once

#include "curve/add_pairs.h"
#include "kernels/products.h"
#include "kernels/transforms.h"

namespace forebay {

struct Kernels {
    const char* name;
    // Independent point additions; see portable::add_pairs.
    void (*add_pairs_g1)(const Points<G1>&, const Pair*, size_t, const PairScratch<G1>&);
    void (*add_pairs_g2)(const Points<G2>&, const Pair*, size_t, const PairScratch<G2>&);
    const TransformKernels* transforms;
    // For measurements: elements are held in the kernels' own form from the first round to the last.
    void (*repeat_product)(const ProductBatch& batch);
    // Entries whose runs are summed together: enough that the last rounds, with few pairs, are rare.
    size_t chunk_g1 = 2048;
    size_t chunk_g2 = 2048;
    // Additions that share an inversion at most: enough that its cost does not show, few enough that their
    // operands stay in the second-level cache from the first pass to the second.
    size_t batch_g1 = 2048;
    size_t batch_g2 = 2048;
};

// The sets that this processor runs, the fastest first and the portable one last.
struct KernelSets {
    const Kernels* sets[3];
    size_t count;
};
const KernelSets& kernel_sets();

// The fastest kernels that this processor runs.
inline const Kernels& fastest_kernels() { return *kernel_sets().sets[0]; }

inline void add_pairs(const Kernels& kernels, const Points<G1>& points, const Pair* pairs, size_t count,
                      const PairScratch<G1>& scratch) {
    kernels.add_pairs_g1(points, pairs, count, scratch);
}

inline void add_pairs(const Kernels& kernels, const Points<G2>& points, const Pair* pairs, size_t count,
                      const PairScratch<G2>& scratch) {
    kernels.add_pairs_g2(points, pairs, count, scratch);
}

}  // namespace forebay
