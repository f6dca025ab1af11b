// Sorts the digits of a group of windows by bucket, in two passes: to coarse ranges, then inside each.
#pragma once

#include <cstring>

#include "msm/msm.h"
#include "msm/plan.h"

namespace forebay {

// An entry is a point's number and a sign in 32 bits.
constexpr size_t kMaxScalars = size_t{1} << 30;

template <class G>
class DigitSorter {
   public:
    DigitSorter(const MsmPlan& plan, Fr* scalars, const uint32_t* indices, size_t points, uint32_t* counts,
                const Workers& workers)
        : plan_(plan),
          recoder_(plan.window),
          scalars_(scalars),
          indices_(indices),
          points_(points),
          counts_(counts),
          workers_(workers) {}

    // Brings the scalars to recoded form in place and counts the entries of every coarse range.
    void recode_and_count(ScalarForm form) {
        for_each(workers_, plan_.lanes, plan_.blocks, [&](size_t, size_t block) {
            for (unsigned w = 0; w < plan_.windows; w++) {
                std::memset(counts(w, block), 0, plan_.coarse * sizeof(uint32_t));
            }
            for (size_t i = plan_.block_begin(block); i < plan_.block_begin(block + 1); i++) {
                if (indices_ != nullptr && indices_[i] >= points_) throw std::length_error("no such point");
                uint64_t limbs[4];
                if (form == ScalarForm::kMontgomery) {
                    blst_uint64_from_fr(limbs, &scalars_[i]);
                } else {
                    std::memcpy(limbs, scalars_[i].l, sizeof(limbs));
                }
                recoder_.recode(limbs);
                std::memcpy(scalars_[i].l, limbs, sizeof(limbs));
                for (unsigned w = 0; w < plan_.windows; w++) {
                    const Digit digit = recoder_.digit(limbs, w);
                    if (digit.magnitude != 0) counts(w, block)[(digit.magnitude - 1) >> plan_.fine_bits]++;
                }
            }
        });
    }

    // Fills `sorted` and `offsets` of the windows first to first + group - 1.
    void sort(unsigned first, size_t group, const WindowScratch<G>* windows, const LaneScratch<G>* lanes) {
        for (size_t g = 0; g < group; g++) counts_to_positions(first + g);
        for_each(workers_, plan_.lanes, plan_.blocks,
                 [&](size_t, size_t block) { scatter(first, group, windows, block); });
        for_each(workers_, plan_.lanes, group * plan_.coarse, [&](size_t lane, size_t task) {
            const size_t g = task / plan_.coarse;
            sort_range(first + g, task % plan_.coarse, windows[g], lanes[lane].counts);
        });
    }

   private:
    uint32_t* counts(size_t w, size_t block) { return counts_ + (w * plan_.blocks + block) * plan_.coarse; }

    // Turns counts into the position where each block's entries of a range start.
    void counts_to_positions(size_t w) {
        uint32_t position = 0;
        for (size_t range = 0; range < plan_.coarse; range++) {
            for (size_t block = 0; block < plan_.blocks; block++) {
                const uint32_t count = counts(w, block)[range];
                counts(w, block)[range] = position;
                position += count;
            }
        }
    }

    // Afterwards a block's position is where its entries of the range end.
    void scatter(unsigned first, size_t group, const WindowScratch<G>* windows, size_t block) {
        const uint32_t fine_mask = (uint32_t{1} << plan_.fine_bits) - 1;
        for (size_t i = plan_.block_begin(block); i < plan_.block_begin(block + 1); i++) {
            const uint32_t point = indices_ != nullptr ? indices_[i] : static_cast<uint32_t>(i);
            for (size_t g = 0; g < group; g++) {
                const Digit digit = recoder_.digit(scalars_[i].l, first + g);
                if (digit.magnitude == 0) continue;
                const uint32_t bucket = digit.magnitude - 1;
                const uint32_t at = counts(first + g, block)[bucket >> plan_.fine_bits]++;
                windows[g].staged[at] = static_cast<uint64_t>((bucket & fine_mask) << 1 | digit.negative)
                                            << 32 |
                                        (point << 1 | digit.negative);
            }
        }
    }

    // Inside a bucket positive entries come first: pairs of equal signs keep branches predictable.
    void sort_range(size_t w, size_t range, const WindowScratch<G>& window, uint32_t* fine) {
        const size_t keys = size_t{2} << plan_.fine_bits;
        const size_t last_block = plan_.blocks - 1;
        const uint32_t begin = range == 0 ? 0 : counts(w, last_block)[range - 1];
        const uint32_t end = counts(w, last_block)[range];
        std::memset(fine, 0, keys * sizeof(uint32_t));
        for (uint32_t k = begin; k < end; k++) fine[window.staged[k] >> 32]++;
        uint32_t position = begin;
        for (size_t key = 0; key < keys; key++) {
            const uint32_t count = fine[key];
            fine[key] = position;
            if (key % 2 == 0) window.offsets[(range << plan_.fine_bits) + key / 2] = position;
            position += count;
        }
        if (range + 1 == plan_.coarse) window.offsets[plan_.buckets] = position;
        for (uint32_t k = begin; k < end; k++) {
            const uint64_t entry = window.staged[k];
            window.sorted[fine[entry >> 32]++] = static_cast<uint32_t>(entry);
        }
    }

    MsmPlan plan_;
    Recoder recoder_;
    Fr* scalars_;
    const uint32_t* indices_;
    size_t points_;
    uint32_t* counts_;
    const Workers& workers_;
};

}  // namespace forebay
