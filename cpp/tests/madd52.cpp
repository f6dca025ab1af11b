// The processor's 52-bit multiply-add against its definition.
#if defined(__x86_64__)

#include <immintrin.h>

#include "doctest/doctest.h"
#include "support/random.h"

namespace forebay::testing {
namespace {

constexpr size_t kLanes = 8;
constexpr uint64_t kMask = (uint64_t{1} << 52) - 1;

struct Lanes {
    uint64_t lane[kLanes];
};

Lanes low_defined(const Lanes& sum, const Lanes& a, const Lanes& b) {
    Lanes result;
    for (size_t i = 0; i < kLanes; i++) {
        const auto product = static_cast<unsigned __int128>(a.lane[i] & kMask) * (b.lane[i] & kMask);
        result.lane[i] = sum.lane[i] + (static_cast<uint64_t>(product) & kMask);
    }
    return result;
}

Lanes high_defined(const Lanes& sum, const Lanes& a, const Lanes& b) {
    Lanes result;
    for (size_t i = 0; i < kLanes; i++) {
        const auto product = static_cast<unsigned __int128>(a.lane[i] & kMask) * (b.lane[i] & kMask);
        result.lane[i] = sum.lane[i] + static_cast<uint64_t>(product >> 52);
    }
    return result;
}

__attribute__((target("avx512f,avx512ifma"))) Lanes low_executed(const Lanes& sum, const Lanes& a,
                                                                 const Lanes& b) {
    Lanes result;
    _mm512_storeu_si512(&result, _mm512_madd52lo_epu64(_mm512_loadu_si512(&sum), _mm512_loadu_si512(&a),
                                                       _mm512_loadu_si512(&b)));
    return result;
}

__attribute__((target("avx512f,avx512ifma"))) Lanes high_executed(const Lanes& sum, const Lanes& a,
                                                                  const Lanes& b) {
    Lanes result;
    _mm512_storeu_si512(&result, _mm512_madd52hi_epu64(_mm512_loadu_si512(&sum), _mm512_loadu_si512(&a),
                                                       _mm512_loadu_si512(&b)));
    return result;
}

bool same_lanes(const Lanes& a, const Lanes& b) {
    for (size_t i = 0; i < kLanes; i++) {
        if (a.lane[i] != b.lane[i]) return false;
    }
    return true;
}

bool supported() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512ifma"); }

Lanes random_lanes(Random& random) {
    const uint64_t edges[] = {0, 1, kMask, kMask - 1, kMask + 1, UINT64_MAX, uint64_t{1} << 51};
    Lanes lanes;
    for (uint64_t& lane : lanes.lane) lane = random.once_in(3) ? edges[random.below(7)] : random.next();
    return lanes;
}

}  // namespace

TEST_CASE("kernel: the emulated madd52 equals the instruction" * doctest::skip(!supported())) {
    Random random(70);
    size_t wrong = 0;
    for (size_t i = 0; i < 2000; i++) {
        const Lanes sum = random_lanes(random), a = random_lanes(random), b = random_lanes(random);
        wrong += !same_lanes(low_executed(sum, a, b), low_defined(sum, a, b));
        wrong += !same_lanes(high_executed(sum, a, b), high_defined(sum, a, b));
    }
    CHECK(wrong == 0);
}

}  // namespace forebay::testing

#endif
