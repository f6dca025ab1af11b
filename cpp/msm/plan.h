// How a multi-scalar multiplication is cut up, and where its scratch lies.
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
    size_t segment;      // buckets in one running sum
    size_t segments;
    size_t most_parts;  // tasks that the segments of one window are cut into at most

    size_t block_begin(size_t block) const { return scalars * block / blocks; }
};

inline MsmPlan plan_msm(size_t scalars, size_t threads) {
    constexpr size_t kSegment = 64, kMaxBlocks = 64, kCoarseBits = 8, kLeastSegments = 32;
    constexpr size_t kLaneTerms = size_t{1} << 13;
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
    plan.blocks = std::clamp<size_t>(scalars >> 11, 1, kMaxBlocks);
    plan.segment = std::min(kSegment, plan.buckets);
    plan.segments = plan.buckets / plan.segment;
    plan.most_parts = std::max<size_t>(1, plan.segments / kLeastSegments);
    plan.lanes = std::clamp<size_t>(scalars * plan.windows / kLaneTerms, 1, std::max<size_t>(threads, 1));
    return plan;
}

// Chunks of sorted entries of one window.
inline size_t chunks_of(const MsmPlan& plan, size_t chunk) { return (plan.scalars + chunk - 1) / chunk; }

// The digits of one window in the order of their buckets.
struct SortedWindow {
    uint32_t* sorted;   // scalar << 1 | negative
    uint32_t* offsets;  // where each bucket starts in `sorted`

    SortedWindow(Arena& arena, const MsmPlan& plan)
        : sorted(arena.take<uint32_t>(plan.scalars)), offsets(arena.take<uint32_t>(plan.buckets + 1)) {}
};

// The sums of one window's buckets.
template <class G>
struct WindowBuckets {
    typename G::Affine* buckets;  // sums, then two running values a segment
    typename G::Affine* edges;    // two a chunk: sums of buckets that a chunk holds only in part
    uint32_t* edge_buckets;

    WindowBuckets(Arena& arena, const MsmPlan& plan, size_t chunk)
        : buckets(arena.take<typename G::Affine>(plan.buckets + 2 * plan.segments)),
          edges(arena.take<typename G::Affine>(2 * chunks_of(plan, chunk))),
          edge_buckets(arena.take<uint32_t>(2 * chunks_of(plan, chunk))) {}
};

}  // namespace forebay
