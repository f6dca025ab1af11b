// Butterfly levels of every kernel set against the plainest loops over blst's arithmetic.
#include "doctest/doctest.h"
#include "support/kernel_sets.h"
#include "support/values.h"

namespace forebay::testing {
namespace {

struct Tile {
    unsigned levels;
    size_t width;
    std::vector<Fr> values;
    std::vector<Fr> twiddles;

    template <class Element>
    Tile(unsigned levels, size_t width, const Element& element) : levels(levels), width(width) {
        for (size_t i = 0; i < width << levels; i++) values.push_back(element());
        for (size_t i = 0; i < size_t{1} << levels; i++) twiddles.push_back(element());
    }

    // Calls step(low, high, twiddle) for every butterfly of a level.
    template <class Step>
    void level(unsigned number, const Step& step) {
        const size_t blocks = size_t{1} << number, half = values.size() / blocks / 2;
        for (size_t i = 0; i < values.size(); i++) {
            if (i / half % 2 == 0) step(values[i], values[i + half], twiddles[blocks + i / half / 2]);
        }
    }

    void forward() {
        for (unsigned number = 0; number < levels; number++) {
            level(number, [](Fr& low, Fr& high, const Fr& twiddle) {
                mul(high, high, twiddle);
                const Fr before = low;
                add(low, before, high);
                sub(high, before, high);
            });
        }
    }

    void inverse() {
        for (unsigned number = levels; number-- > 0;) {
            level(number, [](Fr& low, Fr& high, const Fr& twiddle) {
                const Fr before = low;
                add(low, before, high);
                sub(high, before, high);
                mul(high, high, twiddle);
            });
        }
    }
};

void check(const Tile& tile) {
    Tile forward = tile, inverse = tile;
    forward.forward();
    inverse.inverse();
    for (const Kernels* kernels : kernel_sets()) {
        CAPTURE(std::string(kernels->name));
        CAPTURE(tile.levels);
        CAPTURE(tile.width);
        Tile own = tile;
        kernels->ntt_forward(own.values.data(), own.levels, own.width, own.twiddles.data());
        CHECK(first_difference(own.values, forward.values) == kNowhere);
        own = tile;
        kernels->ntt_inverse(own.values.data(), own.levels, own.width, own.twiddles.data());
        CHECK(first_difference(own.values, inverse.values) == kNowhere);
    }
}

}  // namespace

TEST_CASE("kernel: butterflies on tiles of every shape") {
    Random random(10);
    const auto element = [&] { return edge_or_random<Fr>(random); };
    const unsigned most = quick() ? 5 : 8;
    for (const size_t width : {1, 2, 3, 4, 5, 7, 8, 12, 16}) {
        for (unsigned levels = 0; levels <= most; levels++) check(Tile(levels, width, element));
    }
    check(Tile(quick() ? 9 : 11, 1, element));
    check(Tile(quick() ? 8 : 11, 4, element));
}

TEST_CASE("kernel: butterflies on equal elements at the ends of the range") {
    std::vector<Fr> edges = edge_elements<Fr>();
    edges.resize(8);
    edges.push_back(fr_from(1));
    for (const Fr& edge : edges) {
        for (const size_t width : {1, 4, 8}) check(Tile(quick() ? 6 : 7, width, [&] { return edge; }));
    }
}

TEST_CASE("kernel: butterflies on r - 1 and 0 by turns") {
    std::vector<Fr> edges = edge_elements<Fr>();
    for (const size_t period : {2, 4, 8, 16, 32}) {
        for (const size_t width : {1, 8}) {
            size_t count = 0;
            check(Tile(quick() ? 6 : 8, width, [&] { return edges[count++ / period % 2]; }));
        }
    }
}

}  // namespace forebay::testing
