// Rows of Montgomery products: two carry chains side by side (mulx, adcx, adox). The names in brackets are
// operands of the assembly that a row is part of: `lo` and `hi` are free, `zero` is a zero in memory.
#pragma once

// A limb of what a register points to, or of a constant.
#define FOREBAY_POINTED(name, offset) #offset "(%[" #name "])"
#define FOREBAY_CONSTANT(name, offset) #offset "+%[" #name "]"

#define FOREBAY_CLEAR(t) "xor %k[" #t "], %k[" #t "]\n\t"
#define FOREBAY_FACTOR(from) "mov " from ", %%rdx\n\t"

// low, high += factor · a limb.
#define FOREBAY_TERM(limb, low, high) \
    "mulx " limb                      \
    ", %[lo], %[hi]\n\t"              \
    "adcx %[lo], %[" #low             \
    "]\n\t"                           \
    "adox %[hi], %[" #high "]\n\t"

#define FOREBAY_CARRY(top) "adcx %[zero], %[" #top "]\n\t"

// The carry flags must be clear; they are afterwards.
#define FOREBAY_ROW_6(kind, from, t0, t1, t2, t3, t4, t5, t6) \
    FOREBAY_TERM(kind(from, 0), t0, t1)                       \
    FOREBAY_TERM(kind(from, 8), t1, t2)                       \
    FOREBAY_TERM(kind(from, 16), t2, t3)                      \
    FOREBAY_TERM(kind(from, 24), t3, t4)                      \
    FOREBAY_TERM(kind(from, 32), t4, t5)                      \
    FOREBAY_TERM(kind(from, 40), t5, t6)                      \
    FOREBAY_CARRY(t6)

#define FOREBAY_ROW_4(kind, from, t0, t1, t2, t3, t4) \
    FOREBAY_TERM(kind(from, 0), t0, t1)               \
    FOREBAY_TERM(kind(from, 8), t1, t2)               \
    FOREBAY_TERM(kind(from, 16), t2, t3)              \
    FOREBAY_TERM(kind(from, 24), t3, t4)              \
    FOREBAY_CARRY(t4)
