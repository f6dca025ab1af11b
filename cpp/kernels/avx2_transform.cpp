#include "kernels/avx2_transform.h"

#if defined(__x86_64__)

#include <cstring>

#include "kernels/avx2/butterflies.h"
#include "kernels/avx2/rounding.h"

namespace forebay {
namespace avx2 {
namespace {

constexpr size_t kHeldRows = size_t{1} << kHeldLevels;
// The levels that a tile of one column ends with, across the lanes.
constexpr unsigned kLaneLevels = 2;
// A row of four elements, or four twiddles, in the scratch: one limb of all after the other.
constexpr size_t kRowWords = FrLimbs::kLimbs * kLanes;
static_assert(kRowWords == kOwnWords * kLanes, "rows fill the words that the table promises");

enum class Way { kForward, kInverse };

FOREBAY_AVX2_INLINE FrReals load_row(const uint64_t* row) {
    FrReals r;
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        r.limb[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(row + i * kLanes));
    }
    return r;
}

FOREBAY_AVX2_INLINE void store_row(uint64_t* row, const FrReals& a) {
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        _mm256_storeu_pd(reinterpret_cast<double*>(row + i * kLanes), a.limb[i]);
    }
}

// One twiddle for all lanes.
FOREBAY_AVX2_INLINE FrReals same_twiddle(const uint64_t* twiddles, size_t index) {
    const uint64_t* from = twiddles + index / kLanes * kRowWords + index % kLanes;
    FrReals r;
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        r.limb[i] = _mm256_broadcast_sd(reinterpret_cast<const double*>(from + i * kLanes));
    }
    return r;
}

// `levels` levels over 2^levels rows; twiddles[2^j + t] belongs to block t of level j.
template <Way way>
FOREBAY_AVX2 void held_levels(FrReals* rows, unsigned levels, const FrReals* twiddles) {
    for (unsigned step = 0; step < levels; step++) {
        const unsigned level = way == Way::kForward ? step : levels - 1 - step;
        const size_t blocks = size_t{1} << level, half = size_t{1} << (levels - 1 - level);
        for (size_t block = 0; block < blocks; block++) {
            for (size_t i = 0; i < half; i++) {
                FrReals& low = rows[2 * half * block + i];
                FrReals& high = rows[2 * half * block + half + i];
                if (way == Way::kForward) {
                    forward_butterfly(low, high, twiddles[blocks + block]);
                } else {
                    inverse_butterfly(low, high, twiddles[blocks + block]);
                }
            }
        }
    }
}

// Levels `first` to `first` + `held` - 1 of the 2^levels rows of the scratch.
template <Way way>
FOREBAY_AVX2 void run_levels(uint64_t* rows, unsigned levels, const uint64_t* twiddles, unsigned first,
                             unsigned held) {
    FrReals held_rows[kHeldRows], factors[kHeldRows];
    const size_t count = size_t{1} << held, stride = size_t{1} << (levels - first - held);
    for (size_t block = 0; block < size_t{1} << first; block++) {
        for (unsigned level = 0; level < held; level++) {
            const size_t inner = size_t{1} << level;
            for (size_t t = 0; t < inner; t++) {
                factors[inner + t] = same_twiddle(twiddles, (inner << first) + block * inner + t);
            }
        }
        for (size_t column = 0; column < stride; column++) {
            uint64_t* start = rows + (block * count * stride + column) * kRowWords;
            for (size_t i = 0; i < count; i++) held_rows[i] = load_row(start + i * stride * kRowWords);
            held_levels<way>(held_rows, held, factors);
            for (size_t i = 0; i < count; i++) store_row(start + i * stride * kRowWords, held_rows[i]);
        }
    }
}

// As few groups of levels as possible, of about the same number.
template <Way way>
FOREBAY_AVX2 void run_rows(uint64_t* rows, unsigned levels, const uint64_t* twiddles) {
    const unsigned groups = (levels + kHeldLevels - 1) / kHeldLevels;
    for (unsigned step = 0; step < groups; step++) {
        const unsigned group = way == Way::kForward ? step : groups - 1 - step;
        const unsigned first = levels * group / groups, last = levels * (group + 1) / groups;
        run_levels<way>(rows, levels, twiddles, first, last - first);
    }
}

// Four rows of four neighbours each: rows and lanes change places.
FOREBAY_AVX2_INLINE void transpose(FrReals (&square)[kLanes]) {
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        const __m256d even_low = _mm256_unpacklo_pd(square[0].limb[i], square[1].limb[i]);
        const __m256d odd_low = _mm256_unpackhi_pd(square[0].limb[i], square[1].limb[i]);
        const __m256d even_high = _mm256_unpacklo_pd(square[2].limb[i], square[3].limb[i]);
        const __m256d odd_high = _mm256_unpackhi_pd(square[2].limb[i], square[3].limb[i]);
        square[0].limb[i] = _mm256_permute2f128_pd(even_low, even_high, 0x20);
        square[1].limb[i] = _mm256_permute2f128_pd(odd_low, odd_high, 0x20);
        square[2].limb[i] = _mm256_permute2f128_pd(even_low, even_high, 0x31);
        square[3].limb[i] = _mm256_permute2f128_pd(odd_low, odd_high, 0x31);
    }
}

// The last two levels of a tile of one column: lane i has block `first` + i of the level before the last.
template <Way way>
FOREBAY_AVX2 void run_lane_levels(FrReals (&rows)[kLanes], const uint64_t* twiddles, size_t first) {
    FrReals factors[4];
    factors[1] = load_row(twiddles + first * kOwnWords);
    const FrReals low = load_row(twiddles + 2 * first * kOwnWords);
    const FrReals high = load_row(twiddles + 2 * first * kOwnWords + kRowWords);
    for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
        // Lanes 0, 2, 1, 3 of every second twiddle.
        const __m256d even = _mm256_unpacklo_pd(low.limb[i], high.limb[i]);
        const __m256d odd = _mm256_unpackhi_pd(low.limb[i], high.limb[i]);
        factors[2].limb[i] = _mm256_permute4x64_pd(even, 0xd8);
        factors[3].limb[i] = _mm256_permute4x64_pd(odd, 0xd8);
    }
    held_levels<way>(rows, kLaneLevels, factors);
}

FOREBAY_AVX2 void load_rows(uint64_t* scratch, const Tile& tile) {
    for (size_t row = 0; row < size_t{1} << tile.levels; row++) {
        store_row(scratch + row * kRowWords, to_reals(load_elements(tile.values + row * tile.stride, 1)));
    }
}

FOREBAY_AVX2 void store_rows(const uint64_t* scratch, const Tile& tile, const FrReals* scale) {
    for (size_t row = 0; row < size_t{1} << tile.levels; row++) {
        FrReals values = load_row(scratch + row * kRowWords);
        if (scale != nullptr) values = reduced_product(values, *scale);
        store_elements(tile.values + row * tile.stride, 1, values);
    }
}

// A tile of one column as rows of four neighbours.
Tile in_rows(const Tile& tile) { return {tile.values, kLanes, kLanes, tile.levels - kLaneLevels}; }

FOREBAY_AVX2_CALL void forward_column(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch) {
    const Tile rows = in_rows(tile);
    const size_t count = size_t{1} << rows.levels;
    load_rows(scratch, rows);
    run_rows<Way::kForward>(scratch, rows.levels, twiddles);
    for (size_t row = 0; row < count; row += kLanes) {
        FrReals square[kLanes];
        for (size_t i = 0; i < kLanes; i++) square[i] = load_row(scratch + (row + i) * kRowWords);
        transpose(square);
        run_lane_levels<Way::kForward>(square, twiddles, count + row);
        for (size_t i = 0; i < kLanes; i++) {
            store_elements(tile.values + row * kLanes + i, kLanes, square[i]);
        }
    }
}

FOREBAY_AVX2_CALL void inverse_column(const Tile& tile, const uint64_t* twiddles, const FrReals* scale,
                                      uint64_t* scratch) {
    const Tile rows = in_rows(tile);
    const size_t count = size_t{1} << rows.levels;
    for (size_t row = 0; row < count; row += kLanes) {
        FrReals square[kLanes];
        for (size_t i = 0; i < kLanes; i++) {
            square[i] = to_reals(load_elements(tile.values + row * kLanes + i, kLanes));
        }
        run_lane_levels<Way::kInverse>(square, twiddles, count + row);
        transpose(square);
        for (size_t i = 0; i < kLanes; i++) store_row(scratch + (row + i) * kRowWords, square[i]);
    }
    run_rows<Way::kInverse>(scratch, rows.levels, twiddles);
    store_rows(scratch, rows, scale);
}

FOREBAY_AVX2_CALL void forward_columns(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch) {
    load_rows(scratch, tile);
    run_rows<Way::kForward>(scratch, tile.levels, twiddles);
    store_rows(scratch, tile, nullptr);
}

FOREBAY_AVX2_CALL void inverse_columns(const Tile& tile, const uint64_t* twiddles, const FrReals* scale,
                                       uint64_t* scratch) {
    load_rows(scratch, tile);
    run_rows<Way::kInverse>(scratch, tile.levels, twiddles);
    store_rows(scratch, tile, scale);
}

FOREBAY_AVX2_INLINE FrReals same_factor(const Fr& value) { return factor_of(load_elements(&value, 0)); }

FOREBAY_AVX2_CALL void run_inverse(const Tile& tile, const uint64_t* twiddles, const Fr* scale,
                                   uint64_t* scratch) {
    FrReals own;
    if (scale != nullptr) own = same_factor(*scale);
    const FrReals* factor = scale != nullptr ? &own : nullptr;
    if (tile.stride == 1) return inverse_column(tile, twiddles, factor, scratch);
    inverse_columns(tile, twiddles, factor, scratch);
}

void forward(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch) {
    const Rounding rounding;
    if (tile.stride == 1) return forward_column(tile, twiddles, scratch);
    forward_columns(tile, twiddles, scratch);
}

void inverse(const Tile& tile, const uint64_t* twiddles, const Fr* scale, uint64_t* scratch) {
    const Rounding rounding;
    run_inverse(tile, twiddles, scale, scratch);
}

FOREBAY_AVX2_CALL void run_twiddles(uint64_t* out, size_t at, const Fr& factor, const Fr* values,
                                    size_t count) {
    // A factor's product with an element is an element; half of it is a factor.
    const FrReals own = half_of(same_factor(factor));
    for (size_t done = 0; done < count; done += kLanes) {
        const size_t left = count - done < kLanes ? count - done : kLanes;
        Fr group[kLanes]{};
        std::memcpy(group, values + done, left * sizeof(Fr));
        const FrReals made = reduced_product(own, to_reals(load_elements(group, 1)));
        uint64_t* to = out + (at + done) / kLanes * kRowWords + (at + done) % kLanes;
        for (size_t i = 0; i < FrLimbs::kLimbs; i++) {
            std::memcpy(to + i * kLanes, &made.limb[i], left * sizeof(uint64_t));
        }
    }
}

void make_twiddles(uint64_t* out, size_t at, const Fr& factor, const Fr* values, size_t count) {
    const Rounding rounding;
    run_twiddles(out, at, factor, values, count);
}

// Calls `group` with every four elements, and with a copy of what is left over.
template <class Group>
FOREBAY_AVX2_INLINE void in_groups(Fr* a, const Fr* b, size_t count, const Group& group) {
    for (; count >= kLanes; count -= kLanes, a += kLanes, b += kLanes) group(a, b);
    if (count == 0) return;
    Fr own_a[kLanes]{}, own_b[kLanes]{};
    std::memcpy(own_a, a, count * sizeof(Fr));
    std::memcpy(own_b, b, count * sizeof(Fr));
    group(own_a, own_b);
    std::memcpy(a, own_a, count * sizeof(Fr));
}

FOREBAY_AVX2_CALL void run_multiply(Fr* a, const Fr* b, size_t count) {
    in_groups(a, b, count, [](Fr* a, const Fr* b) FOREBAY_AVX2 {
        store_elements(a, 1, reduced_product(to_reals(load_elements(a, 1)), factor_of(load_elements(b, 1))));
    });
}

FOREBAY_AVX2_CALL void run_combine(Fr* a, const Fr& f, const Fr* b, const Fr& g, size_t count) {
    const FrReals own_f = same_factor(f), own_g = same_factor(g);
    in_groups(a, b, count, [&](Fr* a, const Fr* b) FOREBAY_AVX2 {
        FrReals r = sum(reduced_product(to_reals(load_elements(a, 1)), own_f),
                        reduced_product(to_reals(load_elements(b, 1)), own_g));
        reduce(r);
        store_elements(a, 1, r);
    });
}

void multiply(Fr* a, const Fr* b, size_t count) {
    const Rounding rounding;
    run_multiply(a, b, count);
}

void combine(Fr* a, const Fr& f, const Fr* b, const Fr& g, size_t count) {
    const Rounding rounding;
    run_combine(a, f, b, g, count);
}

}  // namespace

const TransformKernels kTransforms = {
    kLanes, 2 * kLaneLevels, make_twiddles, forward, inverse, multiply, combine,
};

}  // namespace avx2
}  // namespace forebay

#endif
