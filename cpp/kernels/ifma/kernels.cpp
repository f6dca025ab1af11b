// The only file compiled for AVX-512; see kernels/ifma.h for who may call it.
#include "kernels/ifma.h"
#include "kernels/ifma/add_pairs.h"
#include "kernels/ifma/products.h"
#include "kernels/portable.h"

namespace forebay::FOREBAY_IFMA {
namespace {

// A batch this small is an inversion above all.
constexpr size_t kLeastPairs = 8;

void add_pairs_g1(const Points<G1>& points, const Pair* pairs, size_t count, const PairScratch<G1>& scratch) {
    if (count < kLeastPairs) return kPortableKernels.add_pairs_g1(points, pairs, count, scratch);
    PairAdder<G1>(points, pairs, count, scratch).run();
}

void add_pairs_g2(const Points<G2>& points, const Pair* pairs, size_t count, const PairScratch<G2>& scratch) {
    if (count < kLeastPairs) return kPortableKernels.add_pairs_g2(points, pairs, count, scratch);
    PairAdder<G2>(points, pairs, count, scratch).run();
}

void ntt_forward(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    kPortableKernels.ntt_forward(tile, levels, width, twiddles);
}

void ntt_inverse(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    kPortableKernels.ntt_inverse(tile, levels, width, twiddles);
}

}  // namespace

const Kernels kKernels = {"ifma", add_pairs_g1, add_pairs_g2, ntt_forward, ntt_inverse, repeat_product};

}  // namespace forebay::FOREBAY_IFMA
