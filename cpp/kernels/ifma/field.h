// Eight elements of Fp or Fr side by side, in limbs of 52 bits, and their Montgomery product.
//
// An Element is carried when its limbs are below 2^52; only carried elements are multiplied. Raw limbs are
// what products and sums leave: of either sign, below 2^58, the value of the whole not negative.
#pragma once

#include "kernels/ifma/vector.h"

namespace forebay::FOREBAY_IFMA {
namespace {

template <size_t kCount>
struct Numbers {
    uint64_t at[kCount];
};

// The base field. R is 2^416 here and 2^384 in blst.
struct FpField {
    static constexpr size_t kLimbs = 8;
    static constexpr size_t kWords = 6;
    static constexpr uint64_t kModulus[kWords] = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
                                                  0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};
};

// The scalar field. R is 2^260 here and 2^256 in blst.
struct FrField {
    static constexpr size_t kLimbs = 5;
    static constexpr size_t kWords = 4;
    static constexpr uint64_t kModulus[kWords] = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                                  0x73eda753299d7d48};
};

template <class F>
struct Element {
    Lanes limb[F::kLimbs];
};

namespace detail {

template <class F>
constexpr Numbers<F::kLimbs> modulus_limbs() {
    Numbers<F::kLimbs> limbs{};
    for (size_t i = 0; i < F::kLimbs; i++) {
        const size_t bit = i * kRadixLog, word = bit / 64, shift = bit % 64;
        uint64_t limb = F::kModulus[word] >> shift;
        if (shift > 0 && word + 1 < F::kWords) limb |= F::kModulus[word + 1] << (64 - shift);
        limbs.at[i] = limb & kLimbMask;
    }
    return limbs;
}

template <size_t kCount>
constexpr Numbers<kCount> times(const Numbers<kCount>& a, uint64_t factor) {
    Numbers<kCount> r{};
    unsigned __int128 carry = 0;
    for (size_t i = 0; i < kCount; i++) {
        carry += static_cast<unsigned __int128>(a.at[i]) * factor;
        r.at[i] = static_cast<uint64_t>(carry) & kLimbMask;
        carry >>= kRadixLog;
    }
    return r;
}

// −1/p modulo 2^52 (Newton's iteration doubles the correct bits, from three).
constexpr uint64_t negated_inverse(uint64_t modulus) {
    uint64_t inverse = modulus;
    for (int i = 0; i < 5; i++) inverse *= 2 - modulus * inverse;
    return (0 - inverse) & kLimbMask;
}

// N = (k·p + 1)/2^52 with k = −1/p modulo 2^52: adding m·(2^52·N − 1) for m the lowest limb clears it, as
// k·p = −1 there, and m needs no multiplication to be found.
template <size_t kCount>
constexpr Numbers<kCount> clearing_multiple(const Numbers<kCount>& modulus) {
    const uint64_t k = negated_inverse(modulus.at[0]);
    Numbers<kCount> r{};
    unsigned __int128 carry = 1;
    for (size_t i = 0; i < kCount; i++) {
        carry += static_cast<unsigned __int128>(modulus.at[i]) * k;
        if (i > 0) r.at[i - 1] = static_cast<uint64_t>(carry) & kLimbMask;
        carry >>= kRadixLog;
    }
    r.at[kCount - 1] = static_cast<uint64_t>(carry);
    return r;
}

// Limb i of 0 to 7 times the modulus.
template <size_t kCount>
struct Multiples {
    alignas(64) uint64_t at[kCount][kLanes];
};

template <size_t kCount>
constexpr Multiples<kCount> multiples(const Numbers<kCount>& modulus) {
    Multiples<kCount> r{};
    for (size_t factor = 0; factor < kLanes; factor++) {
        const Numbers<kCount> product = times(modulus, factor);
        for (size_t i = 0; i < kCount; i++) r.at[i][factor] = product.at[i];
    }
    return r;
}

}  // namespace detail

template <class F>
constexpr Numbers<F::kLimbs> kModulus = detail::modulus_limbs<F>();
template <class F>
constexpr Numbers<F::kLimbs> kClearing = detail::clearing_multiple(kModulus<F>);
template <class F>
constexpr uint64_t kFactor = detail::negated_inverse(kModulus<F>.at[0]);
template <class F>
constexpr detail::Multiples<F::kLimbs> kMultiples = detail::multiples(kModulus<F>);
template <class F, uint64_t kTimes>
constexpr Numbers<F::kLimbs> kModulusTimes = detail::times(kModulus<F>, kTimes);

// Carries limbs of either sign. The value must not be negative and must fit.
template <size_t kLimbs>
FOREBAY_INLINE void carry(Lanes (&limb)[kLimbs]) {
    const Lanes mask = splat(kLimbMask);
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < kLimbs; i++) {
        limb[i + 1] += shift_signed(limb[i], kRadixLog);
        limb[i] &= mask;
    }
}

template <class F>
FOREBAY_INLINE Element<F> add(const Element<F>& a, const Element<F>& b) {
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = a.limb[i] + b.limb[i];
    return r;
}

template <class F>
FOREBAY_INLINE Element<F> subtract(const Element<F>& a, const Element<F>& b) {
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = a.limb[i] - b.limb[i];
    return r;
}

// a + kTimes·p.
template <uint64_t kTimes, class F>
FOREBAY_INLINE Element<F> raise(const Element<F>& a) {
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = a.limb[i] + splat(kModulusTimes<F, kTimes>.at[i]);
    return r;
}

template <class F>
FOREBAY_INLINE Element<F> carried(Element<F> a) {
    carry(a.limb);
    return a;
}

template <class F>
FOREBAY_INLINE Element<F> negate_where(Mask mask, const Element<F>& a) {
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = negate_where(mask, a.limb[i]);
    return r;
}

// 2^kLog·a of a carried element; the product must fit.
template <int kLog, class F>
FOREBAY_INLINE Element<F> shifted(const Element<F>& a) {
    Element<F> r;
    const Lanes mask = splat(kLimbMask);
    r.limb[0] = a.limb[0] << kLog & mask;
#pragma GCC unroll 8
    for (size_t i = 1; i < F::kLimbs; i++) {
        r.limb[i] = (a.limb[i] << kLog | a.limb[i - 1] >> (kRadixLog - kLog)) & mask;
    }
    return r;
}

// One step of Montgomery's reduction takes the lowest of the columns from `t` on: its bits above 52 move up,
// and m·N with m its bits below is added where it leaves a limb less. Good for any column but the last.
template <class F>
FOREBAY_INLINE void clear_lowest(Lanes* t) {
    const Lanes digit = t[0];
    t[1] += shift_signed(digit, kRadixLog);
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j + 1] = madd_low(t[j + 1], digit, splat(kClearing<F>.at[j]));
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j + 2] = madd_high(t[j + 2], digit, splat(kClearing<F>.at[j]));
}

// The last step takes p itself, which brings the value down to its size.
template <class F>
FOREBAY_INLINE void clear_last(Lanes* t) {
    const Lanes digit = madd_low(Lanes{}, t[0], splat(kFactor<F>));
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j] = madd_low(t[j], digit, splat(kModulus<F>.at[j]));
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j + 1] = madd_high(t[j + 1], digit, splat(kModulus<F>.at[j]));
    t[1] += shift_signed(t[0], kRadixLog);
}

// r = t/R of 2·kLimbs columns, raw; t < 2^52·R·p gives less than t/R + 2p, and no less than t/R for t < 0.
template <class F>
FOREBAY_INLINE Element<F> reduce_columns(Lanes (&t)[2 * F::kLimbs]) {
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < F::kLimbs; i++) clear_lowest<F>(t + i);
    clear_last<F>(t + F::kLimbs - 1);
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = t[F::kLimbs + i];
    return r;
}

// Adds a·b[row] to the columns from `t` on.
template <class F>
FOREBAY_INLINE void add_row(Lanes* t, const Element<F>& a, Lanes factor) {
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j] = madd_low(t[j], a.limb[j], factor);
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) t[j + 1] = madd_high(t[j + 1], a.limb[j], factor);
}

// a·b/R, raw, between 0 and a·b/R + 2p: a and b below 2^16·p in Fp give less than 2.01 p, below 4r in Fr less
// than 2.5 r. Columns stay below 2^58. Rows of the product and steps of the reduction alternate, so that few
// columns are live at a time.
template <class F>
FOREBAY_INLINE Element<F> product(const Element<F>& a, const Element<F>& b) {
    Lanes t[2 * F::kLimbs] = {};
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) {
        add_row(t + i, a, b.limb[i]);
        if (i + 1 < F::kLimbs) {
            clear_lowest<F>(t + i);
        } else {
            clear_last<F>(t + i);
        }
    }
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = t[F::kLimbs + i];
    return r;
}

// a²/R, raw; bounds as for a product.
template <class F>
FOREBAY_INLINE Element<F> square(const Element<F>& a) {
    constexpr size_t kLimbs = F::kLimbs;
    Lanes t[2 * kLimbs] = {};
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < kLimbs; i++) {
#pragma GCC unroll 8
        for (size_t j = i + 1; j < kLimbs; j++) t[i + j] = madd_low(t[i + j], a.limb[j], a.limb[i]);
#pragma GCC unroll 8
        for (size_t j = i + 1; j < kLimbs; j++) t[i + j + 1] = madd_high(t[i + j + 1], a.limb[j], a.limb[i]);
    }
#pragma GCC unroll 16
    for (size_t i = 1; i + 1 < 2 * kLimbs; i++) t[i] += t[i];
#pragma GCC unroll 8
    for (size_t i = 0; i < kLimbs; i++) {
        t[2 * i] = madd_low(t[2 * i], a.limb[i], a.limb[i]);
        t[2 * i + 1] = madd_high(t[2 * i + 1], a.limb[i], a.limb[i]);
    }
    return reduce_columns<F>(t);
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
