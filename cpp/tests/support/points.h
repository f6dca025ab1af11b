// Points of the groups, known as multiples of the generator.
#pragma once

#include <vector>

#include "curve/group.h"
#include "support/values.h"

namespace forebay::testing {

inline const G1::Point& generator(const G1&) { return *blst_p1_generator(); }
inline const G2::Point& generator(const G2&) { return *blst_p2_generator(); }

// factor·generator.
template <class G>
typename G::Point multiple(const Fr& factor) {
    blst_scalar scalar;
    blst_scalar_from_fr(&scalar, &factor);
    typename G::Point point;
    G::multiply(point, generator(G{}), scalar.b, 255);
    return point;
}

template <class G>
typename G::Affine affine(const typename G::Point& point) {
    typename G::Affine packed;
    G::to_affine(packed, point);
    return packed;
}

template <class G>
bool same_point(const typename G::Point& a, const typename G::Point& b) {
    return same(affine<G>(a), affine<G>(b));
}

template <class G>
struct KnownPoints {
    std::vector<Fr> factors;
    std::vector<typename G::Affine> points;

    void push(const Fr& factor, const typename G::Affine& point) {
        factors.push_back(factor);
        points.push_back(point);
    }
};

inline Fr negative(const Fr& value) {
    Fr result;
    sub(result, Fr{}, value);
    return result;
}

// P, 2P, 3P ...: consecutive differences are equal.
template <class G>
KnownPoints<G> progression(size_t count, const Fr& first) {
    KnownPoints<G> known;
    const typename G::Point step = multiple<G>(first);
    typename G::Point point = step;
    Fr factor = first;
    for (size_t i = 0; i < count; i++) {
        known.push(factor, affine<G>(point));
        G::add(point, point, step);
        add(factor, factor, first);
    }
    return known;
}

// Points of no pattern: each doubles the one before and adds one of a few.
template <class G>
KnownPoints<G> scattered(size_t count, Random& random) {
    constexpr size_t kSteps = 8;
    Fr steps[kSteps], factor = random_element<Fr>(random);
    typename G::Point step_points[kSteps], point = multiple<G>(factor);
    for (size_t i = 0; i < kSteps; i++) {
        steps[i] = random_element<Fr>(random);
        step_points[i] = multiple<G>(steps[i]);
    }
    KnownPoints<G> known;
    for (size_t i = 0; i < count; i++) {
        known.push(factor, affine<G>(point));
        const size_t step = random.below(kSteps);
        G::twice(point, point);
        G::add(point, point, step_points[step]);
        add(factor, factor, factor);
        add(factor, factor, steps[step]);
    }
    return known;
}

// Few points, so that equal, opposite and infinite ones meet often.
template <class G>
KnownPoints<G> colliding(size_t count, Random& random) {
    KnownPoints<G> few = scattered<G>(3, random), known;
    few.push(Fr{}, typename G::Affine{});
    for (size_t i = 0; i < count; i++) {
        const size_t which = random.below(few.points.size());
        Fr factor = few.factors[which];
        typename G::Affine point = few.points[which];
        if (random.once_in(2)) {
            factor = negative(factor);
            negate_if(point.y, point.y, true);
        }
        known.push(factor, point);
    }
    return known;
}

}  // namespace forebay::testing
