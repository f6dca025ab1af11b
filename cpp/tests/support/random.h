// Random values that are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay::testing {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
class Random {
   public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
        return mixed ^ mixed >> 31;
    }

    // Below `bound`, which is not 0.
    size_t below(size_t bound) { return next() % bound; }
    bool once_in(size_t times) { return below(times) == 0; }

   private:
    uint64_t state_;
};

}  // namespace forebay::testing
