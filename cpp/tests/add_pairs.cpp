// Batched point additions of every kernel set, against sums found one at a time.
#include "doctest/doctest.h"
#include "support/kernel_sets.h"
#include "support/points.h"

namespace forebay::testing {
namespace {

constexpr size_t kCounts[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 250};

// Batches as large as those of a multiplication, which an emulated processor leaves out.
std::vector<size_t> all_counts() {
    std::vector<size_t> counts(std::begin(kCounts), std::end(kCounts));
    if (!quick()) counts.insert(counts.end(), {1000, 3001});
    return counts;
}

template <class G>
using Affine = typename G::Affine;

template <class G>
Affine<G> signed_operand(const Affine<G>* points, uint32_t operand) {
    Affine<G> point = points[operand >> 1];
    negate_if(point.y, point.y, operand & 1);
    return point;
}

// By blst's addition, which knows every exception; for points of the curve.
template <class G>
Affine<G> group_sum(const Affine<G>& a, const Affine<G>& b) {
    typename G::Point sum;
    G::from_affine(sum, a);
    G::add(sum, sum, b);
    return affine<G>(sum);
}

// By the formula of the chord or tangent, for any coordinates.
template <class G>
Affine<G> chord_sum(const Affine<G>& a, const Affine<G>& b) {
    if (is_infinity(a)) return b;
    if (is_infinity(b)) return a;
    typename G::Field run, rise, slope;
    sub(run, b.x, a.x);
    sub(rise, b.y, a.y);
    if (is_zero(run)) {
        add(run, a.y, b.y);
        if (is_zero(run)) return {};
        sqr(rise, a.x);
        mul_by_3(rise, rise);
    }
    inverse(run, run);
    mul(slope, rise, run);
    Affine<G> sum;
    sqr(sum.x, slope);
    sub(sum.x, sum.x, a.x);
    sub(sum.x, sum.x, b.x);
    sub(sum.y, a.x, sum.x);
    mul(sum.y, sum.y, slope);
    sub(sum.y, sum.y, a.y);
    return sum;
}

template <class G>
using SumOfTwo = Affine<G> (*)(const Affine<G>&, const Affine<G>&);

// A list of pairs over memory in which operands and results may share slots.
template <class G>
struct Work {
    std::vector<Affine<G>> left;
    std::vector<Affine<G>> right;  // the left ones where empty
    std::vector<Affine<G>> out;    // the left ones where empty
    std::vector<Pair> pairs;

    std::vector<Affine<G>>& results() { return out.empty() ? left : out; }

    void run(const Kernels& kernels) {
        std::vector<uint64_t> memory;
        Arena counting;
        PairScratch<G>(counting, pairs.size());
        memory.resize(counting.used() / sizeof(uint64_t));
        Arena arena(reinterpret_cast<uint8_t*>(memory.data()), counting.used());
        const PairScratch<G> scratch(arena, pairs.size());
        const Affine<G>* second = right.empty() ? left.data() : right.data();
        add_pairs(kernels, Points<G>{left.data(), second, results().data()}, pairs.data(), pairs.size(),
                  scratch);
    }

    // No pair reads what an earlier one wrote.
    std::vector<Affine<G>> expected(SumOfTwo<G> sum) {
        std::vector<Affine<G>> slots = results();
        const Affine<G>* second = right.empty() ? left.data() : right.data();
        for (const Pair& pair : pairs) {
            const Affine<G> a = signed_operand<G>(left.data(), pair.left);
            slots[pair.out] = pair.right == kNoOperand ? a : sum(a, signed_operand<G>(second, pair.right));
        }
        return slots;
    }
};

template <class G>
void check(const Work<G>& work, SumOfTwo<G> sum = group_sum<G>) {
    const auto expected = Work<G>(work).expected(sum);
    for (const Kernels* kernels : kernel_sets()) {
        Work<G> own = work;
        own.run(*kernels);
        CAPTURE(std::string(kernels->name));
        CAPTURE(work.pairs.size());
        CHECK(first_difference(own.results(), expected) == kNowhere);
    }
}

// Pairs of any of the points, with either sign, each with a result of its own.
template <class G>
Work<G> random_pairs(std::vector<Affine<G>> points, size_t count, Random& random) {
    Work<G> work;
    for (size_t i = 0; i < count; i++) {
        const auto left = static_cast<uint32_t>(random.below(2 * points.size()));
        const auto right = static_cast<uint32_t>(random.below(2 * points.size()));
        work.pairs.push_back({left, random.once_in(9) ? kNoOperand : right, static_cast<uint32_t>(i)});
    }
    work.left = std::move(points);
    work.out.resize(count + 1);
    return work;
}

template <class G>
Affine<G> random_coordinates(Random& random) {
    return {edge_or_random<typename G::Field>(random), edge_or_random<typename G::Field>(random)};
}

// The point or its negative: a curve has no other with its abscissa.
template <class G>
Affine<G> same_abscissa(const Affine<G>& point, Random& random) {
    Affine<G> other = point;
    negate_if(other.y, other.y, random.once_in(2));
    return other;
}

}  // namespace

TEST_CASE_TEMPLATE("kernel: sums of pairs of any points", G, G1, G2) {
    Random random(3);
    for (const size_t count : all_counts()) {
        check(random_pairs<G>(scattered<G>(count / 2 + 2, random).points, count, random));
        check(random_pairs<G>(colliding<G>(count / 2 + 2, random).points, count, random));
    }
}

TEST_CASE_TEMPLATE("kernel: sums of pairs of any coordinates", G, G1, G2) {
    Random random(4);
    for (const size_t count : kCounts) {
        std::vector<Affine<G>> points(1);
        for (size_t i = 0; i < count / 2 + 2; i++) points.push_back(random_coordinates<G>(random));
        // Equal and opposite points, and points that share their lowest words.
        for (size_t i = 1; i + 1 < points.size(); i += 5) points[i + 1] = same_abscissa<G>(points[i], random);
        for (size_t i = 3; i + 1 < points.size(); i += 7) {
            points[i + 1].x = random_element<typename G::Field>(random);
            std::memcpy(&points[i + 1], &points[i], sizeof(uint64_t));
        }
        check<G>(random_pairs<G>(points, count, random), chord_sum<G>);
    }
}

TEST_CASE_TEMPLATE("kernel: the extremes of every coordinate meet", G, G1, G2) {
    Random random(5);
    const std::vector<Fp> edges = edge_elements<Fp>();
    Work<G> work;
    for (uint32_t i = 0; i < 5; i++) {
        for (size_t at = 0; at < edges.size(); at++) {
            Affine<G> a = random_coordinates<G>(random), b = random_coordinates<G>(random);
            // A difference of 1 − p and the like.
            std::memcpy(&a, &edges[at], sizeof(Fp));
            std::memcpy(&b, &edges[(at + i) % edges.size()], sizeof(Fp));
            if (same(a.x, b.x)) b = same_abscissa<G>(a, random);
            const auto slot = static_cast<uint32_t>(work.left.size());
            work.pairs.push_back({slot << 1 | (i & 1), (slot + 1) << 1 | (i >> 1 & 1), slot / 2});
            work.left.push_back(a);
            work.left.push_back(b);
        }
    }
    work.out.resize(work.pairs.size());
    check<G>(work, chord_sum<G>);
}

TEST_CASE_TEMPLATE("kernel: an arithmetic progression of points", G, G1, G2) {
    for (const size_t count : kCounts) {
        Work<G> work;
        work.left = progression<G>(count + 2, fr_from(5)).points;
        for (uint32_t k = 0; k < count; k++) {
            // Neighbours, then ends: differences or sums of all pairs are equal.
            const auto last = static_cast<uint32_t>(count + 1 - k);
            work.pairs.push_back({k << 1, (k + 1) << 1 | (k & 1), 2 * k});
            work.pairs.push_back({k << 1, last << 1, 2 * k + 1});
        }
        work.out.resize(2 * count + 1);
        check(work);
    }
}

TEST_CASE_TEMPLATE("kernel: every pair is the same exception", G, G1, G2) {
    const auto points = progression<G>(2, fr_from(11)).points;
    constexpr uint32_t kPoint = 0, kMinus = 1, kOther = 2, kInfinity = 4;
    const std::pair<uint32_t, uint32_t> kinds[] = {
        {kPoint, kPoint},     {kMinus, kMinus},        {kPoint, kMinus},        {kMinus, kPoint},
        {kPoint, kOther},     {kInfinity, kPoint},     {kMinus, kInfinity},     {kInfinity, kInfinity},
        {kMinus, kNoOperand}, {kInfinity, kNoOperand}, {kInfinity | 1, kMinus},
    };
    for (const auto& [left, right] : kinds) {
        for (const size_t count : {1, 7, 8, 9, 40}) {
            Work<G> work;
            work.left = points;
            work.left.emplace_back();
            for (uint32_t k = 0; k < count; k++) work.pairs.push_back({left, right, k});
            work.out.resize(count);
            check(work);
        }
    }
}

TEST_CASE_TEMPLATE("kernel: one exception at every place of a batch", G, G1, G2) {
    Random random(6);
    auto points = scattered<G>(8, random).points;
    points.emplace_back();
    const std::pair<uint32_t, uint32_t> kinds[] = {{2, 2},  {3, 3},   {2, 3},         {16, 2},
                                                   {3, 16}, {16, 16}, {3, kNoOperand}};
    for (const auto& [left, right] : kinds) {
        for (uint32_t place = 0; place < 18; place += quick() ? 5 : 1) {
            Work<G> work;
            work.left = points;
            for (uint32_t k = 0; k < 18; k++) {
                work.pairs.push_back(k == place ? Pair{left, right, k} : Pair{8, 10 + k % 3 * 2, k});
            }
            work.out.resize(18);
            check(work);
        }
    }
}

TEST_CASE_TEMPLATE("kernel: results in the place of operands, as in a tree of sums", G, G1, G2) {
    Random random(7);
    for (const size_t count : all_counts()) {
        Work<G> work;
        work.left = colliding<G>(2 * count + 1, random).points;
        for (uint32_t k = 0; k < count; k++) {
            work.pairs.push_back({2 * k << 1, random.once_in(9) ? kNoOperand : (2 * k + 1) << 1, k});
        }
        check(work);
    }
}

TEST_CASE_TEMPLATE("kernel: results in the place of operands, as in running sums", G, G1, G2) {
    Random random(8);
    for (const uint32_t segments : {1, 3, 4, 8, 257}) {
        Work<G> work;
        work.left = colliding<G>(3 * segments, random).points;
        for (uint32_t s = 0; s < segments; s++) {
            const uint32_t total = 2 * segments + s, run = segments + s;
            work.pairs.push_back({total << 1, run << 1, total});
        }
        for (uint32_t s = 0; s < segments; s++) {
            const uint32_t run = segments + s;
            work.pairs.push_back({run << 1, s << 1, run});
        }
        check(work);
    }
}

TEST_CASE_TEMPLATE("kernel: results in the place of left operands, the right ones in a table", G, G1, G2) {
    Random random(9);
    for (const size_t count : kCounts) {
        Work<G> work;
        work.left = colliding<G>(count + 1, random).points;
        work.right = progression<G>(16, fr_from(1)).points;
        for (uint32_t k = 0; k < count; k++) {
            work.pairs.push_back({k << 1, static_cast<uint32_t>(random.below(32)), k});
        }
        check(work);
    }
}

}  // namespace forebay::testing
