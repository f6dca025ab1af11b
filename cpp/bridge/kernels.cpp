// Single kernels, so that those of a processor can be held against the portable ones.
#include <string>

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

}  // namespace

const Kernels& find_kernels(rust::Str name) {
    const KernelSets& found = kernel_sets();
    std::string known;
    for (size_t i = 0; i < found.count; i++) {
        const Kernels& kernels = *found.sets[i];
        if (name == "auto" || name == kernels.name) return kernels;
        known += std::string(i > 0 ? ", " : "") + kernels.name;
    }
    throw std::invalid_argument("this processor does not run \"" + std::string(name) + "\", only " + known);
}

rust::Str kernel_name(const Kernels& kernels) { return kernels.name; }

rust::Vec<rust::String> kernel_names() {
    rust::Vec<rust::String> names;
    for (size_t i = 0; i < kernel_sets().count; i++) names.emplace_back(kernel_sets().sets[i]->name);
    return names;
}

void add_pairs_g1(const Kernels& kernels, Limbs points, Indices pairs, LimbsMut out, Bytes scratch) {
    add<G1>(kernels.add_pairs_g1, points, pairs, out, scratch);
}

void add_pairs_g2(const Kernels& kernels, Limbs points, Indices pairs, LimbsMut out, Bytes scratch) {
    add<G2>(kernels.add_pairs_g2, points, pairs, out, scratch);
}

void blst_pairs_g1(Limbs points, Indices pairs, LimbsMut out, Bytes scratch) {
    add<G1>(portable::add_pairs<G1>, points, pairs, out, scratch);
}

void butterflies(const Kernels& kernels, bool inverse, uint32_t levels, LimbsMut tile, Limbs twiddles) {
    const auto values = view<Fr>(tile);
    const auto factors = view<const Fr>(twiddles);
    if (levels >= 32 || factors.count != size_t{1} << levels) {
        throw std::length_error("a tile of 2^levels rows needs as many twiddles");
    }
    const auto run = inverse ? kernels.ntt_inverse : kernels.ntt_forward;
    run(values.data, levels, values.count >> levels, factors.data);
}

}  // namespace forebay
