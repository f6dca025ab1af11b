// The groups G1 and G2 with one interface. Affine points are packed Montgomery coordinates; all zero is
// infinity.
#pragma once

#include "field/field.h"

namespace forebay {

struct G1 {
    using Field = Fp;
    using Affine = blst_p1_affine;
    using Point = blst_p1;

    static void add(Point& r, const Point& a, const Point& b) { blst_p1_add_or_double(&r, &a, &b); }
    static void add(Point& r, const Point& a, const Affine& b) { blst_p1_add_or_double_affine(&r, &a, &b); }
    static void twice(Point& r, const Point& a) { blst_p1_double(&r, &a); }
    static void multiply(Point& r, const Point& a, const byte* scalar, size_t bits) {
        blst_p1_mult(&r, &a, scalar, bits);
    }
    static void to_affine(Affine& r, const Point& a) { blst_p1_to_affine(&r, &a); }
    static void from_affine(Point& r, const Affine& a) { blst_p1_from_affine(&r, &a); }
    static bool valid(const Affine& a) { return blst_p1_affine_on_curve(&a) && blst_p1_affine_in_g1(&a); }
};

struct G2 {
    using Field = Fp2;
    using Affine = blst_p2_affine;
    using Point = blst_p2;

    static void add(Point& r, const Point& a, const Point& b) { blst_p2_add_or_double(&r, &a, &b); }
    static void add(Point& r, const Point& a, const Affine& b) { blst_p2_add_or_double_affine(&r, &a, &b); }
    static void twice(Point& r, const Point& a) { blst_p2_double(&r, &a); }
    static void multiply(Point& r, const Point& a, const byte* scalar, size_t bits) {
        blst_p2_mult(&r, &a, scalar, bits);
    }
    static void to_affine(Affine& r, const Point& a) { blst_p2_to_affine(&r, &a); }
    static void from_affine(Point& r, const Affine& a) { blst_p2_from_affine(&r, &a); }
    static bool valid(const Affine& a) { return blst_p2_affine_on_curve(&a) && blst_p2_affine_in_g2(&a); }
};

template <class Affine>
inline bool is_infinity(const Affine& a) {
    return is_zero(a.x) && is_zero(a.y);
}

// factor·a for a small factor.
template <class G>
void multiply_small(typename G::Point& r, const typename G::Point& a, uint64_t factor) {
    byte scalar[8];
    for (size_t i = 0; i < 8; i++) scalar[i] = static_cast<byte>(factor >> (8 * i));
    size_t bits = 1;
    while (bits < 64 && factor >> bits) bits++;
    G::multiply(r, a, scalar, bits);
}

}  // namespace forebay
