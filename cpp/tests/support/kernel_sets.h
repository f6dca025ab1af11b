// The kernel sets under test.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace forebay::testing {

// Those that this processor runs. FOREBAY_TEST_KERNELS names the only one that is wanted, or is `fastest`;
// one that this processor lacks is a failure.
const std::vector<const Kernels*>& kernel_sets();

// Whether FOREBAY_TEST_QUICK is set: a slow processor leaves out the largest cases.
bool quick();

}  // namespace forebay::testing
