#include "kernels/butterfly_rows.h"

#include "kernels/adx.h"

namespace forebay::portable {

void forward_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    if (adx::supported()) return adx::forward_row(low, high, twiddle, count);
    for (size_t i = 0; i < count; i++) {
        Fr product;
        mul(product, high[i], twiddle);
        sub(high[i], low[i], product);
        add(low[i], low[i], product);
    }
}

void inverse_row(Fr* low, Fr* high, const Fr& twiddle, size_t count) {
    if (adx::supported()) return adx::inverse_row(low, high, twiddle, count);
    for (size_t i = 0; i < count; i++) {
        Fr difference;
        sub(difference, low[i], high[i]);
        add(low[i], low[i], high[i]);
        mul(high[i], difference, twiddle);
    }
}

}  // namespace forebay::portable
