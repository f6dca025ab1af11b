#include "kernels/table.h"

#include "kernels/avx2.h"
#include "kernels/ifma.h"
#include "kernels/portable.h"

namespace forebay {

#ifdef FOREBAY_HAS_IFMA

const Kernels* ifma_kernels() {
    // What cpp/kernels/ifma is compiled for, and that the system saves the registers.
    const bool supported = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                           __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi2") &&
                           __builtin_cpu_supports("bmi2");
    return supported ? &ifma::kKernels : nullptr;
}

#else

const Kernels* ifma_kernels() { return nullptr; }

#endif

const Kernels& fastest_kernels() {
    static const Kernels* const chosen = [] {
        for (const Kernels* kernels : {ifma_kernels(), avx2_kernels()}) {
            if (kernels != nullptr) return kernels;
        }
        return &kPortableKernels;
    }();
    return *chosen;
}

}  // namespace forebay
