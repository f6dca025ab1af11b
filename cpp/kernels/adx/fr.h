// Fr for x86 processors with BMI2 and ADX. All values are below r.
#pragma once

#include "field/field.h"
#include "kernels/adx/rows.h"

namespace forebay::adx {

constexpr Fr kFrModulus = {{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}};
constexpr uint64_t kFrInverse = 0xfffffffeffffffff;  // −1/r mod 2^64
constexpr uint64_t kFrZero = 0;

#define FOREBAY_CHAIN_4(first, next, from)                                                     \
    first " 0(%[" #from "]), %[r0]\n\t" next " 8(%[" #from "]), %[r1]\n\t" next " 16(%[" #from \
          "]), %[r2]\n\t" next " 24(%[" #from "]), %[r3]\n\t"

#define FOREBAY_LIMBS_4(r) [r0] "+&r"(r.l[0]), [r1] "+&r"(r.l[1]), [r2] "+&r"(r.l[2]), [r3] "+&r"(r.l[3])

// a below 2r to below r.
inline __attribute__((always_inline)) void minus_modulus(Fr& a) {
    const Fr before = a;
    __asm__(FOREBAY_CHAIN_4("sub", "sbb", modulus)
            "cmovc %[s0], %[r0]\n\t"
            "cmovc %[s1], %[r1]\n\t"
            "cmovc %[s2], %[r2]\n\t"
            "cmovc %[s3], %[r3]\n\t"
            : FOREBAY_LIMBS_4(a)
            : [s0] "r"(before.l[0]), [s1] "r"(before.l[1]), [s2] "r"(before.l[2]), [s3] "r"(before.l[3]),
              [modulus] "r"(&kFrModulus), "m"(kFrModulus)
            : "cc");
}

inline __attribute__((always_inline)) Fr add(const Fr& a, const Fr& b) {
    Fr sum = a;
    __asm__("add %[b0], %[r0]\n\tadc %[b1], %[r1]\n\tadc %[b2], %[r2]\n\tadc %[b3], %[r3]\n\t"
            : FOREBAY_LIMBS_4(sum)
            : [b0] "r"(b.l[0]), [b1] "r"(b.l[1]), [b2] "r"(b.l[2]), [b3] "r"(b.l[3])
            : "cc");
    minus_modulus(sum);
    return sum;
}

// a − b.
inline __attribute__((always_inline)) Fr subtract(const Fr& a, const Fr& b) {
    Fr difference = a;
    __asm__(
        FOREBAY_CHAIN_4(
            "add", "adc",
            modulus) "sub %[b0], %[r0]\n\tsbb %[b1], %[r1]\n\tsbb %[b2], %[r2]\n\tsbb %[b3], %[r3]\n\t"
        : FOREBAY_LIMBS_4(difference)
        : [b0] "r"(b.l[0]), [b1] "r"(b.l[1]), [b2] "r"(b.l[2]), [b3] "r"(b.l[3]), [modulus] "r"(&kFrModulus),
          "m"(kFrModulus)
        : "cc");
    minus_modulus(difference);
    return difference;
}

#undef FOREBAY_CHAIN_4
#undef FOREBAY_LIMBS_4

#define FOREBAY_REDUCE_4(t0, t1, t2, t3, t4)       \
    FOREBAY_FACTOR("%[" #t0 "]")                   \
    "imul %[inverse], %%rdx\n\t" FOREBAY_CLEAR(lo) \
        FOREBAY_ROW_4(FOREBAY_CONSTANT, modulus, t0, t1, t2, t3, t4)

// Adds the row of b's limb at `offset`; t4 is the limb that the last reduction cleared.
#define FOREBAY_STEP_4(offset, t0, t1, t2, t3, t4) \
    FOREBAY_FACTOR(#offset "(%[b])") FOREBAY_CLEAR(t4) FOREBAY_ROW_4(FOREBAY_POINTED, a, t0, t1, t2, t3, t4)

inline __attribute__((always_inline)) Fr multiply(const Fr& a, const Fr& b) {
    uint64_t t0, t1, t2, t3, t4, lo, hi;
    __asm__(
        FOREBAY_FACTOR("(%[b])")
        "mulx 0(%[a]), %[t0], %[t1]\n\t"
        "mulx 8(%[a]), %[lo], %[t2]\n\t"
        "add %[lo], %[t1]\n\t"
        "mulx 16(%[a]), %[lo], %[t3]\n\t"
        "adc %[lo], %[t2]\n\t"
        "mulx 24(%[a]), %[lo], %[t4]\n\t"
        "adc %[lo], %[t3]\n\t"
        "adc $0, %[t4]\n\t"
        FOREBAY_REDUCE_4(t0, t1, t2, t3, t4)
        FOREBAY_STEP_4(8, t1, t2, t3, t4, t0)
        FOREBAY_REDUCE_4(t1, t2, t3, t4, t0)
        FOREBAY_STEP_4(16, t2, t3, t4, t0, t1)
        FOREBAY_REDUCE_4(t2, t3, t4, t0, t1)
        FOREBAY_STEP_4(24, t3, t4, t0, t1, t2)
        FOREBAY_REDUCE_4(t3, t4, t0, t1, t2)
        : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [lo] "=&r"(lo),
          [hi] "=&r"(hi)
        : [a] "r"(&a), [b] "r"(&b), [modulus] "m"(kFrModulus), [inverse] "m"(kFrInverse), [zero] "m"(kFrZero),
          "m"(a), "m"(b)
        : "rdx", "cc");
    Fr product{{t4, t0, t1, t2}};
    minus_modulus(product);
    return product;
}

#undef FOREBAY_REDUCE_4
#undef FOREBAY_STEP_4

}  // namespace forebay::adx
