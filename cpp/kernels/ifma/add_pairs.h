// Batched affine addition, eight sums at a time. Same contract as portable::add_pairs.
#pragma once

#include "curve/add_pairs.h"
#include "kernels/ifma/coordinates.h"

namespace forebay::FOREBAY_IFMA {
namespace {

// How often 2^-32, what `multiply` leaves too little of blst's factor, and powers of it meet in a sum: with
// inverses too large by 2^48, slopes are too large by 2^16, which makes their squares right; the other factor
// of y takes 2^16 more.
constexpr int kInverseLog = kExtraLog * 3 / 2;
constexpr int kSlopeLog = kExtraLog / 2;

// One element of Fp or Fp2 in blst's form.
inline void multiply_one(Fp& r, const Fp& a, const Fp& b) { blst_fp_mul(&r, &a, &b); }
inline void multiply_one(Fp2& r, const Fp2& a, const Fp2& b) { blst_fp2_mul(&r, &a, &b); }
inline void invert_one(Fp& r, const Fp& a) { blst_fp_eucl_inverse(&r, &a); }
inline void invert_one(Fp2& r, const Fp2& a) { blst_fp2_eucl_inverse(&r, &a); }
inline void power_of_two(Fp& r, int log) {
    const uint64_t limbs[6] = {uint64_t{1} << log, 0, 0, 0, 0, 0};
    blst_fp_from_uint64(&r, limbs);
}
inline void power_of_two(Fp2& r, int log) {
    r = Fp2{};
    power_of_two(r.fp[0], log);
}

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
          products_(reinterpret_cast<uint64_t*>(scratch.products)),
          first_sum_(count) {}

    void run() {
        Coordinates<kParts> running;
        multiply_denominators(running);
        size_t next = 0;
        if (first_sum_ < count_) invert(running);
        for (size_t group = groups_; group-- > 0;) next = finish_group(running, group, next);
        for (; next < count_; next++) move(next);
    }

   private:
    static constexpr size_t kParts = sizeof(Field) / sizeof(Fp);
    static constexpr size_t kY = kParts * FpField::kWords;
    static constexpr size_t kPointWords = 2 * kY;
    // How many pairs ahead operands are fetched: their latency passes under a few multiplications.
    static constexpr size_t kFetchAhead = 64;

    // The operands of eight sums.
    struct Group {
        const Pair* pairs[kLanes];
        const uint64_t* left[kLanes];
        const uint64_t* right[kLanes];
        Mask left_negative;
        Mask right_negative;
        Mask tangent;
        size_t lanes;
    };

    const uint64_t* left(const Pair& pair) const {
        return reinterpret_cast<const uint64_t*>(points_.left + (pair.left >> 1));
    }
    const uint64_t* right(const Pair& pair) const {
        return reinterpret_cast<const uint64_t*>(points_.right + (pair.right >> 1));
    }

    static void prefetch(const uint64_t* point) {
        for (size_t word = 0; word + 8 < kPointWords; word += 8) __builtin_prefetch(point + word);
        __builtin_prefetch(point + kPointWords - 1);
    }

    // Fetches the operands of pairs first to last - 1.
    FOREBAY_INLINE void fetch(size_t first, size_t last) const {
        for (size_t k = first; k < last; k++) {
            prefetch(left(pairs_[k]));
            if (pairs_[k].right != kNoOperand) prefetch(right(pairs_[k]));
        }
    }

    static bool all_zero(const uint64_t* words, size_t count) {
        uint64_t any = 0;
        for (size_t i = 0; i < count; i++) any |= words[i];
        return any == 0;
    }

    // The kind of a pair whose abscissas agree in one word or have a zero word.
    PairKind kind_of(const Pair& pair) const {
        const uint64_t *a = left(pair), *b = right(pair);
        if (all_zero(a, kPointWords)) return PairKind::kRight;
        if (all_zero(b, kPointWords)) return PairKind::kLeft;
        if (std::memcmp(a, b, kY * sizeof(uint64_t)) != 0) return PairKind::kAdd;
        uint64_t opposite[kY];
        std::memcpy(opposite, b + kY, sizeof(opposite));
        if ((pair.left & 1) == (pair.right & 1)) negate(opposite);
        const bool cancel = std::memcmp(a + kY, opposite, sizeof(opposite)) == 0;
        return cancel ? PairKind::kInfinity : PairKind::kDouble;
    }

    // Finds the kinds of pairs first to last - 1, from the last one down, and lists those that need a sum
    // before the ones found so far.
    FOREBAY_INLINE void classify(size_t first, size_t last) {
        for (size_t k = last; k-- > first;) {
            const Pair& pair = pairs_[k];
            PairKind kind = PairKind::kAdd;
            if (pair.right == kNoOperand) {
                kind = PairKind::kLeft;
            } else {
                const uint64_t a = *left(pair), b = *right(pair);
                if (a == b || a == 0 || b == 0) kind = kind_of(pair);
            }
            kinds_[k] = kind;
            sums_[first_sum_ - 1] = static_cast<uint32_t>(k);
            first_sum_ -= kind <= PairKind::kDouble;
        }
    }

    // Group 0 has the last eight sums of the list; the one with the highest number, the first of the list,
    // may have fewer.
    Group group_of(size_t number) const {
        Group group{};
        const size_t end = count_ - number * kLanes;
        group.lanes = end - first_sum_ < kLanes ? end - first_sum_ : kLanes;
        const size_t first = end - group.lanes;
        for (size_t lane = 0; lane < kLanes; lane++) {
            // Lanes that are left over repeat the first.
            const uint32_t at = sums_[first + (lane < group.lanes ? lane : 0)];
            const Pair& pair = pairs_[at];
            group.pairs[lane] = &pair;
            group.left[lane] = left(pair);
            group.right[lane] = right(pair);
            group.left_negative |= static_cast<Mask>((pair.left & 1) << lane);
            group.right_negative |= static_cast<Mask>((pair.right & 1) << lane);
            group.tangent |= static_cast<Mask>((kinds_[at] == PairKind::kDouble) << lane);
        }
        return group;
    }

    uint64_t* product_of(size_t group) const { return products_ + group * kParts * FpField::kLimbs * kLanes; }

    void save(size_t group, const Coordinates<kParts>& a) const {
        uint64_t* to = product_of(group);
        for (size_t i = 0; i < kParts * FpField::kLimbs; i++) {
            store(to + i * kLanes, a.part[i / FpField::kLimbs].limb[i % FpField::kLimbs]);
        }
    }

    Coordinates<kParts> saved(size_t group) const {
        Coordinates<kParts> a;
        const uint64_t* from = product_of(group);
        for (size_t i = 0; i < kParts * FpField::kLimbs; i++) {
            a.part[i / FpField::kLimbs].limb[i % FpField::kLimbs] = load(from + i * kLanes);
        }
        return a;
    }

    // x₂ − x₁ of a chord, y₁ + y₂ of a tangent: carried, below 4p.
    FOREBAY_INLINE Coordinates<kParts> denominators(const Group& group, const Coordinates<kParts>& x1,
                                                    const Coordinates<kParts>& x2) const {
        const Coordinates<kParts> chord = raise<1>(subtract(x2, x1));
        if (__builtin_expect(group.tangent == 0, true)) return carried(chord);
        return with_tangents(group, chord);
    }

    FOREBAY_CALL Coordinates<kParts> with_tangents(const Group& group,
                                                   const Coordinates<kParts>& chord) const {
        const auto y1 = negate_where(group.left_negative, load_coordinates<kParts>(group.left, kY));
        const auto y2 = negate_where(group.right_negative, load_coordinates<kParts>(group.right, kY));
        return carried(select(group.tangent, raise<2>(add(y1, y2)), chord));
    }

    // 3x² of a tangent, otherwise the chord's: carried, below 10p.
    FOREBAY_CALL Coordinates<kParts> with_tangent_numerators(const Group& group, const Coordinates<kParts>& x,
                                                             const Coordinates<kParts>& chord) const {
        Coordinates<kParts> x_squared;
        multiply_raw(x_squared, shifted<kExtraLog>(x), x);
        const auto three = add(add(x_squared, x_squared), x_squared);
        return carried(select(group.tangent, three, chord));
    }

    // Leaves the product of all denominators after a group's in the scratch. From the last pair down: sums
    // are finished from the first one up, as later pairs may write over operands of earlier ones.
    FOREBAY_CALL void multiply_denominators(Coordinates<kParts>& running) {
        running = Coordinates<kParts>{};
        running.part[0].limb[0] = splat(1);
        fetch(count_ > kFetchAhead ? count_ - kFetchAhead : 0, count_);
        for (size_t end = count_; end > 0;) {
            const size_t begin = end > kLanes ? end - kLanes : 0;
            if (end > kFetchAhead) fetch(begin > kFetchAhead ? begin - kFetchAhead : 0, end - kFetchAhead);
            classify(begin, end);
            end = begin;
            // Eight pairs at most were added, so one group at most is complete.
            if (ungrouped() >= kLanes) multiply_group(running);
        }
        if (ungrouped() > 0) multiply_group(running);
    }

    size_t ungrouped() const { return count_ - first_sum_ - groups_ * kLanes; }

    FOREBAY_CALL void multiply_group(Coordinates<kParts>& running) {
        save(groups_, running);
        const Group group = group_of(groups_++);
        const auto x1 = load_coordinates<kParts>(group.left, 0);
        const auto x2 = load_coordinates<kParts>(group.right, 0);
        multiply(running, running, denominators(group, x1, x2));
    }

    // The inverse of every lane, times 2^kInverseLog.
    FOREBAY_CALL void invert(Coordinates<kParts>& running) const {
        alignas(64) uint64_t rows[kY][kLanes];
        Field values[kLanes], before[kLanes], inverted, factor;
        for (size_t i = 0; i < kParts; i++) {
            const Words<FpField> words = to_words(canonical(running.part[i]));
            for (size_t j = 0; j < FpField::kWords; j++) store(rows[i * FpField::kWords + j], words.word[j]);
        }
        for (size_t lane = 0; lane < kLanes; lane++) {
            auto* words = reinterpret_cast<uint64_t*>(&values[lane]);
            for (size_t i = 0; i < kY; i++) words[i] = rows[i][lane];
        }
        before[0] = values[0];
        for (size_t lane = 1; lane < kLanes; lane++) {
            multiply_one(before[lane], before[lane - 1], values[lane]);
        }
        invert_one(inverted, before[kLanes - 1]);
        power_of_two(factor, kInverseLog);
        multiply_one(inverted, inverted, factor);
        for (size_t lane = kLanes; lane-- > 1;) {
            const Field own = values[lane];
            multiply_one(values[lane], inverted, before[lane - 1]);
            multiply_one(inverted, inverted, own);
        }
        values[0] = inverted;
        for (size_t lane = 0; lane < kLanes; lane++) {
            const auto* words = reinterpret_cast<const uint64_t*>(&values[lane]);
            for (size_t i = 0; i < kParts; i++) {
                set_lane(running.part[i], lane, words + i * FpField::kWords);
            }
        }
    }

    void move(size_t k) const {
        const Pair& pair = pairs_[k];
        switch (kinds_[k]) {
            case PairKind::kLeft:
                move_operand(pair.out, left(pair), pair.left & 1);
                break;
            case PairKind::kRight:
                move_operand(pair.out, right(pair), pair.right & 1);
                break;
            case PairKind::kInfinity:
                points_.out[pair.out] = Affine{};
                break;
            default:
                break;
        }
    }

    void move_operand(uint32_t out, const uint64_t* from, bool negative) const {
        uint64_t words[kPointWords];
        std::memcpy(words, from, sizeof(words));
        if (negative) negate(words + kY);
        std::memcpy(static_cast<void*>(points_.out + out), words, sizeof(words));
    }

    // Every part of y becomes p less it, and 0 stays.
    static void negate(uint64_t* y) {
        for (size_t part = 0; part < kParts; part++, y += FpField::kWords) {
            if (all_zero(y, FpField::kWords)) continue;
            uint64_t borrow = 0;
            for (size_t i = 0; i < FpField::kWords; i++) {
                const unsigned __int128 difference =
                    static_cast<unsigned __int128>(FpField::kModulus[i]) - y[i] - borrow;
                y[i] = static_cast<uint64_t>(difference);
                borrow = static_cast<uint64_t>(difference >> 64) & 1;
            }
        }
    }

    // Finishes the sums of a group, and what stands between them from pair `next` on; returns the pair after.
    FOREBAY_CALL size_t finish_group(Coordinates<kParts>& running, size_t number, size_t next) const {
        const Group group = group_of(number);
        const auto x1 = load_coordinates<kParts>(group.left, 0);
        const auto x2 = load_coordinates<kParts>(group.right, 0);
        const auto y1 = negate_where(group.left_negative, load_coordinates<kParts>(group.left, kY));
        const auto y2 = negate_where(group.right_negative, load_coordinates<kParts>(group.right, kY));
        // Between −2p and 2p before p is added twice.
        auto numerators = carried(raise<2>(subtract(y2, y1)));
        const auto denominator = denominators(group, x1, x2);
        if (__builtin_expect(group.tangent != 0, false)) {
            numerators = with_tangent_numerators(group, x1, numerators);
        }
        // All operands are read: no later write can reach them.
        const size_t end = sums_[count_ - number * kLanes - 1] + 1;
        for (; next < end; next++) move(next);

        Coordinates<kParts> inverse, slope, slope_squared, last;
        multiply(inverse, running, saved(number));
        multiply(running, running, denominator);
        multiply(slope, inverse, numerators);
        square_raw(slope_squared, slope);
        const auto x3 = canonical(raise<2>(subtract(subtract(slope_squared, x1), x2)));
        multiply_raw(last, slope, shifted<kSlopeLog>(carried(raise<1>(subtract(x1, x3)))));
        const auto y3 = canonical(raise<1>(subtract(last, y1)));
        store_group(group, x3, y3);
        return end;
    }

    FOREBAY_INLINE void store_group(const Group& group, const Coordinates<kParts>& x,
                                    const Coordinates<kParts>& y) const {
        Affine unused;
        uint64_t* to[kLanes];
        for (size_t lane = 0; lane < kLanes; lane++) {
            Affine& out = lane < group.lanes ? points_.out[group.pairs[lane]->out] : unused;
            to[lane] = reinterpret_cast<uint64_t*>(&out);
        }
        store_points(to, x, y);
    }

    Points<G> points_;
    const Pair* pairs_;
    size_t count_;
    PairKind* kinds_;
    uint32_t* sums_;
    uint64_t* products_;
    // Sums are listed at the end of `sums_`, and are so many groups.
    size_t first_sum_;
    size_t groups_ = 0;
};

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
