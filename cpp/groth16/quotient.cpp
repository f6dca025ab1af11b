#include "groth16/quotient.h"

#include <algorithm>

namespace forebay {

void multiply_polynomials(const Domain& domain, Fr* a, Fr* b) {
    for (Fr* values : {a, b}) {
        domain.bit_reverse(values);
        domain.transform(values, Direction::kInverse, Coset::kNone);
    }
    domain.multiply_on_coset(a, b);
}

void divide(const Domain& domain, Fr* product, Fr* c, const Workers& workers) {
    domain.bit_reverse(c);
    domain.transform(c, Direction::kInverse, Coset::kNone);

    // Three transforms left n⁻³ out of the product, one left n⁻¹ out of c.
    Fr inverse_size, product_scale, divisor, scale;
    inverse(inverse_size, fr_from(domain.size()));
    sqr(product_scale, inverse_size);
    sub(divisor, power(fr_from(kGenerator), domain.size()), fr_from(1));
    inverse(scale, divisor);
    mul(scale, scale, inverse_size);
    // A factor that is a plain integer takes a product out of Montgomery form.
    Fr plain_scale;
    uint64_t limbs[4];
    blst_uint64_from_fr(limbs, &scale);
    std::copy(limbs, limbs + 4, plain_scale.l);

    constexpr size_t kPerTask = size_t{1} << 14;
    const size_t size = domain.size();
    for_each(workers, workers.lanes(), (size + kPerTask - 1) / kPerTask, [&](size_t, size_t task) {
        const size_t first = task * kPerTask;
        for (size_t i = first; i < std::min(first + kPerTask, size); i++) {
            Fr value;
            mul(value, product[i], product_scale);
            sub(value, value, c[i]);
            mul(product[i], value, plain_scale);
        }
    });
}

}  // namespace forebay
