// Many multiples of one base: outᵢ = scalarᵢ·base, from tables of the base's multiples at every window.
#pragma once

#include "msm/msm.h"

namespace forebay {

// Scratch for `count` multiples; tables included.
template <class G>
size_t fixed_base_scratch(size_t count, size_t threads);

// Scalars are in Montgomery form and stay as they are.
template <class G>
void fixed_base(const typename G::Affine& base, const Fr* scalars, typename G::Affine* out, size_t count,
                Scratch scratch, const Workers& workers);

// The first point that is not on the curve or not in the subgroup; `count` where all are. Infinity is valid.
template <class G>
size_t first_invalid(const typename G::Affine* points, size_t count, const Workers& workers);

}  // namespace forebay
