#include "kernels/portable.h"

#include "kernels/portable_transform.h"

namespace forebay {

const Kernels kPortableKernels = {
    "portable",
    portable::add_pairs<G1>,
    portable::add_pairs<G2>,
    &portable::kTransforms,
};

}  // namespace forebay
