// Eight lanes of 64 bits, and what of AVX-512 the kernels need of them: the 52-bit multiply-add (IFMA) above
// all. With FOREBAY_IFMA_EMULATED the same names are plain loops, so that every formula above this file can
// be tested on any processor.
//
// Everything in these headers has internal linkage: no function compiled for AVX-512 can be picked by the
// linker for a caller on another processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef FOREBAY_IFMA_EMULATED
#define FOREBAY_IFMA ifma_emulated
#else
#include <immintrin.h>
#define FOREBAY_IFMA ifma
#endif

#define FOREBAY_INLINE __attribute__((always_inline)) inline
#define FOREBAY_CALL __attribute__((noinline))

namespace forebay::FOREBAY_IFMA {
namespace {

constexpr size_t kLanes = 8;
constexpr unsigned kRadixLog = 52;
constexpr uint64_t kLimbMask = (uint64_t{1} << kRadixLog) - 1;

using Lanes = unsigned long long __attribute__((vector_size(64)));
using SignedLanes = long long __attribute__((vector_size(64)));
// One bit a lane.
using Mask = uint8_t;

FOREBAY_INLINE Lanes splat(uint64_t value) { return Lanes{} + value; }

// Toward minus infinity, for limbs that carry a sign.
FOREBAY_INLINE Lanes shift_signed(Lanes a, int bits) { return (Lanes)((SignedLanes)a >> bits); }

#ifdef FOREBAY_IFMA_EMULATED

FOREBAY_INLINE Lanes madd_low(Lanes sum, Lanes a, Lanes b) {
    for (size_t i = 0; i < kLanes; i++) {
        const unsigned __int128 product =
            static_cast<unsigned __int128>(a[i] & kLimbMask) * (b[i] & kLimbMask);
        sum[i] += static_cast<uint64_t>(product) & kLimbMask;
    }
    return sum;
}

FOREBAY_INLINE Lanes madd_high(Lanes sum, Lanes a, Lanes b) {
    for (size_t i = 0; i < kLanes; i++) {
        const unsigned __int128 product =
            static_cast<unsigned __int128>(a[i] & kLimbMask) * (b[i] & kLimbMask);
        sum[i] += static_cast<uint64_t>(product >> kRadixLog);
    }
    return sum;
}

// The low 64 bits of high:low, shifted right.
template <int kBits>
FOREBAY_INLINE Lanes funnel(Lanes high, Lanes low) {
    return low >> kBits | high << (64 - kBits);
}

FOREBAY_INLINE Lanes select(Mask mask, Lanes yes, Lanes no) {
    for (size_t i = 0; i < kLanes; i++) no[i] = mask >> i & 1 ? yes[i] : no[i];
    return no;
}

FOREBAY_INLINE Mask below(Lanes a, Lanes b) {
    Mask mask = 0;
    for (size_t i = 0; i < kLanes; i++) mask = static_cast<Mask>(mask | (a[i] < b[i]) << i);
    return mask;
}

FOREBAY_INLINE Mask negative(Lanes a) {
    Mask mask = 0;
    for (size_t i = 0; i < kLanes; i++) mask = static_cast<Mask>(mask | (a[i] >> 63) << i);
    return mask;
}

// table[index mod 8] in every lane.
FOREBAY_INLINE Lanes look_up(Lanes index, const uint64_t (&table)[kLanes]) {
    for (size_t i = 0; i < kLanes; i++) index[i] = table[index[i] % kLanes];
    return index;
}

FOREBAY_INLINE Lanes look_up(Lanes index, const uint64_t (&table)[2 * kLanes]) {
    for (size_t i = 0; i < kLanes; i++) index[i] = table[index[i] % (2 * kLanes)];
    return index;
}

#else

FOREBAY_INLINE Lanes madd_low(Lanes sum, Lanes a, Lanes b) {
    return (Lanes)_mm512_madd52lo_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

FOREBAY_INLINE Lanes madd_high(Lanes sum, Lanes a, Lanes b) {
    return (Lanes)_mm512_madd52hi_epu64((__m512i)sum, (__m512i)a, (__m512i)b);
}

// The low 64 bits of high:low, shifted right.
template <int kBits>
FOREBAY_INLINE Lanes funnel(Lanes high, Lanes low) {
    return (Lanes)_mm512_shrdi_epi64((__m512i)low, (__m512i)high, kBits);
}

FOREBAY_INLINE Lanes select(Mask mask, Lanes yes, Lanes no) {
    return (Lanes)_mm512_mask_blend_epi64(mask, (__m512i)no, (__m512i)yes);
}

FOREBAY_INLINE Mask below(Lanes a, Lanes b) { return _mm512_cmplt_epu64_mask((__m512i)a, (__m512i)b); }

FOREBAY_INLINE Mask negative(Lanes a) { return _mm512_movepi64_mask((__m512i)a); }

// table[index mod 8] in every lane.
FOREBAY_INLINE Lanes look_up(Lanes index, const uint64_t (&table)[kLanes]) {
    Lanes from;
    std::memcpy(&from, table, sizeof(from));
    // With a mask, as the plain form makes GCC 12 warn of its own header.
    return (Lanes)_mm512_maskz_permutexvar_epi64(0xff, (__m512i)index, (__m512i)from);
}

FOREBAY_INLINE Lanes look_up(Lanes index, const uint64_t (&table)[2 * kLanes]) {
    Lanes low, high;
    std::memcpy(&low, table, sizeof(low));
    std::memcpy(&high, table + kLanes, sizeof(high));
    return (Lanes)_mm512_permutex2var_epi64((__m512i)low, (__m512i)index, (__m512i)high);
}

#endif

// −a in the lanes of the mask.
FOREBAY_INLINE Lanes negate_where(Mask mask, Lanes a) { return select(mask, Lanes{} - a, a); }

FOREBAY_INLINE Lanes load(const uint64_t* from) {
    Lanes r;
    std::memcpy(&r, from, sizeof(r));
    return r;
}

FOREBAY_INLINE void store(uint64_t* to, Lanes a) { std::memcpy(to, &a, sizeof(a)); }

using HalfLanes = unsigned long long __attribute__((vector_size(32)));

// Words `first` to `first` + 3 of two rows in one vector.
FOREBAY_INLINE Lanes load_two(const uint64_t* low, const uint64_t* high, size_t first) {
    HalfLanes lower, upper;
    std::memcpy(&lower, low + first, sizeof(lower));
    std::memcpy(&upper, high + first, sizeof(upper));
    return __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 4, 5, 6, 7);
}

FOREBAY_INLINE void store_two(uint64_t* low, uint64_t* high, Lanes rows) {
    const HalfLanes lower = __builtin_shufflevector(rows, rows, 0, 1, 2, 3);
    const HalfLanes upper = __builtin_shufflevector(rows, rows, 4, 5, 6, 7);
    std::memcpy(low, &lower, sizeof(lower));
    std::memcpy(high, &upper, sizeof(upper));
}

FOREBAY_INLINE Lanes interleave_even(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
}

FOREBAY_INLINE Lanes interleave_odd(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
}

// Lane i of row j becomes lane j of row i.
FOREBAY_INLINE void transpose(Lanes (&rows)[kLanes]) {
    Lanes pairs[kLanes], quads[kLanes];
    for (size_t i = 0; i < kLanes; i += 2) {
        pairs[i] = interleave_even(rows[i], rows[i + 1]);
        pairs[i + 1] = interleave_odd(rows[i], rows[i + 1]);
    }
    for (size_t i = 0; i < kLanes; i++) {
        if (i & 2) continue;
        quads[i] = __builtin_shufflevector(pairs[i], pairs[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        quads[i + 2] = __builtin_shufflevector(pairs[i], pairs[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    for (size_t i = 0; i < kLanes / 2; i++) {
        rows[i] = __builtin_shufflevector(quads[i], quads[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        rows[i + 4] = __builtin_shufflevector(quads[i], quads[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

// Every other lane of two vectors one after the other.
FOREBAY_INLINE Lanes even_lanes(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
}

FOREBAY_INLINE Lanes odd_lanes(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}

// Four words of each of eight rows, one word a vector.
FOREBAY_INLINE void load_words(Lanes (&words)[4], const uint64_t* const (&rows)[kLanes], size_t first) {
    const Lanes a = load_two(rows[0], rows[2], first), b = load_two(rows[1], rows[3], first);
    const Lanes c = load_two(rows[4], rows[6], first), d = load_two(rows[5], rows[7], first);
    // Pairs of lanes: rows 0 and 1 of words 0 and 2, then rows 2 and 3 of these.
    const Lanes even_low = interleave_even(a, b), odd_low = interleave_odd(a, b);
    const Lanes even_high = interleave_even(c, d), odd_high = interleave_odd(c, d);
    words[0] = __builtin_shufflevector(even_low, even_high, 0, 1, 4, 5, 8, 9, 12, 13);
    words[1] = __builtin_shufflevector(odd_low, odd_high, 0, 1, 4, 5, 8, 9, 12, 13);
    words[2] = __builtin_shufflevector(even_low, even_high, 2, 3, 6, 7, 10, 11, 14, 15);
    words[3] = __builtin_shufflevector(odd_low, odd_high, 2, 3, 6, 7, 10, 11, 14, 15);
}

FOREBAY_INLINE void store_words(uint64_t* const (&rows)[kLanes], size_t first, const Lanes (&words)[4]) {
    // Pairs of lanes: words 0 and 1 of rows 0, 2, 4, 6.
    const Lanes even_low = interleave_even(words[0], words[1]);
    const Lanes odd_low = interleave_odd(words[0], words[1]);
    const Lanes even_high = interleave_even(words[2], words[3]);
    const Lanes odd_high = interleave_odd(words[2], words[3]);
    store_two(rows[0] + first, rows[2] + first,
              __builtin_shufflevector(even_low, even_high, 0, 1, 8, 9, 2, 3, 10, 11));
    store_two(rows[4] + first, rows[6] + first,
              __builtin_shufflevector(even_low, even_high, 4, 5, 12, 13, 6, 7, 14, 15));
    store_two(rows[1] + first, rows[3] + first,
              __builtin_shufflevector(odd_low, odd_high, 0, 1, 8, 9, 2, 3, 10, 11));
    store_two(rows[5] + first, rows[7] + first,
              __builtin_shufflevector(odd_low, odd_high, 4, 5, 12, 13, 6, 7, 14, 15));
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
