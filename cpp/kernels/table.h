// The one table of kernels. Everything above it is independent of the processor.
#pragma once

#include "curve/add_pairs.h"
#include "kernels/transforms.h"

namespace forebay {

struct Kernels {
    const char* name;
    // Independent point additions; see portable::add_pairs.
    void (*add_pairs_g1)(const Points<G1>&, const Pair*, size_t, const PairScratch<G1>&);
    void (*add_pairs_g2)(const Points<G2>&, const Pair*, size_t, const PairScratch<G2>&);
    const TransformKernels* transforms;
};

// The fastest kernels that this processor runs.
const Kernels& fastest_kernels();

inline void add_pairs(const Kernels& kernels, const Points<G1>& points, const Pair* pairs, size_t count,
                      const PairScratch<G1>& scratch) {
    kernels.add_pairs_g1(points, pairs, count, scratch);
}

inline void add_pairs(const Kernels& kernels, const Points<G2>& points, const Pair* pairs, size_t count,
                      const PairScratch<G2>& scratch) {
    kernels.add_pairs_g2(points, pairs, count, scratch);
}

}  // namespace forebay
