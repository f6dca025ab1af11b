// Sums of the points that a bitmap selects, against the sum of their factors.
#include "msm/bitmap_sum.h"

#include <stdexcept>

#include "doctest/doctest.h"
#include "support/points.h"
#include "support/scratch.h"
#include "support/workers.h"

namespace forebay::testing {
namespace {

using Words = std::vector<uint64_t>;

bool is_set(const Words& words, size_t at) { return words[at / 64] >> at % 64 & 1; }

template <class G>
typename G::Point run(const Workers& workers, const KnownPoints<G>& known, const Words& selected,
                      const Words* density, size_t offset) {
    const Selection selection{selected.data(), density != nullptr ? density->data() : nullptr,
                              selected.size(), offset};
    ScratchMemory scratch(bitmap_scratch<G>(selected.size(), workers.lanes()));
    return bitmap_sum<G>(known.points.data(), known.points.size(), selection, scratch.whole(), workers);
}

template <class G>
void check(const KnownPoints<G>& known, const Words& selected, const Words* density, size_t offset) {
    Fr sum{};
    size_t rank = offset;
    for (size_t i = 0; i < 64 * selected.size(); i++) {
        if (density != nullptr && !is_set(*density, i)) continue;
        if (is_set(selected, i)) add(sum, sum, known.factors[rank]);
        rank++;
    }
    const typename G::Point expected = multiple<G>(sum);
    for (const auto& workers : all_workers()) {
        CAPTURE(std::string(workers->kernels().name));
        CAPTURE(workers->lanes());
        CAPTURE(selected.size());
        CHECK(same_point<G>(run(*workers, known, selected, density, offset), expected));
    }
}

Words random_words(size_t count, Random& random) {
    Words words;
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = random.next();
        const uint64_t kinds[] = {0, UINT64_MAX, word, word & random.next() & random.next()};
        words.push_back(kinds[random.below(4)]);
    }
    return words;
}

}  // namespace

TEST_CASE_TEMPLATE("bitmap: the selected of all points", G, G1, G2) {
    Random random(30);
    for (const size_t words : {0, 1, 2, 7, quick() ? 20 : 130}) {
        const KnownPoints<G> kinds[] = {scattered<G>(64 * words, random), colliding<G>(64 * words, random),
                                        progression<G>(64 * words, fr_from(9))};
        for (const KnownPoints<G>& known : kinds) {
            check<G>(known, random_words(words, random), nullptr, 0);
            check<G>(known, Words(words, 0), nullptr, 0);
            check<G>(known, Words(words, UINT64_MAX), nullptr, 0);
        }
    }
}

TEST_CASE_TEMPLATE("bitmap: points ranked within a density", G, G1, G2) {
    Random random(31);
    for (const size_t words : {1, 5, 140}) {
        const KnownPoints<G> known = scattered<G>(64 * words + 3, random);
        const Words density = random_words(words, random);
        for (const size_t offset : {0, 3}) check<G>(known, random_words(words, random), &density, offset);
    }
}

TEST_CASE("bitmap: many words on several lanes") {
    Random random(32);
    const size_t words = quick() ? 150 : 600;
    const KnownPoints<G1> known = scattered<G1>(64 * words, random);
    check<G1>(known, random_words(words, random), nullptr, 0);
}

TEST_CASE("bitmap: points that do not exist are refused") {
    Random random(33);
    const KnownPoints<G1> known = scattered<G1>(64, random);
    for (const auto& workers : all_workers()) {
        CHECK_THROWS_AS(run<G1>(*workers, known, {0, 1}, nullptr, 0), std::length_error);
        CHECK_THROWS_AS(run<G1>(*workers, known, {uint64_t{1} << 63}, nullptr, 1), std::length_error);
        const Words density = {UINT64_MAX, 1};
        CHECK_THROWS_AS(run<G1>(*workers, known, {1, 1}, &density, 0), std::length_error);
    }
}

}  // namespace forebay::testing
