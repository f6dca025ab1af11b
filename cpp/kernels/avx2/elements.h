// Coordinates of G1 and G2, four lanes of one or two elements of Fp.
#pragma once

#include "curve/group.h"
#include "kernels/avx2/words.h"

namespace forebay::avx2 {

// r = a·b / 2^408. Calls, as each is thousands of instructions.
void multiply(Reals<FpLimbs>& r, const Reals<FpLimbs>& a, const Reals<FpLimbs>& b);
void square(Reals<FpLimbs>& r, const Reals<FpLimbs>& a);
// r = (a·b + c·d) / 2^408.
void multiply_add(Reals<FpLimbs>& r, const Reals<FpLimbs>& a, const Reals<FpLimbs>& b,
                  const Reals<FpLimbs>& c, const Reals<FpLimbs>& d);

// By how many powers of two `multiply` gives less than blst's product.
constexpr unsigned kExtraLog = 24;

template <size_t Parts>
struct IntegerParts {
    Integers<FpLimbs> part[Parts];
};
template <size_t Parts>
struct RealParts {
    Reals<FpLimbs> part[Parts];
};

inline void multiply(RealParts<1>& r, const RealParts<1>& a, const RealParts<1>& b) {
    multiply(r.part[0], a.part[0], b.part[0]);
}

FOREBAY_AVX2_INLINE void multiply(RealParts<2>& r, const RealParts<2>& a, const RealParts<2>& b) {
    Reals<FpLimbs> negated;
    for (size_t i = 0; i < FpLimbs::kLimbs; i++) {
        negated.limb[i] = _mm256_sub_pd(_mm256_setzero_pd(), a.part[1].limb[i]);
    }
    RealParts<2> product;
    multiply_add(product.part[0], a.part[0], b.part[0], negated, b.part[1]);
    multiply_add(product.part[1], a.part[0], b.part[1], a.part[1], b.part[0]);
    r = product;
}

inline void square(RealParts<1>& r, const RealParts<1>& a) { square(r.part[0], a.part[0]); }

FOREBAY_AVX2_INLINE void square(RealParts<2>& r, const RealParts<2>& a) { multiply(r, a, a); }

template <size_t Parts>
FOREBAY_AVX2_INLINE IntegerParts<Parts> load_parts(const uint64_t* const (&from)[kLanes], size_t offset) {
    IntegerParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = load<FpLimbs>(from, offset + i * FpLimbs::kWords);
    return r;
}

template <size_t Parts>
FOREBAY_AVX2_INLINE void store_parts(uint64_t* const (&to)[kLanes], size_t offset,
                                     const IntegerParts<Parts>& a) {
    for (size_t i = 0; i < Parts; i++) store(to, offset + i * FpLimbs::kWords, a.part[i]);
}

template <size_t Parts>
FOREBAY_AVX2_INLINE IntegerParts<Parts> subtract(const IntegerParts<Parts>& a, const IntegerParts<Parts>& b) {
    IntegerParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = subtract(a.part[i], b.part[i]);
    return r;
}

template <size_t Parts>
FOREBAY_AVX2_INLINE IntegerParts<Parts> negate_where(__m256i mask, const IntegerParts<Parts>& a) {
    IntegerParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = negate_where(mask, a.part[i]);
    return r;
}

template <size_t Parts>
FOREBAY_AVX2_INLINE IntegerParts<Parts> canonical(const IntegerParts<Parts>& a) {
    IntegerParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = canonical(a.part[i]);
    return r;
}

template <size_t Parts>
FOREBAY_AVX2_INLINE RealParts<Parts> to_reals(const IntegerParts<Parts>& a) {
    RealParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = to_reals(a.part[i]);
    return r;
}

template <size_t Parts>
FOREBAY_AVX2_INLINE IntegerParts<Parts> to_integers(const RealParts<Parts>& a) {
    IntegerParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = to_integers(a.part[i]);
    return r;
}

template <unsigned Log, size_t Parts>
FOREBAY_AVX2_INLINE RealParts<Parts> shifted(const IntegerParts<Parts>& a) {
    RealParts<Parts> r;
    for (size_t i = 0; i < Parts; i++) r.part[i] = shifted<Log>(a.part[i]);
    return r;
}

template <size_t Parts>
inline void set_lane(IntegerParts<Parts>& a, size_t lane, const uint64_t* words) {
    for (size_t i = 0; i < Parts; i++) set_lane(a.part[i], lane, words + i * FpLimbs::kWords);
}

}  // namespace forebay::avx2
