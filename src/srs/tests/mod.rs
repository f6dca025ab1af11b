//! Tests of the room as a whole, against bellperson.

mod develop;
mod native;
mod params;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use group::Curve;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::develop::{develop, Target, ToxicWaste};
use super::{Arithmetic, Phase, Progress, Store, StoreConfig, Work};
use crate::cancel::Cancel;
use crate::circuit::testing::RandomCircuit;
use crate::circuit::Shape;
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};

pub(super) const CIRCUIT: CircuitId = CircuitId { kind: ProofKind::WinningPost, sector_size: 2048 };
/// A stem that Filecoin's list does not name.
pub(super) const STEM: &str = "v28-a-test-circuit";
/// The official stem of the 2 KiB winning PoSt.
pub(super) const OFFICIAL: &str = "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-0-0-0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0";

/// Straightforward arithmetic through blstrs.
pub(crate) struct Plain;

impl Arithmetic for Plain {
    fn fixed_base_g1(&self, base: &G1Affine, scalars: &[Scalar], out: &mut [G1Affine]) -> Result<()> {
        let points: Vec<G1Projective> = scalars.par_iter().map(|s| base * s).collect();
        G1Projective::batch_normalize(&points, out);
        Ok(())
    }

    fn fixed_base_g2(&self, base: &G2Affine, scalars: &[Scalar], out: &mut [G2Affine]) -> Result<()> {
        let points: Vec<G2Projective> = scalars.par_iter().map(|s| base * s).collect();
        G2Projective::batch_normalize(&points, out);
        Ok(())
    }

    fn first_bad_g1(&self, points: &[G1Affine]) -> Result<Option<usize>> {
        Ok(points.iter().position(|p| !bool::from(p.is_on_curve() & p.is_torsion_free())))
    }

    fn first_bad_g2(&self, points: &[G2Affine]) -> Result<Option<usize>> {
        Ok(points.iter().position(|p| !bool::from(p.is_on_curve() & p.is_torsion_free())))
    }
}

/// Runs `f` with plain arithmetic and records the phases it went through.
pub(super) fn with_work<T>(f: impl FnOnce(&Work) -> T) -> (T, Vec<Phase>) {
    let phases = Mutex::new(Vec::new());
    let cancel = Cancel::new();
    let record = |progress: Progress| {
        assert!(progress.done <= progress.total, "{progress:?}");
        let mut phases = phases.lock().unwrap();
        if phases.last() != Some(&progress.phase) {
            phases.push(progress.phase);
        }
    };
    let out = f(&Work { arithmetic: &Plain, progress: &record, cancel: &cancel });
    let phases = phases.into_inner().unwrap();
    (out, phases)
}

/// Runs `f` with plain arithmetic.
pub(super) fn work<T>(f: impl FnOnce(&Work) -> T) -> T {
    with_work(f).0
}

/// A blank random circuit with about this many variables.
pub(super) fn circuit(seed: u64, variables: usize) -> RandomCircuit {
    RandomCircuit {
        seed,
        inputs: variables / 5,
        aux: variables - variables / 5,
        boolean_percent: 50,
        values: false,
    }
}

/// A circuit with a private variable that stands in no constraint.
#[derive(Clone, Copy)]
pub(super) struct Free(pub RandomCircuit);

impl Circuit<Scalar> for Free {
    fn synthesize<CS: ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> std::result::Result<(), SynthesisError> {
        self.0.synthesize(cs)?;
        cs.alloc(|| "free", || Err(SynthesisError::AssignmentMissing)).map(|_| ())
    }
}

/// A folder with the development key of a small circuit, and a cache folder beside it.
pub(super) struct Fixture {
    pub dir: tempfile::TempDir,
    pub params: PathBuf,
    pub shape: Shape,
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        Fixture::named(STEM)
    }

    pub(super) fn named(stem: &str) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let toxic = ToxicWaste::random(&mut ChaCha8Rng::seed_from_u64(3));
        let folder = dir.path().join("params");
        let target = Target { folder: &folder, stem, circuit: CIRCUIT };
        let made = work(|w| develop(&target, || circuit(9, 60), &toxic, w)).unwrap();
        Fixture { dir, params: made.params, shape: made.shape }
    }

    /// The key without its mark and without what was remembered of it, under another stem: a foreign file.
    pub(super) fn foreign(stem: &str) -> Fixture {
        let mut fixture = Fixture::new();
        let path = fixture.params.with_file_name(format!("{stem}.params"));
        std::fs::rename(&fixture.params, &path).unwrap();
        std::fs::rename(fixture.params.with_extension("vk"), path.with_extension("vk")).unwrap();
        std::fs::remove_file(fixture.params.with_extension("development")).unwrap();
        std::fs::remove_file(fixture.params.with_extension("params.checked")).unwrap();
        fixture.params = path;
        fixture
    }

    pub(super) fn store(&self, allow_development: bool) -> Store {
        Store::new(StoreConfig {
            parameter_dirs: vec![self.dir.path().join("elsewhere"), self.dir.path().join("params")],
            cache_dir: self.cache(),
            allow_development,
        })
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// The names in a folder, in order.
    pub(super) fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).map(|d| d.collect::<Vec<_>>()).unwrap_or_default();
        let mut names: Vec<_> =
            entries.into_iter().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A point of the curve outside its prime-order subgroup.
pub(super) fn outside_g1() -> G1Affine {
    (0..=255u8)
        .find_map(|x| {
            let mut bytes = [0; 48];
            (bytes[0], bytes[47]) = (0x80, x);
            Option::<G1Affine>::from(G1Affine::from_compressed_unchecked(&bytes))
                .filter(|p| !bool::from(p.is_torsion_free()))
        })
        .unwrap()
}

/// A point of the twist outside its prime-order subgroup.
pub(super) fn outside_g2() -> G2Affine {
    (0..=255u8)
        .find_map(|x| {
            let mut bytes = [0; 96];
            (bytes[0], bytes[95]) = (0x80, x);
            Option::<G2Affine>::from(G2Affine::from_compressed_unchecked(&bytes))
                .filter(|p| !bool::from(p.is_torsion_free()))
        })
        .unwrap()
}
