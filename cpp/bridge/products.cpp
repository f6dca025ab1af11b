// A kernel set's arithmetic alone, for measurements.
#include "bridge/slices.h"

namespace forebay {
namespace {

Product product_of(uint32_t number) {
    if (number > static_cast<uint32_t>(Product::kSquareFp2)) throw std::invalid_argument("no such product");
    return static_cast<Product>(number);
}

size_t limbs_of(Product product) {
    switch (product) {
        case Product::kMultiplyFr:
            return sizeof(Fr) / sizeof(uint64_t);
        case Product::kMultiplyFp:
        case Product::kSquareFp:
            return sizeof(Fp) / sizeof(uint64_t);
        default:
            return sizeof(Fp2) / sizeof(uint64_t);
    }
}

}  // namespace

void repeat_product(const Kernels& kernels, uint32_t product, LimbsMut values, Limbs factors, size_t rounds) {
    const Product kind = product_of(product);
    const size_t limbs = limbs_of(kind), count = values.size() / limbs;
    const bool whole = values.size() % limbs == 0 && count % kProductStep == 0 && count <= kMostProducts;
    if (!whole || factors.size() != values.size()) {
        throw std::length_error("a batch of products needs 8, 16, … 64 values and as many factors");
    }
    kernels.repeat_product({kind, values.data(), factors.data(), count, rounds});
}

}  // namespace forebay
