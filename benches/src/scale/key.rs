//! A proving key of any size at little cost: valid points in all places, not those of a setup.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use blstrs::{G1Affine, G2Affine, Scalar};
use forebay::cancel::Cancel;
use forebay::circuit::Shape;
use forebay::kind::CircuitId;
use forebay::srs::develop::{develop, Target, ToxicWaste};
use forebay::srs::{Arithmetic, Srs, Store, StoreConfig, Work};
use rand::rngs::OsRng;

use super::circuit::WitnessLike;
use crate::inputs;
use crate::world::World;
use crate::Failure;

/// Different points in a key.
const POINTS: usize = 1 << 15;

/// Stands in for a setup's arithmetic: gives out the same random points in turn.
pub struct Repeated {
    g1: Vec<G1Affine>,
    g2: Vec<G2Affine>,
    next: AtomicUsize,
}

impl Repeated {
    /// Computes the points.
    pub fn new(world: &World) -> Result<Repeated, Failure> {
        let (g1, g2) = (inputs::points_g1(world, POINTS)?, inputs::points_g2(world, POINTS)?);
        Ok(Repeated { g1, g2, next: AtomicUsize::new(0) })
    }

    fn fill<P: Copy>(&self, from: &[P], out: &mut [P]) {
        let first = self.next.fetch_add(out.len(), Ordering::Relaxed);
        out.iter_mut().enumerate().for_each(|(i, point)| *point = from[(first + i) % from.len()]);
    }

    /// The key of a circuit, by way of the files that a setup writes; `folder` keeps the native one.
    pub fn key(
        &self,
        world: &World,
        id: CircuitId,
        circuit: WitnessLike,
        shape: &Shape,
        folder: &Path,
    ) -> Result<Srs, Failure> {
        let work = Work { arithmetic: self, progress: &|_| (), cancel: &Cancel::new() };
        let stem = format!("scale-{}", shape.domain_log2());
        let target = Target { folder, stem: &stem, circuit: id };
        let toxic = ToxicWaste::random(&mut OsRng);
        let store = Store::new(StoreConfig {
            parameter_dirs: vec![folder.into()],
            cache_dir: folder.into(),
            allow_development: true,
        });
        let (made, srs) = world.pool.install(|| -> forebay::Result<_> {
            let made = develop(&target, || circuit, &toxic, &work)?;
            Ok((made, store.open(id, &stem, shape, &work)?))
        })?;
        std::fs::remove_file(made.params)?;
        Ok(srs)
    }
}

impl Arithmetic for Repeated {
    fn fixed_base_g1(&self, _: &G1Affine, _: &[Scalar], out: &mut [G1Affine]) -> forebay::Result<()> {
        self.fill(&self.g1, out);
        Ok(())
    }

    fn fixed_base_g2(&self, _: &G2Affine, _: &[Scalar], out: &mut [G2Affine]) -> forebay::Result<()> {
        self.fill(&self.g2, out);
        Ok(())
    }

    fn first_bad_g1(&self, _: &[G1Affine]) -> forebay::Result<Option<usize>> {
        Ok(None)
    }

    fn first_bad_g2(&self, _: &[G2Affine]) -> forebay::Result<Option<usize>> {
        Ok(None)
    }
}
