#pragma once

#include "field/field.h"

namespace forebay::portable {

// `count` butterflies with one twiddle, on any processor; blst's arithmetic or, with ADX, our own.
// low[i], high[i] = low[i] ± twiddle·high[i].
void forward_row(Fr* low, Fr* high, const Fr& twiddle, size_t count);
// low[i], high[i] = low[i] + high[i], twiddle·(low[i] − high[i]).
void inverse_row(Fr* low, Fr* high, const Fr& twiddle, size_t count);

}  // namespace forebay::portable
