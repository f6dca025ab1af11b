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

// The index of a scalar that has no point.
constexpr uint32_t kNoPoint = UINT32_MAX;

// Which point scalar i belongs to: indices[i], or i where there are none.
template <class G>
struct MsmPoints {
    const typename G::Affine* points;
    size_t count;
    const uint32_t* indices;
};

// The scratch for a multiplication by `scalars` scalars; more makes one by many a little faster.
template <class G>
size_t msm_scratch(size_t scalars, size_t threads, const Kernels& kernels);

// Destroys the scalars.
template <class G>
typename G::Point msm(const MsmPoints<G>& points, Fr* scalars, size_t count, ScalarForm form, Scratch scratch,
                      const Workers& workers);

// Queries of one proof, all multiplied by the same scalars.
struct QueryPoints {
    MsmPoints<G1> l;
    MsmPoints<G1> a;
    MsmPoints<G1> b_g1;
    MsmPoints<G2> b_g2;
};

struct QuerySums {
    G1::Point l;
    G1::Point a;
    G1::Point b_g1;
    G2::Point b_g2;
};

size_t query_scratch(size_t scalars, size_t threads, const Kernels& kernels);

// As four multiplications, but with the digits sorted once. Destroys the scalars.
QuerySums multiply_queries(const QueryPoints& queries, Fr* scalars, size_t count, ScalarForm form,
                           Scratch scratch, const Workers& workers);

}  // namespace forebay
