// The quotient h = (A·B − C)/(x^n − 1) of the polynomials that interpolate the evaluation vectors.
#pragma once

#include "ntt/domain.h"

namespace forebay {

// First half. In: evaluations a and b over the domain. Out: A·B modulo x^n − 7^n in `a`, not yet scaled; b is
// free.
void multiply_polynomials(const Domain& domain, Fr* a, Fr* b);

// Second half. In: what the first half left in `product`, and the evaluations a∘b in `c`. Out: the
// coefficients of h as plain integers in `product`, the last one 0 for a satisfied circuit; c is free.
void divide(const Domain& domain, Fr* product, Fr* c);

}  // namespace forebay
