// Between blst's elements, six words each, and four lanes of limbs.
#pragma once

#include <cstring>

#include "kernels/avx2/lanes.h"

namespace forebay::avx2 {

namespace detail {

template <class F>
constexpr std::array<uint64_t, F::kLimbs> modulus_times(uint64_t factor) {
    std::array<uint64_t, F::kLimbs> limbs{};
    for (size_t i = 0; i < F::kLimbs; i++) limbs[i] = factor * static_cast<uint64_t>(F::kModulus[i]);
    return limbs;
}

// A multiple of the modulus, with what lets a chain of carries run through it.
template <class F>
constexpr std::array<uint64_t, F::kLimbs> carrying(uint64_t factor, bool top) {
    std::array<uint64_t, F::kLimbs> limbs = modulus_times<F>(factor);
    for (size_t i = 0; i < F::kLimbs; i++) {
        if (top || i + 1 < F::kLimbs) limbs[i] += kBias;
        if (i > 0) limbs[i] -= kCarryBias;
    }
    return limbs;
}

template <class F, uint64_t Factor>
inline constexpr Table<uint64_t, F::kLimbs> kTimes{modulus_times<F>(Factor)};
template <class F, uint64_t Factor>
inline constexpr Table<uint64_t, F::kLimbs> kRaise{carrying<F>(Factor, true)};
template <class F>
inline constexpr Table<uint64_t, F::kLimbs> kLower{carrying<F>(~uint64_t{0}, false)};

}  // namespace detail

template <class F>
FOREBAY_AVX2_INLINE Integers<F> from_words(const __m256i (&w)[F::kWords]) {
    Integers<F> r;
#pragma GCC unroll 8
    for (size_t i = 0; i < F::kLimbs; i++) {
        const unsigned bit = kRadixLog * i, word = bit / 64, shift = bit % 64;
        r.limb[i] = _mm256_srli_epi64(w[word], shift);
        if (shift > 64 - kRadixLog && word + 1 < F::kWords) {
            r.limb[i] = _mm256_or_si256(r.limb[i], _mm256_slli_epi64(w[word + 1], 64 - shift));
        }
        if (bit + kRadixLog < 64 * F::kWords) r.limb[i] = _mm256_and_si256(r.limb[i], kInteger.integer(0));
    }
    return r;
}

template <class F>
FOREBAY_AVX2_INLINE void to_words(__m256i (&w)[F::kWords], const Integers<F>& a) {
    w[0] = a.limb[0];
#pragma GCC unroll 8
    for (size_t i = 1; i < F::kLimbs; i++) {
        const unsigned bit = kRadixLog * i, word = bit / 64, shift = bit % 64;
        w[word] = _mm256_or_si256(w[word], _mm256_slli_epi64(a.limb[i], shift));
        if (shift > 64 - kRadixLog && word + 1 < F::kWords) {
            w[word + 1] = _mm256_srli_epi64(a.limb[i], 64 - shift);
        }
    }
}

// The element at each of four addresses.
template <class F>
FOREBAY_AVX2_INLINE Integers<F> load(const uint64_t* const (&from)[kLanes], size_t offset) {
    __m256i words[F::kWords];
    for (size_t i = 0; i < F::kWords; i += 2) {
        __m128i half[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++) {
            half[lane] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[lane] + offset + i));
        }
        const __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(half[0]), half[2], 1);
        const __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(half[1]), half[3], 1);
        words[i] = _mm256_unpacklo_epi64(even, odd);
        words[i + 1] = _mm256_unpackhi_epi64(even, odd);
    }
    return from_words<F>(words);
}

template <class F>
FOREBAY_AVX2_INLINE void store(uint64_t* const (&to)[kLanes], size_t offset, const Integers<F>& a) {
    __m256i words[F::kWords];
    to_words<F>(words, a);
    for (size_t i = 0; i < F::kWords; i += 2) {
        const __m256i even = _mm256_unpacklo_epi64(words[i], words[i + 1]);
        const __m256i odd = _mm256_unpackhi_epi64(words[i], words[i + 1]);
        const __m128i half[kLanes] = {_mm256_castsi256_si128(even), _mm256_castsi256_si128(odd),
                                      _mm256_extracti128_si256(even, 1), _mm256_extracti128_si256(odd, 1)};
        for (size_t lane = 0; lane < kLanes; lane++) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to[lane] + offset + i), half[lane]);
        }
    }
}

// The one representative between 0 and p of a value between −3p and 4p.
template <class F>
FOREBAY_AVX2_INLINE Integers<F> canonical(const Integers<F>& a) {
    const __m256i mask = kInteger.integer(0);
    // Multiples of p to take off: never too many, at most one too few.
    const __m256d top =
        to_real(_mm256_add_epi64(a.limb[F::kLimbs - 1], detail::kTimes<F, 3>.integer(F::kLimbs - 1)));
    const __m256d quotient =
        _mm256_floor_pd(_mm256_fmadd_pd(top, _mm256_set1_pd(F::kTopUnit), _mm256_set1_pd(-0x1p-16)));
    const __m256i count = as_integer(_mm256_add_pd(quotient, kReal.real(2)));
    __m256i bit[3];
    for (size_t i = 0; i < 3; i++) {
        const __m256i one = every_lane(uint64_t{1} << i);
        bit[i] = _mm256_cmpeq_epi64(_mm256_and_si256(count, one), one);
    }
    Integers<F> r, less;
    __m256i carry = _mm256_setzero_si256(), less_carry = carry;
    for (size_t i = 0; i < F::kLimbs; i++) {
        const __m256i taken =
            _mm256_add_epi64(_mm256_add_epi64(_mm256_and_si256(bit[0], detail::kTimes<F, 1>.integer(i)),
                                              _mm256_and_si256(bit[1], detail::kTimes<F, 2>.integer(i))),
                             _mm256_and_si256(bit[2], detail::kTimes<F, 4>.integer(i)));
        const __m256i column = _mm256_add_epi64(
            _mm256_add_epi64(_mm256_sub_epi64(a.limb[i], taken), detail::kRaise<F, 3>.integer(i)), carry);
        r.limb[i] = _mm256_and_si256(column, mask);
        carry = _mm256_srli_epi64(column, kRadixLog);
        const __m256i reduced =
            _mm256_add_epi64(_mm256_add_epi64(r.limb[i], detail::kLower<F>.integer(i)), less_carry);
        less.limb[i] = i + 1 < F::kLimbs ? _mm256_and_si256(reduced, mask) : reduced;
        less_carry = _mm256_srli_epi64(reduced, kRadixLog);
    }
    const __m256d below = as_real(less.limb[F::kLimbs - 1]);
    for (size_t i = 0; i < F::kLimbs; i++) {
        r.limb[i] = as_integer(_mm256_blendv_pd(as_real(less.limb[i]), as_real(r.limb[i]), below));
    }
    return r;
}

// Puts one element into a lane.
template <class F>
inline void set_lane(Integers<F>& a, size_t lane, const uint64_t* words) {
    for (size_t i = 0; i < F::kLimbs; i++) {
        const size_t bit = i * kRadixLog, word = bit / 64, shift = bit % 64;
        uint64_t limb = words[word] >> shift;
        if (shift > 64 - kRadixLog && word + 1 < F::kWords) limb |= words[word + 1] << (64 - shift);
        limb &= kMask;
        std::memcpy(reinterpret_cast<uint8_t*>(&a.limb[i]) + 8 * lane, &limb, sizeof(limb));
    }
}

}  // namespace forebay::avx2
