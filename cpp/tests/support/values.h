// Field elements to test with, and exact comparison.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "field/field.h"
#include "support/random.h"

namespace forebay::testing {

constexpr std::array<uint64_t, 6> kFpModulus = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
                                                0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};
constexpr std::array<uint64_t, 4> kFrModulus = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                                0x73eda753299d7d48};

inline const uint64_t* modulus(const Fp&) { return kFpModulus.data(); }
inline const uint64_t* modulus(const Fr&) { return kFrModulus.data(); }

template <class T>
bool same(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

constexpr size_t kNowhere = SIZE_MAX;

// Where two vectors first differ.
template <class T>
size_t first_difference(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return std::min(a.size(), b.size());
    for (size_t i = 0; i < a.size(); i++) {
        if (!same(a[i], b[i])) return i;
    }
    return kNowhere;
}

// Limbs below the modulus, taken as they are: whatever Montgomery form stands for.
template <class F>
F random_element(Random& random) {
    constexpr size_t kLimbs = sizeof(F) / sizeof(uint64_t);
    F value;
    for (size_t i = 0; i < kLimbs; i++) value.l[i] = random.next();
    value.l[kLimbs - 1] %= modulus(value)[kLimbs - 1];
    return value;
}

template <>
inline Fp2 random_element<Fp2>(Random& random) {
    return {{random_element<Fp>(random), random_element<Fp>(random)}};
}

// The ends of the range, and limbs at the ends of theirs in radix 2^64 and in the radices of vector kernels.
template <class F>
std::vector<F> edge_elements() {
    constexpr size_t kLimbs = sizeof(F) / sizeof(uint64_t);
    std::vector<F> values;
    const auto keep = [&](F value) {
        value.l[kLimbs - 1] %= modulus(value)[kLimbs - 1];
        values.push_back(value);
    };
    F largest;
    std::memcpy(&largest, modulus(largest), sizeof(F));
    largest.l[0] -= 1;
    values = {F{}, largest};
    for (uint64_t less = 1; less < 4; less++) {
        F value = largest;
        value.l[0] -= less;
        values.push_back(value);
        value = F{};
        value.l[0] = less;
        values.push_back(value);
    }
    for (const unsigned radix : {50u, 51u, 52u, 64u}) {
        for (unsigned bit = radix; bit < 64 * kLimbs; bit += radix) {
            F power{}, below{};
            power.l[bit / 64] = uint64_t{1} << bit % 64;
            keep(power);
            for (size_t i = 0; i < bit / 64; i++) below.l[i] = UINT64_MAX;
            below.l[bit / 64] = power.l[bit / 64] - 1;
            keep(below);
        }
    }
    return values;
}

template <class F>
F edge_or_random(Random& random) {
    static const std::vector<F> edges = edge_elements<F>();
    return random.once_in(3) ? edges[random.below(edges.size())] : random_element<F>(random);
}

template <>
inline Fp2 edge_or_random<Fp2>(Random& random) {
    return {{edge_or_random<Fp>(random), edge_or_random<Fp>(random)}};
}

}  // namespace forebay::testing
