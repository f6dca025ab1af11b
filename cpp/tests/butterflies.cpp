// The transform kernels of every set against the plainest loops over blst's arithmetic.
#include "doctest/doctest.h"
#include "support/kernel_sets.h"
#include "support/values.h"

namespace forebay::testing {
namespace {

// Rows of a matrix whose first `width` columns are the tile, and a twiddle for every block.
struct Rows {
    size_t stride;
    size_t width;
    unsigned levels;
    std::vector<Fr> values;
    std::vector<Fr> twiddles;

    template <class Element>
    Rows(size_t stride, size_t width, unsigned levels, const Element& element)
        : stride(stride), width(width), levels(levels) {
        for (size_t i = 0; i < stride << levels; i++) values.push_back(element());
        for (size_t i = 0; i < size_t{1} << levels; i++) twiddles.push_back(element());
    }

    // Calls step(low, high, twiddle) for every butterfly of a level.
    template <class Step>
    void level(unsigned number, const Step& step) {
        const size_t blocks = size_t{1} << number, half = (size_t{1} << levels) / blocks / 2;
        for (size_t row = 0; row < size_t{1} << levels; row++) {
            if (row / half % 2 != 0) continue;
            const Fr& twiddle = twiddles[blocks + row / half / 2];
            for (size_t column = 0; column < width; column++) {
                step(values[row * stride + column], values[(row + half) * stride + column], twiddle);
            }
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

    void inverse(const Fr* scale) {
        for (unsigned number = levels; number-- > 0;) {
            level(number, [](Fr& low, Fr& high, const Fr& twiddle) {
                const Fr before = low;
                add(low, before, high);
                sub(high, before, high);
                mul(high, high, twiddle);
            });
        }
        if (scale == nullptr) return;
        for (size_t row = 0; row < size_t{1} << levels; row++) {
            for (size_t column = 0; column < width; column++) {
                mul(values[row * stride + column], values[row * stride + column], *scale);
            }
        }
    }
};

// A table has room for a whole vector of twiddles.
constexpr size_t kLeastTwiddles = 8;

// Twiddles in a kernel set's own form.
std::vector<uint64_t> own_twiddles(const TransformKernels& kernels, const Rows& rows) {
    std::vector<uint64_t> own(kOwnWords * std::max<size_t>(kLeastTwiddles, rows.twiddles.size()));
    for (size_t first = 1; first < rows.twiddles.size(); first *= 2) {
        kernels.twiddles(own.data(), first, fr_from(1), rows.twiddles.data() + first, first);
    }
    return own;
}

void check(const Rows& rows) {
    Rows forward = rows, inverse = rows, scaled = rows;
    const Fr scale = rows.twiddles[0];
    forward.forward();
    inverse.inverse(nullptr);
    scaled.inverse(&scale);
    for (const Kernels* set : kernel_sets()) {
        const TransformKernels& kernels = *set->transforms;
        if (!kernels.take(rows.stride, rows.levels)) continue;
        if (rows.width != std::min(kernels.columns, rows.stride)) continue;
        CAPTURE(std::string(set->name));
        CAPTURE(rows.levels);
        CAPTURE(rows.stride);
        const std::vector<uint64_t> twiddles = own_twiddles(kernels, rows);
        std::vector<uint64_t> scratch(kOwnWords * rows.width << rows.levels);
        Rows own = rows;
        const Tile tile{own.values.data(), rows.stride, rows.width, rows.levels};
        kernels.forward(tile, twiddles.data(), scratch.data());
        CHECK(first_difference(own.values, forward.values) == kNowhere);
        own.values = rows.values;
        kernels.inverse({own.values.data(), rows.stride, rows.width, rows.levels}, twiddles.data(), nullptr,
                        scratch.data());
        CHECK(first_difference(own.values, inverse.values) == kNowhere);
        own.values = rows.values;
        kernels.inverse({own.values.data(), rows.stride, rows.width, rows.levels}, twiddles.data(), &scale,
                        scratch.data());
        CHECK(first_difference(own.values, scaled.values) == kNowhere);
    }
}

// Tiles that some set takes: one column, or several with as wide or wider rows.
constexpr std::pair<size_t, size_t> kShapes[] = {{1, 1}, {2, 2}, {4, 4}, {12, 4}, {8, 8}, {24, 8}};

}  // namespace

TEST_CASE("kernel: butterflies on tiles of every shape") {
    Random random(10);
    const auto element = [&] { return edge_or_random<Fr>(random); };
    const unsigned most = quick() ? 7 : kMostTileLevels;
    for (const auto& [stride, width] : kShapes) {
        for (unsigned levels = 0; levels <= most; levels++) check(Rows(stride, width, levels, element));
    }
}

TEST_CASE("kernel: butterflies on equal elements at the ends of the range") {
    std::vector<Fr> edges = edge_elements<Fr>();
    edges.resize(8);
    edges.push_back(fr_from(1));
    for (const Fr& edge : edges) {
        for (const auto& [stride, width] : kShapes) check(Rows(stride, width, 6, [&] { return edge; }));
    }
}

TEST_CASE("kernel: butterflies on r - 1 and 0 by turns") {
    std::vector<Fr> edges = edge_elements<Fr>();
    for (const size_t period : {1, 2, 4, 8, 16, 32}) {
        for (const auto& [stride, width] : kShapes) {
            size_t count = 0;
            check(Rows(stride, width, quick() ? 6 : 8, [&] { return edges[count++ / period % 2]; }));
        }
    }
}

TEST_CASE("kernel: twiddles times a factor") {
    Random random(11);
    for (const Kernels* set : kernel_sets()) {
        CAPTURE(std::string(set->name));
        // What a twiddle is shows in a butterfly: 0 + twiddle·1.
        for (unsigned levels = set->transforms->least_levels; levels < 7; levels++) {
            Rows rows(1, 1, levels, [&] { return edge_or_random<Fr>(random); }), multiplied = rows;
            const Fr factor = edge_or_random<Fr>(random);
            for (Fr& twiddle : multiplied.twiddles) mul(twiddle, twiddle, factor);
            std::vector<uint64_t> twiddles(kOwnWords << levels), scratch(kOwnWords << levels);
            for (size_t first = 1; first < rows.twiddles.size(); first *= 2) {
                set->transforms->twiddles(twiddles.data(), first, factor, rows.twiddles.data() + first,
                                          first);
            }
            set->transforms->forward({rows.values.data(), 1, 1, levels}, twiddles.data(), scratch.data());
            multiplied.forward();
            CHECK(first_difference(rows.values, multiplied.values) == kNowhere);
        }
    }
}

TEST_CASE("kernel: products and combinations value by value") {
    Random random(12);
    for (const size_t count : {0, 1, 7, 8, 9, 64, 1000}) {
        std::vector<Fr> a, b, products, combined;
        const auto f = edge_or_random<Fr>(random), g = edge_or_random<Fr>(random);
        for (size_t i = 0; i < count; i++) {
            a.push_back(edge_or_random<Fr>(random));
            b.push_back(edge_or_random<Fr>(random));
            Fr product, left, right;
            mul(product, a[i], b[i]);
            mul(left, a[i], f);
            mul(right, b[i], g);
            add(left, left, right);
            products.push_back(product);
            combined.push_back(left);
        }
        for (const Kernels* set : kernel_sets()) {
            CAPTURE(std::string(set->name));
            CAPTURE(count);
            std::vector<Fr> own = a;
            set->transforms->multiply(own.data(), b.data(), count);
            CHECK(first_difference(own, products) == kNowhere);
            own = a;
            set->transforms->combine(own.data(), f, b.data(), g, count);
            CHECK(first_difference(own, combined) == kNowhere);
        }
    }
}

}  // namespace forebay::testing
