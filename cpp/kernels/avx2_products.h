#pragma once

#include "kernels/products.h"

namespace forebay::avx2 {

// Kernels::repeat_product for processors with AVX2 and FMA.
void repeat_product(const ProductBatch& batch);

}  // namespace forebay::avx2
