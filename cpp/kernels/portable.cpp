#include "kernels/portable.h"

#include "kernels/adx.h"
#include "kernels/butterfly_rows.h"

namespace forebay {
namespace {

void ntt_forward(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    for (unsigned level = 0; level < levels; level++) {
        const size_t blocks = size_t{1} << level;
        const size_t half = (width << (levels - 1 - level));
        for (size_t block = 0; block < blocks; block++) {
            const Fr& twiddle = twiddles[blocks + block];
            Fr* low = tile + 2 * half * block;
            Fr* high = low + half;
            portable::forward_row(low, high, twiddle, half);
        }
    }
}

void ntt_inverse(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    for (unsigned level = levels; level-- > 0;) {
        const size_t blocks = size_t{1} << level;
        const size_t half = (width << (levels - 1 - level));
        for (size_t block = 0; block < blocks; block++) {
            const Fr& twiddle = twiddles[blocks + block];
            Fr* low = tile + 2 * half * block;
            Fr* high = low + half;
            portable::inverse_row(low, high, twiddle, half);
        }
    }
}

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
    "portable", add_pairs_g1, portable::add_pairs<G2>, ntt_forward, ntt_inverse, repeat_product,
};

}  // namespace forebay
