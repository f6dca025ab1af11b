#include "support/processor.h"

#include <cstdlib>

#if defined(__x86_64__)

// blst's: what it found when the program was loaded; ADX alone.
extern "C" int __blst_platform_cap;
// The compiler's, behind __builtin_cpu_supports.
extern "C" volatile unsigned __cpu_features2[1];

namespace forebay::testing {
namespace {

bool has_adx() {
    // The compiler does not expect that the answer changes.
    asm volatile("" ::: "memory");
    return __builtin_cpu_supports("adx");
}

}  // namespace

void hide_adx_if_asked() {
    if (std::getenv("FOREBAY_TEST_WITHOUT_ADX") == nullptr) return;
    __blst_platform_cap = 0;
    __builtin_cpu_init();
    // The bit is the one that makes the difference.
    for (unsigned bit = 0; bit < 32 && has_adx(); bit++) {
        const unsigned before = __cpu_features2[0];
        __cpu_features2[0] = before & ~(1u << bit);
        if (has_adx()) __cpu_features2[0] = before;
    }
    if (has_adx()) std::abort();
}

}  // namespace forebay::testing

#else

namespace forebay::testing {

void hide_adx_if_asked() {}

}  // namespace forebay::testing

#endif
