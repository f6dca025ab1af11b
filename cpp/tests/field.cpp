// The fields' arithmetic against the plainest one: additions modulo p, and products by doubling.
#include "doctest/doctest.h"
#include "support/values.h"

namespace forebay::testing {
namespace {

template <class F>
constexpr size_t kLimbs = sizeof(F) / sizeof(uint64_t);

void to_plain(uint64_t* limbs, const Fp& a) { blst_uint64_from_fp(limbs, &a); }
void to_plain(uint64_t* limbs, const Fr& a) { blst_uint64_from_fr(limbs, &a); }

// A value below the modulus as a plain integer.
template <class F>
struct Plain {
    uint64_t limbs[kLimbs<F>] = {};

    static Plain of(const F& value) {
        Plain plain;
        to_plain(plain.limbs, value);
        return plain;
    }
    bool operator==(const Plain& other) const { return same(*this, other); }

    Plain operator+(const Plain& other) const {
        Plain sum;
        unsigned __int128 carry = 0;
        for (size_t i = 0; i < kLimbs<F>; i++) {
            carry += static_cast<unsigned __int128>(limbs[i]) + other.limbs[i];
            sum.limbs[i] = static_cast<uint64_t>(carry);
            carry >>= 64;
        }
        return sum.reduced();
    }

    Plain operator*(const Plain& other) const {
        Plain product;
        for (size_t bit = 64 * kLimbs<F>; bit-- > 0;) {
            product = product + product;
            if (other.limbs[bit / 64] >> bit % 64 & 1) product = product + *this;
        }
        return product;
    }

   private:
    Plain reduced() const {
        const uint64_t* const modulus = testing::modulus(F{});
        Plain less;
        uint64_t borrow = 0;
        for (size_t i = 0; i < kLimbs<F>; i++) {
            const auto difference = static_cast<unsigned __int128>(limbs[i]) - modulus[i] - borrow;
            less.limbs[i] = static_cast<uint64_t>(difference);
            borrow = static_cast<uint64_t>(difference >> 64) & 1;
        }
        return borrow ? *this : less;
    }
};

template <class F>
std::vector<F> some_elements() {
    Random random(1);
    std::vector<F> values = edge_elements<F>();
    for (size_t i = 0; i < 20; i++) values.push_back(random_element<F>(random));
    return values;
}

template <class F>
void check_arithmetic() {
    const std::vector<F> values = some_elements<F>();
    size_t wrong = 0;
    for (const F& a : values) {
        for (const F& b : values) {
            const auto x = Plain<F>::of(a), y = Plain<F>::of(b);
            F sum, difference, product;
            add(sum, a, b);
            sub(difference, a, b);
            mul(product, a, b);
            wrong += !(Plain<F>::of(sum) == x + y);
            wrong += !(Plain<F>::of(difference) + y == x);
            wrong += !(Plain<F>::of(product) == x * y);
            // Results in place of an operand.
            F left = a, right = b;
            mul(left, left, b);
            mul(right, a, right);
            wrong += !same(left, product) || !same(right, product);
        }
        F square, product, inverted;
        sqr(square, a);
        mul(product, a, a);
        wrong += !same(square, product);
        inverse(inverted, a);
        mul(product, inverted, a);
        const bool zero = same(a, F{});
        Plain<F> expected;
        expected.limbs[0] = zero ? 0 : 1;
        wrong += !(Plain<F>::of(product) == expected);
    }
    CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("field: Fp is the integers modulo p") { check_arithmetic<Fp>(); }

TEST_CASE("field: Fr is the integers modulo r") { check_arithmetic<Fr>(); }

TEST_CASE("field: Fp2 is Fp with a root of -1") {
    Random random(2);
    size_t wrong = 0;
    for (size_t i = 0; i < 3000; i++) {
        const auto a = edge_or_random<Fp2>(random), b = edge_or_random<Fp2>(random);
        Fp real, imaginary, part;
        mul(real, a.fp[0], b.fp[0]);
        mul(part, a.fp[1], b.fp[1]);
        sub(real, real, part);
        mul(imaginary, a.fp[0], b.fp[1]);
        mul(part, a.fp[1], b.fp[0]);
        add(imaginary, imaginary, part);
        Fp2 product, square, by_self, tripled, sum;
        mul(product, a, b);
        wrong += !same(product, Fp2{{real, imaginary}});
        sqr(square, a);
        mul(by_self, a, a);
        wrong += !same(square, by_self);
        mul_by_3(tripled, a);
        add(sum, a, a);
        add(sum, sum, a);
        wrong += !same(tripled, sum);
        Fp2 inverted, one;
        set_small(one, 1);
        inverse(inverted, a);
        mul(product, inverted, a);
        wrong += !same(product, is_zero(a) ? Fp2{} : one);
    }
    CHECK(wrong == 0);
}

TEST_CASE("field: small values, zero, signs and powers") {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{7}, UINT64_MAX}) {
        Fp small;
        set_small(small, value);
        CHECK(Plain<Fp>::of(small).limbs[0] == value);
        CHECK(is_zero(small) == (value == 0));
        CHECK(Plain<Fr>::of(fr_from(value)).limbs[0] == value);
    }
    for (const Fp& value : edge_elements<Fp>()) {
        Fp negated, kept, sum;
        negate_if(negated, value, true);
        negate_if(kept, value, false);
        add(sum, value, negated);
        CHECK(is_zero(sum));
        CHECK(same(kept, value));
    }
    Fr expected = fr_from(1);
    for (uint64_t exponent = 0; exponent < 20; exponent++) {
        CHECK(same(power(fr_from(kFrModulus[0]), exponent), expected));
        mul(expected, expected, fr_from(kFrModulus[0]));
    }
    // Fermat: what is not 0 has order r − 1.
    uint64_t order[4];
    std::memcpy(order, kFrModulus.data(), sizeof(order));
    order[0] -= 1;
    CHECK(same(power(fr_from(5), order, 4), fr_from(1)));
}

}  // namespace forebay::testing
