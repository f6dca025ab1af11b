// Products in a field over and over: what a set of kernels is measured by.
#pragma once

#include "field/field.h"

namespace forebay {

// Numbers are those of the bridge.
enum class Product : uint32_t { kMultiplyFp, kSquareFp, kMultiplyFr, kMultiplyFp2, kSquareFp2 };

// A batch has a multiple of so many elements, so that no lane is left over,
constexpr size_t kProductStep = 8;
// and at most so many: operands in any kernel's own form stay in the first-level cache.
constexpr size_t kMostProducts = 64;

// `rounds` times value = value·factor, or value². Elements in blst's form, limb after limb; as many factors
// as values, also where they are not used.
struct ProductBatch {
    Product product;
    uint64_t* values;
    const uint64_t* factors;
    size_t count;
    size_t rounds;
};

}  // namespace forebay
