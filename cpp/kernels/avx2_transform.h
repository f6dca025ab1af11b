#pragma once

#include "field/field.h"

namespace forebay::avx2 {

// Kernels::ntt_forward and Kernels::ntt_inverse for processors with AVX2 and FMA.
void ntt_forward(Fr* tile, unsigned levels, size_t width, const Fr* twiddles);
void ntt_inverse(Fr* tile, unsigned levels, size_t width, const Fr* twiddles);

}  // namespace forebay::avx2
