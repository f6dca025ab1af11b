// Products of arrays of Fr, eight elements at a time.
#pragma once

#include "kernels/ifma/transform.h"

namespace forebay::FOREBAY_IFMA {
namespace {

// 2^4·a, of blst's form: an own twiddle or scale. Canonical.
FOREBAY_INLINE Fr8 to_own(const Fr& a) {
    return canonical(product(same_in_all(a), same_in_all(detail::kToOwn)));
}

// Calls `group` with every eight elements, and with a copy of what is left over. Elements that are not there
// are zero.
template <class Group>
FOREBAY_INLINE void in_groups(Fr* a, const Fr* b, size_t count, const Group& group) {
    for (; count >= kLanes; count -= kLanes, a += kLanes, b += kLanes) group(a, b);
    if (count == 0) return;
    Fr own_a[kLanes]{}, own_b[kLanes]{};
    std::memcpy(own_a, a, count * sizeof(Fr));
    std::memcpy(own_b, b, count * sizeof(Fr));
    group(own_a, own_b);
    std::memcpy(a, own_a, count * sizeof(Fr));
}

// The twiddles `at` + i: factor·values[i]. Whole groups of eight, or less than one.
void make_twiddles(uint64_t* out, size_t at, const Fr& blst_factor, const Fr* values, size_t count) {
    // Below 2.1, and so is its product with a value.
    const Fr8 own = carried(product(same_in_all(blst_factor), same_in_all(detail::kToOwnTwice)));
    for (size_t done = 0; done < count; done += kLanes) {
        const size_t left = count - done < kLanes ? count - done : kLanes;
        Fr group[kLanes]{};
        std::memcpy(group, values + done, left * sizeof(Fr));
        const Fr8 made = canonical(product(own, load_elements(group, 1)));
        uint64_t* to = out + (at + done) / kLanes * kRowWords + (at + done) % kLanes;
        if (left == kLanes) {
            store_row(to, made);
            continue;
        }
        for (size_t i = 0; i < FrField::kLimbs; i++) {
            std::memcpy(to + i * kLanes, &made.limb[i], left * sizeof(uint64_t));
        }
    }
}

void multiply(Fr* a, const Fr* b, size_t count) {
    in_groups(a, b, count, [](Fr* a, const Fr* b) {
        // 16·a and b are below 16 and 1.
        const Fr8 result = product(shifted<4>(load_elements(a, 1)), load_elements(b, 1));
        store_elements(a, 1, canonical(result));
    });
}

void combine(Fr* a, const Fr& f, const Fr* b, const Fr& g, size_t count) {
    const Fr8 own_f = to_own(f), own_g = to_own(g);
    in_groups(a, b, count, [&](Fr* a, const Fr* b) {
        // Two products below 2.1.
        store_elements(
            a, 1, canonical(add(product(load_elements(a, 1), own_f), product(load_elements(b, 1), own_g))));
    });
}

}  // namespace
}  // namespace forebay::FOREBAY_IFMA
