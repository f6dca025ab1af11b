// Typed views of the limbs that Rust hands over, and its pool as Workers.
#pragma once

#include <stdexcept>

#include "bridge/bridge.h"
#include "curve/group.h"
#include "forebay/src/prove/cpu/bridge.rs.h"
#include "kernels/portable.h"
#include "msm/msm.h"

namespace forebay {

class PoolWorkers final : public Workers {
   public:
    explicit PoolWorkers(const Crew& crew) : crew_(crew), lanes_(crew.lanes()), kernels_(crew.kernels()) {}
    const Kernels& kernels() const override { return kernels_; }
    size_t lanes() const override { return lanes_; }
    void run(size_t lanes, size_t count, const Task& task) const override { crew_.run(lanes, count, task); }

   private:
    const Crew& crew_;
    size_t lanes_;
    const Kernels& kernels_;
};

template <class T>
struct View {
    T* data;
    size_t count;
};

template <class T, class Slice>
auto view(const Slice& limbs) {
    constexpr size_t kLimbs = sizeof(T) / sizeof(uint64_t);
    if (limbs.size() % kLimbs != 0) throw std::length_error("a slice does not hold whole values");
    return View<T>{reinterpret_cast<T*>(limbs.data()), limbs.size() / kLimbs};
}

template <class T, class Slice>
T& single(const Slice& limbs) {
    const View<T> one = view<T>(limbs);
    if (one.count != 1) throw std::length_error("a slice does not hold exactly one value");
    return *one.data;
}

inline Scratch scratch_of(const Bytes& bytes) {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
        throw std::invalid_argument("scratch memory is not aligned");
    }
    return {bytes.data(), bytes.size()};
}

}  // namespace forebay
