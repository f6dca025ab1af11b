#pragma once

#include "kernels/transforms.h"

namespace forebay::avx2 {

// For processors with AVX2 and FMA.
extern const TransformKernels kTransforms;

}  // namespace forebay::avx2
