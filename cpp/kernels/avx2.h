#pragma once

#include "kernels/table.h"

namespace forebay {

// Kernels for x86 processors with AVX2 and FMA; null where these are missing.
const Kernels* avx2_kernels();

}  // namespace forebay
