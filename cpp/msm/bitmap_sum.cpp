#include "msm/bitmap_sum.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "msm/sum_runs.h"

namespace forebay {
namespace {

constexpr size_t kWordsPerTask = 128;

size_t tasks_of(size_t words) { return (words + kWordsPerTask - 1) / kWordsPerTask; }

uint32_t ones(uint64_t word) { return static_cast<uint32_t>(__builtin_popcountll(word)); }

template <class G>
struct BitmapLane {
    RunScratch<G> runs;
    typename G::Point* sum;

    BitmapLane(Arena& arena, const Kernels& kernels)
        : runs(arena, kWordsPerTask * 64, kernels), sum(arena.take<typename G::Point>(1)) {}
};

// starts[t]: where task t's points start; returns where the last one's end.
size_t find_starts(const Selection& selection, size_t* starts) {
    size_t at = selection.offset;
    for (size_t word = 0; word < selection.words; word++) {
        if (word % kWordsPerTask == 0) starts[word / kWordsPerTask] = at;
        at += selection.density != nullptr ? ones(selection.density[word]) : 64;
    }
    return at;
}

// Writes the entries of the selected points of some words; returns how many.
size_t collect(const Selection& selection, size_t begin, size_t end, size_t first_point, uint32_t* entries) {
    size_t count = 0, base = first_point;
    for (size_t word = begin; word < end; word++) {
        const uint64_t density = selection.density != nullptr ? selection.density[word] : ~uint64_t{0};
        for (uint64_t rest = selection.selected[word] & density; rest != 0; rest &= rest - 1) {
            const uint64_t below = (rest & (~rest + 1)) - 1;
            entries[count++] = static_cast<uint32_t>(base + ones(density & below)) << 1;
        }
        base += ones(density);
    }
    return count;
}

// The point after the last one that the selection needs.
size_t points_needed(const Selection& selection, size_t end) {
    if (selection.density != nullptr) return end;
    for (size_t word = selection.words; word-- > 0;) {
        if (selection.selected[word] == 0) continue;
        const size_t highest = 63 - static_cast<size_t>(__builtin_clzll(selection.selected[word]));
        return selection.offset + word * 64 + highest + 1;
    }
    return 0;
}

}  // namespace

template <class G>
size_t bitmap_scratch(size_t words, size_t threads) {
    Arena starts, lane;
    starts.take<size_t>(tasks_of(words));
    BitmapLane<G>{lane, kPortableKernels};
    return starts.used() + lane.used() * std::clamp<size_t>(threads, 1, std::max<size_t>(tasks_of(words), 1));
}

template <class G>
typename G::Point bitmap_sum(const typename G::Affine* points, size_t count, const Selection& selection,
                             Scratch scratch, const Workers& workers) {
    const size_t tasks = tasks_of(selection.words);
    Arena arena(scratch.base, scratch.size);
    auto* starts = arena.take<size_t>(tasks);
    if (points_needed(selection, find_starts(selection, starts)) > count || count > UINT32_MAX / 2) {
        throw std::length_error("a bitmap selects points that do not exist");
    }
    const size_t lane_count = std::clamp<size_t>(workers.lanes(), 1, std::max<size_t>(tasks, 1));
    std::vector<BitmapLane<G>> lanes;
    for (size_t lane = 0; lane < lane_count; lane++) {
        lanes.emplace_back(arena, workers.kernels());
        *lanes.back().sum = typename G::Point{};
    }
    for_each(workers, lane_count, tasks, [&](size_t lane_number, size_t task) {
        const BitmapLane<G>& lane = lanes[lane_number];
        const size_t begin = task * kWordsPerTask, end = std::min(begin + kWordsPerTask, selection.words);
        const size_t entries = collect(selection, begin, end, starts[task], lane.runs.entries);
        if (entries == 0) return;
        lane.runs.ids[0] = 0;
        lane.runs.starts[0] = 0;
        lane.runs.starts[1] = static_cast<uint32_t>(entries);
        sum_runs<G>(points, lane.runs.entries, 1, lane.runs,
                    [&](uint32_t, const typename G::Affine& sum) { G::add(*lane.sum, *lane.sum, sum); });
    });
    typename G::Point total{};
    for (const BitmapLane<G>& lane : lanes) G::add(total, total, *lane.sum);
    return total;
}

template size_t bitmap_scratch<G1>(size_t, size_t);
template size_t bitmap_scratch<G2>(size_t, size_t);
template G1::Point bitmap_sum<G1>(const G1::Affine*, size_t, const Selection&, Scratch, const Workers&);
template G2::Point bitmap_sum<G2>(const G2::Affine*, size_t, const Selection&, Scratch, const Workers&);

}  // namespace forebay
