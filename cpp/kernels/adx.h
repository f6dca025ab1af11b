#pragma once

#include "kernels/table.h"

namespace forebay::adx {

// Whether this processor has BMI2 and ADX, which the rest needs.
bool supported();

// As portable::add_pairs in G1, with products of our own.
void add_pairs_g1(const Points<G1>& points, const Pair* pairs, size_t count, const PairScratch<G1>& scratch);

// As in portable.
void forward_row(Fr* low, Fr* high, const Fr& twiddle, size_t count);
void inverse_row(Fr* low, Fr* high, const Fr& twiddle, size_t count);

}  // namespace forebay::adx
