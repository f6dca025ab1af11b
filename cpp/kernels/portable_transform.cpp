#include "kernels/portable_transform.h"

#include <cstring>

#include "kernels/butterfly_rows.h"

namespace forebay::portable {
namespace {

void twiddles(uint64_t* out, size_t at, const Fr& factor, const Fr* values, size_t count) {
    Fr* own = reinterpret_cast<Fr*>(out) + at;
    for (size_t i = 0; i < count; i++) mul(own[i], factor, values[i]);
}

void forward_levels(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    for (unsigned level = 0; level < levels; level++) {
        const size_t blocks = size_t{1} << level;
        const size_t half = width << (levels - 1 - level);
        for (size_t block = 0; block < blocks; block++) {
            const Fr& twiddle = twiddles[blocks + block];
            Fr* low = tile + 2 * half * block;
            Fr* high = low + half;
            forward_row(low, high, twiddle, half);
        }
    }
}

void inverse_levels(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    for (unsigned level = levels; level-- > 0;) {
        const size_t blocks = size_t{1} << level;
        const size_t half = width << (levels - 1 - level);
        for (size_t block = 0; block < blocks; block++) {
            const Fr& twiddle = twiddles[blocks + block];
            Fr* low = tile + 2 * half * block;
            Fr* high = low + half;
            inverse_row(low, high, twiddle, half);
        }
    }
}

// Runs `levels` on the rows of a tile side by side.
template <class Levels>
void on_rows(const Tile& tile, uint64_t* scratch, const Levels& levels) {
    const size_t rows = size_t{1} << tile.levels;
    if (tile.stride == tile.width) return levels(tile.values);
    Fr* side_by_side = reinterpret_cast<Fr*>(scratch);
    for (size_t row = 0; row < rows; row++) {
        std::memcpy(side_by_side + row * tile.width, tile.values + row * tile.stride,
                    tile.width * sizeof(Fr));
    }
    levels(side_by_side);
    for (size_t row = 0; row < rows; row++) {
        std::memcpy(tile.values + row * tile.stride, side_by_side + row * tile.width,
                    tile.width * sizeof(Fr));
    }
}

void forward(const Tile& tile, const uint64_t* twiddles, uint64_t* scratch) {
    on_rows(tile, scratch, [&](Fr* rows) {
        forward_levels(rows, tile.levels, tile.width, reinterpret_cast<const Fr*>(twiddles));
    });
}

void inverse(const Tile& tile, const uint64_t* twiddles, const Fr* scale, uint64_t* scratch) {
    on_rows(tile, scratch, [&](Fr* rows) {
        inverse_levels(rows, tile.levels, tile.width, reinterpret_cast<const Fr*>(twiddles));
        if (scale == nullptr) return;
        for (size_t i = 0; i < tile.width << tile.levels; i++) mul(rows[i], rows[i], *scale);
    });
}

void multiply(Fr* a, const Fr* b, size_t count) {
    for (size_t i = 0; i < count; i++) mul(a[i], a[i], b[i]);
}

void combine(Fr* a, const Fr& f, const Fr* b, const Fr& g, size_t count) {
    for (size_t i = 0; i < count; i++) {
        Fr product;
        mul(a[i], a[i], f);
        mul(product, b[i], g);
        add(a[i], a[i], product);
    }
}

}  // namespace

const TransformKernels kTransforms = {4, 0, 0, twiddles, forward, inverse, multiply, combine};

}  // namespace forebay::portable
