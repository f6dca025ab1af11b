#include "kernels/portable.h"

#include "kernels/adx.h"
#include "kernels/portable_transform.h"

namespace forebay {
namespace {

void add_pairs_g1(const Points<G1>& points, const Pair* pairs, size_t count, const PairScratch<G1>& scratch) {
    if (adx::supported()) return adx::add_pairs_g1(points, pairs, count, scratch);
    portable::add_pairs<G1>(points, pairs, count, scratch);
}

template <class Element>
void multiply(const ProductBatch& batch) {
    Element* const values = reinterpret_cast<Element*>(batch.values);
    const Element* const factors = reinterpret_cast<const Element*>(batch.factors);
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t i = 0; i < batch.count; i++) mul(values[i], values[i], factors[i]);
    }
}

template <class Element>
void square(const ProductBatch& batch) {
    Element* const values = reinterpret_cast<Element*>(batch.values);
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t i = 0; i < batch.count; i++) sqr(values[i], values[i]);
    }
}

void repeat_product(const ProductBatch& batch) {
    switch (batch.product) {
        case Product::kMultiplyFp:
            return multiply<Fp>(batch);
        case Product::kSquareFp:
            return square<Fp>(batch);
        case Product::kMultiplyFr:
            return multiply<Fr>(batch);
        case Product::kMultiplyFp2:
            return multiply<Fp2>(batch);
        case Product::kSquareFp2:
            return square<Fp2>(batch);
    }
}

}  // namespace

const Kernels kPortableKernels = {
    "portable", add_pairs_g1, portable::add_pairs<G2>, &portable::kTransforms, repeat_product,
};

}  // namespace forebay
