// Coordinates of G1 and G2: one or two elements of Fp, Fp2 = Fp[i]/(i² + 1).
#pragma once

#include "kernels/ifma/words.h"

namespace forebay::FOREBAY_IFMA {
namespace {

using Fp8 = Element<FpField>;

template <size_t kParts>
struct Coordinates {
    Fp8 part[kParts];
};

// By how many powers of two `multiply` gives less than blst's product.
constexpr int kExtraLog = 32;

// Calls, as each is hundreds of instructions. Operands are carried, and so is the result; see `product` for
// the bounds.
FOREBAY_CALL void multiply(Coordinates<1>& r, const Coordinates<1>& a, const Coordinates<1>& b) {
    r.part[0] = carried(product(a.part[0], b.part[0]));
}

FOREBAY_CALL void multiply_raw(Coordinates<1>& r, const Coordinates<1>& a, const Coordinates<1>& b) {
    r.part[0] = product(a.part[0], b.part[0]);
}

FOREBAY_CALL void square_raw(Coordinates<1>& r, const Coordinates<1>& a) { r.part[0] = square(a.part[0]); }

namespace detail {

using FpColumns = Lanes[2 * FpField::kLimbs];

FOREBAY_INLINE void multiply_columns(FpColumns& t, const Fp8& a, const Fp8& b) {
#pragma GCC unroll 16
    for (size_t i = 0; i < 2 * FpField::kLimbs; i++) t[i] = Lanes{};
#pragma GCC unroll 8
    for (size_t i = 0; i < FpField::kLimbs; i++) add_row(t + i, a, b.limb[i]);
}

}  // namespace detail

// Karatsuba on unreduced columns: three products and two reductions. With parts of a and b below 2^16·p both
// parts of the result are in [0, 3.01 p): the real one, a₀b₀ − a₁b₁, may fall below zero by 2^-3·p at most
// before p is added.
FOREBAY_CALL void multiply_raw(Coordinates<2>& r, const Coordinates<2>& a, const Coordinates<2>& b) {
    detail::FpColumns real, imaginary, last;
    detail::multiply_columns(imaginary, carried(add(a.part[0], a.part[1])),
                             carried(add(b.part[0], b.part[1])));
    detail::multiply_columns(real, a.part[0], b.part[0]);
    detail::multiply_columns(last, a.part[1], b.part[1]);
#pragma GCC unroll 16
    for (size_t i = 0; i < 2 * FpField::kLimbs; i++) {
        imaginary[i] -= real[i] + last[i];
        real[i] -= last[i];
    }
    r.part[0] = raise<1>(reduce_columns<FpField>(real));
    r.part[1] = reduce_columns<FpField>(imaginary);
}

FOREBAY_INLINE void multiply(Coordinates<2>& r, const Coordinates<2>& a, const Coordinates<2>& b) {
    multiply_raw(r, a, b);
    for (Fp8& part : r.part) part = carried(part);
}

// (a₀ + a₁)(a₀ − a₁) + 2·a₀a₁·i, of parts below 3.01 p; both parts of the result are below 2.01 p.
FOREBAY_CALL void square_raw(Coordinates<2>& r, const Coordinates<2>& a) {
    const Fp8 sum = carried(add(a.part[0], a.part[1]));
    const Fp8 difference = carried(raise<4>(subtract(a.part[0], a.part[1])));
    const Fp8 twice = carried(add(a.part[0], a.part[0]));
    r.part[1] = product(twice, a.part[1]);
    r.part[0] = product(sum, difference);
}

#define FOREBAY_EACH_PART(result)                             \
    Coordinates<kParts> r;                                    \
    for (size_t i = 0; i < kParts; i++) r.part[i] = (result); \
    return r

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> add(const Coordinates<kParts>& a, const Coordinates<kParts>& b) {
    FOREBAY_EACH_PART(add(a.part[i], b.part[i]));
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> subtract(const Coordinates<kParts>& a, const Coordinates<kParts>& b) {
    FOREBAY_EACH_PART(subtract(a.part[i], b.part[i]));
}

template <uint64_t kTimes, size_t kParts>
FOREBAY_INLINE Coordinates<kParts> raise(const Coordinates<kParts>& a) {
    FOREBAY_EACH_PART(raise<kTimes>(a.part[i]));
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> carried(const Coordinates<kParts>& a) {
    FOREBAY_EACH_PART(carried(a.part[i]));
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> canonical(const Coordinates<kParts>& a) {
    FOREBAY_EACH_PART(canonical(a.part[i]));
}

template <int kLog, size_t kParts>
FOREBAY_INLINE Coordinates<kParts> shifted(const Coordinates<kParts>& a) {
    FOREBAY_EACH_PART(shifted<kLog>(a.part[i]));
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> negate_where(Mask mask, const Coordinates<kParts>& a) {
    FOREBAY_EACH_PART(negate_where(mask, a.part[i]));
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> select(Mask mask, const Coordinates<kParts>& yes,
                                          const Coordinates<kParts>& no) {
    Coordinates<kParts> r;
    for (size_t i = 0; i < kParts; i++) {
        for (size_t j = 0; j < FpField::kLimbs; j++) {
            r.part[i].limb[j] = select(mask, yes.part[i].limb[j], no.part[i].limb[j]);
        }
    }
    return r;
}

template <size_t kParts>
FOREBAY_INLINE Coordinates<kParts> load_coordinates(const uint64_t* const (&rows)[kLanes], size_t offset) {
    FOREBAY_EACH_PART(from_words(load_fp(rows, offset + i * FpField::kWords)));
}

#undef FOREBAY_EACH_PART

// Stores canonical coordinates as the points of eight rows.
template <size_t kParts>
FOREBAY_INLINE void store_points(uint64_t* const (&rows)[kLanes], const Coordinates<kParts>& x,
                                 const Coordinates<kParts>& y) {
    Lanes words[2 * kParts * FpField::kWords];
    for (size_t i = 0; i < kParts; i++) {
        const Words<FpField> of_x = to_words(x.part[i]), of_y = to_words(y.part[i]);
        for (size_t j = 0; j < FpField::kWords; j++) {
            words[i * FpField::kWords + j] = of_x.word[j];
            words[(kParts + i) * FpField::kWords + j] = of_y.word[j];
        }
    }
    for (size_t first = 0; first < 2 * kParts * FpField::kWords; first += 4) {
        const Lanes quad[4] = {words[first], words[first + 1], words[first + 2], words[first + 3]};
        store_words(rows, first, quad);
    }
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
