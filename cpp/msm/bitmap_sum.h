// Sums of the points that a bitmap selects.
#pragma once

#include "msm/msm.h"

namespace forebay {

// `words` words of 64 variables each. A variable's point is `offset` plus its rank within `density`, or plus
// its own number where `density` is null; variables outside the density have no point.
struct Selection {
    const uint64_t* selected;
    const uint64_t* density;
    size_t words;
    size_t offset;
};

template <class G>
size_t bitmap_scratch(size_t words, size_t threads);

// Σ of the points of the variables that are selected and have one.
template <class G>
typename G::Point bitmap_sum(const typename G::Affine* points, size_t count, const Selection& selection,
                             Scratch scratch, const Workers& workers);

}  // namespace forebay
