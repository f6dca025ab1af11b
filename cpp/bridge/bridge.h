// What Rust calls: plain slices of 64-bit limbs in, exceptions turned into errors by cxx.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/workers.h"
#include "rust/cxx.h"

namespace forebay {

struct Crew;
struct Kernels;
struct SumG1;
struct SumG2;
struct QueryTerms;
struct QueryLimbs;

using Limbs = rust::Slice<const uint64_t>;
using LimbsMut = rust::Slice<uint64_t>;
using Indices = rust::Slice<const uint32_t>;
using Bytes = rust::Slice<uint8_t>;

void run_task(const Task& task, size_t lane, size_t index);
// The kernels of this name, or the fastest ones for `auto`. Throws where this processor does not run them.
const Kernels& find_kernels(rust::Str name);
rust::Str kernel_name(const Kernels& kernels);
// The names of all that this processor runs.
rust::Vec<rust::String> kernel_names();

// One kernel each. A pair is two operands, as in Pair; its sum goes to the result of its own number.
void add_pairs_g1(const Kernels& kernels, Limbs points, Indices pairs, LimbsMut out, Bytes scratch);
void add_pairs_g2(const Kernels& kernels, Limbs points, Indices pairs, LimbsMut out, Bytes scratch);
// blst's arithmetic, which portable kernels replace by their own where the processor has ADX.
void blst_pairs_g1(Limbs points, Indices pairs, LimbsMut out, Bytes scratch);
// A tile whose rows lie side by side.
void butterflies(const Kernels& kernels, bool inverse, uint32_t levels, LimbsMut tile, Limbs twiddles,
                 Bytes scratch);
// `product` is a Product; see ProductBatch.
void repeat_product(const Kernels& kernels, uint32_t product, LimbsMut values, Limbs factors, size_t rounds);

size_t msm_scratch_g1(const Kernels& kernels, size_t scalars, size_t threads);
size_t msm_scratch_g2(const Kernels& kernels, size_t scalars, size_t threads);
SumG1 msm_g1(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery,
             Bytes scratch);
SumG2 msm_g2(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery,
             Bytes scratch);

// The queries of one proof by the same scalars. An index of 2^32 - 1: the scalar has no point in that query.
size_t query_scratch(const Kernels& kernels, size_t scalars, size_t threads);
QueryLimbs multiply_queries(const Crew& crew, const QueryTerms& queries, LimbsMut scalars, bool montgomery,
                            Bytes scratch);

size_t fixed_base_scratch_g1(size_t scalars, size_t threads);
size_t fixed_base_scratch_g2(size_t scalars, size_t threads);
void fixed_base_g1(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch);
void fixed_base_g2(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch);
size_t first_invalid_g1(const Crew& crew, Limbs points);
size_t first_invalid_g2(const Crew& crew, Limbs points);

size_t bitmap_scratch_g1(size_t words, size_t threads);
size_t bitmap_scratch_g2(size_t words, size_t threads);
// An empty density: every variable has a point.
SumG1 bitmap_sum_g1(const Crew& crew, Limbs points, size_t offset, Limbs selected, Limbs density,
                    Bytes scratch);
SumG2 bitmap_sum_g2(const Crew& crew, Limbs points, size_t offset, Limbs selected, Limbs density,
                    Bytes scratch);

size_t domain_scratch(size_t threads);
// Natural order in and out; the inverse includes the factor 1/n. At most `pass_levels` levels a pass, 1
// to 11.
void ntt(const Crew& crew, LimbsMut values, bool inverse, bool coset, uint32_t pass_levels, Bytes scratch);
void quotient_multiply(const Crew& crew, LimbsMut a, LimbsMut b, Bytes scratch);
void quotient_divide(const Crew& crew, LimbsMut product, LimbsMut c, Bytes scratch);

}  // namespace forebay
