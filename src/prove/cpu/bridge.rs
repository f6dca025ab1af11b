//! The cxx bridge to the C++ core. Field elements and points travel as 64-bit limbs in Montgomery form.

use super::crew::Crew;

#[cxx::bridge(namespace = "forebay")]
mod ffi {
    /// A point of G1 in Jacobian coordinates.
    struct SumG1 {
        limbs: [u64; 18],
    }

    /// A point of G2 in Jacobian coordinates.
    struct SumG2 {
        limbs: [u64; 36],
    }

    /// The points of one proof's queries, and those of each scalar.
    struct QueryTerms<'a> {
        l: &'a [u64],
        a: &'a [u64],
        b_g1: &'a [u64],
        b_g2: &'a [u64],
        l_indices: &'a [u32],
        a_indices: &'a [u32],
        b_indices: &'a [u32],
    }

    /// The sums of one proof's queries.
    struct QueryLimbs {
        l: SumG1,
        a: SumG1,
        b_g1: SumG1,
        b_g2: SumG2,
    }

    extern "Rust" {
        type Crew;
        fn lanes(&self) -> usize;
        fn kernels(&self) -> &KernelTable;
        fn run(&self, lanes: usize, count: usize, task: &Task) -> Result<()>;
    }

    unsafe extern "C++" {
        include!("bridge/bridge.h");

        type Task;
        fn run_task(task: &Task, lane: usize, index: usize) -> Result<()>;

        #[cxx_name = "Kernels"]
        type KernelTable;
        fn find_kernels(name: &str) -> Result<&'static KernelTable>;
        fn kernel_name(kernels: &KernelTable) -> Result<&'static str>;
        fn kernel_names() -> Result<Vec<String>>;

        #[allow(dead_code)] // The kernels' own tests.
        fn add_pairs_g1(
            kernels: &KernelTable,
            points: &[u64],
            pairs: &[u32],
            out: &mut [u64],
            scratch: &mut [u8],
        ) -> Result<()>;
        #[allow(dead_code)]
        fn add_pairs_g2(
            kernels: &KernelTable,
            points: &[u64],
            pairs: &[u32],
            out: &mut [u64],
            scratch: &mut [u8],
        ) -> Result<()>;
        #[allow(dead_code)]
        fn blst_pairs_g1(points: &[u64], pairs: &[u32], out: &mut [u64], scratch: &mut [u8]) -> Result<()>;
        #[allow(dead_code)]
        fn butterflies(
            kernels: &KernelTable,
            inverse: bool,
            levels: u32,
            tile: &mut [u64],
            twiddles: &[u64],
            scratch: &mut [u8],
        ) -> Result<()>;

        fn repeat_product(
            kernels: &KernelTable,
            product: u32,
            values: &mut [u64],
            factors: &[u64],
            rounds: usize,
        ) -> Result<()>;

        fn msm_scratch_g1(kernels: &KernelTable, scalars: usize, threads: usize) -> usize;
        fn msm_scratch_g2(kernels: &KernelTable, scalars: usize, threads: usize) -> usize;
        fn msm_g1(
            crew: &Crew,
            points: &[u64],
            indices: &[u32],
            scalars: &mut [u64],
            montgomery: bool,
            scratch: &mut [u8],
        ) -> Result<SumG1>;
        fn msm_g2(
            crew: &Crew,
            points: &[u64],
            indices: &[u32],
            scalars: &mut [u64],
            montgomery: bool,
            scratch: &mut [u8],
        ) -> Result<SumG2>;

        fn query_scratch(kernels: &KernelTable, scalars: usize, threads: usize) -> usize;
        fn multiply_queries(
            crew: &Crew,
            queries: &QueryTerms,
            scalars: &mut [u64],
            montgomery: bool,
            scratch: &mut [u8],
        ) -> Result<QueryLimbs>;

        fn fixed_base_scratch_g1(scalars: usize, threads: usize) -> usize;
        fn fixed_base_scratch_g2(scalars: usize, threads: usize) -> usize;
        fn fixed_base_g1(
            crew: &Crew,
            base: &[u64],
            scalars: &[u64],
            out: &mut [u64],
            scratch: &mut [u8],
        ) -> Result<()>;
        fn fixed_base_g2(
            crew: &Crew,
            base: &[u64],
            scalars: &[u64],
            out: &mut [u64],
            scratch: &mut [u8],
        ) -> Result<()>;
        fn first_invalid_g1(crew: &Crew, points: &[u64]) -> Result<usize>;
        fn first_invalid_g2(crew: &Crew, points: &[u64]) -> Result<usize>;

        fn bitmap_scratch_g1(words: usize, threads: usize) -> usize;
        fn bitmap_scratch_g2(words: usize, threads: usize) -> usize;
        fn bitmap_sum_g1(
            crew: &Crew,
            points: &[u64],
            offset: usize,
            selected: &[u64],
            density: &[u64],
            scratch: &mut [u8],
        ) -> Result<SumG1>;
        fn bitmap_sum_g2(
            crew: &Crew,
            points: &[u64],
            offset: usize,
            selected: &[u64],
            density: &[u64],
            scratch: &mut [u8],
        ) -> Result<SumG2>;

        fn domain_scratch(threads: usize) -> usize;
        fn ntt(
            crew: &Crew,
            values: &mut [u64],
            inverse: bool,
            coset: bool,
            pass_levels: u32,
            scratch: &mut [u8],
        ) -> Result<()>;
        fn quotient_multiply(crew: &Crew, a: &mut [u64], b: &mut [u64], scratch: &mut [u8]) -> Result<()>;
        fn quotient_divide(crew: &Crew, product: &mut [u64], c: &mut [u64], scratch: &mut [u8])
            -> Result<()>;
    }
}

pub(super) use ffi::*;

// SAFETY: a task is only ever run through its const method, which C++ defines to be callable from several
// threads at the same time.
unsafe impl Sync for ffi::Task {}

// SAFETY: a table is constant for as long as the library is loaded, and so is what its functions use.
unsafe impl Sync for ffi::KernelTable {}
