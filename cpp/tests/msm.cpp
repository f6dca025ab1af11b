// Multi-scalar multiplication on every kernel set, serial and on threads, against blst.
#include "msm/msm.h"

#include <stdexcept>

#include "doctest/doctest.h"
#include "msm/digits.h"
#include "support/points.h"
#include "support/scalars.h"
#include "support/scratch.h"
#include "support/workers.h"

namespace forebay::testing {
namespace {

// By one multiplication of the generator, as every point's factor is known.
template <class G>
typename G::Point expected_sum(const KnownPoints<G>& known, const std::vector<uint32_t>& indices,
                               const std::vector<Fr>& scalars) {
    Fr sum{};
    for (size_t i = 0; i < scalars.size(); i++) {
        Fr term;
        mul(term, scalars[i], known.factors[indices.empty() ? i : indices[i]]);
        add(sum, sum, term);
    }
    return multiple<G>(sum);
}

template <class G>
typename G::Point run(const Workers& workers, const KnownPoints<G>& known,
                      const std::vector<uint32_t>& indices, std::vector<Fr> scalars, ScalarForm form) {
    if (form == ScalarForm::kCanonical) {
        for (Fr& scalar : scalars) {
            const Fr value = scalar;
            blst_uint64_from_fr(scalar.l, &value);
        }
    }
    ScratchMemory scratch(msm_scratch<G>(scalars.size(), workers.lanes(), workers.kernels()));
    const MsmPoints<G> points{known.points.data(), known.points.size(),
                              indices.empty() ? nullptr : indices.data()};
    return msm<G>(points, scalars.data(), scalars.size(), form, scratch.whole(), workers);
}

template <class G>
void check(const WorkersList& list, const KnownPoints<G>& known, const std::vector<Fr>& scalars,
           const std::vector<uint32_t>& indices = {}) {
    const typename G::Point expected = expected_sum(known, indices, scalars);
    ScalarForm form = ScalarForm::kMontgomery;
    for (const auto& workers : list) {
        CAPTURE(std::string(workers->kernels().name));
        CAPTURE(workers->lanes());
        CAPTURE(scalars.size());
        CHECK(same_point<G>(run(*workers, known, indices, scalars, form), expected));
        form = ScalarForm::kCanonical;
    }
}

void pippenger(G1::Point& sum, const std::vector<G1::Affine>& points,
               const std::vector<blst_scalar>& scalars) {
    const G1::Affine* const from[] = {points.data(), nullptr};
    const byte* const bytes[] = {scalars[0].b, nullptr};
    std::vector<limb_t> scratch(blst_p1s_mult_pippenger_scratch_sizeof(points.size()) / sizeof(limb_t));
    blst_p1s_mult_pippenger(&sum, from, points.size(), bytes, 255, scratch.data());
}

void pippenger(G2::Point& sum, const std::vector<G2::Affine>& points,
               const std::vector<blst_scalar>& scalars) {
    const G2::Affine* const from[] = {points.data(), nullptr};
    const byte* const bytes[] = {scalars[0].b, nullptr};
    std::vector<limb_t> scratch(blst_p2s_mult_pippenger_scratch_sizeof(points.size()) / sizeof(limb_t));
    blst_p2s_mult_pippenger(&sum, from, points.size(), bytes, 255, scratch.data());
}

}  // namespace

TEST_CASE_TEMPLATE("msm: as blst's own", G, G1, G2) {
    Random random(20);
    const KnownPoints<G> known = scattered<G>(700, random);
    const std::vector<Fr> values = scalars_of(Scalars::kRandom, 700, random);
    std::vector<blst_scalar> scalars(values.size());
    for (size_t i = 0; i < values.size(); i++) blst_scalar_from_fr(&scalars[i], &values[i]);
    typename G::Point expected;
    pippenger(expected, known.points, scalars);
    for (const auto& workers : all_workers()) {
        CHECK(same_point<G>(run(*workers, known, {}, values, ScalarForm::kMontgomery), expected));
    }
}

TEST_CASE_TEMPLATE("msm: every kind of scalars on every kind of points", G, G1, G2) {
    Random random(21);
    const WorkersList serial = serial_workers();
    for (const size_t count : {1, 2, 9, quick() ? 40 : 400}) {
        const KnownPoints<G> kinds[] = {scattered<G>(count, random), colliding<G>(count, random),
                                        progression<G>(count, fr_from(3))};
        for (const KnownPoints<G>& known : kinds) {
            for (const Scalars kind : kAllScalars) check<G>(serial, known, scalars_of(kind, count, random));
        }
    }
}

TEST_CASE_TEMPLATE("msm: one base for all, and none but infinity", G, G1, G2) {
    Random random(22);
    for (const size_t factor : {0, 1, 12345}) {
        KnownPoints<G> known;
        const Fr value = fr_from(factor);
        const auto point = affine<G>(multiple<G>(value));
        for (size_t i = 0; i < 500; i++) known.push(value, point);
        for (const Scalars kind : {Scalars::kRandom, Scalars::kEqual, Scalars::kWitness}) {
            check<G>(serial_workers(), known, scalars_of(kind, 500, random));
        }
    }
}

TEST_CASE("msm: buckets that are cut over many chunks, and wide windows") {
    Random random(23);
    const size_t count = quick() ? 5000 : 20000;
    const KnownPoints<G1> known = scattered<G1>(count, random);
    for (const Scalars kind : {Scalars::kRandom, Scalars::kOne, Scalars::kEqual, Scalars::kWitness}) {
        check<G1>(all_workers(), known, scalars_of(kind, count, random));
    }
}

TEST_CASE_TEMPLATE("msm: points chosen by indices", G, G1, G2) {
    Random random(24);
    const KnownPoints<G> known = scattered<G>(50, random);
    std::vector<uint32_t> indices;
    for (size_t i = 0; i < 300; i++) indices.push_back(static_cast<uint32_t>(random.below(50)));
    check<G>(all_workers(), known, scalars_of(Scalars::kRandom, 300, random), indices);
}

TEST_CASE("msm: what cannot be is refused, on threads as well") {
    Random random(25);
    const KnownPoints<G1> known = scattered<G1>(3, random);
    for (const auto& workers : all_workers()) {
        const auto scalars = scalars_of(Scalars::kRandom, 4, random);
        CHECK(same_point<G1>(run<G1>(*workers, known, {}, {}, ScalarForm::kMontgomery), G1::Point{}));
        CHECK_THROWS_AS(run(*workers, known, {}, scalars, ScalarForm::kMontgomery), std::length_error);
        CHECK_THROWS(run(*workers, known, {0, 1, 2, 3}, scalars, ScalarForm::kMontgomery));
        ScratchMemory little(100);
        std::vector<Fr> one(1, fr_from(1));
        const MsmPoints<G1> points{known.points.data(), 3, nullptr};
        CHECK_THROWS_AS(msm<G1>(points, one.data(), 1, ScalarForm::kMontgomery, little.whole(), *workers),
                        std::length_error);
    }
}

TEST_CASE("msm: the digits of a scalar add up to it") {
    Random random(26);
    for (unsigned window = kMinWindow; window <= kMaxWindow; window++) {
        const Recoder recoder(window);
        size_t wrong = 0;
        for (size_t i = 0; i < 100; i++) {
            const Fr scalar = edge_or_random<Fr>(random);
            uint64_t recoded[4];
            blst_uint64_from_fr(recoded, &scalar);
            recoder.recode(recoded);
            Fr sum{}, weight = fr_from(1);
            for (unsigned w = 0; w < recoder.windows(); w++) {
                const Digit digit = recoder.digit(recoded, w);
                wrong += digit.magnitude > 1u << (window - 1);
                Fr term;
                mul(term, weight, fr_from(digit.magnitude));
                if (digit.negative) {
                    sub(sum, sum, term);
                } else {
                    add(sum, sum, term);
                }
                mul(weight, weight, fr_from(uint64_t{1} << window));
            }
            wrong += !same(sum, scalar);
        }
        CAPTURE(window);
        CHECK(wrong == 0);
    }
}

}  // namespace forebay::testing
