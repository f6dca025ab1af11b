#include "msm/msm.h"

#include <vector>

#include "msm/bucket_sums.h"
#include "msm/plan.h"
#include "msm/sort.h"

namespace forebay {

template <class G>
size_t msm_scratch(size_t scalars, size_t threads) {
    return msm_scratch_bytes<G>(plan_msm<G>(scalars, threads), 1);
}

namespace {

template <class G>
void check(const MsmPoints<G>& points, size_t count) {
    if (count > kMaxScalars) throw std::length_error("too many scalars for one multiplication");
    if (points.indices == nullptr && points.count < count) {
        throw std::length_error("fewer points than scalars");
    }
    if (points.count > kMaxScalars) throw std::length_error("too many points for one multiplication");
}

// How many windows can be in work at the same time.
template <class G>
size_t group_size(const MsmPlan& plan, size_t available) {
    const size_t one = msm_scratch_bytes<G>(plan, 1);
    if (available < one) throw std::length_error("the scratch memory handed in is too small");
    const size_t each = msm_scratch_bytes<G>(plan, 2) - one;
    const size_t group = 1 + (available - one) / each;
    return std::min(group, size_t{plan.windows});
}

template <class G>
typename G::Point combine_windows(const MsmPlan& plan, const typename G::Point* partial) {
    typename G::Point total{};
    for (unsigned w = plan.windows; w-- > 0;) {
        for (unsigned i = 0; i < plan.window; i++) G::twice(total, total);
        for (size_t part = 0; part < plan.parts; part++) G::add(total, total, partial[w * plan.parts + part]);
    }
    return total;
}

}  // namespace

template <class G>
typename G::Point msm(const MsmPoints<G>& points, Fr* scalars, size_t count, ScalarForm form, Scratch scratch,
                      const Workers& workers) {
    check(points, count);
    if (count == 0) return typename G::Point{};
    const MsmPlan plan = plan_msm<G>(count, workers.lanes());
    const size_t group = group_size<G>(plan, scratch.size);
    Arena arena(scratch.base, scratch.size);
    const FixedScratch<G> fixed(arena, plan);
    // Lanes and windows hold pointers only.
    std::vector<LaneScratch<G>> lanes;
    for (size_t lane = 0; lane < plan.lanes; lane++) lanes.emplace_back(arena, plan, workers.kernels());
    std::vector<WindowScratch<G>> windows;
    for (size_t i = 0; i < group; i++) windows.emplace_back(arena, plan);

    DigitSorter<G> sorter(plan, scalars, points.indices, points.count, fixed.counts, workers);
    sorter.recode_and_count(form);
    for (unsigned first = 0; first < plan.windows; first += group) {
        const size_t now = std::min<size_t>(group, plan.windows - first);
        sorter.sort(first, now, windows.data(), lanes.data());
        sum_buckets<G>(plan, points.points, now, windows.data(), lanes.data(), workers);
        weigh_buckets<G>(plan, now, windows.data(), lanes.data(), fixed.partial + first * plan.parts,
                         workers);
    }
    return combine_windows<G>(plan, fixed.partial);
}

template size_t msm_scratch<G1>(size_t, size_t);
template size_t msm_scratch<G2>(size_t, size_t);
template G1::Point msm<G1>(const MsmPoints<G1>&, Fr*, size_t, ScalarForm, Scratch, const Workers&);
template G2::Point msm<G2>(const MsmPoints<G2>&, Fr*, size_t, ScalarForm, Scratch, const Workers&);

}  // namespace forebay
