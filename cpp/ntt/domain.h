// Number-theoretic transforms over Fr, cut into tiles that fit the second-level cache.
//
// Forward takes coefficients in natural order to evaluations in bit-reversed order; inverse goes back. The
// polynomial is split modulo x^k − w, x^k + w level by level, so a twiddle belongs to a block, a coset only
// scales the twiddles, and no level needs a table of the domain's size.
#pragma once

#include "field/field.h"
#include "msm/msm.h"
#include "parallel/arena.h"
#include "parallel/workers.h"

namespace forebay {

constexpr unsigned kMaxDomainLog = 30;
// Levels of one pass: 2^11 rows of four columns are 256 KiB.
constexpr unsigned kPassLevels = 11;
// Fr's multiplicative generator; the shift of the coset.
constexpr uint64_t kGenerator = 7;

enum class Direction { kForward, kInverse };
enum class Coset { kNone, kShifted };

class Domain {
   public:
    // A pass goes over the whole domain once and does at most `pass_levels` levels, 1 to kPassLevels.
    Domain(unsigned log, Scratch scratch, const Workers& workers, unsigned pass_levels = kPassLevels);

    static size_t scratch_bytes(size_t threads);

    size_t size() const { return size_t{1} << log_; }

    void bit_reverse(Fr* values) const;

    // One direction over the whole domain; the inverse leaves out the factor 1/n.
    void transform(Fr* values, Direction direction, Coset coset) const;

    // a = inverse(forward(a) ∘ forward(b)) on the coset, without the factor 1/n; b is destroyed.
    void multiply_on_coset(Fr* a, Fr* b) const;

   private:
    // Levels `first` to `last` - 1 of the transform.
    struct Pass {
        unsigned first;
        unsigned last;
        unsigned levels() const { return last - first; }
    };
    struct Lane {
        Fr* tile;
        Fr* twiddles;
        Fr* more_twiddles;
    };
    // Roots of one direction: root[k] is of order 2^k, shift[k] is the coset's generator to the 2^k.
    struct Roots {
        Fr root[33];
        Fr shift[33];
    };

    struct Layout;

    const Roots& roots(Direction direction) const {
        return direction == Direction::kForward ? forward_ : inverse_;
    }
    const Fr* table(Direction direction) const {
        return direction == Direction::kForward ? table_ : inverse_table_;
    }
    void fill_table(Fr* table, const Roots& roots) const;
    void block_twiddles(Fr* twiddles, Direction direction, Coset coset, const Pass& pass, size_t block) const;
    void run_pass(Fr* values, Direction direction, Coset coset, const Pass& pass) const;
    void run_tile(Fr* values, Direction direction, const Pass& pass, size_t block, size_t column,
                  const Lane& lane, const Fr* twiddles) const;
    void swap_tiles(Fr* values, size_t middle, Fr* buffer) const;

    unsigned log_;
    const Workers& workers_;
    Roots forward_;
    Roots inverse_;
    Fr* table_;
    Fr* inverse_table_;
    Fr* shared_twiddles_;
    Lane* lanes_;
    Pass passes_[kMaxDomainLog];
    unsigned pass_count_;
};

}  // namespace forebay
