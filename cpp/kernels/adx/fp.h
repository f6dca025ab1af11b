// Fp for x86 processors with BMI2 and ADX, without reductions that the next step does not need.
//
// A value is lazy when it is below 2p, not below p. A product of a < αp and b < βp, both below 2^384, is
// below (αβ·p/2^384 + p'/2^64 + 1)·p < (αβ/9.8 + 1.54)·p: all reduction steps but the last add a multiple of
// N = p·p' with N ≡ −1 mod 2^64, so that the lowest limb is itself the multiple, and the last one of p.
// Products of lazy values are lazy.
#pragma once

#include "field/field.h"
#include "kernels/adx/rows.h"

namespace forebay::adx {

constexpr Fp kFpModulus = {{0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624, 0x64774b84f38512bf,
                            0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a}};
constexpr Fp kFpTwice = {{0x73fdffffffff5556, 0x3d57fffd62a7ffff, 0xce61a541ed61ec48, 0xc8ee9709e70a257e,
                          0x96374f6c869759ae, 0x340223d472ffcd34}};
// (p·p' + 1)/2^64 with p' = −1/p mod 2^64.
constexpr Fp kFpStep = {{0x6a4aaa14be07a408, 0x5d4f098d2923b9a3, 0x622385e49d0feeb0, 0x5fb6d192233b3b63,
                         0x2cffcd0f221a175b, 0x0e035b9b1e00bc8e}};
constexpr uint64_t kFpInverse = 0x89f3fffcfffcfffd;
constexpr uint64_t kZero = 0;

// Takes the lowest limb t0 away and adds the row of b's limb at `offset`.
#define FOREBAY_STEP_6(offset, t0, t1, t2, t3, t4, t5, t6)            \
    FOREBAY_FACTOR("%[" #t0 "]")                                      \
    FOREBAY_CLEAR(t0)                                                 \
    FOREBAY_ROW_6(FOREBAY_CONSTANT, step, t1, t2, t3, t4, t5, t6, t0) \
    FOREBAY_FACTOR(#offset "(%[b])")                                  \
    FOREBAY_CLEAR(lo) FOREBAY_ROW_6(FOREBAY_POINTED, a, t1, t2, t3, t4, t5, t6, t0)

// Lazy.
inline __attribute__((always_inline)) void mul_lazy(Fp& r, const Fp& a, const Fp& b) {
    uint64_t t0, t1, t2, t3, t4, t5, t6, lo, hi;
    __asm__(
        FOREBAY_FACTOR("(%[b])")
        "mulx 0(%[a]), %[t0], %[t1]\n\t"
        "mulx 8(%[a]), %[lo], %[t2]\n\t"
        "add %[lo], %[t1]\n\t"
        "mulx 16(%[a]), %[lo], %[t3]\n\t"
        "adc %[lo], %[t2]\n\t"
        "mulx 24(%[a]), %[lo], %[t4]\n\t"
        "adc %[lo], %[t3]\n\t"
        "mulx 32(%[a]), %[lo], %[t5]\n\t"
        "adc %[lo], %[t4]\n\t"
        "mulx 40(%[a]), %[lo], %[t6]\n\t"
        "adc %[lo], %[t5]\n\t"
        "adc $0, %[t6]\n\t"
        FOREBAY_STEP_6(8, t0, t1, t2, t3, t4, t5, t6)
        FOREBAY_STEP_6(16, t1, t2, t3, t4, t5, t6, t0)
        FOREBAY_STEP_6(24, t2, t3, t4, t5, t6, t0, t1)
        FOREBAY_STEP_6(32, t3, t4, t5, t6, t0, t1, t2)
        FOREBAY_STEP_6(40, t4, t5, t6, t0, t1, t2, t3)
        FOREBAY_FACTOR("%[t5]")
        "imul %[inverse], %%rdx\n\t"
        FOREBAY_CLEAR(lo) FOREBAY_ROW_6(FOREBAY_CONSTANT, modulus, t5, t6, t0, t1, t2, t3, t4)
        : [t0] "=&r"(t0), [t1] "=&r"(t1), [t2] "=&r"(t2), [t3] "=&r"(t3), [t4] "=&r"(t4), [t5] "=&r"(t5),
          [t6] "=&r"(t6), [lo] "=&r"(lo), [hi] "=&r"(hi)
        : [a] "r"(&a), [b] "r"(&b), [step] "m"(kFpStep), [modulus] "m"(kFpModulus), [inverse] "m"(kFpInverse),
          [zero] "m"(kZero), "m"(a), "m"(b)
        : "rdx", "cc");
    r.l[0] = t6;
    r.l[1] = t0;
    r.l[2] = t1;
    r.l[3] = t2;
    r.l[4] = t3;
    r.l[5] = t4;
}

#undef FOREBAY_STEP_6

#define FOREBAY_CHAIN_6(first, next, from)                                                             \
    first " 0(%[" #from "]), %[r0]\n\t" next " 8(%[" #from "]), %[r1]\n\t" next " 16(%[" #from         \
          "]), %[r2]\n\t" next " 24(%[" #from "]), %[r3]\n\t" next " 32(%[" #from "]), %[r4]\n\t" next \
          " 40(%[" #from "]), %[r5]\n\t"

#define FOREBAY_LIMBS_6(r)                                                                              \
    [r0] "+&r"(r.l[0]), [r1] "+&r"(r.l[1]), [r2] "+&r"(r.l[2]), [r3] "+&r"(r.l[3]), [r4] "+&r"(r.l[4]), \
        [r5] "+&r"(r.l[5])

inline __attribute__((always_inline)) void plus(Fp& r, const Fp& b) {
    __asm__(FOREBAY_CHAIN_6("add", "adc", b) : FOREBAY_LIMBS_6(r) : [b] "r"(&b), "m"(b) : "cc");
}

inline __attribute__((always_inline)) void minus(Fp& r, const Fp& b) {
    __asm__(FOREBAY_CHAIN_6("sub", "sbb", b) : FOREBAY_LIMBS_6(r) : [b] "r"(&b), "m"(b) : "cc");
}

// r − b where that is not negative.
inline __attribute__((always_inline)) void minus_if_not_less(Fp& r, const Fp& b) {
    const Fp before = r;
    __asm__(FOREBAY_CHAIN_6("sub", "sbb", b)
            "cmovc %[s0], %[r0]\n\t"
            "cmovc %[s1], %[r1]\n\t"
            "cmovc %[s2], %[r2]\n\t"
            "cmovc %[s3], %[r3]\n\t"
            "cmovc %[s4], %[r4]\n\t"
            "cmovc %[s5], %[r5]\n\t"
            : FOREBAY_LIMBS_6(r)
            : [s0] "r"(before.l[0]), [s1] "r"(before.l[1]), [s2] "r"(before.l[2]), [s3] "r"(before.l[3]),
              [s4] "r"(before.l[4]), [s5] "r"(before.l[5]), [b] "r"(&b), "m"(b)
            : "cc");
}

#undef FOREBAY_CHAIN_6
#undef FOREBAY_LIMBS_6

// Below 4p to below p.
inline void reduce(Fp& r, Fp a) {
    minus_if_not_less(a, kFpTwice);
    minus_if_not_less(a, kFpModulus);
    r = a;
}

// a + b of values below p: lazy.
inline void add_lazy(Fp& r, const Fp& a, const Fp& b) {
    Fp sum = a;
    plus(sum, b);
    r = sum;
}

// a − b of values below p: lazy.
inline void sub_lazy(Fp& r, const Fp& a, const Fp& b) {
    Fp difference = a;
    plus(difference, kFpModulus);
    minus(difference, b);
    r = difference;
}

// a − b of values below p, below p.
inline void sub(Fp& r, const Fp& a, const Fp& b) {
    Fp difference = a;
    plus(difference, kFpModulus);
    minus(difference, b);
    minus_if_not_less(difference, kFpModulus);
    r = difference;
}

// Lazy a and b below p to a ± b below p.
inline void add_reduced(Fp& r, const Fp& a, const Fp& b) {
    Fp sum = a;
    plus(sum, b);
    reduce(r, sum);
}

inline void sub_reduced(Fp& r, const Fp& a, const Fp& b) {
    Fp difference = a;
    plus(difference, kFpModulus);
    minus(difference, b);
    reduce(r, difference);
}

// Lazy a and b, c below p to a − b − c below p.
inline void sub_twice_reduced(Fp& r, const Fp& a, const Fp& b, const Fp& c) {
    Fp difference = a;
    plus(difference, kFpTwice);
    minus(difference, b);
    minus(difference, c);
    reduce(r, difference);
}

}  // namespace forebay::adx
