#include "kernels/ifma/products.h"

#include "kernels/ifma/coordinates.h"

namespace forebay::FOREBAY_IFMA {
namespace {

constexpr size_t kMostGroups = kMostProducts / kLanes;

// Of blst's R: an element shifted by so many bits has ours.
template <class F>
constexpr int kShift = static_cast<int>(F::kLimbs * kRadixLog - F::kWords * 64);

// The powers of two that bring an element to our form and back, as plain numbers modulo p.
template <class F>
struct Forms {
    Element<F> ours;    // R
    Element<F> theirs;  // blst's R
};

template <class F>
Element<F> in_every_lane(const uint64_t* words) {
    Element<F> r;
    for (size_t lane = 0; lane < kLanes; lane++) set_lane(r, lane, words);
    return r;
}

Forms<FpField> forms(FpField) {
    const uint64_t two[6] = {uint64_t{1} << kShift<FpField>, 0, 0, 0, 0, 0}, one[6] = {1, 0, 0, 0, 0, 0};
    Fp ours, theirs;
    blst_fp_from_uint64(&ours, two);
    blst_fp_from_uint64(&theirs, one);
    return {in_every_lane<FpField>(ours.l), in_every_lane<FpField>(theirs.l)};
}

Forms<FrField> forms(FrField) {
    const uint64_t two[4] = {uint64_t{1} << kShift<FrField>, 0, 0, 0}, one[4] = {1, 0, 0, 0};
    Fr ours, theirs;
    blst_fr_from_uint64(&ours, two);
    blst_fr_from_uint64(&theirs, one);
    return {in_every_lane<FrField>(ours.l), in_every_lane<FrField>(theirs.l)};
}

// Element `part` of eight neighbours of `parts` elements each.
template <class F>
Element<F> read(const uint64_t* from, size_t parts, size_t part) {
    Element<F> r;
    for (size_t lane = 0; lane < kLanes; lane++) set_lane(r, lane, from + (lane * parts + part) * F::kWords);
    const Element<F> scaled = shifted<kShift<F>>(r);
    return carried(product(scaled, forms(F{}).ours));
}

template <class F>
void write(uint64_t* to, size_t parts, size_t part, const Element<F>& a) {
    const Words<F> words = to_words(canonical(product(a, forms(F{}).theirs)));
    for (size_t lane = 0; lane < kLanes; lane++) {
        for (size_t i = 0; i < F::kWords; i++)
            to[(lane * parts + part) * F::kWords + i] = words.word[i][lane];
    }
}

template <size_t kParts>
FOREBAY_CALL void repeat_coordinates(const ProductBatch& batch, bool squares) {
    constexpr size_t kStep = kLanes * kParts * FpField::kWords;
    Coordinates<kParts> values[kMostGroups], factors[kMostGroups];
    const size_t groups = batch.count / kLanes;
    for (size_t group = 0; group < groups; group++) {
        for (size_t part = 0; part < kParts; part++) {
            values[group].part[part] = read<FpField>(batch.values + group * kStep, kParts, part);
            factors[group].part[part] = read<FpField>(batch.factors + group * kStep, kParts, part);
        }
    }
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t group = 0; group < groups; group++) {
            if (squares) {
                square_raw(values[group], values[group]);
                values[group] = carried(values[group]);
            } else {
                multiply(values[group], values[group], factors[group]);
            }
        }
    }
    for (size_t group = 0; group < groups; group++) {
        for (size_t part = 0; part < kParts; part++) {
            write(batch.values + group * kStep, kParts, part, values[group].part[part]);
        }
    }
}

FOREBAY_CALL void repeat_scalars(const ProductBatch& batch) {
    constexpr size_t kStep = kLanes * FrField::kWords;
    Element<FrField> values[kMostGroups], factors[kMostGroups];
    const size_t groups = batch.count / kLanes;
    for (size_t group = 0; group < groups; group++) {
        values[group] = read<FrField>(batch.values + group * kStep, 1, 0);
        factors[group] = read<FrField>(batch.factors + group * kStep, 1, 0);
    }
    for (size_t round = 0; round < batch.rounds; round++) {
        for (size_t group = 0; group < groups; group++) {
            values[group] = carried(product(values[group], factors[group]));
        }
    }
    for (size_t group = 0; group < groups; group++) write(batch.values + group * kStep, 1, 0, values[group]);
}

}  // namespace

void repeat_product(const ProductBatch& batch) {
    switch (batch.product) {
        case Product::kMultiplyFp:
            return repeat_coordinates<1>(batch, false);
        case Product::kSquareFp:
            return repeat_coordinates<1>(batch, true);
        case Product::kMultiplyFr:
            return repeat_scalars(batch);
        case Product::kMultiplyFp2:
            return repeat_coordinates<2>(batch, false);
        case Product::kSquareFp2:
            return repeat_coordinates<2>(batch, true);
    }
}

}  // namespace forebay::FOREBAY_IFMA
