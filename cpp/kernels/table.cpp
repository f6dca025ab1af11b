#include "kernels/table.h"

#include "kernels/portable.h"

namespace forebay {

const Kernels& kernels() { return kPortableKernels; }

}  // namespace forebay
