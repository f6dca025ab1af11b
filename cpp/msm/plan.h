// How one multi-scalar multiplication is cut up, and where its scratch lies.
#pragma once

#include <algorithm>

#include "msm/digits.h"
#include "msm/sum_runs.h"

namespace forebay {

// Sizes that depend only on the number of scalars and lanes.
struct MsmPlan {
    size_t scalars;
    size_t lanes;
    unsigned window;
    unsigned windows;
    size_t buckets;      // of one window
    unsigned fine_bits;  // low bits of a bucket's number, sorted inside a coarse range
    size_t coarse;       // coarse ranges of a window
    size_t blocks;       // of scalars, for counting and scattering
    size_t chunks;       // of sorted entries of one window
    size_t segment;      // buckets in one running sum
    size_t segments;
    size_t parts;  // tasks that the segments of one window are cut into

    size_t block_begin(size_t block) const { return scalars * block / blocks; }
};

template <class G>
MsmPlan plan_msm(size_t scalars, size_t threads) {
    constexpr size_t kSegment = 64, kMaxBlocks = 64, kCoarseBits = 8, kPartBuckets = 1 << 14;
    MsmPlan plan{};
    plan.scalars = scalars;
    double best = 0;
    for (unsigned window = kMinWindow; window <= kMaxWindow; window++) {
        const unsigned windows = (kScalarBits + window - 1) / window;
        const double buckets = static_cast<double>(size_t{1} << (window - 1));
        const double additions = windows * (static_cast<double>(scalars) + 2.2 * buckets);
        if (plan.window == 0 || additions < best) {
            best = additions;
            plan.window = window;
            plan.windows = windows;
        }
    }
    plan.buckets = size_t{1} << (plan.window - 1);
    const unsigned bucket_bits = plan.window - 1;
    plan.fine_bits = bucket_bits > kCoarseBits ? bucket_bits - kCoarseBits : 0;
    plan.coarse = plan.buckets >> plan.fine_bits;
    plan.blocks = std::clamp<size_t>(scalars >> 13, 1, kMaxBlocks);
    plan.chunks = (scalars + chunk_entries<G>() - 1) / chunk_entries<G>();
    plan.segment = std::min(kSegment, plan.buckets);
    plan.segments = plan.buckets / plan.segment;
    plan.parts = std::max<size_t>(1, plan.buckets / kPartBuckets);
    plan.lanes = std::clamp<size_t>(plan.chunks * plan.windows / 4, 1, std::max<size_t>(threads, 1));
    return plan;
}

// Scratch of one window while it is in work.
template <class G>
struct WindowScratch {
    uint64_t* staged;             // ((fine bucket, sign) << 32 | entry), by coarse range
    uint32_t* sorted;             // entries by bucket
    uint32_t* offsets;            // where each bucket starts in `sorted`
    typename G::Affine* buckets;  // sums, then two running values a segment
    typename G::Affine* edges;    // two a chunk: sums of buckets that a chunk holds only in part
    uint32_t* edge_buckets;

    WindowScratch(Arena& arena, const MsmPlan& plan)
        : staged(arena.take<uint64_t>(plan.scalars)),
          sorted(arena.take<uint32_t>(plan.scalars)),
          offsets(arena.take<uint32_t>(plan.buckets + 1)),
          buckets(arena.take<typename G::Affine>(plan.buckets + 2 * plan.segments)),
          edges(arena.take<typename G::Affine>(2 * plan.chunks)),
          edge_buckets(arena.take<uint32_t>(2 * plan.chunks)) {}
};

// Scratch of one lane.
template <class G>
struct LaneScratch {
    uint32_t* counts;
    RunScratch<G> runs;

    LaneScratch(Arena& arena, const MsmPlan& plan, const Kernels& kernels)
        : counts(arena.take<uint32_t>(2 * plan.buckets / plan.coarse)),
          runs(arena, 2 * chunk_entries<G>(), kernels) {}
};

template <class G>
struct FixedScratch {
    uint32_t* counts;            // [window][block][coarse]: how many, then where they go
    typename G::Point* partial;  // [window][part]

    FixedScratch(Arena& arena, const MsmPlan& plan)
        : counts(arena.take<uint32_t>(plan.windows * plan.blocks * plan.coarse)),
          partial(arena.take<typename G::Point>(plan.windows * plan.parts)) {}
};

template <class G>
size_t msm_scratch_bytes(const MsmPlan& plan, size_t group) {
    Arena fixed, lane, window;
    FixedScratch<G>(fixed, plan);
    LaneScratch<G>(lane, plan, kPortableKernels);
    WindowScratch<G>(window, plan);
    return fixed.used() + plan.lanes * lane.used() + group * window.used();
}

}  // namespace forebay
