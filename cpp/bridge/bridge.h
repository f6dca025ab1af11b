// What Rust calls: plain slices of 64-bit limbs in, exceptions turned into errors by cxx.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/workers.h"
#include "rust/cxx.h"

namespace forebay {

struct Crew;

using Limbs = rust::Slice<const uint64_t>;
using LimbsMut = rust::Slice<uint64_t>;
using Indices = rust::Slice<const uint32_t>;
using Bytes = rust::Slice<uint8_t>;

void run_task(const Task& task, size_t lane, size_t index);
rust::Str kernel_name();

size_t msm_scratch_g1(size_t scalars, size_t threads);
size_t msm_scratch_g2(size_t scalars, size_t threads);
void msm_g1(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery, Bytes scratch,
            LimbsMut sum);
void msm_g2(const Crew& crew, Limbs points, Indices indices, LimbsMut scalars, bool montgomery, Bytes scratch,
            LimbsMut sum);

size_t fixed_base_scratch_g1(size_t scalars, size_t threads);
size_t fixed_base_scratch_g2(size_t scalars, size_t threads);
void fixed_base_g1(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch);
void fixed_base_g2(const Crew& crew, Limbs base, Limbs scalars, LimbsMut out, Bytes scratch);
size_t first_invalid_g1(const Crew& crew, Limbs points);
size_t first_invalid_g2(const Crew& crew, Limbs points);

}  // namespace forebay
