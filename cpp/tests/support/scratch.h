// Scratch memory of exactly the size that was asked for.
#pragma once

#include <vector>

#include "msm/msm.h"

namespace forebay::testing {

class ScratchMemory {
   public:
    explicit ScratchMemory(size_t bytes) : words_((bytes + 7) / 8), bytes_(bytes) {}
    Scratch whole() { return {reinterpret_cast<uint8_t*>(words_.data()), bytes_}; }

   private:
    std::vector<uint64_t> words_;
    size_t bytes_;
};

}  // namespace forebay::testing
