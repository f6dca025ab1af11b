// Carves typed arrays out of scratch memory that the caller handed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace forebay {

// With a null base an arena only counts, so that one layout function gives both the size and the pointers.
class Arena {
   public:
    Arena() = default;
    Arena(uint8_t* base, size_t size) : base_(base), size_(size) {}

    template <class T>
    T* take(size_t count) {
        // An odd number of cache lines between arrays keeps them from sharing a set at 4 KiB.
        const size_t at = used_;
        used_ = at + (count * sizeof(T) + 63) / 64 * 64 + 64;
        if (base_ == nullptr) return nullptr;
        if (used_ > size_) throw std::length_error("the scratch memory handed in is too small");
        return reinterpret_cast<T*>(base_ + at);
    }

    size_t used() const { return used_; }

   private:
    uint8_t* base_ = nullptr;
    size_t size_ = 0;
    size_t used_ = 0;
};

}  // namespace forebay
