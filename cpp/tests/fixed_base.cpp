// Multiples of one base against blst, and the check of foreign points.
#include "msm/fixed_base.h"

#include "doctest/doctest.h"
#include "support/points.h"
#include "support/scalars.h"
#include "support/scratch.h"
#include "support/workers.h"

namespace forebay::testing {
namespace {

template <class G>
void check(const Fr& base, const std::vector<Fr>& scalars) {
    std::vector<typename G::Affine> expected, got(scalars.size());
    for (const Fr& scalar : scalars) {
        Fr factor;
        mul(factor, scalar, base);
        expected.push_back(affine<G>(multiple<G>(factor)));
    }
    const auto point = affine<G>(multiple<G>(base));
    for (const auto& workers : all_workers()) {
        ScratchMemory scratch(fixed_base_scratch<G>(scalars.size(), workers->lanes()));
        fixed_base<G>(point, scalars.data(), got.data(), scalars.size(), scratch.whole(), *workers);
        CAPTURE(std::string(workers->kernels().name));
        CAPTURE(workers->lanes());
        CAPTURE(scalars.size());
        CHECK(first_difference(got, expected) == kNowhere);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("fixed base: every kind of scalar", G, G1, G2) {
    Random random(40);
    for (const Scalars kind : kAllScalars) {
        for (const size_t count : {0, 1, 9, quick() ? 20 : 70})
            check<G>(fr_from(17), scalars_of(kind, count, random));
    }
}

TEST_CASE("fixed base: several batches, and a base at infinity") {
    Random random(41);
    check<G1>(random_element<Fr>(random), scalars_of(Scalars::kEdges, quick() ? 1100 : 2500, random));
    check<G1>(Fr{}, scalars_of(Scalars::kRandom, 20, random));
}

TEST_CASE_TEMPLATE("fixed base: the first point that is not of the group", G, G1, G2) {
    Random random(42);
    auto points = colliding<G>(700, random).points;
    for (const auto& workers : all_workers()) {
        CHECK(first_invalid<G>(points.data(), points.size(), *workers) == points.size());
        auto wrong = points;
        for (const size_t at : {699, 300, 0}) {
            wrong[at] = scattered<G>(1, random).points[0];
            std::swap(wrong[at].x, wrong[at].y);
            CHECK(first_invalid<G>(wrong.data(), wrong.size(), *workers) == at);
        }
    }
}

}  // namespace forebay::testing
