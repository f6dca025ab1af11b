// Four elements of Fp or Fr side by side, on AVX2 and FMA. An element is limbs of radix 2^51 held as doubles:
// a fused multiply-add gives the upper part of a product of limbs, a second one the exact rest (N. Emmart).
//
// Limbs carry signs and are not fully normalised. A product of limbs must not exceed 2^102, which holds for
// the difference of two elements times an element.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>

// What uses these instructions says so itself; the rest of the library runs on any processor.
#define FOREBAY_AVX2 __attribute__((target("avx2,fma")))
// Not inlined: no arithmetic moves across a change of the rounding mode.
#define FOREBAY_AVX2_CALL __attribute__((target("avx2,fma"), noinline))
#define FOREBAY_AVX2_INLINE __attribute__((target("avx2,fma"), always_inline)) inline

namespace forebay::avx2 {

constexpr size_t kLanes = 4;
constexpr unsigned kRadixLog = 51;
constexpr uint64_t kMask = (uint64_t{1} << kRadixLog) - 1;

// Eight limbs of Fp. Montgomery's R is 2^408 here and 2^384 in blst.
struct FpLimbs {
    static constexpr size_t kLimbs = 8;
    static constexpr size_t kWords = 6;
    using Numbers = std::array<double, kLimbs>;
    static constexpr Numbers kModulus = {
        0x6ffffffffaaab, 0x7d62a7ffff73f, 0x2c3d8907aafff, 0x15fb39869507b,
        0x64774b84f3851, 0x74f6c869759ae, 0x28e5ff9a692c6, 0xd0088f,
    };
    // (N + 1)/2^51 of the multiple N of the modulus that is −1 modulo 2^51.
    static constexpr Numbers kMultiple = {
        0x97c0fa404f96,  0x5de1b8e400b50, 0x28823841e26ee, 0x6079a7670223f,
        0x194a260896f32, 0x574de03a8441,  0x52b11eb513cb3, 0x6803f9,
    };
    // −1/modulus modulo 2^51.
    static constexpr double kFactor = 0x3fffcfffcfffd;
    // What one unit of the top limb is of the modulus.
    static constexpr double kTopUnit = 7.33477718350266e-08;
    // A few times the modulus still fits the top limb.
    static constexpr bool kFullTop = false;
};

// Five limbs of Fr. Montgomery's R is 2^255 here and 2^256 in blst.
struct FrLimbs {
    static constexpr size_t kLimbs = 5;
    static constexpr size_t kWords = 4;
    using Numbers = std::array<double, kLimbs>;
    static constexpr Numbers kModulus = {
        0x7ffff00000001, 0x5fffcb7fdfff, 0x68760154ef690, 0x6a4199cec0404, 0x73eda753299d7,
    };
    static constexpr Numbers kMultiple = {
        0x7bfff34804001, 0x2e20faa30efff, 0x3df41a776efe1, 0x4cb675336368f, 0x73ed98d574b30,
    };
    static constexpr double kFactor = 0x7fffeffffffff;
    static constexpr double kTopUnit = 4.903324035743429e-16;
    static constexpr bool kFullTop = true;
};

// Elements as integers, and as doubles.
template <class F>
struct Integers {
    __m256i limb[F::kLimbs];
};
template <class F>
struct Reals {
    __m256d limb[F::kLimbs];
};

// The same number in every lane.
template <class T, size_t N>
struct alignas(32) Table {
    T at[N][kLanes];

    constexpr explicit Table(const std::array<T, N>& values) : at{} {
        for (size_t i = 0; i < N; i++) {
            for (size_t lane = 0; lane < kLanes; lane++) at[i][lane] = values[i];
        }
    }
    FOREBAY_AVX2_INLINE __m256d real(size_t i) const {
        return _mm256_load_pd(reinterpret_cast<const double*>(hidden()->at[i]));
    }
    FOREBAY_AVX2_INLINE __m256i integer(size_t i) const {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(hidden()->at[i]));
    }

   private:
    // Compilers that know the values would build them anew, instead of reading them as operands.
    FOREBAY_AVX2_INLINE const Table* hidden() const {
        const Table* table = this;
        asm("" : "+r"(table));
        return table;
    }
};

// Adding 1.5·2^e aligns a double's bits at 2^(e - 52).
constexpr double kUpper = 0x1.8p103;
constexpr double kLower = 0x1.8p52;
constexpr uint64_t bits_of_aligner(unsigned exponent) {
    return uint64_t{1023 + exponent} << 52 | uint64_t{1} << 51;
}
constexpr uint64_t kUpperBits = bits_of_aligner(103);
constexpr uint64_t kLowerBits = bits_of_aligner(52);
// Makes a column non-negative, so that a logical shift finds its carry; the carry is then too large by
// kCarryBias.
constexpr uint64_t kBias = uint64_t{1} << 62;
constexpr uint64_t kCarryBias = kBias >> kRadixLog;
constexpr uint64_t kHalf = uint64_t{1} << (kRadixLog - 1);

template <class F>
inline constexpr Table<double, F::kLimbs> kModulus{F::kModulus};
template <class F>
inline constexpr Table<double, F::kLimbs> kMultiple{F::kMultiple};
template <class F>
inline constexpr Table<double, 1> kFactor{{F::kFactor}};
inline constexpr Table<double, 3> kReal{{kUpper, kUpper + kLower, kLower}};
inline constexpr Table<uint64_t, 2> kInteger{{kMask, kLowerBits}};

FOREBAY_AVX2_INLINE __m256d as_real(__m256i value) { return _mm256_castsi256_pd(value); }
FOREBAY_AVX2_INLINE __m256i as_integer(__m256d value) { return _mm256_castpd_si256(value); }
FOREBAY_AVX2_INLINE __m256i every_lane(uint64_t value) {
    return _mm256_set1_epi64x(static_cast<long long>(value));
}

// |value| ≤ 2^51.
FOREBAY_AVX2_INLINE __m256d to_real(__m256i value) {
    return _mm256_sub_pd(as_real(_mm256_add_epi64(value, kInteger.integer(1))), kReal.real(2));
}

template <class F>
FOREBAY_AVX2_INLINE Reals<F> to_reals(const Integers<F>& a) {
    Reals<F> r;
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = to_real(a.limb[i]);
    return r;
}

template <class F>
FOREBAY_AVX2_INLINE Integers<F> to_integers(const Reals<F>& a) {
    Integers<F> r;
    for (size_t i = 0; i < F::kLimbs; i++) {
        r.limb[i] =
            _mm256_sub_epi64(as_integer(_mm256_add_pd(a.limb[i], kReal.real(2))), kInteger.integer(1));
    }
    return r;
}

template <class F>
FOREBAY_AVX2_INLINE Integers<F> subtract(const Integers<F>& a, const Integers<F>& b) {
    Integers<F> r;
    for (size_t i = 0; i < F::kLimbs; i++) r.limb[i] = _mm256_sub_epi64(a.limb[i], b.limb[i]);
    return r;
}

// −a in the lanes whose mask is set.
template <class F>
FOREBAY_AVX2_INLINE Integers<F> negate_where(__m256i mask, const Integers<F>& a) {
    Integers<F> r;
    for (size_t i = 0; i < F::kLimbs; i++) {
        r.limb[i] = _mm256_sub_epi64(_mm256_xor_si256(a.limb[i], mask), mask);
    }
    return r;
}

// low + 2^51·high += a·b, each with the bits of its aligner on top.
FOREBAY_AVX2_INLINE void accumulate(__m256i& low, __m256i& high, __m256d a, __m256d b) {
    const __m256d upper = _mm256_fmadd_pd(a, b, kReal.real(0));
    const __m256d lower = _mm256_fmadd_pd(a, b, _mm256_sub_pd(kReal.real(1), upper));
    high = _mm256_add_epi64(high, as_integer(upper));
    low = _mm256_add_epi64(low, as_integer(lower));
    // Compilers would reorder the sums and run out of registers.
    asm("" : "+x"(low), "+x"(high));
}

// What columns start from, for a sum of `terms` products, or a square: it takes the aligners' bits off again.
template <size_t kLimbs>
constexpr std::array<uint64_t, 2 * kLimbs> first_columns(uint64_t terms, bool square) {
    constexpr size_t kColumns = 2 * kLimbs;
    std::array<uint64_t, kColumns> columns{};
    for (size_t i = 0; i < kLimbs; i++) {
        for (size_t j = 0; j < kLimbs; j++) {
            const uint64_t products = square && j < i ? 0 : terms;
            columns[i + j] -= products * kLowerBits;
            columns[i + j + 1] -= products * kUpperBits;
            const size_t reduced = i + j + (i + 1 < kLimbs ? 1 : 0);
            columns[reduced] -= kLowerBits;
            columns[reduced + 1] -= kUpperBits;
        }
    }
    for (size_t column = 0; column < kColumns; column++) {
        if (column + 1 < kColumns) columns[column] += kBias;
        if (column > 0 && column <= kLimbs) columns[column] -= kCarryBias;
        if (column >= kLimbs && column + 1 < kColumns) columns[column] += kHalf;
    }
    columns[kColumns - 1] -= kCarryBias;
    return columns;
}

template <class F, uint64_t Terms, bool Square>
inline constexpr Table<uint64_t, 2 * F::kLimbs> kFirstColumns{first_columns<F::kLimbs>(Terms, Square)};
// From a limb's lower bits and its neighbour's carry to the bits of an aligned double.
inline constexpr Table<uint64_t, 2> kLimbOffset{{kLowerBits - kHalf, kLowerBits - kHalf - kCarryBias}};

// Spreads the upper half of the columns to limbs of at most 2^50 + 2^6.
template <class F>
FOREBAY_AVX2_INLINE void finish_columns(Reals<F>& r, const __m256i* columns) {
    __m256i carry = _mm256_setzero_si256();
    for (size_t i = 0; i + 1 < F::kLimbs; i++) {
        const __m256i low = _mm256_and_si256(columns[F::kLimbs + i], kInteger.integer(0));
        const __m256i bits =
            _mm256_add_epi64(_mm256_add_epi64(low, carry), kLimbOffset.integer(i == 0 ? 0 : 1));
        carry = _mm256_srli_epi64(columns[F::kLimbs + i], kRadixLog);
        r.limb[i] = _mm256_sub_pd(as_real(bits), kReal.real(2));
    }
    const __m256i top = _mm256_add_epi64(columns[2 * F::kLimbs - 1], carry);
    if (!F::kFullTop) {
        r.limb[F::kLimbs - 1] = to_real(top);
        return;
    }
    // Below 2^52, and of either sign: the upper bits by an aligner one bit higher, the lowest by itself.
    const __m256i shifted_top = _mm256_add_epi64(top, every_lane(uint64_t{1} << 52));
    const __m256i upper = _mm256_add_epi64(_mm256_srli_epi64(shifted_top, 1),
                                           every_lane(bits_of_aligner(53) - (uint64_t{1} << 51)));
    const __m256d lowest = to_real(_mm256_and_si256(top, every_lane(1)));
    r.limb[F::kLimbs - 1] = _mm256_add_pd(_mm256_sub_pd(as_real(upper), _mm256_set1_pd(2 * kLower)), lowest);
}

// The rows of Σ a[t]·b[t].
template <class F, size_t Terms>
struct ProductRows {
    const Reals<F>* a[Terms];
    const Reals<F>* b[Terms];

    FOREBAY_AVX2_INLINE static __m256i first_column(size_t i) {
        return kFirstColumns<F, Terms, false>.integer(i);
    }
    FOREBAY_AVX2_INLINE void add(__m256i* columns, size_t i) const {
#pragma GCC unroll 2
        for (size_t t = 0; t < Terms; t++) {
#pragma GCC unroll 8
            for (size_t j = 0; j < F::kLimbs; j++) {
                accumulate(columns[i + j], columns[i + j + 1], a[t]->limb[i], b[t]->limb[j]);
            }
        }
    }
};

// The rows of a²: each product of two limbs once, doubled.
template <class F>
struct SquareRows {
    const Reals<F>& a;

    FOREBAY_AVX2_INLINE static __m256i first_column(size_t i) { return kFirstColumns<F, 1, true>.integer(i); }
    FOREBAY_AVX2_INLINE void add(__m256i* columns, size_t i) const {
        accumulate(columns[2 * i], columns[2 * i + 1], a.limb[i], a.limb[i]);
        const __m256d twice = _mm256_add_pd(a.limb[i], a.limb[i]);
#pragma GCC unroll 8
        for (size_t j = i + 1; j < F::kLimbs; j++) {
            accumulate(columns[i + j], columns[i + j + 1], twice, a.limb[j]);
        }
    }
};

// r = the rows' sum / R, where elements of a few p give a result between −0.51 p and 1.51 p.
template <class F, class Rows>
FOREBAY_AVX2_INLINE void reduce_rows(Reals<F>& r, const Rows& rows) {
    __m256i columns[2 * F::kLimbs];
#pragma GCC unroll 16
    for (size_t i = 0; i < 2 * F::kLimbs; i++) columns[i] = Rows::first_column(i);
    rows.add(columns, 0);
#pragma GCC unroll 8
    for (size_t i = 0; i + 1 < F::kLimbs; i++) {
        // N ends in −1, so the digit that clears the column is the column itself. The next row hides how long
        // it takes to find.
        const __m256d digit = to_real(_mm256_and_si256(columns[i], kInteger.integer(0)));
        columns[i + 1] = _mm256_add_epi64(columns[i + 1], _mm256_srli_epi64(columns[i], kRadixLog));
        rows.add(columns, i + 1);
#pragma GCC unroll 8
        for (size_t j = 0; j < F::kLimbs; j++) {
            accumulate(columns[i + j + 1], columns[i + j + 2], digit, kMultiple<F>.real(j));
        }
    }
    // The last step takes p itself, which brings the result down to its size.
    constexpr size_t kLast = F::kLimbs - 1;
    const __m256d low = to_real(_mm256_and_si256(columns[kLast], kInteger.integer(0)));
    const __m256d upper = _mm256_fmadd_pd(low, kFactor<F>.real(0), kReal.real(0));
    const __m256d aligned = _mm256_fmadd_pd(low, kFactor<F>.real(0), _mm256_sub_pd(kReal.real(1), upper));
    const __m256d digit = _mm256_sub_pd(aligned, kReal.real(2));
#pragma GCC unroll 8
    for (size_t j = 0; j < F::kLimbs; j++) {
        accumulate(columns[kLast + j], columns[kLast + j + 1], digit, kModulus<F>.real(j));
    }
    columns[kLast + 1] = _mm256_add_epi64(columns[kLast + 1], _mm256_srli_epi64(columns[kLast], kRadixLog));
    finish_columns(r, columns);
}

// 2^log·a for a sum or difference of a few elements.
template <unsigned Log, class F>
FOREBAY_AVX2_INLINE Reals<F> shifted(const Integers<F>& a) {
    Reals<F> r;
    constexpr unsigned kRest = kRadixLog - Log;
    const __m256i bias = every_lane(kBias), unbias = every_lane(kBias >> kRest);
    __m256i carry = _mm256_setzero_si256();
    for (size_t i = 0; i < F::kLimbs; i++) {
        __m256i low = _mm256_slli_epi64(a.limb[i], Log);
        if (i + 1 < F::kLimbs) low = _mm256_and_si256(low, kInteger.integer(0));
        r.limb[i] = to_real(_mm256_add_epi64(low, carry));
        carry = _mm256_sub_epi64(_mm256_srli_epi64(_mm256_add_epi64(a.limb[i], bias), kRest), unbias);
    }
    return r;
}

}  // namespace forebay::avx2
