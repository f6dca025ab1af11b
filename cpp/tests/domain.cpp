// Transforms of every kernel set against the values of the polynomial, and there and back.
#include "ntt/domain.h"

#include "doctest/doctest.h"
#include "support/scratch.h"
#include "support/transforms.h"
#include "support/values.h"
#include "support/workers.h"

namespace forebay::testing {
namespace {

std::vector<Fr> random_values(unsigned log, Random& random) {
    std::vector<Fr> values;
    for (size_t i = 0; i < size_t{1} << log; i++) values.push_back(edge_or_random<Fr>(random));
    return values;
}

void check(unsigned log, unsigned pass_levels, Coset coset, Random& random) {
    const std::vector<Fr> coefficients = random_values(log, random);
    const size_t size = coefficients.size(), step = size <= 64 ? 1 : size / 5 + 1;
    std::vector<Fr> first;
    for (const auto& workers : all_workers()) {
        CAPTURE(std::string(workers->kernels().name));
        CAPTURE(workers->lanes());
        CAPTURE(log);
        CAPTURE(pass_levels);
        ScratchMemory scratch(Domain::scratch_bytes(workers->lanes()));
        const Domain domain(log, scratch.whole(), *workers, pass_levels);
        std::vector<Fr> values = coefficients;
        to_evaluations(domain, values, coset);
        if (first.empty()) {
            first = values;
            for (size_t i = 0; i < size; i += step) {
                CHECK(same(values[i], evaluate(coefficients, domain_point(log, i, coset))));
            }
        }
        CHECK(first_difference(values, first) == kNowhere);
        to_coefficients(domain, values, coset);
        CHECK(first_difference(values, coefficients) == kNowhere);
    }
}

}  // namespace

TEST_CASE("domain: transforms of every size and back") {
    Random random(50);
    for (unsigned log = 0; log <= (quick() ? 12 : 14); log++) {
        for (const Coset coset : {Coset::kNone, Coset::kShifted}) check(log, kMostTileLevels, coset, random);
    }
}

TEST_CASE("domain: any number of levels a pass") {
    Random random(51);
    for (unsigned pass_levels = 1; pass_levels <= kMostTileLevels; pass_levels++) {
        for (const unsigned log : {1, 6, 12}) check(log, pass_levels, Coset::kShifted, random);
    }
}

TEST_CASE("domain: products of polynomials on the coset") {
    Random random(52);
    for (const unsigned log : {0, 1, 5, 12, 13}) {
        const std::vector<Fr> a = random_values(log, random), b = random_values(log, random);
        for (const auto& workers : all_workers()) {
            ScratchMemory scratch(Domain::scratch_bytes(workers->lanes()));
            const Domain domain(log, scratch.whole(), *workers);
            std::vector<Fr> left = a, right = b, product = a;
            to_evaluations(domain, left, Coset::kShifted);
            to_evaluations(domain, right, Coset::kShifted);
            for (size_t i = 0; i < left.size(); i++) mul(left[i], left[i], right[i]);
            to_coefficients(domain, left, Coset::kShifted);
            right = b;
            domain.forward(product.data(), Coset::kNone);
            domain.forward(right.data(), Coset::kNone);
            domain.multiply(product.data(), right.data());
            Fr factor;
            inverse(factor, power(fr_from(product.size()), 3));
            for (Fr& value : product) mul(value, value, factor);
            CAPTURE(std::string(workers->kernels().name));
            CAPTURE(log);
            CHECK(first_difference(product, left) == kNowhere);
        }
    }
}

TEST_CASE("domain: sizes that cannot be are refused") {
    const SerialWorkers workers(*kernel_sets()[0]);
    ScratchMemory scratch(Domain::scratch_bytes(1)), little(64);
    CHECK_THROWS(Domain(kMaxDomainLog + 1, scratch.whole(), workers));
    CHECK_THROWS(Domain(3, scratch.whole(), workers, 0));
    CHECK_THROWS(Domain(3, scratch.whole(), workers, kMostTileLevels + 1));
    CHECK_THROWS(Domain(3, little.whole(), workers));
}

}  // namespace forebay::testing
