#include <cstring>

#include "bridge/slices.h"
#include "groth16/quotient.h"
#include "kernels/table.h"
#include "msm/bitmap_sum.h"
#include "msm/fixed_base.h"

namespace forebay {
namespace {

template <class Sum, class Point>
Sum sum_of(const Point& point) {
    static_assert(sizeof(Sum) == sizeof(Point), "a sum holds the limbs of a point");
    Sum sum;
    std::memcpy(sum.limbs.data(), &point, sizeof(point));
    return sum;
}

template <class G, class Sum>
Sum msm_limbs(const Crew& crew, const Limbs& points, const Indices& indices, const LimbsMut& scalars,
              bool montgomery, const Bytes& scratch) {
    const auto bases = view<const typename G::Affine>(points);
    const auto values = view<Fr>(scalars);
    if (!indices.empty() && indices.size() != values.count) {
        throw std::length_error("as many indices as scalars are needed");
    }
    const MsmPoints<G> selected{bases.data, bases.count, indices.empty() ? nullptr : indices.data()};
    const ScalarForm form = montgomery ? ScalarForm::kMontgomery : ScalarForm::kCanonical;
    return sum_of<Sum>(
        msm<G>(selected, values.data, values.count, form, scratch_of(scratch), PoolWorkers(crew)));
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

template <class G, class Sum>
Sum bitmap_sum_limbs(const Crew& crew, const Limbs& points, size_t offset, const Limbs& selected,
                     const Limbs& density, const Bytes& scratch) {
    if (!density.empty() && density.size() != selected.size()) {
        throw std::length_error("a bitmap and its density differ in length");
    }
    const auto bases = view<const typename G::Affine>(points);
    const Selection selection{selected.data(), density.empty() ? nullptr : density.data(), selected.size(),
                              offset};
    return sum_of<Sum>(
        bitmap_sum<G>(bases.data, bases.count, selection, scratch_of(scratch), PoolWorkers(crew)));
}

// The domain that exactly holds `count` values.
unsigned domain_log(size_t count) {
    unsigned log = 0;
    while (log < kMaxDomainLog && (size_t{1} << log) < count) log++;
    if (size_t{1} << log != count) throw std::length_error("a transform needs a power of two of values");
    return log;
}

}  // namespace

void run_task(const Task& task, size_t lane, size_t index) { task.run(lane, index); }

rust::Str kernel_name(bool portable) { return chosen_kernels(portable).name; }

size_t msm_scratch_g1(size_t scalars, size_t threads) { return msm_scratch<G1>(scalars, threads); }
size_t msm_scratch_g2(size_t scalars, size_t threads) { return msm_scratch<G2>(scalars, threads); }

SumG1 msm_g1(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery,
             Bytes scratch) {
    return msm_limbs<G1, SumG1>(crew, points, indices, scalars, montgomery, scratch);
}

SumG2 msm_g2(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery,
             Bytes scratch) {
    return msm_limbs<G2, SumG2>(crew, points, indices, scalars, montgomery, scratch);
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

size_t bitmap_scratch_g1(size_t words, size_t threads) { return bitmap_scratch<G1>(words, threads); }
size_t bitmap_scratch_g2(size_t words, size_t threads) { return bitmap_scratch<G2>(words, threads); }

SumG1 bitmap_sum_g1(const Crew& crew, Limbs points, size_t offset, Limbs selected, Limbs density,
                    Bytes scratch) {
    return bitmap_sum_limbs<G1, SumG1>(crew, points, offset, selected, density, scratch);
}

SumG2 bitmap_sum_g2(const Crew& crew, Limbs points, size_t offset, Limbs selected, Limbs density,
                    Bytes scratch) {
    return bitmap_sum_limbs<G2, SumG2>(crew, points, offset, selected, density, scratch);
}

size_t domain_scratch(size_t threads) { return Domain::scratch_bytes(threads); }

void ntt(const Crew& crew, LimbsMut values, bool inverse_direction, bool coset, uint32_t pass_levels,
         Bytes scratch) {
    const auto elements = view<Fr>(values);
    const PoolWorkers workers(crew);
    const Domain domain(domain_log(elements.count), scratch_of(scratch), workers, pass_levels);
    const Coset shift = coset ? Coset::kShifted : Coset::kNone;
    if (inverse_direction) {
        Fr factor;
        inverse(factor, fr_from(domain.size()));
        domain.bit_reverse(elements.data);
        domain.inverse(elements.data, shift, &factor);
    } else {
        domain.forward(elements.data, shift);
        domain.bit_reverse(elements.data);
    }
}

void quotient_multiply(const Crew& crew, LimbsMut a, LimbsMut b, Bytes scratch) {
    const auto left = view<Fr>(a), right = view<Fr>(b);
    if (left.count != right.count) throw std::length_error("evaluation vectors differ in length");
    const PoolWorkers workers(crew);
    multiply_polynomials(Domain(domain_log(left.count), scratch_of(scratch), workers), left.data, right.data);
}

void quotient_divide(const Crew& crew, LimbsMut product, LimbsMut c, Bytes scratch) {
    const auto left = view<Fr>(product), right = view<Fr>(c);
    if (left.count != right.count) throw std::length_error("evaluation vectors differ in length");
    const PoolWorkers workers(crew);
    divide(Domain(domain_log(left.count), scratch_of(scratch), workers), left.data, right.data);
}

}  // namespace forebay
