// Batched affine addition: many independent sums share one field inversion (Montgomery's trick).
#pragma once

#include <algorithm>
#include <utility>

#include "curve/group.h"
#include "parallel/arena.h"

namespace forebay {

// One sum: out[out] = ±left[left >> 1] ± right[right >> 1]; the lowest bit of an operand negates it.
struct Pair {
    uint32_t left;
    uint32_t right;
    uint32_t out;
};

// `right` of a pair that only moves its left operand.
constexpr uint32_t kNoOperand = UINT32_MAX;

template <class G>
struct Points {
    const typename G::Affine* left;
    const typename G::Affine* right;
    typename G::Affine* out;
};

enum class PairKind : uint8_t { kAdd, kDouble, kInfinity, kLeft, kRight };

// Per pair: its denominator, the product of those after it, and its kind.
template <class G>
struct PairScratch {
    typename G::Field* denominators;
    typename G::Field* products;
    PairKind* kinds;

    // Kernels may keep a product in a third more than a field element's size, and a few more of them.
    PairScratch(Arena& arena, size_t capacity)
        : denominators(arena.take<typename G::Field>(capacity)),
          products(arena.take<typename G::Field>((capacity + 8) * 4 / 3)),
          kinds(arena.take<PairKind>(capacity)) {}
};

namespace portable {

// Pairs whose operands are fetched together. Loads side by side hide the latency of points far apart better
// than prefetches between the multiplications do.
constexpr size_t kFetchPairs = 16;

template <class T>
inline uint64_t touch(const T& value) {
    const auto* words = reinterpret_cast<const volatile uint64_t*>(&value);
    uint64_t sum = words[sizeof(T) / 8 - 1];
    for (size_t word = 0; word < sizeof(T) / 8; word += 8) sum ^= words[word];
    return sum;
}

template <class G>
inline void fetch_operands(const Points<G>& points, const Pair* pairs, size_t count) {
    for (size_t k = 0; k < count; k++) {
        touch(points.left[pairs[k].left >> 1]);
        if (pairs[k].right != kNoOperand) touch(points.right[pairs[k].right >> 1]);
    }
}

// Finds what kind of sum a pair is, and its denominator where it has one.
template <class G>
inline PairKind classify(const Points<G>& points, const Pair& pair, typename G::Field& denominator) {
    if (pair.right == kNoOperand) return PairKind::kLeft;
    const auto& a = points.left[pair.left >> 1];
    const auto& b = points.right[pair.right >> 1];
    if (is_infinity(a)) return PairKind::kRight;
    if (is_infinity(b)) return PairKind::kLeft;
    sub(denominator, b.x, a.x);
    if (!is_zero(denominator)) return PairKind::kAdd;
    typename G::Field ya, yb;
    negate_if(ya, a.y, pair.left & 1);
    negate_if(yb, b.y, pair.right & 1);
    add(denominator, ya, yb);
    return is_zero(denominator) ? PairKind::kInfinity : PairKind::kDouble;
}

template <class G>
inline void move_operand(typename G::Affine& out, const typename G::Affine& from, bool negative) {
    typename G::Affine value = from;
    if (negative) negate_if(value.y, value.y, true);
    out = value;
}

// The chord or tangent through a and b with the given inverse of its denominator. Signs are worked into the
// choice of operations: for −b the slope is found negated, which its square and one swapped difference make
// up for.
template <class G>
inline void finish_sum(const Points<G>& points, const Pair& pair, bool tangent,
                       const typename G::Field& inverted) {
    typename G::Field slope, x3, t;
    const auto& a = points.left[pair.left >> 1];
    const auto& b = points.right[pair.right >> 1];
    const bool left_negative = pair.left & 1;
    bool slope_negative = pair.right & 1;
    if (tangent) {
        // The denominator carries a's sign.
        sqr(t, a.x);
        mul_by_3(t, t);
        slope_negative = false;
    } else if (left_negative == slope_negative) {
        sub(t, b.y, a.y);
    } else {
        add(t, b.y, a.y);
    }
    mul(slope, t, inverted);
    sqr(x3, slope);
    sub(x3, x3, a.x);
    sub(x3, x3, b.x);
    const auto* from = &a.x;
    const auto* minus = &x3;
    if (slope_negative) std::swap(from, minus);
    sub(t, *from, *minus);
    mul(t, t, slope);
    auto& out = points.out[pair.out];
    if (left_negative) {
        add(out.y, t, a.y);
    } else {
        sub(out.y, t, a.y);
    }
    out.x = x3;
}

// The sum of a pair that is not added.
template <class G>
inline void finish_without_slope(const Points<G>& points, const Pair& pair, PairKind kind) {
    auto& out = points.out[pair.out];
    if (kind == PairKind::kInfinity) {
        out = typename G::Affine{};
    } else if (kind == PairKind::kLeft) {
        move_operand<G>(out, points.left[pair.left >> 1], pair.left & 1);
    } else {
        move_operand<G>(out, points.right[pair.right >> 1], pair.right & 1);
    }
}

// Handles P + P, P − P and infinity among the operands. A pair's `out` may be any slot that no later pair
// reads.
template <class G>
void add_pairs(const Points<G>& points, const Pair* pairs, size_t count, const PairScratch<G>& scratch) {
    typename G::Field running, inverted;
    set_small(running, 1);
    for (size_t k = count; k-- > 0;) {
        if (k % kFetchPairs == 0 && k > 0) fetch_operands<G>(points, pairs + k - kFetchPairs, kFetchPairs);
        const PairKind kind = classify<G>(points, pairs[k], scratch.denominators[k]);
        scratch.kinds[k] = kind;
        if (kind <= PairKind::kDouble) {
            scratch.products[k] = running;
            mul(running, running, scratch.denominators[k]);
        }
    }
    inverse(running, running);
    for (size_t k = 0; k < count; k++) {
        if (k % kFetchPairs == 0) fetch_operands<G>(points, pairs + k, std::min(kFetchPairs, count - k));
        const PairKind kind = scratch.kinds[k];
        if (kind > PairKind::kDouble) {
            finish_without_slope<G>(points, pairs[k], kind);
            continue;
        }
        mul(inverted, running, scratch.products[k]);
        mul(running, running, scratch.denominators[k]);
        finish_sum<G>(points, pairs[k], kind == PairKind::kDouble, inverted);
    }
}

}  // namespace portable
}  // namespace forebay
