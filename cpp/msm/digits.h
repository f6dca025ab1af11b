// Signed digits of scalars. A scalar above r/2 is replaced by its negative, and half a window is added at
// every window but the last, so that each digit can be read on its own, without carries.
#pragma once

#include <algorithm>
#include <cstring>

#include "field/field.h"

namespace forebay {

constexpr unsigned kScalarBits = 255;
constexpr unsigned kMinWindow = 5;
constexpr unsigned kMaxWindow = 20;

struct Digit {
    uint32_t magnitude;  // 0 to 2^(window - 1)
    uint32_t negative;
};

// Where the digits of a window are.
struct DigitReader {
    unsigned word, shift;
    uint32_t mask;
    int32_t half;

    Digit read(const uint64_t recoded[4]) const {
        const auto pair = static_cast<unsigned __int128>(recoded[word + 1]) << 64 | recoded[word];
        const int32_t value = static_cast<int32_t>(static_cast<uint32_t>(pair >> shift) & mask) - half;
        const int32_t negative = value >> 31;
        const auto sign = static_cast<uint32_t>(recoded[3] >> 63);
        return {static_cast<uint32_t>((value ^ negative) - negative), sign ^ (negative & 1u)};
    }
};

class Recoder {
   public:
    explicit Recoder(unsigned window) : window_(window), windows_((kScalarBits + window - 1) / window) {
        for (unsigned w = 0; w + 1 < windows_; w++) {
            const unsigned bit = w * window + window - 1;
            offset_[bit / 64] |= uint64_t{1} << (bit % 64);
        }
    }

    unsigned windows() const { return windows_; }

    // In place: canonical integer to the form that `digit` reads.
    void recode(uint64_t scalar[4]) const {
        const bool negative = above_half(scalar);
        if (negative) subtract_from_order(scalar);
        unsigned __int128 carry = 0;
        for (size_t i = 0; i < 4; i++) {
            carry += static_cast<unsigned __int128>(scalar[i]) + offset_[i];
            scalar[i] = static_cast<uint64_t>(carry);
            carry >>= 64;
        }
        scalar[3] |= static_cast<uint64_t>(negative) << 63;
    }

    // Reads the digits of one window.
    DigitReader reader(unsigned w) const {
        DigitReader reader;
        const unsigned bit = w * window_;
        const bool last = w + 1 == windows_;
        // The word that the digit ends in, seen from the one before: a digit never needs a third.
        const unsigned bits = last ? kScalarBits - bit : window_;
        reader.word = std::min(bit / 64, 2u);
        reader.shift = bit - 64 * reader.word;
        reader.mask = static_cast<uint32_t>((uint64_t{1} << bits) - 1);
        reader.half = last ? 0 : int32_t{1} << (window_ - 1);
        return reader;
    }

    Digit digit(const uint64_t recoded[4], unsigned w) const { return reader(w).read(recoded); }

   private:
    static constexpr uint64_t kOrder[4] = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                           0x73eda753299d7d48};
    static constexpr uint64_t kHalfOrder[4] = {0x7fffffff80000000, 0xa9ded2017fff2dff, 0x199cec0404d0ec02,
                                               0x39f6d3a994cebea4};

    static bool above_half(const uint64_t scalar[4]) {
        for (size_t i = 4; i-- > 0;) {
            if (scalar[i] != kHalfOrder[i]) return scalar[i] > kHalfOrder[i];
        }
        return false;
    }

    static void subtract_from_order(uint64_t scalar[4]) {
        uint64_t borrow = 0;
        for (size_t i = 0; i < 4; i++) {
            const unsigned __int128 difference =
                static_cast<unsigned __int128>(kOrder[i]) - scalar[i] - borrow;
            scalar[i] = static_cast<uint64_t>(difference);
            borrow = static_cast<uint64_t>(difference >> 64) & 1;
        }
    }

    unsigned window_;
    unsigned windows_;
    uint64_t offset_[4] = {0, 0, 0, 0};
};

}  // namespace forebay
