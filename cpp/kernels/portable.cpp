#include "kernels/portable.h"

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
            for (size_t i = 0; i < half; i++) {
                Fr product;
                mul(product, high[i], twiddle);
                sub(high[i], low[i], product);
                add(low[i], low[i], product);
            }
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
            for (size_t i = 0; i < half; i++) {
                Fr difference;
                sub(difference, low[i], high[i]);
                add(low[i], low[i], high[i]);
                mul(high[i], difference, twiddle);
            }
        }
    }
}

}  // namespace

const Kernels kPortableKernels = {
    "portable", portable::add_pairs<G1>, portable::add_pairs<G2>, ntt_forward, ntt_inverse,
};

}  // namespace forebay
