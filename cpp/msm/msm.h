// Multi-scalar multiplication: Σ scalarᵢ·pointᵢ (Pippenger's bucket method with signed digits).
#pragma once

#include "curve/group.h"
#include "parallel/workers.h"

namespace forebay {

struct Scratch {
    uint8_t* base;
    size_t size;
};

enum class ScalarForm { kMontgomery, kCanonical };

// Which point scalar i belongs to: indices[i], or i where there are none.
template <class G>
struct MsmPoints {
    const typename G::Affine* points;
    size_t count;
    const uint32_t* indices;
};

// The least scratch that a multiplication by `scalars` scalars needs; more makes it a little faster.
template <class G>
size_t msm_scratch(size_t scalars, size_t threads);

// Destroys the scalars.
template <class G>
typename G::Point msm(const MsmPoints<G>& points, Fr* scalars, size_t count, ScalarForm form, Scratch scratch,
                      const Workers& workers);

}  // namespace forebay
