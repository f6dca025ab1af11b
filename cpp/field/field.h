// Field arithmetic of BLS12-381 through blst: Fr (scalars), Fp and Fp2 (coordinates), all in Montgomery form.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blst.h"

namespace forebay {

using Fr = blst_fr;
using Fp = blst_fp;
using Fp2 = blst_fp2;

inline void add(Fr& r, const Fr& a, const Fr& b) { blst_fr_add(&r, &a, &b); }
inline void sub(Fr& r, const Fr& a, const Fr& b) { blst_fr_sub(&r, &a, &b); }
inline void mul(Fr& r, const Fr& a, const Fr& b) { blst_fr_mul(&r, &a, &b); }
inline void sqr(Fr& r, const Fr& a) { blst_fr_sqr(&r, &a); }
inline void inverse(Fr& r, const Fr& a) { blst_fr_eucl_inverse(&r, &a); }

inline void add(Fp& r, const Fp& a, const Fp& b) { blst_fp_add(&r, &a, &b); }
inline void sub(Fp& r, const Fp& a, const Fp& b) { blst_fp_sub(&r, &a, &b); }
inline void mul(Fp& r, const Fp& a, const Fp& b) { blst_fp_mul(&r, &a, &b); }
inline void sqr(Fp& r, const Fp& a) { blst_fp_sqr(&r, &a); }
inline void mul_by_3(Fp& r, const Fp& a) { blst_fp_mul_by_3(&r, &a); }
inline void negate_if(Fp& r, const Fp& a, bool negative) { blst_fp_cneg(&r, &a, negative); }
inline void inverse(Fp& r, const Fp& a) { blst_fp_eucl_inverse(&r, &a); }

inline void add(Fp2& r, const Fp2& a, const Fp2& b) { blst_fp2_add(&r, &a, &b); }
inline void sub(Fp2& r, const Fp2& a, const Fp2& b) { blst_fp2_sub(&r, &a, &b); }
inline void mul(Fp2& r, const Fp2& a, const Fp2& b) { blst_fp2_mul(&r, &a, &b); }
inline void sqr(Fp2& r, const Fp2& a) { blst_fp2_sqr(&r, &a); }
inline void mul_by_3(Fp2& r, const Fp2& a) { blst_fp2_mul_by_3(&r, &a); }
inline void negate_if(Fp2& r, const Fp2& a, bool negative) { blst_fp2_cneg(&r, &a, negative); }
inline void inverse(Fp2& r, const Fp2& a) { blst_fp2_eucl_inverse(&r, &a); }

inline bool is_zero(const Fp& a) { return (a.l[0] | a.l[1] | a.l[2] | a.l[3] | a.l[4] | a.l[5]) == 0; }
inline bool is_zero(const Fp2& a) { return is_zero(a.fp[0]) && is_zero(a.fp[1]); }

// The integer `value` as a field element.
inline Fr fr_from(uint64_t value) {
    const uint64_t limbs[4] = {value, 0, 0, 0};
    Fr r;
    blst_fr_from_uint64(&r, limbs);
    return r;
}

inline Fr power(const Fr& base, const uint64_t* exponent, size_t limbs) {
    Fr r = fr_from(1);
    for (size_t bit = limbs * 64; bit-- > 0;) {
        sqr(r, r);
        if (exponent[bit / 64] >> (bit % 64) & 1) mul(r, r, base);
    }
    return r;
}

inline Fr power(const Fr& base, uint64_t exponent) { return power(base, &exponent, 1); }

inline void set_small(Fp& r, uint64_t value) {
    const uint64_t limbs[6] = {value, 0, 0, 0, 0, 0};
    blst_fp_from_uint64(&r, limbs);
}

inline void set_small(Fp2& r, uint64_t value) {
    r = Fp2{};
    set_small(r.fp[0], value);
}

}  // namespace forebay
