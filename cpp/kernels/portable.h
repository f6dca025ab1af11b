#pragma once

#include "kernels/table.h"

namespace forebay {

// Kernels for every processor that blst supports.
extern const Kernels kPortableKernels;

}  // namespace forebay
