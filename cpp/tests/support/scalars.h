// Scalars that multiplications are tested with.
#pragma once

#include <vector>

#include "support/values.h"

namespace forebay::testing {

enum class Scalars { kRandom, kZero, kOne, kMinusOne, kEqual, kWitness, kEdges, kSmall };

constexpr Scalars kAllScalars[] = {Scalars::kRandom, Scalars::kZero,    Scalars::kOne,   Scalars::kMinusOne,
                                   Scalars::kEqual,  Scalars::kWitness, Scalars::kEdges, Scalars::kSmall};

inline Fr scalar_of(Scalars kind, Random& random) {
    switch (kind) {
        case Scalars::kZero:
            return Fr{};
        case Scalars::kOne:
            return fr_from(1);
        case Scalars::kMinusOne: {
            Fr value;
            sub(value, Fr{}, fr_from(1));
            return value;
        }
        case Scalars::kEqual: {
            Random own(99);
            return random_element<Fr>(own);
        }
        case Scalars::kWitness:
            return random.once_in(50) ? random_element<Fr>(random) : fr_from(random.below(2));
        case Scalars::kEdges:
            return edge_or_random<Fr>(random);
        case Scalars::kSmall:
            return fr_from(random.below(300));
        default:
            return random_element<Fr>(random);
    }
}

inline std::vector<Fr> scalars_of(Scalars kind, size_t count, Random& random) {
    std::vector<Fr> scalars;
    for (size_t i = 0; i < count; i++) scalars.push_back(scalar_of(kind, random));
    return scalars;
}

}  // namespace forebay::testing
