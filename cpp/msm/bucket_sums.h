// One query's share of a multiplication: the sum of every bucket, and the weighted sum of the buckets of a
// window.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "msm/plan.h"
#include "msm/sort.h"
#include "parallel/workers.h"

namespace forebay {

constexpr uint32_t kNoBucket = UINT32_MAX;

template <class G>
class BucketSums {
   public:
    using Affine = typename G::Affine;
    using Point = typename G::Point;

    // What stays: a sum for each part of each window.
    BucketSums(Arena& arena, const MsmPlan& plan, const MsmPoints<G>& points, const Kernels& kernels)
        : plan_(plan),
          points_(points),
          kernels_(kernels),
          chunk_(chunk_entries<G>(kernels)),
          chunks_(chunks_of(plan, chunk_)),
          partial_(arena.take<Point>(plan.windows * plan.most_parts)) {}

    // What is free again after each group of windows.
    void stage(Arena& arena, size_t group) {
        for (size_t lane = 0; lane < plan_.lanes; lane++) lanes_.emplace_back(arena, 2 * chunk_, kernels_);
        for (size_t g = 0; g < group; g++) windows_.emplace_back(arena, plan_, chunk_);
        const size_t wanted = plan_.lanes > 1 ? (4 * plan_.lanes + group - 1) / group : 1;
        parts_ = std::min(std::max(wanted, plan_.segments / kPartSegments), plan_.most_parts);
    }

    // Takes the sorted windows first to first + group - 1.
    void add_windows(const std::vector<SortedWindow>& sorted, unsigned first, size_t group,
                     const Workers& workers) {
        for_each(workers, plan_.lanes, group * kClearTasks, [&](size_t, size_t task) {
            const size_t part = task % kClearTasks;
            const size_t begin = plan_.buckets * part / kClearTasks;
            const size_t end = plan_.buckets * (part + 1) / kClearTasks;
            std::memset(static_cast<void*>(windows_[task / kClearTasks].buckets + begin), 0,
                        (end - begin) * sizeof(Affine));
        });
        for_each(workers, plan_.lanes, group * chunks_, [&](size_t lane, size_t task) {
            const size_t g = task / chunks_;
            sum_chunk(sorted[g], windows_[g], task % chunks_, lanes_[lane]);
        });
        for_each(workers, plan_.lanes, group, [&](size_t, size_t g) { join_edges(windows_[g]); });
        for_each(workers, plan_.lanes, group * parts_, [&](size_t lane, size_t task) {
            const size_t g = task / parts_, part = task % parts_;
            partial_[(first + g) * parts_ + part] = weigh_part(windows_[g], part, lanes_[lane]);
        });
    }

    Point combine() const {
        Point total{};
        for (unsigned w = plan_.windows; w-- > 0;) {
            for (unsigned i = 0; i < plan_.window; i++) G::twice(total, total);
            for (size_t part = 0; part < parts_; part++) G::add(total, total, partial_[w * parts_ + part]);
        }
        return total;
    }

   private:
    static constexpr size_t kClearTasks = 4;
    // Running sums at the same time: enough that an inversion's cost does not show.
    static constexpr size_t kPartSegments = 256;

    // Where the chunk that starts near `position` really starts: small buckets are not cut.
    size_t cut(const uint32_t* offsets, size_t position) const {
        const size_t entries = offsets[plan_.buckets];
        if (position >= entries) return entries;
        const uint32_t* end =
            std::upper_bound(offsets, offsets + plan_.buckets + 1, static_cast<uint32_t>(position));
        const uint32_t begin = end[-1];
        if (begin == position || *end - begin > chunk_) return position;
        return *end;
    }

    // Writes the points of some entries, leaving out scalars that have none; returns how many.
    size_t select(const uint32_t* entries, size_t count, uint32_t* selected) const {
        size_t kept = 0;
        for (size_t k = 0; k < count; k++) {
            const uint32_t entry = entries[k];
            const uint32_t point = points_.indices != nullptr ? points_.indices[entry >> 1] : entry >> 1;
            if (point == kNoPoint) continue;
            if (point >= points_.count) throw std::length_error("no such point");
            selected[kept++] = point << 1 | (entry & 1);
        }
        return kept;
    }

    // Sums the buckets of one chunk of sorted entries.
    void sum_chunk(const SortedWindow& sorted, const WindowBuckets<G>& window, size_t chunk,
                   const RunScratch<G>& lane) const {
        uint32_t* edge_buckets = window.edge_buckets + 2 * chunk;
        edge_buckets[0] = edge_buckets[1] = kNoBucket;
        const uint32_t* offsets = sorted.offsets;
        const size_t begin = cut(offsets, chunk * chunk_), end = cut(offsets, (chunk + 1) * chunk_);
        if (begin >= end) return;
        size_t bucket = std::upper_bound(offsets, offsets + plan_.buckets + 1, static_cast<uint32_t>(begin)) -
                        offsets - 1;
        const size_t first_bucket = bucket;
        size_t runs = 0, entries = 0;
        for (size_t at = begin; at < end; bucket++) {
            const size_t stop = std::min<size_t>(offsets[bucket + 1], end);
            lane.ids[runs] = static_cast<uint32_t>(bucket);
            lane.starts[runs] = static_cast<uint32_t>(entries);
            const size_t more = select(sorted.sorted + at, stop - at, lane.entries + entries);
            if (more > 0) runs++;
            entries += more;
            at = stop;
        }
        lane.starts[runs] = static_cast<uint32_t>(entries);
        sum_runs<G>(points_.points, lane.entries, runs, lane, [&](uint32_t id, const Affine& sum) {
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
    void join_edges(const WindowBuckets<G>& window) const {
        Point sum{};
        uint32_t current = kNoBucket;
        const auto flush = [&] {
            if (current != kNoBucket) G::to_affine(window.buckets[current], sum);
            sum = Point{};
        };
        for (size_t edge = 0; edge < 2 * chunks_; edge++) {
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

    // Running sums down all segments of a part at the same time: run = Σ Bᵢ, total = Σ (i − start + 1)·Bᵢ.
    void run_segments(const WindowBuckets<G>& window, size_t first, size_t last,
                      const RunScratch<G>& lane) const {
        Affine* all = window.buckets;
        const size_t runs = plan_.buckets, totals = plan_.buckets + plan_.segments;
        for (size_t s = first; s < last; s++) {
            all[runs + s] = all[(s + 1) * plan_.segment - 1];
            all[totals + s] = Affine{};
        }
        // A step adds the old running sum to the total, then the next bucket to the running sum.
        for (size_t step = 0; step < plan_.segment; step++) {
            size_t pairs = 0;
            for (size_t s = first; s < last; s++) {
                const auto total = static_cast<uint32_t>(totals + s), run = static_cast<uint32_t>(runs + s);
                lane.pairs[pairs++] = {total << 1, run << 1, total};
            }
            if (step + 1 < plan_.segment) {
                for (size_t s = first; s < last; s++) {
                    const auto bucket = static_cast<uint32_t>((s + 1) * plan_.segment - 2 - step);
                    const auto run = static_cast<uint32_t>(runs + s);
                    lane.pairs[pairs++] = {run << 1, bucket << 1, run};
                }
            }
            add_pairs(lane.kernels, Points<G>{all, all, all}, lane.pairs, pairs, lane.scratch);
        }
    }

    // Σ (b + 1)·bucket[b] over the segments of one part.
    Point weigh_part(const WindowBuckets<G>& window, size_t part, const RunScratch<G>& lane) const {
        const size_t first = plan_.segments * part / parts_, last = plan_.segments * (part + 1) / parts_;
        run_segments(window, first, last, lane);
        const Affine* runs = window.buckets + plan_.buckets;
        const Affine* totals = runs + plan_.segments;
        Point sum{}, run{}, weighted{}, offset;
        for (size_t s = last; s-- > first;) {
            G::add(sum, sum, totals[s]);
            G::add(run, run, runs[s]);
            if (s > first) G::add(weighted, weighted, run);
        }
        multiply_small<G>(offset, run, first);
        G::add(weighted, weighted, offset);
        multiply_small<G>(weighted, weighted, plan_.segment);
        G::add(sum, sum, weighted);
        return sum;
    }

    MsmPlan plan_;
    MsmPoints<G> points_;
    const Kernels& kernels_;
    size_t chunk_;
    size_t chunks_;
    size_t parts_ = 1;
    Point* partial_;  // [window][part]
    std::vector<RunScratch<G>> lanes_;
    std::vector<WindowBuckets<G>> windows_;
};

}  // namespace forebay
