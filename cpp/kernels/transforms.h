// What transforms over Fr need of a set of kernels.
#pragma once

#include "field/field.h"

namespace forebay {

// Levels of one tile.
constexpr unsigned kMostTileLevels = 11;
// Columns of one tile.
constexpr size_t kMostTileColumns = 8;
// What a twiddle or an element takes in memory that only the kernels read.
constexpr size_t kOwnWords = 5;

// 2^levels rows of `width` elements, `stride` elements apart. A tile is `columns` wide, or one where its rows
// touch each other.
struct Tile {
    Fr* values;
    size_t stride;
    size_t width;
    unsigned levels;
};

struct TransformKernels {
    size_t columns;
    // A tile of one column has at least so many levels.
    unsigned least_levels;
    // Makes factor·values[i] the twiddle `at` + i. Twiddle 2^j + t is that of block t of level j: pieces that
    // start at 2^j and are no longer. kOwnWords words each.
    void (*twiddles)(uint64_t* out, size_t at, const Fr& factor, const Fr* values, size_t count);
    // The butterfly levels of a tile, from level 0 down or from the last level up, and each result times
    // `scale` where that is not null. Scratch: kOwnWords words for each element.
    void (*forward)(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch);
    void (*inverse)(const Tile& tile, const uint64_t* twiddles, const Fr* scale, uint64_t* scratch);
    // a[i] = a[i]·b[i].
    void (*multiply)(Fr* a, const Fr* b, size_t count);
    // a[i] = a[i]·f + b[i]·g.
    void (*combine)(Fr* a, const Fr& f, const Fr* b, const Fr& g, size_t count);

    bool take(size_t stride, unsigned levels) const {
        return stride == 1 ? levels >= least_levels : stride % columns == 0;
    }
};

}  // namespace forebay
