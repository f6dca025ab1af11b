#include "groth16/quotient.h"

#include <algorithm>

namespace forebay {
namespace {

// A factor that is a plain integer takes a product out of Montgomery form.
Fr plain(const Fr& value) {
    uint64_t limbs[4];
    blst_uint64_from_fr(limbs, &value);
    Fr r;
    std::copy(limbs, limbs + 4, r.l);
    return r;
}

}  // namespace

void multiply_polynomials(const Domain& domain, Fr* a, Fr* b) {
    for (Fr* values : {a, b}) domain.bit_reverse(values);
    domain.multiply(a, b);
}

void divide(const Domain& domain, Fr* product, Fr* c) {
    domain.bit_reverse(c);
    domain.inverse(c, Coset::kNone);

    // Three transforms left n⁻³ out of the product, one left n⁻¹ out of c.
    Fr inverse_size, divisor, c_scale, product_scale;
    inverse(inverse_size, fr_from(domain.size()));
    sub(divisor, fr_from(1), power(fr_from(kGenerator), domain.size()));
    inverse(c_scale, divisor);
    mul(c_scale, c_scale, inverse_size);
    sqr(product_scale, inverse_size);
    mul(product_scale, product_scale, c_scale);
    sub(product_scale, Fr{}, product_scale);
    domain.combine(product, plain(product_scale), c, plain(c_scale));
}

}  // namespace forebay
