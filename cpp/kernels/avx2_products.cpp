#include "kernels/avx2_products.h"

#if defined(__x86_64__)

#include <algorithm>

#include "kernels/avx2/butterflies.h"
#include "kernels/avx2/elements.h"
#include "kernels/avx2/rounding.h"

namespace forebay {
namespace avx2 {
namespace {

constexpr size_t kMostGroups = kMostProducts / kLanes;

template <class Word>
struct Addresses {
    Word* lane[kLanes];

    Addresses(Word* from, size_t group, size_t words) {
        for (size_t i = 0; i < kLanes; i++) lane[i] = from + (group * kLanes + i) * words;
    }
};

void scale(Fp* values, size_t count, const Fp& factor) {
    for (size_t i = 0; i < count; i++) mul(values[i], values[i], factor);
}

template <size_t Parts>
FOREBAY_AVX2_CALL void load_all(RealParts<Parts>* to, const Fp* from, size_t groups) {
    for (size_t group = 0; group < groups; group++) {
        const Addresses<const uint64_t> at(from->l, group, Parts * FpLimbs::kWords);
        to[group] = to_reals(load_parts<Parts>(at.lane, 0));
    }
}

template <size_t Parts>
FOREBAY_AVX2_CALL void store_all(Fp* to, const RealParts<Parts>* from, size_t groups) {
    for (size_t group = 0; group < groups; group++) {
        const Addresses<uint64_t> at(to->l, group, Parts * FpLimbs::kWords);
        store_parts(at.lane, 0, canonical(to_integers(from[group])));
    }
}

// Multiplies by one, which is `factor` here: a square takes limbs of 2^50, as a product has, not of 2^51.
template <size_t Parts>
FOREBAY_AVX2_CALL void normalise(RealParts<Parts>* values, size_t groups, const Fp& factor) {
    Fp one[kLanes * Parts] = {};
    for (size_t lane = 0; lane < kLanes; lane++) one[lane * Parts] = factor;
    RealParts<Parts> ones;
    load_all(&ones, one, 1);
    for (size_t group = 0; group < groups; group++) multiply(values[group], values[group], ones);
}

// An element is one or two coordinates. These are 2^24 times what blst has, as R is.
template <size_t Parts>
FOREBAY_AVX2_CALL void repeat_coordinates(const ProductBatch& batch, bool squares) {
    RealParts<Parts> values[kMostGroups], factors[kMostGroups];
    Fp scaled[kMostProducts * Parts], factor;
    const size_t groups = batch.count / kLanes, coordinates = batch.count * Parts;
    Fp* const own = reinterpret_cast<Fp*>(batch.values);
    set_small(factor, uint64_t{1} << kExtraLog);
    scale(own, coordinates, factor);
    std::memcpy(scaled, batch.factors, coordinates * sizeof(Fp));
    scale(scaled, coordinates, factor);
    load_all(values, own, groups);
    load_all(factors, scaled, groups);
    normalise(values, groups, factor);
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t group = 0; group < groups; group++) {
            if (squares) {
                square(values[group], values[group]);
            } else {
                multiply(values[group], values[group], factors[group]);
            }
        }
    }
    store_all(own, values, groups);
    inverse(factor, factor);
    scale(own, coordinates, factor);
}

// Values are as blst has them; factors are halved, as R is. A product must be reduced before it is multiplied
// again.
FOREBAY_AVX2_CALL void repeat_scalars(const ProductBatch& batch) {
    FrReals values[kMostGroups], factors[kMostGroups];
    const size_t groups = batch.count / kLanes;
    for (size_t group = 0; group < groups; group++) {
        const Addresses<const uint64_t> value(batch.values, group, FrLimbs::kWords);
        const Addresses<const uint64_t> factor(batch.factors, group, FrLimbs::kWords);
        values[group] = to_reals(load<FrLimbs>(value.lane, 0));
        reduce(values[group]);
        factors[group] = factor_of(load<FrLimbs>(factor.lane, 0));
    }
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t group = 0; group < groups; group++) {
            const FrReals value = values[group];
            reduce_rows(values[group], ProductRows<FrLimbs, 1>{{&value}, {&factors[group]}});
            reduce(values[group]);
        }
    }
    for (size_t group = 0; group < groups; group++) {
        const Addresses<uint64_t> value(batch.values, group, FrLimbs::kWords);
        store(value.lane, 0, positive(values[group]));
    }
}

}  // namespace

void repeat_product(const ProductBatch& batch) {
    const Rounding rounding;
    switch (batch.product) {
        case Product::kMultiplyFp:
            return repeat_coordinates<1>(batch, false);
        case Product::kSquareFp:
            return repeat_coordinates<1>(batch, true);
        case Product::kMultiplyFr:
            return repeat_scalars(batch);
        case Product::kMultiplyFp2:
            return repeat_coordinates<2>(batch, false);
        case Product::kSquareFp2:
            return repeat_coordinates<2>(batch, true);
    }
}

}  // namespace avx2
}  // namespace forebay

#endif
