//! Properties of the core against blstrs.
mod bitmap;
mod fixed_base;
mod kernels;
mod msm;
mod pause;
mod products;
mod proof;
mod transform;

use std::sync::Arc;

use blstrs::Scalar;
use ff::Field;
use proptest::prelude::*;
use rand_chacha::rand_core::SeedableRng;

use super::CpuBackend;

/// A backend on a pool of `threads` threads.
fn backend(threads: usize) -> CpuBackend {
    CpuBackend::new(Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap())).unwrap()
}

/// Scalars that take every path: zero, one, r − 1, small ones, random ones.
fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        Just(Scalar::ZERO),
        Just(Scalar::ONE),
        Just(-Scalar::ONE),
        any::<u16>().prop_map(|small| Scalar::from(u64::from(small))),
        any::<u16>().prop_map(|small| -Scalar::from(u64::from(small))),
        any::<[u8; 32]>().prop_map(random_scalar),
    ]
}

fn random_scalar(seed: [u8; 32]) -> Scalar {
    Scalar::random(rand_chacha::ChaCha8Rng::from_seed(seed))
}
