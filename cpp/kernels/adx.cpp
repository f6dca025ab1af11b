#include "kernels/adx.h"

#include "kernels/butterfly_rows.h"

// Without optimisation the compiler keeps too few registers free for the assembly.
#if defined(__x86_64__) && defined(__OPTIMIZE__)

#include "kernels/adx/fp.h"
#include "kernels/adx/fr.h"

namespace forebay::adx {
namespace {

// The chord through a and b with the given lazy inverse of b.x − a.x; see portable::finish_sum.
inline void finish_chord(const Points<G1>& points, const Pair& pair, const Fp& inverted) {
    const G1::Affine& a = points.left[pair.left >> 1];
    const G1::Affine& b = points.right[pair.right >> 1];
    const bool left_negative = pair.left & 1, right_negative = pair.right & 1;
    Fp slope, square, t, x3;
    if (left_negative == right_negative) {
        sub_lazy(t, b.y, a.y);
    } else {
        add_lazy(t, b.y, a.y);
    }
    mul_lazy(slope, t, inverted);
    mul_lazy(square, slope, slope);
    sub_twice_reduced(x3, square, a.x, b.x);
    if (right_negative) {
        sub_lazy(t, x3, a.x);
    } else {
        sub_lazy(t, a.x, x3);
    }
    mul_lazy(t, t, slope);
    G1::Affine& out = points.out[pair.out];
    if (left_negative) {
        add_reduced(out.y, t, a.y);
    } else {
        sub_reduced(out.y, t, a.y);
    }
    out.x = x3;
}

inline PairKind classify(const Points<G1>& points, const Pair& pair, Fp& denominator) {
    if (pair.right == kNoOperand) return PairKind::kLeft;
    const G1::Affine& a = points.left[pair.left >> 1];
    const G1::Affine& b = points.right[pair.right >> 1];
    sub(denominator, b.x, a.x);
    if (!is_zero(denominator) && !is_infinity(a) && !is_infinity(b)) return PairKind::kAdd;
    return portable::classify<G1>(points, pair, denominator);
}

}  // namespace

bool supported() {
    static const bool found = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("adx");
    return found;
}

void forward_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const Fr product = multiply(twiddle, high[i]);
        high[i] = subtract(low[i], product);
        low[i] = add(low[i], product);
    }
}

void inverse_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const Fr difference = subtract(low[i], high[i]);
        low[i] = add(low[i], high[i]);
        high[i] = multiply(twiddle, difference);
    }
}

void add_pairs_g1(const Points<G1>& points, const Pair* pairs, size_t count, const PairScratch<G1>& scratch) {
    constexpr size_t kFetchPairs = portable::kFetchPairs;
    Fp running, inverted;
    set_small(running, 1);
    for (size_t k = count; k-- > 0;) {
        if (k % kFetchPairs == 0 && k > 0) {
            portable::fetch_operands<G1>(points, pairs + k - kFetchPairs, kFetchPairs);
        }
        const PairKind kind = classify(points, pairs[k], scratch.denominators[k]);
        scratch.kinds[k] = kind;
        if (kind <= PairKind::kDouble) {
            scratch.products[k] = running;
            mul_lazy(running, running, scratch.denominators[k]);
        }
    }
    reduce(running, running);
    inverse(running, running);
    for (size_t k = 0; k < count; k++) {
        if (k % kFetchPairs == 0) {
            portable::fetch_operands<G1>(points, pairs + k, std::min(kFetchPairs, count - k));
        }
        const PairKind kind = scratch.kinds[k];
        if (kind > PairKind::kDouble) {
            portable::finish_without_slope<G1>(points, pairs[k], kind);
            continue;
        }
        mul_lazy(inverted, running, scratch.products[k]);
        mul_lazy(running, running, scratch.denominators[k]);
        if (kind == PairKind::kAdd) {
            finish_chord(points, pairs[k], inverted);
        } else {
            reduce(inverted, inverted);
            portable::finish_sum<G1>(points, pairs[k], true, inverted);
        }
    }
}

}  // namespace forebay::adx

#else

namespace forebay::adx {

bool supported() { return false; }

void add_pairs_g1(const Points<G1>& points, const Pair* pairs, size_t count, const PairScratch<G1>& scratch) {
    portable::add_pairs<G1>(points, pairs, count, scratch);
}

void forward_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    portable::forward_row(low, high, twiddle, count);
}

void inverse_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    portable::inverse_row(low, high, twiddle, count);
}

}  // namespace forebay::adx

#endif
