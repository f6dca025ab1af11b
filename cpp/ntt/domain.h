// Number-theoretic transforms over Fr, cut into tiles that fit the second-level cache.
//
// Forward takes coefficients in natural order to evaluations in bit-reversed order; inverse goes back. The
// polynomial is split modulo x^k − w, x^k + w level by level, so a twiddle belongs to a block and a coset
// only scales the twiddles. Twiddles are made when a block is reached: they take 80 KiB a table and two
// tables a thread, whatever the domain's size.
#pragma once

#include <initializer_list>

#include "field/field.h"
#include "kernels/transforms.h"
#include "msm/msm.h"
#include "parallel/arena.h"
#include "parallel/workers.h"

namespace forebay {

constexpr unsigned kMaxDomainLog = 30;
// Fr's multiplicative generator; the shift of the coset.
constexpr uint64_t kGenerator = 7;

enum class Coset { kNone, kShifted };

class Domain {
   public:
    // A pass goes over the whole domain once and does at most `pass_levels` levels, 1 to kMostTileLevels.
    Domain(unsigned log, Scratch scratch, const Workers& workers, unsigned pass_levels = kMostTileLevels);

    static size_t scratch_bytes(size_t threads);

    size_t size() const { return size_t{1} << log_; }

    void bit_reverse(Fr* values) const;

    // Over the whole domain. The inverse leaves out the factor 1/n, but takes one where `scale` is not null.
    void forward(Fr* values, Coset coset) const;
    void inverse(Fr* values, Coset coset, const Fr* scale = nullptr) const;

    // In: evaluations over the domain in bit-reversed order. Out: a·b modulo x^n − 7^n, n³ times; b is
    // destroyed.
    void multiply(Fr* a, Fr* b) const;

    // a = a·f + b·g, value by value.
    void combine(Fr* a, const Fr& f, const Fr* b, const Fr& g) const;

   private:
    enum class Direction { kForward, kInverse };

    // Levels `first` to `last` - 1 of the transform.
    struct Pass {
        unsigned first;
        unsigned last;
        const TransformKernels* kernels;
        unsigned levels() const { return last - first; }
    };
    // What a pass does to a tile.
    struct Step {
        Direction direction;
        Coset coset;
        const Fr* scale;
    };
    static constexpr size_t kMostSteps = 2;
    struct Lane {
        uint64_t* tile;
        uint64_t* twiddles[kMostSteps];
    };
    // Roots of one direction: root[k] is of order 2^k, shift[k] is the coset's generator to the 2^k; table[t]
    // is the root whose exponent, as a fraction of a turn, is t's bits reversed, over 2.
    struct Roots {
        Fr root[33];
        Fr shift[33];
        Fr* table;
    };

    struct Layout;

    const Roots& roots(Direction direction) const {
        return direction == Direction::kForward ? forward_ : inverse_;
    }
    void find_roots();
    void block_twiddles(uint64_t* twiddles, const Step& step, const Pass& pass, size_t block) const;
    void run_pass(Fr* values, const Pass& pass, std::initializer_list<Step> steps) const;
    void multiply_blocks(Fr* a, Fr* b) const;
    void swap_tiles(Fr* values, size_t middle, Fr* buffer) const;

    unsigned log_;
    const Workers& workers_;
    Roots forward_;
    Roots inverse_;
    uint64_t* shared_twiddles_[kMostSteps];
    Lane* lanes_;
    Pass passes_[kMaxDomainLog];
    unsigned pass_count_;
};

}  // namespace forebay
