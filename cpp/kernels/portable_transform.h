#pragma once

#include "kernels/transforms.h"

namespace forebay::portable {

// blst's arithmetic, on any processor and on tiles of any size.
extern const TransformKernels kTransforms;

}  // namespace forebay::portable
