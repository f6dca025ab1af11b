#include "msm/msm.h"

#include <tuple>

#include "msm/bucket_sums.h"
#include "msm/plan.h"
#include "msm/sort.h"

namespace forebay {
namespace {

template <class G>
void check(const MsmPoints<G>& points, size_t count) {
    if (count > kMaxScalars) throw std::length_error("too many scalars for one multiplication");
    if (points.indices == nullptr && points.count < count) {
        throw std::length_error("fewer points than scalars");
    }
    if (points.count > kMaxScalars) throw std::length_error("too many points for one multiplication");
}

// Several sums by the same scalars. What is needed only for a while overlaps.
template <class... G>
class Multiplication {
   public:
    Multiplication(Arena& arena, const MsmPlan& plan, size_t group, const Kernels& kernels,
                   const MsmPoints<G>&... points)
        : plan_(plan), group_(group), sorter_(arena, plan, group), sums_{{arena, plan, points, kernels}...} {
        const Arena fixed = arena;
        Arena most = fixed;
        const auto overlap = [&](const auto& stage) {
            Arena own = fixed;
            stage(own);
            if (own.used() > most.used()) most = own;
        };
        overlap([&](Arena& own) { sorter_.stage(own); });
        each([&](auto& sums) { overlap([&](Arena& own) { sums.stage(own, group); }); });
        arena = most;
    }

    std::tuple<typename G::Point...> run(Fr* scalars, ScalarForm form, const Workers& workers) {
        sorter_.recode_and_count(scalars, form, workers);
        for (unsigned first = 0; first < plan_.windows; first += group_) {
            const size_t now = std::min<size_t>(group_, plan_.windows - first);
            sorter_.sort(first, now, workers);
            each([&](auto& sums) { sums.add_windows(sorter_.sorted(), first, now, workers); });
        }
        return combine(workers, std::index_sequence_for<G...>{});
    }

   private:
    template <class Body>
    void each(const Body& body) {
        std::apply([&](auto&... sums) { (body(sums), ...); }, sums_);
    }

    template <size_t... I>
    std::tuple<typename G::Point...> combine(const Workers& workers, std::index_sequence<I...>) {
        std::tuple<typename G::Point...> results;
        for_each(workers, plan_.lanes, sizeof...(G), [&](size_t, size_t task) {
            ((task == I ? void(std::get<I>(results) = std::get<I>(sums_).combine()) : void()), ...);
        });
        return results;
    }

    MsmPlan plan_;
    unsigned group_;
    DigitSorter sorter_;
    std::tuple<BucketSums<G>...> sums_;
};

template <class... G>
size_t scratch_bytes(const MsmPlan& plan, size_t group, const Kernels& kernels) {
    Arena arena;
    Multiplication<G...>(arena, plan, group, kernels, MsmPoints<G>{}...);
    return arena.used();
}

// How many windows can be in work at the same time.
template <class... G>
size_t group_size(const MsmPlan& plan, size_t available, const Kernels& kernels) {
    const size_t one = scratch_bytes<G...>(plan, 1, kernels);
    if (available < one) throw std::length_error("the scratch memory handed in is too small");
    size_t group = 1;
    while (group < plan.windows && scratch_bytes<G...>(plan, group + 1, kernels) <= available) group++;
    return group;
}

// Windows in work together make the loops long enough for many lanes, as far as this much goes.
template <class... G>
size_t scratch_for(size_t scalars, size_t threads, const Kernels& kernels) {
    constexpr size_t kShare = size_t{16} << 20;
    const MsmPlan plan = plan_msm(scalars, threads);
    const size_t one = scratch_bytes<G...>(plan, 1, kernels);
    return scratch_bytes<G...>(plan, group_size<G...>(plan, std::max(one, kShare), kernels), kernels);
}

template <class... G>
std::tuple<typename G::Point...> multiply(Fr* scalars, size_t count, ScalarForm form, Scratch scratch,
                                          const Workers& workers, const MsmPoints<G>&... points) {
    (check(points, count), ...);
    if (count == 0) return {};
    const Kernels& kernels = workers.kernels();
    const MsmPlan plan = plan_msm(count, workers.lanes());
    const size_t group = group_size<G...>(plan, scratch.size, kernels);
    Arena arena(scratch.base, scratch.size);
    return Multiplication<G...>(arena, plan, group, kernels, points...).run(scalars, form, workers);
}

}  // namespace

template <class G>
size_t msm_scratch(size_t scalars, size_t threads, const Kernels& kernels) {
    return scratch_for<G>(scalars, threads, kernels);
}

template <class G>
typename G::Point msm(const MsmPoints<G>& points, Fr* scalars, size_t count, ScalarForm form, Scratch scratch,
                      const Workers& workers) {
    return std::get<0>(multiply<G>(scalars, count, form, scratch, workers, points));
}

size_t query_scratch(size_t scalars, size_t threads, const Kernels& kernels) {
    return scratch_for<G1, G1, G1, G2>(scalars, threads, kernels);
}

QuerySums multiply_queries(const QueryPoints& queries, Fr* scalars, size_t count, ScalarForm form,
                           Scratch scratch, const Workers& workers) {
    const auto [l, a, b_g1, b_g2] = multiply<G1, G1, G1, G2>(
        scalars, count, form, scratch, workers, queries.l, queries.a, queries.b_g1, queries.b_g2);
    return {l, a, b_g1, b_g2};
}

template size_t msm_scratch<G1>(size_t, size_t, const Kernels&);
template size_t msm_scratch<G2>(size_t, size_t, const Kernels&);
template G1::Point msm<G1>(const MsmPoints<G1>&, Fr*, size_t, ScalarForm, Scratch, const Workers&);
template G2::Point msm<G2>(const MsmPoints<G2>&, Fr*, size_t, ScalarForm, Scratch, const Workers&);

}  // namespace forebay
