// Batched affine addition, four sums at a time. Same contract as portable::add_pairs.
#pragma once

#include "curve/add_pairs.h"
#include "kernels/avx2/elements.h"

namespace forebay::avx2 {

// How often 2^-24, what `multiply` leaves too little of blst's factor, and powers of it meet in a sum: with
// inverses too large by 2^36, slopes are too large by 2^12, which makes their squares right; the other factor
// of y takes 2^12 more.
constexpr unsigned kInverseLog = kExtraLog * 3 / 2;
constexpr unsigned kSlopeLog = kExtraLog / 2;

template <class G>
class PairAdder {
   public:
    using Affine = typename G::Affine;
    using Field = typename G::Field;

    PairAdder(const Points<G>& points, const Pair* pairs, size_t count, const PairScratch<G>& scratch)
        : points_(points),
          pairs_(pairs),
          count_(count),
          kinds_(scratch.kinds),
          sums_(reinterpret_cast<uint32_t*>(scratch.denominators)),
          products_(reinterpret_cast<uint8_t*>(scratch.products)) {}

    FOREBAY_AVX2_CALL void run() {
        classify();
        RealParts<kParts> running;
        const size_t groups = (sum_count_ + kLanes - 1) / kLanes;
        multiply_denominators(running, groups);
        if (sum_count_ > 0) invert(running);
        size_t next = 0;
        for (size_t group = 0; group < groups; group++) next = finish_group(running, group, next);
        for (; next < count_; next++) move(next);
    }

   private:
    static constexpr size_t kParts = sizeof(Field) / sizeof(Fp);
    static constexpr size_t kY = kParts * FpLimbs::kWords;

    // The operands of four sums.
    struct Group {
        const Pair* pairs[kLanes];
        const uint64_t* left[kLanes];
        const uint64_t* right[kLanes];
        bool tangent[kLanes];
        bool any_tangent;
        size_t lanes;
    };

    static const uint64_t* words(const Affine& point) { return reinterpret_cast<const uint64_t*>(&point); }

    // Finds the kind of every pair and lists those that need a sum.
    void classify() {
        for (size_t k = 0; k < count_; k++) {
            if (k % portable::kFetchPairs == 0) {
                portable::fetch_operands<G>(points_, pairs_ + k, std::min(portable::kFetchPairs, count_ - k));
            }
            Field denominator;
            const Pair& pair = pairs_[k];
            PairKind kind = PairKind::kAdd;
            if (pair.right == kNoOperand) {
                kind = PairKind::kLeft;
            } else {
                const uint64_t* a = words(points_.left[pair.left >> 1]);
                const uint64_t* b = words(points_.right[pair.right >> 1]);
                if (a[0] == b[0] || a[0] == 0 || b[0] == 0) {
                    kind = portable::classify<G>(points_, pair, denominator);
                }
            }
            kinds_[k] = kind;
            sums_[sum_count_] = static_cast<uint32_t>(k);
            sum_count_ += kind <= PairKind::kDouble;
        }
    }

    Group group_of(size_t number) const {
        Group group;
        group.any_tangent = false;
        const size_t first = number * kLanes;
        group.lanes = std::min(kLanes, sum_count_ - first);
        for (size_t lane = 0; lane < kLanes; lane++) {
            // Lanes that are left over repeat the first.
            const uint32_t at = sums_[first + (lane < group.lanes ? lane : 0)];
            group.pairs[lane] = &pairs_[at];
            group.left[lane] = words(points_.left[pairs_[at].left >> 1]);
            group.right[lane] = words(points_.right[pairs_[at].right >> 1]);
            group.tangent[lane] = kinds_[at] == PairKind::kDouble;
            group.any_tangent |= group.tangent[lane];
        }
        return group;
    }

    FOREBAY_AVX2_INLINE void set_tangent_denominators(const Group& group,
                                                      IntegerParts<kParts>& denominators) const {
        for (size_t lane = 0; lane < kLanes; lane++) {
            if (!group.tangent[lane]) continue;
            Field denominator{};
            portable::classify<G>(points_, *group.pairs[lane], denominator);
            set_lane(denominators, lane, reinterpret_cast<const uint64_t*>(&denominator));
        }
    }

    FOREBAY_AVX2_INLINE void set_tangent_numerators(const Group& group,
                                                    IntegerParts<kParts>& numerators) const {
        for (size_t lane = 0; lane < kLanes; lane++) {
            if (!group.tangent[lane]) continue;
            Field numerator{};
            sqr(numerator, points_.left[group.pairs[lane]->left >> 1].x);
            mul_by_3(numerator, numerator);
            set_lane(numerators, lane, reinterpret_cast<const uint64_t*>(&numerator));
        }
    }

    uint8_t* product(size_t group) const { return products_ + group * sizeof(RealParts<kParts>); }

    // Leaves the product of all denominators after a group's in the scratch.
    FOREBAY_AVX2_INLINE void multiply_denominators(RealParts<kParts>& running, size_t groups) const {
        running = RealParts<kParts>{};
        running.part[0].limb[0] = _mm256_set1_pd(1.0);
        for (size_t number = groups; number-- > 0;) {
            std::memcpy(product(number), &running, sizeof(running));
            const Group group = group_of(number);
            IntegerParts<kParts> denominators =
                subtract(load_parts<kParts>(group.right, 0), load_parts<kParts>(group.left, 0));
            if (group.any_tangent) set_tangent_denominators(group, denominators);
            const RealParts<kParts> factor = to_reals(denominators);
            multiply(running, running, factor);
        }
    }

    // The inverse of every lane, times 2^kInverseLog.
    FOREBAY_AVX2_INLINE void invert(RealParts<kParts>& running) const {
        Field values[kLanes], before[kLanes], inverted, factor;
        uint64_t* to[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++) to[lane] = reinterpret_cast<uint64_t*>(&values[lane]);
        store_parts(to, 0, canonical(to_integers(running)));
        before[0] = values[0];
        for (size_t lane = 1; lane < kLanes; lane++) mul(before[lane], before[lane - 1], values[lane]);
        inverse(inverted, before[kLanes - 1]);
        set_small(factor, uint64_t{1} << kInverseLog);
        for (size_t lane = kLanes; lane-- > 0;) {
            const Field own = values[lane];
            if (lane > 0) {
                mul(values[lane], inverted, before[lane - 1]);
                mul(inverted, inverted, own);
            } else {
                values[0] = inverted;
            }
            mul(values[lane], values[lane], factor);
        }
        const uint64_t* const from[kLanes] = {to[0], to[1], to[2], to[3]};
        running = to_reals(load_parts<kParts>(from, 0));
    }

    void move(size_t k) const {
        const Pair& pair = pairs_[k];
        Affine& out = points_.out[pair.out];
        switch (kinds_[k]) {
            case PairKind::kLeft:
                portable::move_operand<G>(out, points_.left[pair.left >> 1], pair.left & 1);
                break;
            case PairKind::kRight:
                portable::move_operand<G>(out, points_.right[pair.right >> 1], pair.right & 1);
                break;
            case PairKind::kInfinity:
                out = Affine{};
                break;
            default:
                break;
        }
    }

    // Finishes the sums of a group, and what stands between them from pair `next` on; returns the pair after.
    FOREBAY_AVX2_INLINE size_t finish_group(RealParts<kParts>& running, size_t number, size_t next) const {
        const Group group = group_of(number);
        const IntegerParts<kParts> x1 = load_parts<kParts>(group.left, 0);
        const IntegerParts<kParts> x2 = load_parts<kParts>(group.right, 0);
        const IntegerParts<kParts> y1 =
            negate_where(signs(group, &Pair::left), load_parts<kParts>(group.left, kY));
        IntegerParts<kParts> denominators = subtract(x2, x1);
        IntegerParts<kParts> numerators =
            subtract(negate_where(signs(group, &Pair::right), load_parts<kParts>(group.right, kY)), y1);
        if (group.any_tangent) {
            set_tangent_denominators(group, denominators);
            set_tangent_numerators(group, numerators);
        }
        // All operands are read: no later write can reach them.
        const size_t end = sums_[number * kLanes + group.lanes - 1] + 1;
        for (; next < end; next++) move(next);

        RealParts<kParts> before, slope, square, factor;
        std::memcpy(&before, product(number), sizeof(before));
        multiply(before, running, before);
        factor = to_reals(denominators);
        multiply(running, running, factor);
        // Where signs differ, this was a sum of two elements.
        factor = shifted<0>(numerators);
        multiply(slope, before, factor);
        avx2::square(square, slope);
        const IntegerParts<kParts> x3 = canonical(subtract(subtract(to_integers(square), x1), x2));
        factor = shifted<kSlopeLog>(subtract(x1, x3));
        multiply(factor, slope, factor);
        const IntegerParts<kParts> y3 = canonical(subtract(to_integers(factor), y1));

        Affine unused;
        uint64_t* to[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++) {
            Affine& out = lane < group.lanes ? points_.out[group.pairs[lane]->out] : unused;
            to[lane] = reinterpret_cast<uint64_t*>(&out);
        }
        store_parts(to, 0, x3);
        store_parts(to, kY, y3);
        return end;
    }

    FOREBAY_AVX2_INLINE static __m256i signs(const Group& group, uint32_t Pair::* operand) {
        long long mask[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++)
            mask[lane] = -(long long){group.pairs[lane]->*operand & 1};
        return _mm256_set_epi64x(mask[3], mask[2], mask[1], mask[0]);
    }

    Points<G> points_;
    const Pair* pairs_;
    size_t count_;
    PairKind* kinds_;
    uint32_t* sums_;
    uint8_t* products_;
    size_t sum_count_ = 0;
};

}  // namespace forebay::avx2
