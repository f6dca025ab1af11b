#pragma once

#include "kernels/table.h"

namespace forebay {

namespace ifma {
// Compiled with the flags of AVX-512: only for processors that `ifma_kernels` accepts.
extern const Kernels kKernels;
}  // namespace ifma

namespace ifma_emulated {
// The same formulas on an emulated vector unit; only in the tests.
extern const Kernels kKernels;
}  // namespace ifma_emulated

// Kernels for x86 processors with AVX-512 IFMA and VBMI2 (Ice Lake, Zen 4 and later); null where these are
// missing.
const Kernels* ifma_kernels();

}  // namespace forebay
