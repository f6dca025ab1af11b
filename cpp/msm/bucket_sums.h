// The sum of every bucket, and the weighted sum of the buckets of a window.
#pragma once

#include <algorithm>
#include <cstring>

#include "msm/plan.h"
#include "parallel/workers.h"

namespace forebay {

constexpr uint32_t kNoBucket = UINT32_MAX;

// Where the chunk that starts near `position` really starts: small buckets are not cut.
template <class G>
size_t cut(const MsmPlan& plan, const uint32_t* offsets, size_t position) {
    const size_t entries = offsets[plan.buckets];
    if (position >= entries) return entries;
    const uint32_t* end =
        std::upper_bound(offsets, offsets + plan.buckets + 1, static_cast<uint32_t>(position));
    const uint32_t begin = end[-1];
    if (begin == position || *end - begin > chunk_entries<G>()) return position;
    return *end;
}

// Sums the buckets of one chunk of sorted entries.
template <class G>
void sum_chunk(const MsmPlan& plan, const typename G::Affine* points, const WindowScratch<G>& window,
               size_t chunk, const RunScratch<G>& lane) {
    uint32_t* edge_buckets = window.edge_buckets + 2 * chunk;
    edge_buckets[0] = edge_buckets[1] = kNoBucket;
    const uint32_t* offsets = window.offsets;
    const size_t begin = cut<G>(plan, offsets, chunk * chunk_entries<G>());
    const size_t end = cut<G>(plan, offsets, (chunk + 1) * chunk_entries<G>());
    if (begin >= end) return;
    size_t bucket =
        std::upper_bound(offsets, offsets + plan.buckets + 1, static_cast<uint32_t>(begin)) - offsets - 1;
    const size_t first_bucket = bucket;
    size_t runs = 0, at = begin;
    for (; at < end; bucket++) {
        const size_t stop = std::min<size_t>(offsets[bucket + 1], end);
        if (stop == at) continue;
        lane.ids[runs] = static_cast<uint32_t>(bucket);
        lane.starts[runs++] = static_cast<uint32_t>(at - begin);
        at = stop;
    }
    lane.starts[runs] = static_cast<uint32_t>(end - begin);
    sum_runs<G>(points, window.sorted + begin, runs, lane, [&](uint32_t id, const typename G::Affine& sum) {
        if (offsets[id] >= begin && offsets[id + 1] <= end) {
            window.buckets[id] = sum;
            return;
        }
        const size_t edge = id == first_bucket ? 0 : 1;
        edge_buckets[edge] = id;
        window.edges[2 * chunk + edge] = sum;
    });
}

// Joins the sums of buckets that were cut.
template <class G>
void join_edges(const MsmPlan& plan, const WindowScratch<G>& window) {
    typename G::Point sum{};
    uint32_t current = kNoBucket;
    const auto flush = [&] {
        if (current != kNoBucket) G::to_affine(window.buckets[current], sum);
        sum = typename G::Point{};
    };
    for (size_t edge = 0; edge < 2 * plan.chunks; edge++) {
        const uint32_t bucket = window.edge_buckets[edge];
        if (bucket == kNoBucket) continue;
        if (bucket != current) {
            flush();
            current = bucket;
        }
        G::add(sum, sum, window.edges[edge]);
    }
    flush();
}

template <class G>
void sum_buckets(const MsmPlan& plan, const typename G::Affine* points, size_t group,
                 const WindowScratch<G>* windows, const LaneScratch<G>* lanes, const Workers& workers) {
    for_each(workers, plan.lanes, group, [&](size_t, size_t g) {
        std::memset(static_cast<void*>(windows[g].buckets), 0, plan.buckets * sizeof(typename G::Affine));
    });
    for_each(workers, plan.lanes, group * plan.chunks, [&](size_t lane, size_t task) {
        sum_chunk<G>(plan, points, windows[task / plan.chunks], task % plan.chunks, lanes[lane].runs);
    });
    for_each(workers, plan.lanes, group, [&](size_t, size_t g) { join_edges<G>(plan, windows[g]); });
}

// Running sums down all segments of a part at the same time: run = Σ Bᵢ, total = Σ (i − start + 1)·Bᵢ.
template <class G>
void run_segments(const MsmPlan& plan, const WindowScratch<G>& window, size_t first, size_t last,
                  const RunScratch<G>& lane) {
    typename G::Affine* all = window.buckets;
    const size_t runs = plan.buckets, totals = plan.buckets + plan.segments;
    for (size_t s = first; s < last; s++) {
        all[runs + s] = all[(s + 1) * plan.segment - 1];
        all[totals + s] = typename G::Affine{};
    }
    // A step adds the old running sum to the total, then the next bucket to the running sum.
    for (size_t step = 0; step < plan.segment; step++) {
        size_t pairs = 0;
        for (size_t s = first; s < last; s++) {
            const auto total = static_cast<uint32_t>(totals + s), run = static_cast<uint32_t>(runs + s);
            lane.pairs[pairs++] = {total << 1, run << 1, total};
        }
        if (step + 1 < plan.segment) {
            for (size_t s = first; s < last; s++) {
                const auto bucket = static_cast<uint32_t>((s + 1) * plan.segment - 2 - step);
                const auto run = static_cast<uint32_t>(runs + s);
                lane.pairs[pairs++] = {run << 1, bucket << 1, run};
            }
        }
        add_pairs(lane.kernels, Points<G>{all, all, all}, lane.pairs, pairs, lane.scratch);
    }
}

// Σ (b + 1)·bucket[b] over the segments of one part.
template <class G>
typename G::Point weigh_part(const MsmPlan& plan, const WindowScratch<G>& window, size_t part,
                             const RunScratch<G>& lane) {
    const size_t first = plan.segments * part / plan.parts, last = plan.segments * (part + 1) / plan.parts;
    run_segments<G>(plan, window, first, last, lane);
    const typename G::Affine* runs = window.buckets + plan.buckets;
    const typename G::Affine* totals = runs + plan.segments;
    typename G::Point sum{}, run{}, weighted{}, offset;
    for (size_t s = last; s-- > first;) {
        G::add(sum, sum, totals[s]);
        G::add(run, run, runs[s]);
        if (s > first) G::add(weighted, weighted, run);
    }
    multiply_small<G>(offset, run, first);
    G::add(weighted, weighted, offset);
    multiply_small<G>(weighted, weighted, plan.segment);
    G::add(sum, sum, weighted);
    return sum;
}

template <class G>
void weigh_buckets(const MsmPlan& plan, size_t group, const WindowScratch<G>* windows,
                   const LaneScratch<G>* lanes, typename G::Point* partial, const Workers& workers) {
    for_each(workers, plan.lanes, group * plan.parts, [&](size_t lane, size_t task) {
        partial[task] = weigh_part<G>(plan, windows[task / plan.parts], task % plan.parts, lanes[lane].runs);
    });
}

}  // namespace forebay
