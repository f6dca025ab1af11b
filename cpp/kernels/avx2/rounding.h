// The floating-point mode that the limb arithmetic relies on.
#pragma once

#include <immintrin.h>

namespace forebay::avx2 {

// Round to nearest with nothing flushed to zero, as long as it lives. A thread has the mode of the thread
// that made it, which may be the host's.
class Rounding {
   public:
    Rounding() : before_(_mm_getcsr()) { _mm_setcsr(kDefault); }
    ~Rounding() { _mm_setcsr(before_); }
    Rounding(const Rounding&) = delete;
    Rounding& operator=(const Rounding&) = delete;

   private:
    static constexpr unsigned kDefault = 0x1f80;
    unsigned before_;
};

}  // namespace forebay::avx2
