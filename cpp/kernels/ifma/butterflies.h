// Butterflies over Fr, eight lanes of raw limbs. R/r is 35.29: a value below 35 r has five limbs, which is
// room for the sums of all levels of a tile. Bounds below are in units of r.
#pragma once

#include "kernels/ifma/words.h"
#include "kernels/transforms.h"

namespace forebay::FOREBAY_IFMA {
namespace {

using Fr8 = Element<FrField>;

constexpr uint64_t kRoom = 35;
// What a forward level adds to a value; more than a product of a value below kRoom and a twiddle below 1 can
// be: 2 + 35/35.29.
constexpr uint64_t kForwardGrowth = 3;
// Values between two pairs of inverse levels stay below it.
constexpr uint64_t kInverseBound = 5;
static_assert(1 + kForwardGrowth * kMostTileLevels <= kRoom, "forward levels need no reduction");
static_assert(4 * kInverseBound <= kRoom, "two inverse levels need no reduction");

namespace detail {

// 2^exponent mod p.
template <class F>
constexpr Numbers<F::kLimbs> power_of_two(unsigned exponent) {
    Numbers<F::kLimbs> r{};
    r.at[0] = 1;
    for (unsigned step = 0; step < exponent; step++) {
        r = times(r, 2);
        Numbers<F::kLimbs> less{};
        int64_t borrow = 0;
        for (size_t i = 0; i < F::kLimbs; i++) {
            const int64_t limb =
                static_cast<int64_t>(r.at[i]) - static_cast<int64_t>(kModulus<F>.at[i]) + borrow;
            less.at[i] = static_cast<uint64_t>(limb) & kLimbMask;
            borrow = limb >> 63;
        }
        if (borrow == 0) r = less;
    }
    return r;
}

// Limb i of 0 to 15 times 2r.
struct EvenMultiples {
    alignas(64) uint64_t at[FrField::kLimbs][2 * kLanes];
};

constexpr EvenMultiples even_multiples() {
    EvenMultiples r{};
    for (size_t factor = 0; factor < 2 * kLanes; factor++) {
        const Numbers<FrField::kLimbs> product = times(kModulus<FrField>, 2 * factor);
        for (size_t i = 0; i < FrField::kLimbs; i++) r.at[i][factor] = product.at[i];
    }
    return r;
}

constexpr EvenMultiples kEvenMultiples = even_multiples();
// A product with it is a multiplication by 2^4: R is 2^260 here and 2^256 in blst.
constexpr Numbers<FrField::kLimbs> kToOwn = power_of_two<FrField>(2 * 260 - 256);
// The same, by 2^8: what a factor of blst's form needs to make own twiddles of blst's elements.
constexpr Numbers<FrField::kLimbs> kToOwnTwice = power_of_two<FrField>(2 * 260 - 256 + 4);

}  // namespace detail

FOREBAY_INLINE Fr8 same_in_all(const Numbers<FrField::kLimbs>& a) {
    Fr8 r;
    for (size_t i = 0; i < FrField::kLimbs; i++) r.limb[i] = splat(a.at[i]);
    return r;
}

FOREBAY_INLINE Fr8 same_in_all(const Fr& a) {
    Words<FrField> words;
    for (size_t i = 0; i < FrField::kWords; i++) words.word[i] = splat(a.l[i]);
    return from_words(words);
}

// Carries raw limbs, and leaves above bit 52 what a multiplication does not look at.
FOREBAY_INLINE Fr8 factor(Fr8 a) {
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < FrField::kLimbs; i++) a.limb[i + 1] += shift_signed(a.limb[i], kRadixLog);
    return a;
}

// Takes k·2r off a value below 35, where k is how often 2^256 = 2.208 r goes into it: leaves less than
// 2.208 + 0.208 k, which is 5.4 for k = 15. The upper limb may lack what lower limbs carry, less than 2^9.
FOREBAY_INLINE Fr8 reduced(const Fr8& a) {
    constexpr size_t kTop = FrField::kLimbs - 1;
    const Lanes quotient = shift_signed(a.limb[kTop] + splat(1 << 9), 256 - 4 * kRadixLog);
    Fr8 r;
#pragma GCC unroll 8
    for (size_t i = 0; i <= kTop; i++) {
        r.limb[i] = a.limb[i] - look_up(quotient, detail::kEvenMultiples.at[i]);
    }
    return r;
}

// low, high = low ± twiddle·high: both below k + 3 from values below k ≤ 32 and a twiddle below 1.
FOREBAY_INLINE void forward_butterfly(Fr8& low, Fr8& high, const Fr8& twiddle) {
    const Fr8 scaled = product(factor(high), twiddle);
    high = raise<kForwardGrowth>(subtract(low, scaled));
    low = add(low, scaled);
}

// low, high = low + high, twiddle·(low − high) of values below kBound: below 2·kBound, 2 + 2·kBound/35.29.
template <uint64_t kBound>
FOREBAY_INLINE void inverse_butterfly(Fr8& low, Fr8& high, const Fr8& twiddle) {
    const Fr8 difference = raise<kBound>(subtract(low, high));
    low = add(low, high);
    high = product(factor(difference), twiddle);
}

// Two levels over four rows.
FOREBAY_INLINE void forward_quad(Fr8 (&rows)[4], const Fr8& outer, const Fr8 (&inner)[2]) {
    forward_butterfly(rows[0], rows[2], outer);
    forward_butterfly(rows[1], rows[3], outer);
    forward_butterfly(rows[0], rows[1], inner[0]);
    forward_butterfly(rows[2], rows[3], inner[1]);
}

// From values below 5: the inner level leaves less than 10 in rows 0 and 2 and 2.3 in the others, the outer
// one 20 in row 0 and 4.6 in row 1. Limbs of row 0 grew by 2^2 at most since they were carried or a
// product's.
FOREBAY_INLINE void inverse_quad(Fr8 (&rows)[4], const Fr8& outer, const Fr8 (&inner)[2]) {
    inverse_butterfly<kInverseBound>(rows[0], rows[1], inner[0]);
    inverse_butterfly<kInverseBound>(rows[2], rows[3], inner[1]);
    inverse_butterfly<2 * kInverseBound>(rows[0], rows[2], outer);
    inverse_butterfly<kInverseBound>(rows[1], rows[3], outer);
    rows[0] = carried(reduced(rows[0]));
}

// One level, from values below 5 to values below 3.1.
FOREBAY_INLINE void inverse_pair(Fr8& low, Fr8& high, const Fr8& twiddle) {
    inverse_butterfly<kInverseBound>(low, high, twiddle);
    low = carried(reduced(low));
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
