#include "ntt/domain.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/portable_transform.h"
#include "kernels/table.h"

namespace forebay {
namespace {

constexpr size_t kRows = size_t{1} << kMostTileLevels;
// Rows and columns of the tiles that bit reversal swaps.
constexpr unsigned kSwapLog = 5;
constexpr size_t kSwap = size_t{1} << kSwapLog;

size_t reverse_bits(size_t value, unsigned bits) {
    size_t reversed = 0;
    for (unsigned i = 0; i < bits; i++) reversed |= (value >> i & 1) << (bits - 1 - i);
    return reversed;
}

}  // namespace

struct Domain::Layout {
    Fr* table;
    Fr* inverse_table;
    uint64_t* shared_twiddles[kMostSteps];
    Lane* lanes;

    Layout(Arena& arena, size_t threads)
        : table(arena.take<Fr>(kRows / 2)),
          inverse_table(arena.take<Fr>(kRows / 2)),
          lanes(arena.take<Lane>(threads)) {
        for (uint64_t*& twiddles : shared_twiddles) twiddles = arena.take<uint64_t>(kRows * kOwnWords);
        for (size_t number = 0; number < threads; number++) {
            Lane lane;
            lane.tile = arena.take<uint64_t>(kRows * kMostTileColumns * kOwnWords);
            for (uint64_t*& twiddles : lane.twiddles) twiddles = arena.take<uint64_t>(kRows * kOwnWords);
            if (lanes != nullptr) lanes[number] = lane;
        }
    }
};

size_t Domain::scratch_bytes(size_t threads) {
    Arena arena;
    Layout(arena, threads);
    return arena.used();
}

Domain::Domain(unsigned log, Scratch scratch, const Workers& workers, unsigned pass_levels)
    : log_(log), workers_(workers) {
    if (log > kMaxDomainLog) throw std::length_error("the domain is too large");
    if (pass_levels == 0 || pass_levels > kMostTileLevels)
        throw std::invalid_argument("no such number of levels");
    Arena arena(scratch.base, scratch.size);
    const Layout layout(arena, workers.lanes());
    forward_.table = layout.table;
    inverse_.table = layout.inverse_table;
    std::copy_n(layout.shared_twiddles, kMostSteps, shared_twiddles_);
    lanes_ = layout.lanes;

    pass_count_ = std::max(1u, (log + pass_levels - 1) / pass_levels);
    for (unsigned i = 0; i < pass_count_; i++) {
        Pass& pass = passes_[i];
        pass = {log * i / pass_count_, log * (i + 1) / pass_count_, workers.kernels().transforms};
        if (!pass.kernels->take(size() >> pass.last, pass.levels())) pass.kernels = &portable::kTransforms;
    }
    find_roots();
}

void Domain::find_roots() {
    // (r − 1)/2^32, so that the generator to this power has order 2^32.
    const uint64_t odd_part[4] = {0xfffe5bfeffffffff, 0x09a1d80553bda402, 0x299d7d483339d808,
                                  0x0000000073eda753};
    forward_.root[32] = power(fr_from(kGenerator), odd_part, 4);
    forebay::inverse(inverse_.root[32], forward_.root[32]);
    forward_.shift[0] = fr_from(kGenerator);
    forebay::inverse(inverse_.shift[0], forward_.shift[0]);
    unsigned bits = 0;
    for (unsigned i = 0; i < pass_count_; i++) bits = std::max(bits, passes_[i].levels());
    for (Roots* roots : {&forward_, &inverse_}) {
        for (unsigned k = 32; k-- > 0;) sqr(roots->root[k], roots->root[k + 1]);
        for (unsigned k = 0; k < 32; k++) sqr(roots->shift[k + 1], roots->shift[k]);
        roots->table[0] = fr_from(1);
        for (unsigned bit = 0; bit + 1 < bits; bit++) {
            const size_t half = size_t{1} << bit;
            for (size_t t = 0; t < half; t++) {
                mul(roots->table[half + t], roots->table[t], roots->root[bit + 2]);
            }
        }
    }
}

// The twiddles of every block inside `block` at the levels of the pass.
void Domain::block_twiddles(uint64_t* twiddles, const Step& step, const Pass& pass, size_t block) const {
    const Roots& from = roots(step.direction);
    if (pass.levels() == 0) return;
    // What each level's are times the table: the square of the next level's.
    Fr factors[kMostTileLevels];
    const unsigned last = pass.levels() - 1;
    factors[last] = fr_from(1);
    if (step.coset == Coset::kShifted) factors[last] = from.shift[log_ - 1 - pass.first - last];
    for (unsigned bit = 0; bit < pass.first; bit++) {
        if (block >> bit & 1) mul(factors[last], factors[last], from.root[bit + last + 2]);
    }
    for (unsigned level = last; level-- > 0;) sqr(factors[level], factors[level + 1]);
    for (unsigned level = 0; level <= last; level++) {
        const size_t blocks = size_t{1} << level;
        pass.kernels->twiddles(twiddles, blocks, factors[level], from.table, blocks);
    }
}

void Domain::run_pass(Fr* values, const Pass& pass, std::initializer_list<Step> steps) const {
    constexpr size_t kTilesPerTask = 4;
    const TransformKernels& kernels = *pass.kernels;
    const size_t blocks = size_t{1} << pass.first, stride = size() >> pass.last;
    const size_t width = std::min(kernels.columns, stride), tiles = stride / width;
    const bool shared = blocks == 1;
    const auto make_twiddles = [&](uint64_t* const* twiddles, size_t block) {
        for (const Step& step : steps) block_twiddles(*twiddles++, step, pass, block);
    };
    if (shared) make_twiddles(shared_twiddles_, 0);
    const size_t tasks = (tiles + kTilesPerTask - 1) / kTilesPerTask;
    for_each(workers_, workers_.lanes(), blocks * tasks, [&](size_t number, size_t task) {
        const Lane& lane = lanes_[number];
        const size_t block = task / tasks, first = task % tasks * kTilesPerTask;
        if (!shared) make_twiddles(lane.twiddles, block);
        Fr* start = values + ((block << pass.levels()) * stride);
        for (size_t i = first; i < std::min(first + kTilesPerTask, tiles); i++) {
            const Tile tile{start + i * width, stride, width, pass.levels()};
            const uint64_t* const* twiddles = shared ? shared_twiddles_ : lane.twiddles;
            for (const Step& step : steps) {
                if (step.direction == Direction::kForward) {
                    kernels.forward(tile, *twiddles++, lane.tile);
                } else {
                    kernels.inverse(tile, *twiddles++, step.scale, lane.tile);
                }
            }
        }
    });
}

void Domain::forward(Fr* values, Coset coset) const {
    for (unsigned i = 0; i < pass_count_; i++) {
        run_pass(values, passes_[i], {{Direction::kForward, coset, nullptr}});
    }
}

void Domain::inverse(Fr* values, Coset coset, const Fr* scale) const {
    for (unsigned i = pass_count_; i-- > 0;) {
        run_pass(values, passes_[i], {{Direction::kInverse, coset, i == 0 ? scale : nullptr}});
    }
}

void Domain::multiply(Fr* a, Fr* b) const {
    const Step interpolate{Direction::kInverse, Coset::kNone, nullptr};
    const Step evaluate{Direction::kForward, Coset::kShifted, nullptr};
    const unsigned last = pass_count_ - 1;
    for (Fr* values : {a, b}) {
        for (unsigned i = last; i > 0; i--) run_pass(values, passes_[i], {interpolate});
        if (last == 0) {
            run_pass(values, passes_[0], {interpolate});
            continue;
        }
        run_pass(values, passes_[0], {interpolate, evaluate});
        for (unsigned i = 1; i < last; i++) run_pass(values, passes_[i], {evaluate});
    }
    multiply_blocks(a, b);
    for (unsigned i = last; i-- > 0;) {
        run_pass(a, passes_[i], {{Direction::kInverse, Coset::kShifted, nullptr}});
    }
}

// The last pass to the coset, the products there and the first pass back.
void Domain::multiply_blocks(Fr* a, Fr* b) const {
    const Pass& pass = passes_[pass_count_ - 1];
    const TransformKernels& kernels = *pass.kernels;
    const size_t rows = size_t{1} << pass.levels();
    for_each(workers_, workers_.lanes(), size_t{1} << pass.first, [&](size_t number, size_t block) {
        const Lane& lane = lanes_[number];
        block_twiddles(lane.twiddles[0], {Direction::kForward, Coset::kShifted, nullptr}, pass, block);
        block_twiddles(lane.twiddles[1], {Direction::kInverse, Coset::kShifted, nullptr}, pass, block);
        const Tile left{a + block * rows, 1, 1, pass.levels()}, right{b + block * rows, 1, 1, pass.levels()};
        kernels.forward(left, lane.twiddles[0], lane.tile);
        kernels.forward(right, lane.twiddles[0], lane.tile);
        kernels.multiply(left.values, right.values, rows);
        kernels.inverse(left, lane.twiddles[1], nullptr, lane.tile);
    });
}

void Domain::combine(Fr* a, const Fr& f, const Fr* b, const Fr& g) const {
    constexpr size_t kPerTask = size_t{1} << 13;
    const size_t tasks = (size() + kPerTask - 1) / kPerTask;
    for_each(workers_, workers_.lanes(), tasks, [&](size_t, size_t task) {
        const size_t first = task * kPerTask;
        workers_.kernels().transforms->combine(a + first, f, b + first, g,
                                               std::min(kPerTask, size() - first));
    });
}

// Swaps tile (·, middle, ·) with the one that its elements belong to.
void Domain::swap_tiles(Fr* values, size_t middle, Fr* buffer) const {
    const unsigned middle_bits = log_ - 2 * kSwapLog;
    const size_t mirrored = reverse_bits(middle, middle_bits);
    if (middle > mirrored) return;
    size_t reversed[kSwap];
    for (size_t i = 0; i < kSwap; i++) reversed[i] = reverse_bits(i, kSwapLog);
    const auto row_of = [&](size_t row, size_t tile) {
        return values + (row << (log_ - kSwapLog)) + (tile << kSwapLog);
    };
    Fr* other = buffer + kSwap * kSwap;
    for (size_t row = 0; row < kSwap; row++) {
        std::memcpy(buffer + row * kSwap, row_of(row, middle), kSwap * sizeof(Fr));
        std::memcpy(other + row * kSwap, row_of(row, mirrored), kSwap * sizeof(Fr));
    }
    for (size_t row = 0; row < kSwap; row++) {
        Fr* mirrored_row = row_of(row, mirrored);
        Fr* middle_row = row_of(row, middle);
        for (size_t column = 0; column < kSwap; column++) {
            const size_t from = reversed[column] * kSwap + reversed[row];
            mirrored_row[column] = buffer[from];
            middle_row[column] = other[from];
        }
    }
}

void Domain::bit_reverse(Fr* values) const {
    if (log_ < 2 * kSwapLog) {
        for (size_t i = 0; i < size(); i++) {
            const size_t mirrored = reverse_bits(i, log_);
            if (i < mirrored) std::swap(values[i], values[mirrored]);
        }
        return;
    }
    constexpr size_t kTilesPerTask = 16;
    const size_t tiles = size() >> (2 * kSwapLog);
    for_each(workers_, workers_.lanes(), (tiles + kTilesPerTask - 1) / kTilesPerTask,
             [&](size_t lane, size_t task) {
                 const size_t first = task * kTilesPerTask;
                 for (size_t tile = first; tile < std::min(first + kTilesPerTask, tiles); tile++) {
                     swap_tiles(values, tile, reinterpret_cast<Fr*>(lanes_[lane].tile));
                 }
             });
}

}  // namespace forebay
