#include "kernels/avx2_transform.h"

#include "kernels/portable.h"

#if defined(__x86_64__)

#include <algorithm>

#include "kernels/avx2/butterflies.h"
#include "kernels/avx2/rounding.h"

namespace forebay {
namespace avx2 {
namespace {

constexpr size_t kHeldRows = size_t{1} << kHeldLevels;

enum class Way { kForward, kInverse };

// `levels` levels over 2^levels rows; twiddles[2^j + t] belongs to block t of level j.
template <Way way>
FOREBAY_AVX2 void held_levels(FrReals* rows, unsigned levels, const FrReals* twiddles) {
    for (unsigned step = 0; step < levels; step++) {
        const unsigned level = way == Way::kForward ? step : levels - 1 - step;
        const size_t blocks = size_t{1} << level, half = size_t{1} << (levels - 1 - level);
        for (size_t block = 0; block < blocks; block++) {
            for (size_t i = 0; i < half; i++) {
                FrReals& low = rows[2 * half * block + i];
                FrReals& high = rows[2 * half * block + half + i];
                if (way == Way::kForward) {
                    forward_butterfly(low, high, twiddles[blocks + block]);
                } else {
                    inverse_butterfly(low, high, twiddles[blocks + block]);
                }
            }
        }
    }
}

// Levels `first` to `first` + `held` - 1 of a tile whose rows are `width` elements, a multiple of four.
template <Way way>
FOREBAY_AVX2 void run_levels(Fr* tile, unsigned levels, size_t width, const Fr* twiddles, unsigned first,
                             unsigned held) {
    FrReals rows[kHeldRows], factors[kHeldRows];
    const size_t count = size_t{1} << held, stride = width << (levels - first - held);
    for (size_t block = 0; block < size_t{1} << first; block++) {
        for (unsigned level = 0; level < held; level++) {
            const size_t inner = size_t{1} << level;
            const Fr* from = twiddles + (inner << first) + block * inner;
            for (size_t t = 0; t < inner; t++) factors[inner + t] = same_factor(from[t]);
        }
        Fr* start = tile + block * count * stride;
        for (size_t column = 0; column < stride; column += kLanes) {
            for (size_t row = 0; row < count; row++) rows[row] = load_row(start + row * stride + column);
            held_levels<way>(rows, held, factors);
            for (size_t row = 0; row < count; row++) store_row(start + row * stride + column, rows[row]);
        }
    }
}

// The last two levels of a tile of one column: each lane takes four neighbours.
template <Way way>
FOREBAY_AVX2_CALL void run_quads(Fr* tile, unsigned levels, const Fr* twiddles) {
    const size_t quads = size_t{1} << (levels - 2);
    const Fr* outer = twiddles + quads;
    const Fr* inner = twiddles + 2 * quads;
    for (size_t quad = 0; quad < quads; quad += kLanes) {
        FrReals rows[4], factors[4];
        const auto at = [](const Fr* from, size_t stride) FOREBAY_AVX2 {
            const uint64_t* const lanes[kLanes] = {from[0].l, from[stride].l, from[2 * stride].l,
                                                   from[3 * stride].l};
            return load<FrLimbs>(lanes, 0);
        };
        factors[1] = factor_of(at(outer + quad, 1));
        factors[2] = factor_of(at(inner + 2 * quad, 2));
        factors[3] = factor_of(at(inner + 2 * quad + 1, 2));
        Fr* start = tile + 4 * quad;
        for (size_t i = 0; i < 4; i++) rows[i] = to_reals(at(start + i, 4));
        held_levels<way>(rows, 2, factors);
        for (size_t i = 0; i < 4; i++) {
            uint64_t* const to[kLanes] = {start[i].l, start[4 + i].l, start[8 + i].l, start[12 + i].l};
            store(to, 0, positive(rows[i]));
        }
    }
}

// As few groups of levels as possible, of about the same number.
template <Way way>
FOREBAY_AVX2_CALL void run_tile(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    const unsigned groups = (levels + kHeldLevels - 1) / kHeldLevels;
    for (unsigned step = 0; step < groups; step++) {
        const unsigned group = way == Way::kForward ? step : groups - 1 - step;
        const unsigned first = levels * group / groups, last = levels * (group + 1) / groups;
        run_levels<way>(tile, levels, width, twiddles, first, last - first);
    }
}

}  // namespace

void ntt_forward(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    const Rounding rounding;
    if (width % kLanes == 0) return run_tile<Way::kForward>(tile, levels, width, twiddles);
    if (width != 1 || levels < 4) return kPortableKernels.ntt_forward(tile, levels, width, twiddles);
    run_tile<Way::kForward>(tile, levels - 2, kLanes, twiddles);
    run_quads<Way::kForward>(tile, levels, twiddles);
}

void ntt_inverse(Fr* tile, unsigned levels, size_t width, const Fr* twiddles) {
    const Rounding rounding;
    if (width % kLanes == 0) return run_tile<Way::kInverse>(tile, levels, width, twiddles);
    if (width != 1 || levels < 4) return kPortableKernels.ntt_inverse(tile, levels, width, twiddles);
    run_quads<Way::kInverse>(tile, levels, twiddles);
    run_tile<Way::kInverse>(tile, levels - 2, kLanes, twiddles);
}

}  // namespace avx2
}  // namespace forebay

#endif
