#include "ntt/domain.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/table.h"

namespace forebay {
namespace {

constexpr size_t kColumns = 4;
constexpr size_t kRows = size_t{1} << kPassLevels;
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
    Fr* shared_twiddles;
    Lane* lanes;

    Layout(Arena& arena, size_t threads)
        : table(arena.take<Fr>(kRows)),
          inverse_table(arena.take<Fr>(kRows)),
          shared_twiddles(arena.take<Fr>(kRows)),
          lanes(arena.take<Lane>(threads)) {
        for (size_t lane = 0; lane < threads; lane++) {
            const Lane buffers{arena.take<Fr>(kRows * kColumns), arena.take<Fr>(kRows),
                               arena.take<Fr>(kRows)};
            if (lanes != nullptr) lanes[lane] = buffers;
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
    if (pass_levels == 0 || pass_levels > kPassLevels)
        throw std::invalid_argument("no such number of levels");
    Arena arena(scratch.base, scratch.size);
    const Layout layout(arena, workers.lanes());
    table_ = layout.table;
    inverse_table_ = layout.inverse_table;
    shared_twiddles_ = layout.shared_twiddles;
    lanes_ = layout.lanes;

    // (r − 1)/2^32, so that the generator to this power has order 2^32.
    const uint64_t odd_part[4] = {0xfffe5bfeffffffff, 0x09a1d80553bda402, 0x299d7d483339d808,
                                  0x0000000073eda753};
    forward_.root[32] = power(fr_from(kGenerator), odd_part, 4);
    inverse(inverse_.root[32], forward_.root[32]);
    forward_.shift[0] = fr_from(kGenerator);
    inverse(inverse_.shift[0], forward_.shift[0]);
    for (Roots* roots : {&forward_, &inverse_}) {
        for (unsigned k = 32; k-- > 0;) sqr(roots->root[k], roots->root[k + 1]);
        for (unsigned k = 0; k < 32; k++) sqr(roots->shift[k + 1], roots->shift[k]);
    }
    fill_table(table_, forward_);
    fill_table(inverse_table_, inverse_);

    pass_count_ = std::max(1u, (log + pass_levels - 1) / pass_levels);
    for (unsigned i = 0; i < pass_count_; i++)
        passes_[i] = {log * i / pass_count_, log * (i + 1) / pass_count_};
}

// table[t]: the root whose exponent, as a fraction of a turn, is t's bits reversed, over 2.
void Domain::fill_table(Fr* table, const Roots& roots) const {
    table[0] = fr_from(1);
    for (unsigned bit = 0; bit < kPassLevels; bit++) {
        const size_t half = size_t{1} << bit;
        for (size_t t = 0; t < half; t++) mul(table[half + t], table[t], roots.root[bit + 2]);
    }
}

// The twiddles of every block inside `block` at the levels of the pass.
void Domain::block_twiddles(Fr* twiddles, Direction direction, Coset coset, const Pass& pass,
                            size_t block) const {
    const Roots& from = roots(direction);
    const Fr* small = table(direction);
    for (unsigned level = 0; level < pass.levels(); level++) {
        Fr factor = fr_from(1);
        if (coset == Coset::kShifted) factor = from.shift[log_ - 1 - pass.first - level];
        for (unsigned bit = 0; bit < pass.first; bit++) {
            if (block >> bit & 1) mul(factor, factor, from.root[bit + level + 2]);
        }
        const size_t blocks = size_t{1} << level;
        for (size_t t = 0; t < blocks; t++) mul(twiddles[blocks + t], factor, small[t]);
    }
}

void Domain::run_tile(Fr* values, Direction direction, const Pass& pass, size_t block, size_t column,
                      const Lane& lane, const Fr* twiddles) const {
    const Kernels& kernels = workers_.kernels();
    const auto kernel = direction == Direction::kForward ? kernels.ntt_forward : kernels.ntt_inverse;
    const size_t rows = size_t{1} << pass.levels(), stride = size() >> pass.last;
    Fr* start = values + block * rows * stride + column;
    if (stride == 1) {
        kernel(start, pass.levels(), 1, twiddles);
        return;
    }
    const size_t width = std::min(kColumns, stride);
    for (size_t row = 0; row < rows; row++) {
        std::memcpy(lane.tile + row * width, start + row * stride, width * sizeof(Fr));
    }
    kernel(lane.tile, pass.levels(), width, twiddles);
    for (size_t row = 0; row < rows; row++) {
        std::memcpy(start + row * stride, lane.tile + row * width, width * sizeof(Fr));
    }
}

void Domain::run_pass(Fr* values, Direction direction, Coset coset, const Pass& pass) const {
    constexpr size_t kTilesPerTask = 8;
    const size_t blocks = size_t{1} << pass.first, stride = size() >> pass.last;
    const size_t tiles = (stride + kColumns - 1) / kColumns;
    const bool shared = blocks == 1;
    if (shared) block_twiddles(shared_twiddles_, direction, coset, pass, 0);
    const size_t tasks = (tiles + kTilesPerTask - 1) / kTilesPerTask;
    for_each(workers_, workers_.lanes(), blocks * tasks, [&](size_t lane_number, size_t task) {
        const Lane& lane = lanes_[lane_number];
        const size_t block = task / tasks, first = task % tasks * kTilesPerTask;
        if (!shared) block_twiddles(lane.twiddles, direction, coset, pass, block);
        const Fr* twiddles = shared ? shared_twiddles_ : lane.twiddles;
        for (size_t tile = first; tile < std::min(first + kTilesPerTask, tiles); tile++) {
            run_tile(values, direction, pass, block, tile * kColumns, lane, twiddles);
        }
    });
}

void Domain::transform(Fr* values, Direction direction, Coset coset) const {
    for (unsigned i = 0; i < pass_count_; i++) {
        const unsigned pass = direction == Direction::kForward ? i : pass_count_ - 1 - i;
        run_pass(values, direction, coset, passes_[pass]);
    }
}

void Domain::multiply_on_coset(Fr* a, Fr* b) const {
    const unsigned last = pass_count_ - 1;
    const Pass& pass = passes_[last];
    for (Fr* values : {a, b}) {
        for (unsigned i = 0; i < last; i++)
            run_pass(values, Direction::kForward, Coset::kShifted, passes_[i]);
    }
    const size_t rows = size_t{1} << pass.levels();
    const Kernels& kernels = workers_.kernels();
    for_each(workers_, workers_.lanes(), size_t{1} << pass.first, [&](size_t lane_number, size_t block) {
        const Lane& lane = lanes_[lane_number];
        block_twiddles(lane.twiddles, Direction::kForward, Coset::kShifted, pass, block);
        block_twiddles(lane.more_twiddles, Direction::kInverse, Coset::kShifted, pass, block);
        Fr* left = a + block * rows;
        Fr* right = b + block * rows;
        kernels.ntt_forward(left, pass.levels(), 1, lane.twiddles);
        kernels.ntt_forward(right, pass.levels(), 1, lane.twiddles);
        for (size_t i = 0; i < rows; i++) mul(left[i], left[i], right[i]);
        kernels.ntt_inverse(left, pass.levels(), 1, lane.more_twiddles);
    });
    for (unsigned i = last; i-- > 0;) run_pass(a, Direction::kInverse, Coset::kShifted, passes_[i]);
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
                     swap_tiles(values, tile, lanes_[lane].tile);
                 }
             });
}

}  // namespace forebay
