// The only file compiled for AVX-512; see kernels/ifma.h for who may call it.
#include "kernels/ifma.h"
#include "kernels/ifma/add_pairs.h"
#include "kernels/ifma/pointwise.h"
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

void forward(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch) {
    if (tile.stride == 1) return forward_column(tile, Twiddles(twiddles), scratch);
    forward_columns(tile, Twiddles(twiddles), scratch);
}

void inverse(const Tile& tile, const uint64_t* twiddles, const Fr* scale, uint64_t* scratch) {
    Fr8 own;
    if (scale != nullptr) own = to_own(*scale);
    const Fr8* factor = scale != nullptr ? &own : nullptr;
    if (tile.stride == 1) return inverse_column(tile, Twiddles(twiddles), factor, scratch);
    inverse_columns(tile, Twiddles(twiddles), factor, scratch);
}

const TransformKernels kTransforms = {
    kLanes,   kLeastRowLevels, kLaneLevels + kLeastRowLevels, make_twiddles, forward, inverse,
    multiply, combine,
};

// These additions are so fast that inversions show: fewer of them.
constexpr size_t kChunkG1 = 8192, kBatchG1 = 2048;
constexpr size_t kChunkG2 = 4096, kBatchG2 = 1024;

}  // namespace

const Kernels kKernels = {
    "ifma", add_pairs_g1, add_pairs_g2, &kTransforms, repeat_product, kChunkG1, kChunkG2, kBatchG1, kBatchG2,
};

}  // namespace forebay::FOREBAY_IFMA
