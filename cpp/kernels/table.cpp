#include "kernels/table.h"

#include "kernels/avx2.h"
#include "kernels/portable.h"

namespace forebay {

const Kernels& fastest_kernels() {
    static const Kernels* const chosen = avx2_kernels();
    return chosen != nullptr ? *chosen : kPortableKernels;
}

}  // namespace forebay
