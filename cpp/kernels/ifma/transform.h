// Tiles of a transform, eight columns at a time, held as limbs from the first level to the last.
#pragma once

#include "kernels/ifma/butterflies.h"

namespace forebay::FOREBAY_IFMA {
namespace {

// A row of eight elements, or eight twiddles, in the scratch: one vector after the other.
constexpr size_t kRowWords = FrField::kLimbs * kLanes;
static_assert(kRowWords == kOwnWords * kLanes, "rows fill the words that the table promises");
// Rows ahead of the one that is read: they may lie a page apart.
constexpr size_t kRowsAhead = 12;
// The levels that a tile of one column ends with, across the lanes.
constexpr unsigned kLaneLevels = 3;

FOREBAY_INLINE Fr8 load_row(const uint64_t* row) {
    Fr8 r;
    for (size_t i = 0; i < FrField::kLimbs; i++) r.limb[i] = load(row + i * kLanes);
    return r;
}

FOREBAY_INLINE void store_row(uint64_t* row, const Fr8& a) {
    for (size_t i = 0; i < FrField::kLimbs; i++) store(row + i * kLanes, a.limb[i]);
}

// Eight elements, `step` apart.
FOREBAY_INLINE Fr8 load_elements(const Fr* first, size_t step) {
    const uint64_t* rows[kLanes];
    for (size_t lane = 0; lane < kLanes; lane++) rows[lane] = first[lane * step].l;
    return from_words(load_fr(rows));
}

FOREBAY_INLINE void store_elements(Fr* first, size_t step, const Fr8& canonical) {
    uint64_t* rows[kLanes];
    for (size_t lane = 0; lane < kLanes; lane++) rows[lane] = first[lane * step].l;
    store_fr(rows, to_words(canonical));
}

class Twiddles {
   public:
    explicit Twiddles(const uint64_t* words) : words_(words) {}

    // One for all lanes.
    FOREBAY_INLINE Fr8 same(size_t index) const {
        const uint64_t* from = words_ + index / kLanes * kRowWords + index % kLanes;
        Fr8 r;
        for (size_t i = 0; i < FrField::kLimbs; i++) r.limb[i] = splat(from[i * kLanes]);
        return r;
    }

    // Twiddles index + lane.
    FOREBAY_INLINE Fr8 each(size_t index) const { return load_row(words_ + index * kOwnWords); }

    // Twiddles index + 2·lane, then index + 2·lane + 1.
    FOREBAY_INLINE void every_second(Fr8 (&r)[2], size_t index) const {
        split(r, each(index), each(index + 8));
    }

    // Twiddles index + 4·lane + k, for k from 0 to 3.
    FOREBAY_INLINE void every_fourth(Fr8 (&r)[4], size_t index) const {
        Fr8 low[2], high[2], half[2];
        every_second(low, index);
        every_second(high, index + 16);
        for (size_t i = 0; i < 2; i++) {
            split(half, low[i], high[i]);
            r[i] = half[0];
            r[i + 2] = half[1];
        }
    }

   private:
    static FOREBAY_INLINE void split(Fr8 (&r)[2], const Fr8& a, const Fr8& b) {
        for (size_t i = 0; i < FrField::kLimbs; i++) {
            r[0].limb[i] = even_lanes(a.limb[i], b.limb[i]);
            r[1].limb[i] = odd_lanes(a.limb[i], b.limb[i]);
        }
    }

    const uint64_t* words_;
};

enum class Way { kForward, kInverse };

// The levels over rows of the scratch.
template <Way kWay>
class RowLevels {
   public:
    RowLevels(uint64_t* rows, Twiddles twiddles) : rows_(rows), twiddles_(twiddles) {}

    // The `levels` levels below one block of a level, a part of the rows at a time, so that deeper levels
    // find theirs in the first-level cache.
    void run(unsigned level, size_t block, unsigned levels) const {
        uint64_t* rows = rows_ + (block << levels) * kRowWords;
        if (levels == 0) return;
        if (levels == 1) return run_pair(rows, twiddles_.same((size_t{1} << level) + block));
        if (kWay == Way::kForward) run_quads(rows, level, block, size_t{1} << (levels - 2));
        for (size_t part = 0; part < 4 && levels > 2; part++) run(level + 2, 4 * block + part, levels - 2);
        if (kWay == Way::kInverse) run_quads(rows, level, block, size_t{1} << (levels - 2));
    }

   private:
    static FOREBAY_CALL void run_pair(uint64_t* rows, const Fr8& twiddle) {
        Fr8 low = load_row(rows), high = load_row(rows + kRowWords);
        if (kWay == Way::kForward) {
            forward_butterfly(low, high, twiddle);
        } else {
            inverse_pair(low, high, twiddle);
        }
        store_row(rows, low);
        store_row(rows + kRowWords, high);
    }

    FOREBAY_CALL void run_quads(uint64_t* rows, unsigned level, size_t block, size_t quarter) const {
        const size_t first = (size_t{1} << level) + block;
        const Fr8 outer = twiddles_.same(first);
        const Fr8 inner[2] = {twiddles_.same(2 * first), twiddles_.same(2 * first + 1)};
        const size_t step = quarter * kRowWords;
        for (uint64_t* row = rows; row != rows + step; row += kRowWords) {
            Fr8 quad[4];
            for (size_t i = 0; i < 4; i++) quad[i] = load_row(row + i * step);
            if (kWay == Way::kForward) {
                forward_quad(quad, outer, inner);
            } else {
                inverse_quad(quad, outer, inner);
            }
            for (size_t i = 0; i < 4; i++) store_row(row + i * step, quad[i]);
        }
    }

    uint64_t* rows_;
    Twiddles twiddles_;
};

// Eight rows of eight neighbours each; the levels work on columns of eight, so rows and lanes change places.
using Square = Fr8[kLanes];

FOREBAY_INLINE void transpose(Square& square) {
    for (size_t i = 0; i < FrField::kLimbs; i++) {
        Lanes rows[kLanes];
        for (size_t row = 0; row < kLanes; row++) rows[row] = square[row].limb[i];
        transpose(rows);
        for (size_t row = 0; row < kLanes; row++) square[row].limb[i] = rows[row];
    }
}

// The last levels: block `first` + lane of 2^level.
template <Way kWay>
FOREBAY_INLINE void run_lane_levels(Square& rows, const Twiddles& twiddles, size_t first) {
    const Fr8 outer = twiddles.each(first);
    Fr8 middle[2], inner[4];
    twiddles.every_second(middle, 2 * first);
    twiddles.every_fourth(inner, 4 * first);
    for (size_t i = 0; i < 4 && kWay == Way::kForward; i++) forward_butterfly(rows[i], rows[i + 4], outer);
    for (size_t half = 0; half < 2; half++) {
        Fr8* at = rows + 4 * half;
        Fr8 quad[4] = {at[0], at[1], at[2], at[3]};
        const Fr8 own[2] = {inner[2 * half], inner[2 * half + 1]};
        if (kWay == Way::kForward) {
            forward_quad(quad, middle[half], own);
        } else {
            inverse_quad(quad, middle[half], own);
        }
        for (size_t i = 0; i < 4; i++) at[i] = quad[i];
    }
    for (size_t i = 0; i < 4 && kWay == Way::kInverse; i++) inverse_pair(rows[i], rows[i + 4], outer);
}

// From below 35 after all forward levels: 5.4 once reduced, which `canonical` takes.
FOREBAY_INLINE Fr8 forward_result(const Fr8& a) { return canonical(reduced(a)); }

// From below 5 after all inverse levels.
FOREBAY_INLINE Fr8 inverse_result(const Fr8& a, const Fr8* scale) {
    if (scale == nullptr) return canonical(a);
    return canonical(product(factor(a), *scale));
}

FOREBAY_CALL void load_tile(uint64_t* scratch, const Tile& tile) {
    for (size_t row = 0; row < size_t{1} << tile.levels; row++) {
        const Fr* at = tile.values + row * tile.stride;
        for (size_t i = 0; i < kLanes; i += 2) __builtin_prefetch(at + kRowsAhead * tile.stride + i, 1);
        store_row(scratch + row * kRowWords, load_elements(at, 1));
    }
}

void forward_columns(const Tile& tile, const Twiddles& twiddles, uint64_t* scratch) {
    load_tile(scratch, tile);
    RowLevels<Way::kForward>(scratch, twiddles).run(0, 0, tile.levels);
    for (size_t row = 0; row < size_t{1} << tile.levels; row++) {
        store_elements(tile.values + row * tile.stride, 1,
                       forward_result(load_row(scratch + row * kRowWords)));
    }
}

void inverse_columns(const Tile& tile, const Twiddles& twiddles, const Fr8* scale, uint64_t* scratch) {
    load_tile(scratch, tile);
    RowLevels<Way::kInverse>(scratch, twiddles).run(0, 0, tile.levels);
    for (size_t row = 0; row < size_t{1} << tile.levels; row++) {
        store_elements(tile.values + row * tile.stride, 1,
                       inverse_result(load_row(scratch + row * kRowWords), scale));
    }
}

// A tile of one column as rows of eight neighbours.
Tile in_rows(const Tile& tile) { return {tile.values, kLanes, kLanes, tile.levels - kLaneLevels}; }

void forward_column(const Tile& tile, const Twiddles& twiddles, uint64_t* scratch) {
    const Tile rows = in_rows(tile);
    const size_t count = size_t{1} << rows.levels;
    load_tile(scratch, rows);
    RowLevels<Way::kForward>(scratch, twiddles).run(0, 0, rows.levels);
    for (size_t row = 0; row < count; row += kLanes) {
        Square square;
        for (size_t i = 0; i < kLanes; i++) square[i] = load_row(scratch + (row + i) * kRowWords);
        transpose(square);
        run_lane_levels<Way::kForward>(square, twiddles, count + row);
        for (size_t i = 0; i < kLanes; i++) {
            store_elements(tile.values + row * kLanes + i, kLanes, forward_result(square[i]));
        }
    }
}

void inverse_column(const Tile& tile, const Twiddles& twiddles, const Fr8* scale, uint64_t* scratch) {
    const Tile rows = in_rows(tile);
    const size_t count = size_t{1} << rows.levels;
    for (size_t row = 0; row < count; row += kLanes) {
        Square square;
        for (size_t i = 0; i < kLanes; i++) {
            square[i] = load_elements(tile.values + row * kLanes + i, kLanes);
        }
        run_lane_levels<Way::kInverse>(square, twiddles, count + row);
        transpose(square);
        for (size_t i = 0; i < kLanes; i++) store_row(scratch + (row + i) * kRowWords, square[i]);
    }
    RowLevels<Way::kInverse>(scratch, twiddles).run(0, 0, rows.levels);
    for (size_t row = 0; row < count; row++) {
        store_elements(rows.values + row * kLanes, 1,
                       inverse_result(load_row(scratch + row * kRowWords), scale));
    }
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
