// Butterfly levels and products of every kernel set against the plainest loops over blst's arithmetic.
#include "doctest/doctest.h"
#include "kernels/transforms.h"
#include "support/kernel_sets.h"
#include "support/values.h"

namespace forebay::testing {
namespace {

// What is between the columns of a tile and those of the next row stays as it is.
constexpr size_t kGap = 8;

struct Butterflies {
    unsigned levels;
    size_t width;
    std::vector<Fr> values;
    std::vector<Fr> twiddles;

    template <class Element>
    Butterflies(unsigned levels, size_t width, const Element& element) : levels(levels), width(width) {
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

    void scale(const Fr& factor) {
        for (Fr& value : values) mul(value, value, factor);
    }
};

// The kernels' own twiddles: factor·values.
std::vector<uint64_t> own_twiddles(const TransformKernels& kernels, const Fr& factor,
                                   const std::vector<Fr>& values) {
    std::vector<uint64_t> own(kOwnWords * std::max(values.size(), kMostTileColumns));
    for (size_t first = 1; first < values.size(); first *= 2) {
        kernels.twiddles(own.data(), first, factor, values.data() + first, first);
    }
    return own;
}

// Runs a kernel on the values, `gap` elements between rows.
template <class Run>
std::vector<Fr> spread(const Butterflies& given, size_t gap, const Run& run) {
    const size_t stride = given.width + gap, rows = size_t{1} << given.levels;
    std::vector<Fr> apart(stride * rows, fr_from(5)), values;
    std::vector<uint64_t> scratch(kOwnWords * std::max(given.values.size(), kMostTileColumns));
    for (size_t i = 0; i < given.values.size(); i++) {
        apart[i / given.width * stride + i % given.width] = given.values[i];
    }
    run(Tile{apart.data(), stride, given.width, given.levels}, scratch.data());
    for (size_t i = 0; i < apart.size(); i++) {
        if (i % stride < given.width) {
            values.push_back(apart[i]);
        } else if (!same(apart[i], fr_from(5))) {
            FAIL_CHECK("a value outside of the tile was written");
        }
    }
    return values;
}

void check_with(const TransformKernels& kernels, const Butterflies& given, size_t gap, const Fr& factor) {
    Butterflies forward = given, inverse = given;
    for (Butterflies* expected : {&forward, &inverse}) {
        for (Fr& twiddle : expected->twiddles) mul(twiddle, twiddle, factor);
    }
    forward.forward();
    inverse.inverse();
    const std::vector<uint64_t> own = own_twiddles(kernels, factor, given.twiddles);
    const auto run_inverse = [&](const Fr* scale) {
        return spread(given, gap, [&](const Tile& tile, uint64_t* scratch) {
            kernels.inverse(tile, own.data(), scale, scratch);
        });
    };
    const std::vector<Fr> got = spread(
        given, gap, [&](const Tile& tile, uint64_t* scratch) { kernels.forward(tile, own.data(), scratch); });
    CHECK(first_difference(got, forward.values) == kNowhere);
    CHECK(first_difference(run_inverse(nullptr), inverse.values) == kNowhere);
    inverse.scale(factor);
    CHECK(first_difference(run_inverse(&factor), inverse.values) == kNowhere);
}

// Tiles of one column and of as many as a set of kernels takes, with twiddles as given and with 1 for the
// first block of each level, as transforms without a coset have them.
template <class Element>
void check(unsigned levels, const Element& element) {
    for (const Kernels* kernels : kernel_sets()) {
        const TransformKernels& transforms = *kernels->transforms;
        CAPTURE(std::string(kernels->name));
        CAPTURE(levels);
        for (const size_t width : {size_t{1}, transforms.columns}) {
            CAPTURE(width);
            if (!transforms.take(width, levels)) continue;
            Butterflies given(levels, width, element);
            const size_t gap = width == 1 ? 0 : kGap;
            check_with(transforms, given, 0, element());
            for (size_t first = 1; first < given.twiddles.size(); first *= 2) {
                given.twiddles[first] = fr_from(1);
            }
            check_with(transforms, given, gap, fr_from(1));
        }
    }
}

}  // namespace

TEST_CASE("kernel: butterflies on tiles of every shape") {
    Random random(10);
    const auto element = [&] { return edge_or_random<Fr>(random); };
    const unsigned most = quick() ? 7 : kMostTileLevels;
    for (unsigned levels = 0; levels <= most; levels++) check(levels, element);
}

TEST_CASE("kernel: butterflies on equal elements at the ends of the range") {
    std::vector<Fr> edges = edge_elements<Fr>();
    edges.resize(8);
    edges.push_back(fr_from(1));
    for (const Fr& edge : edges) check(quick() ? 6 : 7, [&] { return edge; });
    // As many levels as a tile may have, where lazy sums are largest.
    if (!quick()) check(kMostTileLevels, [&] { return edges[1]; });
}

TEST_CASE("kernel: butterflies on r - 1 and 0 by turns") {
    std::vector<Fr> edges = edge_elements<Fr>();
    for (const size_t period : {2, 4, 8, 16, 32}) {
        size_t count = 0;
        check(quick() ? 6 : 8, [&] { return edges[count++ / period % 2]; });
    }
}

TEST_CASE("kernel: products and sums of products of arrays") {
    Random random(11);
    for (const Kernels* kernels : kernel_sets()) {
        CAPTURE(std::string(kernels->name));
        for (size_t count = 0; count < 35; count++) {
            std::vector<Fr> a, b;
            for (size_t i = 0; i < count; i++) {
                a.push_back(edge_or_random<Fr>(random));
                b.push_back(edge_or_random<Fr>(random));
            }
            const Fr f = edge_or_random<Fr>(random), g = edge_or_random<Fr>(random);
            std::vector<Fr> products = a, sums = a, got = a;
            for (size_t i = 0; i < count; i++) {
                Fr other;
                mul(products[i], a[i], b[i]);
                mul(sums[i], a[i], f);
                mul(other, b[i], g);
                add(sums[i], sums[i], other);
            }
            kernels->transforms->multiply(got.data(), b.data(), count);
            CHECK(first_difference(got, products) == kNowhere);
            got = a;
            kernels->transforms->combine(got.data(), f, b.data(), g, count);
            CHECK(first_difference(got, sums) == kNowhere);
        }
    }
}

}  // namespace forebay::testing
