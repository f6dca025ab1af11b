// Tiles of a transform, eight columns at a time, held as limbs from the first level to the last.
#pragma once

#include "kernels/ifma/butterflies.h"

namespace forebay::FOREBAY_IFMA {
namespace {

// A row of eight elements, or eight twiddles, in the scratch: one vector after the other.
constexpr size_t kRowWords = FrField::kLimbs * kLanes;
static_assert(kRowWords == kOwnWords * kLanes, "rows fill the words that the table promises");
// How many rows are fetched ahead.
constexpr size_t kRowsAhead = 16;
// The levels that a tile of one column ends with, across the lanes.
constexpr unsigned kLaneLevels = 3;
// The fewest of which the first and the last are not done together.
constexpr unsigned kLeastRowLevels = 3;

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

    bool is_one(size_t index) const {
        const uint64_t* from = words_ + index / kLanes * kRowWords + index % kLanes;
        uint64_t differs = 0;
        for (size_t i = 0; i < FrField::kLimbs; i++) differs |= from[i * kLanes] ^ detail::kOne.at[i];
        return differs == 0;
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

// Which ends of the levels are in the tile; all that is between them is in the scratch.
struct Ends {
    bool read;
    bool written;
};

// From below 35 after all forward levels: 5.4 once reduced, which `canonical` takes.
FOREBAY_INLINE Fr8 forward_result(const Fr8& a) { return canonical(reduced(a)); }

// From below 5 after all inverse levels.
FOREBAY_INLINE Fr8 inverse_result(const Fr8& a, const Fr8* scale) {
    if (scale == nullptr) return canonical(a);
    return canonical(product(factor(a), *scale));
}

// The levels over rows of eight columns.
template <Way kWay>
class RowLevels {
   public:
    RowLevels(const Tile& tile, Ends ends, const Twiddles& twiddles, const Fr8* scale, uint64_t* scratch)
        : tile_(tile), ends_(ends), twiddles_(twiddles), scale_(scale), scratch_(scratch) {
        for (unsigned level = 0; level < tile.levels; level++) {
            first_is_plain_ = first_is_plain_ && twiddles.is_one(size_t{1} << level);
        }
    }

    // The `levels` levels below one block of a level, three or more of them in all; a part of the rows at a
    // time, so that deeper levels find theirs in the first-level cache.
    void run(unsigned level, size_t block, unsigned levels) const {
        if (levels == 1) return run_group<Pair>(level, block, levels);
        if (kWay == Way::kForward) run_group<Quad>(level, block, levels);
        for (size_t part = 0; part < 4 && levels > 2; part++) run(level + 2, 4 * block + part, levels - 2);
        if (kWay == Way::kInverse) run_group<Quad>(level, block, levels);
    }

   private:
    // What is done to rows that are held together. `first` is the outer twiddle's index.
    struct Pair {
        static constexpr size_t kRows = 2;
        Fr8 twiddle;
        Pair(const Twiddles& twiddles, size_t first) : twiddle(twiddles.same(first)) {}
        FOREBAY_INLINE void operator()(Fr8 (&rows)[2]) const {
            if (kWay == Way::kForward) return forward_butterfly(rows[0], rows[1], twiddle);
            inverse_pair(rows[0], rows[1], twiddle);
        }
    };
    struct Quad {
        static constexpr size_t kRows = 4;
        Fr8 outer;
        Fr8 inner[2];
        Quad(const Twiddles& twiddles, size_t first)
            : outer(twiddles.same(first)), inner{twiddles.same(2 * first), twiddles.same(2 * first + 1)} {}
        FOREBAY_INLINE void operator()(Fr8 (&rows)[4]) const {
            if (kWay == Way::kForward) return forward_quad(rows, outer, inner);
            inverse_quad(rows, outer, inner);
        }
    };
    struct PlainQuad {
        static constexpr size_t kRows = 4;
        Fr8 inner;
        PlainQuad(const Twiddles& twiddles, size_t first) : inner(twiddles.same(2 * first + 1)) {}
        FOREBAY_INLINE void operator()(Fr8 (&rows)[4]) const {
            if (kWay == Way::kForward) return forward_plain_quad(rows, inner);
            inverse_plain_quad(rows, inner);
        }
    };

    template <class Group>
    void run_group(unsigned level, size_t block, unsigned levels) const {
        const bool top = level == 0, bottom = levels <= 2;
        const bool read = ends_.read && (kWay == Way::kForward ? top : bottom);
        const bool written = ends_.written && (kWay == Way::kForward ? bottom : top);
        if (Group::kRows == 4 && block == 0 && first_is_plain_) {
            return choose<PlainQuad>(level, block, levels, {read, written});
        }
        choose<Group>(level, block, levels, {read, written});
    }

    template <class Group>
    void choose(unsigned level, size_t block, unsigned levels, Ends ends) const {
        // A pair is the last of the levels.
        constexpr bool kBottom = Group::kRows == 2;
        if constexpr (!kBottom || kWay == Way::kInverse) {
            if (ends.read) return run_rows<Group, true, false>(level, block, levels);
        }
        if constexpr (!kBottom || kWay == Way::kForward) {
            if (ends.written) return run_rows<Group, false, true>(level, block, levels);
        }
        run_rows<Group, false, false>(level, block, levels);
    }

    template <class Group, bool kRead, bool kWritten>
    FOREBAY_CALL void run_rows(unsigned level, size_t block, unsigned levels) const {
        constexpr size_t kRows = Group::kRows;
        const Group group(twiddles_, (size_t{1} << level) + block);
        const size_t step = (size_t{1} << levels) / kRows, first = block << levels;
        // Rows of a tile may lie a page apart, where no processor sees the next one coming.
        const size_t ahead = step == 1 ? kRowsAhead : kRowsAhead / kRows;
        for (size_t row = first; row < first + step; row++) {
            Fr8 held[kRows];
#pragma GCC unroll 4
            for (size_t i = 0; i < kRows; i++) held[i] = load_one<kRead>(row + i * step, ahead);
            group(held);
#pragma GCC unroll 4
            for (size_t i = 0; i < kRows; i++) store_one<kWritten>(row + i * step, held[i]);
        }
    }

    template <bool kRead>
    FOREBAY_INLINE Fr8 load_one(size_t row, size_t ahead) const {
        if (!kRead) return load_row(scratch_ + row * kRowWords);
        const Fr* at = tile_.values + row * tile_.stride;
        for (size_t i = 0; i < kLanes; i += 2) __builtin_prefetch(at + ahead * tile_.stride + i, 1);
        return load_elements(at, 1);
    }

    template <bool kWritten>
    FOREBAY_INLINE void store_one(size_t row, const Fr8& a) const {
        if (!kWritten) return store_row(scratch_ + row * kRowWords, a);
        const Fr8 result = kWay == Way::kForward ? forward_result(a) : inverse_result(a, scale_);
        store_elements(tile_.values + row * tile_.stride, 1, result);
    }

    Tile tile_;
    Ends ends_;
    Twiddles twiddles_;
    const Fr8* scale_;
    uint64_t* scratch_;
    // The twiddles of block 0 are 1 at every level, so its values always came from a plain quad.
    bool first_is_plain_ = true;
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

void forward_columns(const Tile& tile, const Twiddles& twiddles, uint64_t* scratch) {
    RowLevels<Way::kForward>(tile, {true, true}, twiddles, nullptr, scratch).run(0, 0, tile.levels);
}

void inverse_columns(const Tile& tile, const Twiddles& twiddles, const Fr8* scale, uint64_t* scratch) {
    RowLevels<Way::kInverse>(tile, {true, true}, twiddles, scale, scratch).run(0, 0, tile.levels);
}

// A tile of one column as rows of eight neighbours.
Tile in_rows(const Tile& tile) { return {tile.values, kLanes, kLanes, tile.levels - kLaneLevels}; }

void forward_column(const Tile& tile, const Twiddles& twiddles, uint64_t* scratch) {
    const Tile rows = in_rows(tile);
    const size_t count = size_t{1} << rows.levels;
    RowLevels<Way::kForward>(rows, {true, false}, twiddles, nullptr, scratch).run(0, 0, rows.levels);
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
    RowLevels<Way::kInverse>(rows, {false, true}, twiddles, scale, scratch).run(0, 0, rows.levels);
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
