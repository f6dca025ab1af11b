// Butterflies of a transform over Fr, four lanes at a time.
#pragma once

#include "field/field.h"
#include "kernels/avx2/words.h"

namespace forebay::avx2 {

using FrReals = Reals<FrLimbs>;

// Levels done while rows are held as limbs.
constexpr unsigned kHeldLevels = 4;

namespace detail {

// The modulus in limbs of either sign.
constexpr FrLimbs::Numbers signed_modulus() {
    FrLimbs::Numbers limbs = FrLimbs::kModulus;
    for (size_t i = 0; i + 1 < FrLimbs::kLimbs; i++) {
        if (limbs[i] < static_cast<double>(kHalf)) continue;
        limbs[i] -= static_cast<double>(uint64_t{1} << kRadixLog);
        limbs[i + 1] += 1;
    }
    return limbs;
}

inline constexpr Table<double, FrLimbs::kLimbs> kSigned{signed_modulus()};
inline constexpr Table<double, 2> kScale{{FrLimbs::kTopUnit, 0x1p-51}};

}  // namespace detail

// Brings limbs below 2^53 of a value of a few r back to limbs of 2^50 and a value of at most 0.51 r.
FOREBAY_AVX2_INLINE void reduce(FrReals& a) {
    constexpr size_t kTop = FrLimbs::kLimbs - 1;
    const __m256d aligner = kReal.real(2), upper = kReal.real(0);
    const __m256d count =
        _mm256_sub_pd(_mm256_fmadd_pd(a.limb[kTop], detail::kScale.real(0), aligner), aligner);
#pragma GCC unroll 8
    for (size_t i = 0; i <= kTop; i++) {
        a.limb[i] = _mm256_fnmadd_pd(count, detail::kSigned.real(i), a.limb[i]);
    }
    __m256d carry = _mm256_setzero_pd();
#pragma GCC unroll 8
    for (size_t i = 0; i < kTop; i++) {
        const __m256d own = _mm256_sub_pd(_mm256_add_pd(a.limb[i], upper), upper);
        a.limb[i] = _mm256_fmadd_pd(carry, detail::kScale.real(1), _mm256_sub_pd(a.limb[i], own));
        carry = own;
    }
    a.limb[kTop] = _mm256_fmadd_pd(carry, detail::kScale.real(1), a.limb[kTop]);
}

FOREBAY_AVX2_INLINE FrReals sum(const FrReals& a, const FrReals& b) {
    FrReals r;
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) r.limb[i] = _mm256_add_pd(a.limb[i], b.limb[i]);
    return r;
}

FOREBAY_AVX2_INLINE FrReals difference(const FrReals& a, const FrReals& b) {
    FrReals r;
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) r.limb[i] = _mm256_sub_pd(a.limb[i], b.limb[i]);
    return r;
}

// Between 0 and r, from a value between −r and r.
FOREBAY_AVX2_INLINE Integers<FrLimbs> positive(const FrReals& a) {
    const Integers<FrLimbs> limbs = to_integers(a);
    Integers<FrLimbs> r, less;
    __m256i carry = _mm256_setzero_si256(), less_carry = carry;
#pragma GCC unroll 8
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        const __m256i column =
            _mm256_add_epi64(_mm256_add_epi64(limbs.limb[i], detail::kRaise<FrLimbs, 1>.integer(i)), carry);
        carry = _mm256_srli_epi64(column, kRadixLog);
        r.limb[i] = i + 1 < FrLimbs::kLimbs ? _mm256_and_si256(column, kInteger.integer(0))
                                            : _mm256_sub_epi64(column, every_lane(kBias));
        const __m256i lower =
            _mm256_add_epi64(_mm256_add_epi64(r.limb[i], detail::kLower<FrLimbs>.integer(i)), less_carry);
        less_carry = _mm256_srli_epi64(lower, kRadixLog);
        less.limb[i] = i + 1 < FrLimbs::kLimbs ? _mm256_and_si256(lower, kInteger.integer(0)) : lower;
    }
    const __m256d below = as_real(less.limb[FrLimbs::kLimbs - 1]);
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        r.limb[i] = as_integer(_mm256_blendv_pd(as_real(less.limb[i]), as_real(r.limb[i]), below));
    }
    return r;
}

// A twiddle as a factor: halved, as this R is half of blst's, and of either sign so that its limbs are small.
FOREBAY_AVX2_INLINE FrReals factor_of(const Integers<FrLimbs>& twiddle) {
    Integers<FrLimbs> even;
    const __m256i one = every_lane(1);
    const __m256i odd = _mm256_cmpeq_epi64(_mm256_and_si256(twiddle.limb[0], one), one);
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        even.limb[i] =
            _mm256_add_epi64(twiddle.limb[i], _mm256_and_si256(odd, detail::kTimes<FrLimbs, 1>.integer(i)));
    }
    FrReals r;
    for (size_t i = 0; i + 1 < FrLimbs::kLimbs; i++) {
        // The lowest bit of a limb moves to the top of the one below.
        const __m256i above = _mm256_slli_epi64(_mm256_and_si256(even.limb[i + 1], one), kRadixLog - 1);
        r.limb[i] = _mm256_add_pd(to_real(_mm256_srli_epi64(even.limb[i], 1)), to_real(above));
    }
    constexpr size_t kTop = FrLimbs::kLimbs - 1;
    r.limb[kTop] = to_real(_mm256_srli_epi64(even.limb[kTop], 1));
    reduce(r);
    return r;
}

// Elements `step` apart.
FOREBAY_AVX2_INLINE Integers<FrLimbs> load_elements(const Fr* first, size_t step) {
    const uint64_t* const from[kLanes] = {first[0].l, first[step].l, first[2 * step].l, first[3 * step].l};
    return load<FrLimbs>(from, 0);
}

FOREBAY_AVX2_INLINE void store_elements(Fr* first, size_t step, const FrReals& a) {
    uint64_t* const to[kLanes] = {first[0].l, first[step].l, first[2 * step].l, first[3 * step].l};
    store(to, 0, positive(a));
}

FOREBAY_AVX2_INLINE FrReals reduced_product(const FrReals& a, const FrReals& b) {
    FrReals r;
    reduce_rows(r, ProductRows<FrLimbs, 1>{{&a}, {&b}});
    reduce(r);
    return r;
}

// Half of a factor: a product with 2^254.
FOREBAY_AVX2_INLINE FrReals half_of(const FrReals& a) {
    FrReals half{};
    constexpr size_t kTop = FrLimbs::kLimbs - 1;
    for (size_t i = 0; i < kTop; i++) half.limb[i] = _mm256_setzero_pd();
    half.limb[kTop] = _mm256_set1_pd(0x1p50);
    return reduced_product(a, half);
}

// low, high = low ± twiddle·high.
FOREBAY_AVX2_INLINE void forward_butterfly(FrReals& low, FrReals& high, const FrReals& twiddle) {
    FrReals product;
    reduce_rows(product, ProductRows<FrLimbs, 1>{{&high}, {&twiddle}});
    high = difference(low, product);
    low = sum(low, product);
    reduce(high);
    reduce(low);
}

// low, high = low + high, twiddle·(low − high).
FOREBAY_AVX2_INLINE void inverse_butterfly(FrReals& low, FrReals& high, const FrReals& twiddle) {
    const FrReals less = difference(low, high);
    low = sum(low, high);
    reduce_rows(high, ProductRows<FrLimbs, 1>{{&less}, {&twiddle}});
    reduce(high);
    reduce(low);
}

}  // namespace forebay::avx2
