// Single kernels, so that those of a processor can be held against the portable ones.
#include "bridge/slices.h"

namespace forebay {
namespace {

template <class G, class Add>
void add(const Add& kernel, const Limbs& points, const Indices& pairs, const LimbsMut& out,
         const Bytes& scratch) {
    const auto from = view<const typename G::Affine>(points);
    const auto to = view<typename G::Affine>(out);
    const size_t count = pairs.size() / 2;
    if (to.count < count) throw std::length_error("fewer results than pairs");
    const Scratch memory = scratch_of(scratch);
    Arena arena(memory.base, memory.size);
    Pair* list = arena.take<Pair>(count);
    for (size_t i = 0; i < count; i++) {
        list[i] = {pairs[2 * i], pairs[2 * i + 1], static_cast<uint32_t>(i)};
        const bool second = list[i].right != kNoOperand;
        if (list[i].left >> 1 >= from.count || (second && list[i].right >> 1 >= from.count)) {
            throw std::length_error("a pair names a point that does not exist");
        }
    }
    kernel(Points<G>{from.data, from.data, to.data}, list, count, PairScratch<G>(arena, count));
}

Product product_of(uint32_t number) {
    if (number > static_cast<uint32_t>(Product::kSquareFp2)) throw std::invalid_argument("no such product");
    return static_cast<Product>(number);
}

size_t limbs_of(Product product) {
    switch (product) {
        case Product::kMultiplyFr:
            return sizeof(Fr) / sizeof(uint64_t);
        case Product::kMultiplyFp:
        case Product::kSquareFp:
            return sizeof(Fp) / sizeof(uint64_t);
        default:
            return sizeof(Fp2) / sizeof(uint64_t);
    }
}

}  // namespace

void add_pairs_g1(bool portable, Limbs points, Indices pairs, LimbsMut out, Bytes scratch) {
    add<G1>(chosen_kernels(portable).add_pairs_g1, points, pairs, out, scratch);
}

void add_pairs_g2(bool portable, Limbs points, Indices pairs, LimbsMut out, Bytes scratch) {
    add<G2>(chosen_kernels(portable).add_pairs_g2, points, pairs, out, scratch);
}

void butterflies(bool portable, bool inverse, uint32_t levels, LimbsMut tile, Limbs twiddles) {
    const auto values = view<Fr>(tile);
    const auto factors = view<const Fr>(twiddles);
    if (levels >= 32 || factors.count != size_t{1} << levels) {
        throw std::length_error("a tile of 2^levels rows needs as many twiddles");
    }
    const Kernels& kernel = chosen_kernels(portable);
    const auto run = inverse ? kernel.ntt_inverse : kernel.ntt_forward;
    run(values.data, levels, values.count >> levels, factors.data);
}

void repeat_product(bool portable, uint32_t product, LimbsMut values, Limbs factors, size_t rounds) {
    const Product kind = product_of(product);
    const size_t limbs = limbs_of(kind), count = values.size() / limbs;
    const bool whole = values.size() % limbs == 0 && count % kProductStep == 0 && count <= kMostProducts;
    if (!whole || factors.size() != values.size()) {
        throw std::length_error("a batch of products needs 8, 16, … 64 values and as many factors");
    }
    const Kernels& kernels = chosen_kernels(portable);
    if (kernels.repeat_product == nullptr) throw std::logic_error("these kernels cannot be measured alone");
    kernels.repeat_product({kind, values.data(), factors.data(), count, rounds});
}

}  // namespace forebay
