// Between blst's elements, whole 64-bit words in [0, p), and eight lanes of limbs.
#pragma once

#include <utility>

#include "kernels/ifma/field.h"

namespace forebay::FOREBAY_IFMA {
namespace {

template <class F>
struct Words {
    Lanes word[F::kWords];
};

namespace detail {

template <size_t kLimb, class F>
FOREBAY_INLINE Lanes limb_of(const Words<F>& a) {
    constexpr size_t kBit = kLimb * kRadixLog, kWord = kBit / 64, kShift = kBit % 64;
    Lanes limb = a.word[kWord];
    if constexpr (kShift > 64 - kRadixLog && kWord + 1 < F::kWords) {
        limb = funnel<kShift>(a.word[kWord + 1], limb);
    } else {
        limb = limb >> kShift;
    }
    if constexpr (kBit + kRadixLog >= 64 * F::kWords) return limb;
    return limb & splat(kLimbMask);
}

// Limbs are carried and the value fits the words.
template <size_t kWord, class F>
FOREBAY_INLINE Lanes word_of(const Element<F>& a) {
    constexpr size_t kBit = kWord * 64, kLimb = kBit / kRadixLog, kShift = kBit % kRadixLog;
    Lanes word = a.limb[kLimb] >> kShift;
    if constexpr (kLimb + 1 < F::kLimbs) word |= a.limb[kLimb + 1] << (kRadixLog - kShift);
    if constexpr (kLimb + 2 < F::kLimbs && 2 * kRadixLog - kShift < 64) {
        word |= a.limb[kLimb + 2] << (2 * kRadixLog - kShift);
    }
    return word;
}

template <class F, size_t... kLimb>
FOREBAY_INLINE Element<F> from_words(const Words<F>& a, std::index_sequence<kLimb...>) {
    return {{limb_of<kLimb>(a)...}};
}

template <class F, size_t... kWord>
FOREBAY_INLINE Words<F> to_words(const Element<F>& a, std::index_sequence<kWord...>) {
    return {{word_of<kWord>(a)...}};
}

}  // namespace detail

template <class F>
FOREBAY_INLINE Element<F> from_words(const Words<F>& a) {
    return detail::from_words(a, std::make_index_sequence<F::kLimbs>{});
}

template <class F>
FOREBAY_INLINE Words<F> to_words(const Element<F>& a) {
    return detail::to_words(a, std::make_index_sequence<F::kWords>{});
}

namespace detail {

// How many times p goes into a value is read off its upper bits, in units of 2^kDrop that make p about
// 2^48.8; 2^100/p of these units is a factor of 52 bits.
template <class F>
struct Estimate;

template <>
struct Estimate<FpField> {
    static constexpr unsigned kTopShift = 32;
    static constexpr uint64_t kReciprocal = 0x9d835d2f3cc9e;
};
template <>
struct Estimate<FrField> {
    static constexpr unsigned kTopShift = 2;
    static constexpr uint64_t kReciprocal = 0x8d54253b7fb78;
};

// The exact way, for values that lie closer to a multiple of p than the estimate can tell.
template <class F>
FOREBAY_CALL Element<F> take_off_multiples(const Element<F>& a) {
    Element<F> r = carried(a);
    for (int times = 0; times < 8; times++) {
        Element<F> less;
        for (size_t i = 0; i < F::kLimbs; i++) less.limb[i] = r.limb[i] - splat(kModulus<F>.at[i]);
        carry(less.limb);
        const Mask too_far = negative(less.limb[F::kLimbs - 1]);
        for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = select(too_far, r.limb[i], less.limb[i]);
    }
    return r;
}

}  // namespace detail

// The one representative in [0, p), carried, of raw limbs of a value in [0, 7p).
template <class F>
FOREBAY_INLINE Element<F> canonical(const Element<F>& a) {
    using Estimate = detail::Estimate<F>;
    constexpr size_t kTop = F::kLimbs - 1;
    constexpr unsigned kFraction = 48;
    // What lower limbs carry changes `upper` by less than 2; four more keep it positive.
    const Lanes upper = (a.limb[kTop] << Estimate::kTopShift) +
                        shift_signed(a.limb[kTop - 1], kRadixLog - Estimate::kTopShift) + splat(4);
    const Lanes ratio = madd_high(Lanes{}, upper, splat(Estimate::kReciprocal));
    const Lanes fraction = (ratio + splat(2)) & splat((uint64_t{1} << kFraction) - 1);
    if (__builtin_expect(below(fraction, splat(8)) != 0, false)) return detail::take_off_multiples(a);
    const Lanes quotient = ratio >> kFraction;
    Element<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) {
        r.limb[i] = a.limb[i] - look_up(quotient, kMultiples<F>.at[i]);
    }
    carry(r.limb);
    return r;
}

// The element that starts at word `offset` of each row. Six words are read as eight, from `offset` or before
// it: a row must have eight words around them.
FOREBAY_INLINE Words<FpField> load_fp(const uint64_t* const (&rows)[kLanes], size_t offset) {
    Lanes low[4], high[4];
    if (offset % 4 == 0) {
        load_words(low, rows, offset);
        load_words(high, rows, offset + 4);
        return {{low[0], low[1], low[2], low[3], high[0], high[1]}};
    }
    load_words(low, rows, offset - 2);
    load_words(high, rows, offset + 2);
    return {{low[2], low[3], high[0], high[1], high[2], high[3]}};
}

FOREBAY_INLINE Words<FrField> load_fr(const uint64_t* const (&rows)[kLanes]) {
    Words<FrField> r;
    load_words(r.word, rows, 0);
    return r;
}

FOREBAY_INLINE void store_fr(uint64_t* const (&rows)[kLanes], const Words<FrField>& a) {
    store_words(rows, 0, a.word);
}

// Puts one element into a lane.
template <class F>
FOREBAY_INLINE void set_lane(Element<F>& a, size_t lane, const uint64_t* words) {
    for (size_t i = 0; i < F::kLimbs; i++) {
        const size_t bit = i * kRadixLog, word = bit / 64, shift = bit % 64;
        uint64_t limb = words[word] >> shift;
        if (shift > 64 - kRadixLog && word + 1 < F::kWords) limb |= words[word + 1] << (64 - shift);
        a.limb[i][lane] = limb & kLimbMask;
    }
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
