#pragma once

#include "kernels/ifma/vector.h"
#include "kernels/products.h"

namespace forebay::FOREBAY_IFMA {

// Kernels::repeat_product.
void repeat_product(const ProductBatch& batch);

}  // namespace forebay::FOREBAY_IFMA
