// Transforms in natural order, and what they are by definition.
#pragma once

#include <vector>

#include "ntt/domain.h"
#include "support/values.h"

namespace forebay::testing {

inline void to_evaluations(const Domain& domain, std::vector<Fr>& values, Coset coset) {
    domain.forward(values.data(), coset);
    domain.bit_reverse(values.data());
}

inline void to_coefficients(const Domain& domain, std::vector<Fr>& values, Coset coset) {
    Fr factor;
    inverse(factor, fr_from(values.size()));
    domain.bit_reverse(values.data());
    domain.inverse(values.data(), coset, &factor);
}

inline Fr evaluate(const std::vector<Fr>& coefficients, const Fr& at) {
    Fr sum{};
    for (size_t i = coefficients.size(); i-- > 0;) {
        mul(sum, sum, at);
        add(sum, sum, coefficients[i]);
    }
    return sum;
}

// Where the transform of size 2^log evaluates its value `i`: at powers of 7^((r − 1)/2^log), times 7 on the
// coset.
inline Fr domain_point(unsigned log, uint64_t i, Coset coset) {
    uint64_t exponent[4];
    std::memcpy(exponent, kFrModulus.data(), sizeof(exponent));
    exponent[0] -= 1;
    for (unsigned step = 0; step < log; step++) {
        for (size_t limb = 0; limb < 4; limb++) {
            exponent[limb] = exponent[limb] >> 1 | (limb < 3 ? exponent[limb + 1] << 63 : 0);
        }
    }
    Fr point = power(power(fr_from(7), exponent, 4), i);
    if (coset == Coset::kShifted) mul(point, point, fr_from(7));
    return point;
}

}  // namespace forebay::testing
