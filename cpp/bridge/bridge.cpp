#include "bridge/slices.h"
#include "kernels/table.h"
#include "msm/fixed_base.h"

namespace forebay {
namespace {

template <class G>
void msm_limbs(const Crew& crew, const Limbs& points, const Indices& indices, const LimbsMut& scalars,
               bool montgomery, const Bytes& scratch, const LimbsMut& sum) {
    const auto bases = view<const typename G::Affine>(points);
    const auto values = view<Fr>(scalars);
    if (!indices.empty() && indices.size() != values.count) {
        throw std::length_error("as many indices as scalars are needed");
    }
    const MsmPoints<G> selected{bases.data, bases.count, indices.empty() ? nullptr : indices.data()};
    const ScalarForm form = montgomery ? ScalarForm::kMontgomery : ScalarForm::kCanonical;
    single<typename G::Point>(sum) =
        msm<G>(selected, values.data, values.count, form, scratch_of(scratch), PoolWorkers(crew));
}

template <class G>
void fixed_base_limbs(const Crew& crew, const Limbs& base, const Limbs& scalars, const LimbsMut& out,
                      const Bytes& scratch) {
    const auto values = view<const Fr>(scalars);
    const auto results = view<typename G::Affine>(out);
    if (values.count != results.count) throw std::length_error("as many results as scalars are needed");
    fixed_base<G>(single<const typename G::Affine>(base), values.data, results.data, values.count,
                  scratch_of(scratch), PoolWorkers(crew));
}

template <class G>
size_t first_invalid_limbs(const Crew& crew, const Limbs& points) {
    const auto values = view<const typename G::Affine>(points);
    return first_invalid<G>(values.data, values.count, PoolWorkers(crew));
}

}  // namespace

void run_task(const Task& task, size_t lane, size_t index) { task.run(lane, index); }

rust::Str kernel_name() { return kernels().name; }

size_t msm_scratch_g1(size_t scalars, size_t threads) { return msm_scratch<G1>(scalars, threads); }
size_t msm_scratch_g2(size_t scalars, size_t threads) { return msm_scratch<G2>(scalars, threads); }

void msm_g1(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery, Bytes scratch,
            LimbsMut sum) {
    msm_limbs<G1>(crew, points, indices, scalars, montgomery, scratch, sum);
}

void msm_g2(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery, Bytes scratch,
            LimbsMut sum) {
    msm_limbs<G2>(crew, points, indices, scalars, montgomery, scratch, sum);
}

size_t fixed_base_scratch_g1(size_t scalars, size_t threads) {
    return fixed_base_scratch<G1>(scalars, threads);
}
size_t fixed_base_scratch_g2(size_t scalars, size_t threads) {
    return fixed_base_scratch<G2>(scalars, threads);
}

void fixed_base_g1(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch) {
    fixed_base_limbs<G1>(crew, base, scalars, out, scratch);
}

void fixed_base_g2(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch) {
    fixed_base_limbs<G2>(crew, base, scalars, out, scratch);
}

size_t first_invalid_g1(const Crew& crew, Limbs points) { return first_invalid_limbs<G1>(crew, points); }
size_t first_invalid_g2(const Crew& crew, Limbs points) { return first_invalid_limbs<G2>(crew, points); }

}  // namespace forebay
