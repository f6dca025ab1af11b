#include "msm/fixed_base.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "msm/digits.h"
#include "msm/sum_runs.h"

namespace forebay {
namespace {

// Scalars in work at the same time on one lane.
constexpr size_t kBatch = 1024;

struct TablePlan {
    unsigned window;
    unsigned windows;
    size_t entries;  // of one window: 1·B to entries·B
    size_t lanes;
};

TablePlan plan_tables(size_t count, size_t threads) {
    constexpr unsigned kMaxTableWindow = 15;
    TablePlan plan{};
    double best = 0;
    for (unsigned window = kMinWindow; window <= kMaxTableWindow; window++) {
        const unsigned windows = (kScalarBits + window - 1) / window;
        const double additions =
            windows * (static_cast<double>(count) + static_cast<double>(1u << (window - 1)));
        if (plan.window == 0 || additions < best) {
            best = additions;
            plan.window = window;
            plan.windows = windows;
        }
    }
    plan.entries = size_t{1} << (plan.window - 1);
    plan.lanes = std::max<size_t>(threads, 1);
    return plan;
}

template <class G>
struct TableLane {
    const Kernels& kernels;
    uint64_t (*recoded)[4];
    Pair* pairs;
    PairScratch<G> scratch;

    TableLane(Arena& arena, const Kernels& kernels)
        : kernels(kernels),
          recoded(reinterpret_cast<uint64_t (*)[4]>(arena.take<uint64_t>(4 * kBatch))),
          pairs(arena.take<Pair>(kBatch)),
          scratch(arena, kBatch) {}
};

// table[k] = (k + 1)·base.
template <class G>
void fill_table(const typename G::Affine& base, typename G::Affine* table, size_t entries,
                const TableLane<G>& lane) {
    table[0] = base;
    for (size_t known = 1; known < entries; known *= 2) {
        for (size_t first = 0; first < known; first += kBatch) {
            const size_t count = std::min(kBatch, known - first);
            const auto top = static_cast<uint32_t>(known - 1);
            for (size_t k = 0; k < count; k++) {
                const auto small = static_cast<uint32_t>(first + k);
                lane.pairs[k] = {top << 1, small << 1, top + 1 + small};
            }
            add_pairs(lane.kernels, Points<G>{table, table, table}, lane.pairs, count, lane.scratch);
        }
    }
}

template <class G>
void multiply_batch(const TablePlan& plan, const Recoder& recoder, const typename G::Affine* tables,
                    const Fr* scalars, typename G::Affine* out, size_t count, const TableLane<G>& lane) {
    for (size_t k = 0; k < count; k++) {
        blst_uint64_from_fr(lane.recoded[k], &scalars[k]);
        recoder.recode(lane.recoded[k]);
        out[k] = typename G::Affine{};
    }
    for (unsigned w = 0; w < plan.windows; w++) {
        size_t pairs = 0;
        for (size_t k = 0; k < count; k++) {
            const Digit digit = recoder.digit(lane.recoded[k], w);
            if (digit.magnitude == 0) continue;
            const auto slot = static_cast<uint32_t>(k);
            lane.pairs[pairs++] = {slot << 1, (digit.magnitude - 1) << 1 | digit.negative, slot};
        }
        add_pairs(lane.kernels, Points<G>{out, tables + w * plan.entries, out}, lane.pairs, pairs,
                  lane.scratch);
    }
}

}  // namespace

template <class G>
size_t fixed_base_scratch(size_t count, size_t threads) {
    const TablePlan plan = plan_tables(count, threads);
    Arena arena, lane;
    arena.take<typename G::Affine>(plan.windows * plan.entries);
    TableLane<G>{lane, kPortableKernels};
    return arena.used() + plan.lanes * lane.used();
}

template <class G>
void fixed_base(const typename G::Affine& base, const Fr* scalars, typename G::Affine* out, size_t count,
                Scratch scratch, const Workers& workers) {
    const TablePlan plan = plan_tables(count, workers.lanes());
    Arena arena(scratch.base, scratch.size);
    auto* tables = arena.take<typename G::Affine>(plan.windows * plan.entries);
    std::vector<TableLane<G>> lanes;
    for (size_t lane = 0; lane < plan.lanes; lane++) lanes.emplace_back(arena, workers.kernels());

    typename G::Point shifted;
    G::from_affine(shifted, base);
    for (unsigned w = 0; w < plan.windows; w++) {
        G::to_affine(tables[w * plan.entries], shifted);
        for (unsigned i = 0; i < plan.window; i++) G::twice(shifted, shifted);
    }
    for_each(workers, plan.lanes, plan.windows, [&](size_t lane, size_t w) {
        typename G::Affine* table = tables + w * plan.entries;
        fill_table<G>(typename G::Affine(table[0]), table, plan.entries, lanes[lane]);
    });
    const Recoder recoder(plan.window);
    for_each(workers, plan.lanes, (count + kBatch - 1) / kBatch, [&](size_t lane, size_t batch) {
        const size_t first = batch * kBatch;
        multiply_batch<G>(plan, recoder, tables, scalars + first, out + first,
                          std::min(kBatch, count - first), lanes[lane]);
    });
}

template <class G>
size_t first_invalid(const typename G::Affine* points, size_t count, const Workers& workers) {
    constexpr size_t kPointsPerTask = 256;
    std::atomic<size_t> first{count};
    const size_t tasks = (count + kPointsPerTask - 1) / kPointsPerTask;
    for_each(workers, workers.lanes(), tasks, [&](size_t, size_t task) {
        const size_t begin = task * kPointsPerTask, end = std::min(begin + kPointsPerTask, count);
        for (size_t i = begin; i < end && i < first.load(std::memory_order_relaxed); i++) {
            if (is_infinity(points[i]) || G::valid(points[i])) continue;
            size_t known = first.load();
            while (i < known && !first.compare_exchange_weak(known, i)) {
            }
        }
    });
    return first.load();
}

template size_t fixed_base_scratch<G1>(size_t, size_t);
template size_t fixed_base_scratch<G2>(size_t, size_t);
template void fixed_base<G1>(const G1::Affine&, const Fr*, G1::Affine*, size_t, Scratch, const Workers&);
template void fixed_base<G2>(const G2::Affine&, const Fr*, G2::Affine*, size_t, Scratch, const Workers&);
template size_t first_invalid<G1>(const G1::Affine*, size_t, const Workers&);
template size_t first_invalid<G2>(const G2::Affine*, size_t, const Workers&);

}  // namespace forebay
