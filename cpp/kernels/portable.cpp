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

}  // namespace

const Kernels kPortableKernels = {
    "portable", add_pairs_g1, portable::add_pairs<G2>, ntt_forward, ntt_inverse,
};

}  // namespace forebay
