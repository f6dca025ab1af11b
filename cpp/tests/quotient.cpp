// h·(xⁿ − 1) = A·B − C, at a random point.
#include "groth16/quotient.h"

#include "doctest/doctest.h"
#include "support/scratch.h"
#include "support/transforms.h"
#include "support/workers.h"

namespace forebay::testing {
namespace {

// Evaluations of a circuit that is satisfied: c = a∘b.
struct Evaluations {
    std::vector<Fr> a, b, c;

    Evaluations(unsigned log, Random& random) {
        for (size_t i = 0; i < size_t{1} << log; i++) {
            a.push_back(edge_or_random<Fr>(random));
            b.push_back(random.once_in(4) ? fr_from(random.below(2)) : random_element<Fr>(random));
            Fr product;
            mul(product, a[i], b[i]);
            c.push_back(product);
        }
    }

    // (A·B − C)/(xⁿ − 1) at a point.
    Fr quotient(const Domain& domain, const Fr& at) const {
        const auto value = [&](std::vector<Fr> values) {
            to_coefficients(domain, values, Coset::kNone);
            return evaluate(values, at);
        };
        Fr result, divisor;
        mul(result, value(a), value(b));
        sub(result, result, value(c));
        sub(divisor, power(at, a.size()), fr_from(1));
        inverse(divisor, divisor);
        mul(result, result, divisor);
        return result;
    }
};

}  // namespace

TEST_CASE("quotient: divides without a remainder") {
    Random random(60);
    for (const unsigned log : {0, 1, 2, 3, 5, 10, 11, 12, 13}) {
        const Evaluations evaluations(log, random);
        const Fr at = random_element<Fr>(random);
        for (const auto& workers : all_workers()) {
            ScratchMemory scratch(Domain::scratch_bytes(workers->lanes()));
            const Domain domain(log, scratch.whole(), *workers);
            std::vector<Fr> h = evaluations.a, free = evaluations.b;
            multiply_polynomials(domain, h.data(), free.data());
            free = evaluations.c;
            divide(domain, h.data(), free.data());
            CAPTURE(std::string(workers->kernels().name));
            CAPTURE(log);
            CHECK(same(h.back(), Fr{}));
            for (Fr& plain : h) {
                uint64_t limbs[4];
                std::memcpy(limbs, plain.l, sizeof(limbs));
                blst_fr_from_uint64(&plain, limbs);
            }
            CHECK(same(evaluate(h, at), evaluations.quotient(domain, at)));
        }
    }
}

}  // namespace forebay::testing
