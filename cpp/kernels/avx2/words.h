// Between blst's elements, six words each, and four lanes of limbs.
#pragma once

#include <cstring>

#include "kernels/avx2/lanes.h"

namespace forebay::avx2 {

constexpr size_t kWords = 6;

namespace detail {

constexpr std::array<uint64_t, kLimbs> modulus_times(uint64_t factor) {
    std::array<uint64_t, kLimbs> limbs{};
    for (size_t i = 0; i < kLimbs; i++) limbs[i] = factor * static_cast<uint64_t>(kModulusLimbs[i]);
    return limbs;
}

// 3p, and what a chain of carries starts from.
constexpr std::array<uint64_t, kLimbs> positive_offset() {
    std::array<uint64_t, kLimbs> limbs = modulus_times(3);
    for (size_t i = 0; i < kLimbs; i++) limbs[i] += kBias - (i > 0 ? kCarryBias : 0);
    return limbs;
}

constexpr std::array<uint64_t, kLimbs> minus_modulus() {
    std::array<uint64_t, kLimbs> limbs{};
    for (size_t i = 0; i < kLimbs; i++) {
        limbs[i] = -static_cast<uint64_t>(kModulusLimbs[i]);
        if (i + 1 < kLimbs) limbs[i] += kBias;
        if (i > 0) limbs[i] -= kCarryBias;
    }
    return limbs;
}

inline constexpr Table<uint64_t, kLimbs> kOnce{modulus_times(1)}, kTwice{modulus_times(2)},
    kFourTimes{modulus_times(4)}, kPositive{positive_offset()}, kMinus{minus_modulus()};

}  // namespace detail

FOREBAY_AVX2_INLINE Integers from_words(const __m256i (&w)[kWords]) {
    Integers r;
    r.limb[0] = w[0];
    r.limb[1] = _mm256_or_si256(_mm256_srli_epi64(w[0], 51), _mm256_slli_epi64(w[1], 13));
    r.limb[2] = _mm256_or_si256(_mm256_srli_epi64(w[1], 38), _mm256_slli_epi64(w[2], 26));
    r.limb[3] = _mm256_or_si256(_mm256_srli_epi64(w[2], 25), _mm256_slli_epi64(w[3], 39));
    r.limb[4] = _mm256_srli_epi64(w[3], 12);
    r.limb[5] = _mm256_or_si256(_mm256_srli_epi64(w[3], 63), _mm256_slli_epi64(w[4], 1));
    r.limb[6] = _mm256_or_si256(_mm256_srli_epi64(w[4], 50), _mm256_slli_epi64(w[5], 14));
    r.limb[7] = _mm256_srli_epi64(w[5], 37);
    for (size_t i = 0; i + 1 < kLimbs; i++) r.limb[i] = _mm256_and_si256(r.limb[i], kInteger.integer(0));
    return r;
}

FOREBAY_AVX2_INLINE void to_words(__m256i (&w)[kWords], const Integers& a) {
    w[0] = _mm256_or_si256(a.limb[0], _mm256_slli_epi64(a.limb[1], 51));
    w[1] = _mm256_or_si256(_mm256_srli_epi64(a.limb[1], 13), _mm256_slli_epi64(a.limb[2], 38));
    w[2] = _mm256_or_si256(_mm256_srli_epi64(a.limb[2], 26), _mm256_slli_epi64(a.limb[3], 25));
    w[3] =
        _mm256_or_si256(_mm256_srli_epi64(a.limb[3], 39),
                        _mm256_or_si256(_mm256_slli_epi64(a.limb[4], 12), _mm256_slli_epi64(a.limb[5], 63)));
    w[4] = _mm256_or_si256(_mm256_srli_epi64(a.limb[5], 1), _mm256_slli_epi64(a.limb[6], 50));
    w[5] = _mm256_or_si256(_mm256_srli_epi64(a.limb[6], 14), _mm256_slli_epi64(a.limb[7], 37));
}

// The element at each of four addresses.
FOREBAY_AVX2_INLINE Integers load(const uint64_t* const (&from)[kLanes], size_t offset) {
    __m256i words[kWords];
    for (size_t i = 0; i < kWords; i += 2) {
        __m128i half[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++) {
            half[lane] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from[lane] + offset + i));
        }
        const __m256i even = _mm256_inserti128_si256(_mm256_castsi128_si256(half[0]), half[2], 1);
        const __m256i odd = _mm256_inserti128_si256(_mm256_castsi128_si256(half[1]), half[3], 1);
        words[i] = _mm256_unpacklo_epi64(even, odd);
        words[i + 1] = _mm256_unpackhi_epi64(even, odd);
    }
    return from_words(words);
}

FOREBAY_AVX2_INLINE void store(uint64_t* const (&to)[kLanes], size_t offset, const Integers& a) {
    __m256i words[kWords];
    to_words(words, a);
    for (size_t i = 0; i < kWords; i += 2) {
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
FOREBAY_AVX2_INLINE Integers canonical(const Integers& a) {
    const __m256i mask = kInteger.integer(0);
    // Multiples of p to take off: never too many, at most one too few.
    const __m256d top = to_real(_mm256_add_epi64(a.limb[kLimbs - 1], every_lane(3 * 0xd0088f)));
    const __m256d quotient =
        _mm256_floor_pd(_mm256_fmadd_pd(top, _mm256_set1_pd(kModuliPerTopLimb), _mm256_set1_pd(-0x1p-16)));
    const __m256i count = as_integer(_mm256_add_pd(quotient, kReal.real(2)));
    __m256i bit[3];
    for (size_t i = 0; i < 3; i++) {
        const __m256i one = every_lane(uint64_t{1} << i);
        bit[i] = _mm256_cmpeq_epi64(_mm256_and_si256(count, one), one);
    }
    Integers r, less;
    __m256i carry = _mm256_setzero_si256(), less_carry = carry;
    for (size_t i = 0; i < kLimbs; i++) {
        const __m256i taken =
            _mm256_add_epi64(_mm256_add_epi64(_mm256_and_si256(bit[0], detail::kOnce.integer(i)),
                                              _mm256_and_si256(bit[1], detail::kTwice.integer(i))),
                             _mm256_and_si256(bit[2], detail::kFourTimes.integer(i)));
        const __m256i column = _mm256_add_epi64(
            _mm256_add_epi64(_mm256_sub_epi64(a.limb[i], taken), detail::kPositive.integer(i)), carry);
        r.limb[i] = _mm256_and_si256(column, mask);
        carry = _mm256_srli_epi64(column, kRadixLog);
        const __m256i reduced =
            _mm256_add_epi64(_mm256_add_epi64(r.limb[i], detail::kMinus.integer(i)), less_carry);
        less.limb[i] = i + 1 < kLimbs ? _mm256_and_si256(reduced, mask) : reduced;
        less_carry = _mm256_srli_epi64(reduced, kRadixLog);
    }
    const __m256d below = as_real(less.limb[kLimbs - 1]);
    for (size_t i = 0; i < kLimbs; i++) {
        r.limb[i] = as_integer(_mm256_blendv_pd(as_real(less.limb[i]), as_real(r.limb[i]), below));
    }
    return r;
}

// Puts one element into a lane.
inline void set_lane(Integers& a, size_t lane, const uint64_t* words) {
    for (size_t i = 0; i < kLimbs; i++) {
        const size_t bit = i * kRadixLog, word = bit / 64, shift = bit % 64;
        uint64_t limb = words[word] >> shift;
        if (shift > 64 - kRadixLog && word + 1 < kWords) limb |= words[word + 1] << (64 - shift);
        limb &= kMask;
        std::memcpy(reinterpret_cast<uint8_t*>(&a.limb[i]) + 8 * lane, &limb, sizeof(limb));
    }
}

}  // namespace forebay::avx2
