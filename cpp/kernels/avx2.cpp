#include "kernels/avx2.h"

#include "kernels/portable.h"

#if defined(__x86_64__)

#include "kernels/avx2/add_pairs.h"
#include "kernels/avx2/rounding.h"
#include "kernels/avx2_transform.h"

namespace forebay {
namespace avx2 {

FOREBAY_AVX2 void multiply(Reals<FpLimbs>& r, const Reals<FpLimbs>& a, const Reals<FpLimbs>& b) {
    reduce_rows(r, ProductRows<FpLimbs, 1>{{&a}, {&b}});
}

FOREBAY_AVX2 void square(Reals<FpLimbs>& r, const Reals<FpLimbs>& a) {
    reduce_rows(r, SquareRows<FpLimbs>{a});
}

FOREBAY_AVX2 void multiply_add(Reals<FpLimbs>& r, const Reals<FpLimbs>& a, const Reals<FpLimbs>& b,
                               const Reals<FpLimbs>& c, const Reals<FpLimbs>& d) {
    reduce_rows(r, ProductRows<FpLimbs, 2>{{&a, &c}, {&b, &d}});
}

namespace {

// A batch this small is an inversion above all.
constexpr size_t kLeastPairs = 8;

template <class G>
FOREBAY_AVX2 void add_pairs(const Points<G>& points, const Pair* pairs, size_t count,
                            const PairScratch<G>& scratch) {
    if (count < kLeastPairs) return portable::add_pairs<G>(points, pairs, count, scratch);
    const Rounding rounding;
    PairAdder<G>(points, pairs, count, scratch).run();
}

}  // namespace
}  // namespace avx2

const Kernels* avx2_kernels() {
    static const Kernels kernels = {
        "avx2",
        avx2::add_pairs<G1>,
        avx2::add_pairs<G2>,
        &avx2::kTransforms,
    };
    const bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return supported ? &kernels : nullptr;
}

}  // namespace forebay

#else

namespace forebay {

const Kernels* avx2_kernels() { return nullptr; }

}  // namespace forebay

#endif
