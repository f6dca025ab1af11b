// Single kernels, so that those of a processor can be held against the portable ones.
#include <algorithm>
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

void butterflies(const Kernels& kernels, bool inverse, uint32_t levels, LimbsMut tile, Limbs twiddles,
                 Bytes scratch) {
    const auto values = view<Fr>(tile);
    const auto factors = view<const Fr>(twiddles);
    if (levels >= 32 || factors.count != size_t{1} << levels) {
        throw std::length_error("a tile of 2^levels rows needs as many twiddles");
    }
    const size_t width = values.count >> levels;
    const TransformKernels& transforms = *kernels.transforms;
    if (levels > kMostTileLevels || width > kMostTileColumns || !transforms.take(width, levels)) {
        throw std::length_error("the kernels take no tile of this size");
    }
    const Scratch memory = scratch_of(scratch);
    Arena arena(memory.base, memory.size);
    uint64_t* own_twiddles = arena.take<uint64_t>(kOwnWords * std::max(factors.count, kMostTileColumns));
    uint64_t* own_tile = arena.take<uint64_t>(kOwnWords * values.count);
    for (size_t first = 1; first < factors.count; first *= 2) {
        transforms.twiddles(own_twiddles, first, fr_from(1), factors.data + first, first);
    }
    const size_t columns = std::min(transforms.columns, width);
    for (size_t column = 0; column < width; column += columns) {
        const Tile part{values.data + column, width, columns, levels};
        if (inverse) {
            transforms.inverse(part, own_twiddles, nullptr, own_tile);
        } else {
            transforms.forward(part, own_twiddles, own_tile);
        }
    }
}

}  // namespace forebay
