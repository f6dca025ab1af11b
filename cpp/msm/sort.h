// Sorts the digits of a group of windows by bucket, in two passes: to coarse ranges, then inside each.
#pragma once

#include <cstring>
#include <vector>

#include "msm/msm.h"
#include "msm/plan.h"

namespace forebay {

// An entry is a scalar's number and a sign in 32 bits.
constexpr size_t kMaxScalars = size_t{1} << 30;

class DigitSorter {
   public:
    // What stays while the windows are worked on.
    DigitSorter(Arena& arena, const MsmPlan& plan, size_t group)
        : plan_(plan), recoder_(plan.window), counts_(arena.take<uint32_t>(plan.windows * block_counts())) {
        // Windows and lanes hold pointers only.
        for (size_t lane = 0; lane < plan.lanes; lane++) {
            fine_counts_.push_back(arena.take<uint32_t>(2 * plan.buckets / plan.coarse));
        }
        for (size_t g = 0; g < group; g++) sorted_.emplace_back(arena, plan);
    }

    // What is free again after each sorting.
    void stage(Arena& arena) {
        for (size_t g = 0; g < sorted_.size(); g++) staged_.push_back(arena.take<uint64_t>(plan_.scalars));
    }

    const std::vector<SortedWindow>& sorted() const { return sorted_; }

    // Brings the scalars to recoded form in place and counts the entries of every coarse range.
    void recode_and_count(Fr* scalars, ScalarForm form, const Workers& workers) {
        scalars_ = scalars;
        for_each(workers, plan_.lanes, plan_.blocks, [&](size_t, size_t block) {
            for (unsigned w = 0; w < plan_.windows; w++) {
                std::memset(counts(w, block), 0, plan_.coarse * sizeof(uint32_t));
            }
            for (size_t i = plan_.block_begin(block); i < plan_.block_begin(block + 1); i++) {
                uint64_t limbs[4];
                if (form == ScalarForm::kMontgomery) {
                    blst_uint64_from_fr(limbs, &scalars[i]);
                } else {
                    std::memcpy(limbs, scalars[i].l, sizeof(limbs));
                }
                recoder_.recode(limbs);
                std::memcpy(scalars[i].l, limbs, sizeof(limbs));
            }
            for (unsigned w = 0; w < plan_.windows; w++) count(w, block);
        });
        for_each(workers, plan_.lanes, plan_.windows, [&](size_t, size_t w) { counts_to_positions(w); });
    }

    // Sorts the windows first to first + group - 1.
    void sort(unsigned first, size_t group, const Workers& workers) {
        for_each(workers, plan_.lanes, group * plan_.blocks,
                 [&](size_t, size_t task) { scatter(first, task / plan_.blocks, task % plan_.blocks); });
        for_each(workers, plan_.lanes, group * range_tasks(), [&](size_t lane, size_t task) {
            const size_t g = task / range_tasks(), part = task % range_tasks();
            const size_t begin = plan_.coarse * part / range_tasks();
            const size_t end = plan_.coarse * (part + 1) / range_tasks();
            for (size_t range = begin; range < end; range++) sort_range(first, g, range, fine_counts_[lane]);
        });
    }

   private:
    size_t block_counts() const { return plan_.blocks * plan_.coarse; }
    uint32_t* counts(size_t w, size_t block) { return counts_ + w * block_counts() + block * plan_.coarse; }

    // Few scalars leave too little in one range for a task.
    size_t range_tasks() const { return std::min(plan_.coarse, plan_.blocks); }

    void count(unsigned w, size_t block) {
        const DigitReader reader = recoder_.reader(w);
        const unsigned fine_bits = plan_.fine_bits;
        const Fr* const scalars = scalars_;
        uint32_t* const ranges = counts(w, block);
        const size_t end = plan_.block_begin(block + 1);
        for (size_t i = plan_.block_begin(block); i < end; i++) {
            const uint32_t magnitude = reader.read(scalars[i].l).magnitude;
            if (magnitude != 0) ranges[(magnitude - 1) >> fine_bits]++;
        }
    }

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
    void scatter(unsigned first, size_t g, size_t block) {
        const DigitReader reader = recoder_.reader(first + static_cast<unsigned>(g));
        const unsigned fine_bits = plan_.fine_bits;
        const uint32_t fine_mask = (uint32_t{1} << fine_bits) - 1;
        const Fr* const scalars = scalars_;
        uint32_t* const positions = counts(first + g, block);
        uint64_t* const staged = staged_[g];
        const size_t end = plan_.block_begin(block + 1);
        for (size_t i = plan_.block_begin(block); i < end; i++) {
            const Digit digit = reader.read(scalars[i].l);
            if (digit.magnitude == 0) continue;
            const uint32_t bucket = digit.magnitude - 1;
            const uint64_t key = (bucket & fine_mask) << 1 | digit.negative;
            staged[positions[bucket >> fine_bits]++] =
                key << 32 | (static_cast<uint32_t>(i) << 1 | digit.negative);
        }
    }

    // Inside a bucket positive entries come first: pairs of equal signs keep branches predictable.
    void sort_range(unsigned first, size_t g, size_t range, uint32_t* fine) {
        const uint64_t* staged = staged_[g];
        const SortedWindow& window = sorted_[g];
        const size_t keys = size_t{2} << plan_.fine_bits;
        const uint32_t* ends = counts(first + g, plan_.blocks - 1);
        const uint32_t begin = range == 0 ? 0 : ends[range - 1], end = ends[range];
        std::memset(fine, 0, keys * sizeof(uint32_t));
        for (uint32_t k = begin; k < end; k++) fine[staged[k] >> 32]++;
        uint32_t position = begin;
        for (size_t key = 0; key < keys; key++) {
            const uint32_t count = fine[key];
            fine[key] = position;
            if (key % 2 == 0) window.offsets[(range << plan_.fine_bits) + key / 2] = position;
            position += count;
        }
        if (range + 1 == plan_.coarse) window.offsets[plan_.buckets] = position;
        for (uint32_t k = begin; k < end; k++) {
            const uint64_t entry = staged[k];
            window.sorted[fine[entry >> 32]++] = static_cast<uint32_t>(entry);
        }
    }

    MsmPlan plan_;
    Recoder recoder_;
    Fr* scalars_ = nullptr;
    uint32_t* counts_;  // [window][block][coarse]: how many, then where they go
    std::vector<uint32_t*> fine_counts_;
    std::vector<SortedWindow> sorted_;
    std::vector<uint64_t*> staged_;  // ((fine bucket, sign) << 32 | entry), by coarse range
};

}  // namespace forebay
