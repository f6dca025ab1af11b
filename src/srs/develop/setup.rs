//! From a circuit and toxic waste to `.params` and `.vk` files.

use std::fs::File;
use std::path::{Path, PathBuf};

use bellpepper_core::Circuit;
use bellperson::groth16::VerifyingKey;
use blake2b_simd::State;
use blstrs::{Bls12, G1Affine, G2Affine, Scalar};
use ff::Field;
use group::Curve;
use rayon::prelude::*;

use super::lagrange::Lagrange;
use super::qap::{compact, Polynomials, Sizes};
use super::toxic::ToxicWaste;
use crate::circuit::Shape;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::{Class, Region, Stage};
use crate::srs::layout::Counts;
use crate::srs::native::LEAF;
use crate::srs::official::Digest;
use crate::srs::points::{encode_all, Point};
use crate::srs::sidecar::{DevelopmentMark, Stamp, Verdict};
use crate::srs::staged::Staged;
use crate::srs::work::{system, Phase, Query, Work};

/// Bytes of points computed in one call of the arithmetic: its tables, built once a call, cost a few percent.
const BATCH: usize = 8 * LEAF;
/// Powers of τ that one task computes.
const TASK: usize = 4096;

/// Where a development key goes.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The parameter folder.
    pub folder: &'a Path,
    /// The files' name without extension, as Filecoin's crates look for it: `v28-…`.
    pub stem: &'a str,
    /// The circuit.
    pub circuit: CircuitId,
}

/// A development key that was written.
#[derive(Clone, Debug)]
pub struct Developed {
    /// The `.params` file.
    pub params: PathBuf,
    /// The `.vk` file.
    pub vk: PathBuf,
    /// The circuit's sizes.
    pub shape: Shape,
    /// Points of each vector.
    pub counts: Counts,
}

/// Makes a development key for a circuit and writes it as `.params` and `.vk` files that bellperson reads, with the
/// mark that they are insecure. `circuit` gives the blank circuit; it is called twice. The same circuit and toxic
/// waste give the same bytes as bellperson's generator.
///
/// Refuses to replace files that have no such mark. Memory: 96 bytes a variable and about 64 MB.
pub fn develop<C, F>(target: &Target, circuit: F, toxic: &ToxicWaste, work: &Work) -> Result<Developed>
where
    C: Circuit<Scalar>,
    F: Fn() -> C,
{
    toxic.check()?;
    let params = target.folder.join(format!("{}.params", target.stem));
    let vk_path = params.with_extension("vk");
    require_replaceable(&params, &vk_path)?;
    let staged = Staged::create(&params, work.cancel)?;

    work.step(Phase::Synthesis, 0, 0)?;
    let sizes = Sizes::of(circuit())?;
    let domain = Lagrange::new(sizes.rows(), toxic.tau)?;
    let mut values = Polynomials::evaluate(circuit(), sizes, &domain, work)?;
    let (of_input, of_aux) = (invert(toxic.gamma), invert(toxic.delta));
    values.combine([toxic.alpha, toxic.beta], of_input, of_aux)?;
    let a = compact(values.a.as_mut_slice());
    let b = compact(values.b.as_mut_slice());
    let counts = Counts {
        ic: sizes.inputs as u64,
        queries: [domain.size() - 1, sizes.aux as u64, a as u64, b as u64, b as u64],
    };

    let vk = verifying_key(toxic, &values.c.as_slice()[..sizes.inputs], work)?;
    let mut key = Vec::new();
    vk.write(&mut key).map_err(|e| Error::internal(format!("encoding a verifying key: {e}")))?;
    let mut writer = ParamsWriter::new(staged, toxic, work)?;
    writer.write(&key)?;
    let first = domain.vanishing() * of_aux;
    let powers = |at: u64, out: &mut [Scalar]| powers(first * toxic.tau.pow_vartime([at]), toxic.tau, out);
    writer.query::<G1Affine>(Query::H, counts.of(Query::H), &Source::Computed(&powers))?;
    writer.query_of::<G1Affine>(Query::L, &values.c.as_slice()[sizes.inputs..])?;
    writer.query_of::<G1Affine>(Query::A, &values.a.as_slice()[..a])?;
    writer.query_of::<G1Affine>(Query::BG1, &values.b.as_slice()[..b])?;
    writer.query_of::<G2Affine>(Query::BG2, &values.b.as_slice()[..b])?;
    let shape = values.shape;
    drop(values);

    let (staged, digest) = writer.finish();
    publish(target, staged, digest, (&vk_path, &key), work)?;
    Ok(Developed { params, vk: vk_path, shape, counts })
}

/// Marks, then names the files, so that no key is ever seen without its mark.
fn publish(
    target: &Target,
    params: Staged,
    digest: Digest,
    (vk_path, key): (&Path, &[u8]),
    work: &Work,
) -> Result<()> {
    let mark =
        DevelopmentMark::new(&target.circuit.to_string(), &digest, blake2b_simd::blake2b(key).as_array());
    let path = target.folder.join(format!("{}.params", target.stem));
    let mut vk = Staged::create(vk_path, work.cancel)?;
    vk.write(key)?;
    mark.write(&path, work.cancel)?;
    vk.commit()?;
    params.commit()?;
    // The points were computed here, so there is nothing left to check of them.
    let file = File::open(&path).map_err(system("opening", &path))?;
    Verdict::new(Stamp::settled(&file, &path)?, &digest, true).remember(&path, target.folder);
    Ok(())
}

fn require_replaceable(params: &Path, vk: &Path) -> Result<()> {
    if DevelopmentMark::path(params).exists() {
        return Ok(());
    }
    match [params, vk].into_iter().find(|file| file.exists()) {
        None => Ok(()),
        Some(file) => Err(Error::new(
            Code::InvalidArgument,
            format!(
                "{} exists and is not marked as a development key; move it away, or choose another folder",
                file.display()
            ),
        )),
    }
}

fn invert(scalar: Scalar) -> Scalar {
    Option::from(scalar.invert()).unwrap_or(Scalar::ZERO)
}

/// out[i] = first·τⁱ.
fn powers(first: Scalar, tau: Scalar, out: &mut [Scalar]) {
    out.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
        let mut power = first * tau.pow_vartime([(task * TASK) as u64]);
        for value in out {
            *value = power;
            power *= tau;
        }
    });
}

fn verifying_key(toxic: &ToxicWaste, ic: &[Scalar], work: &Work) -> Result<VerifyingKey<Bls12>> {
    let mut points = vec![G1Affine::default(); ic.len()];
    work.arithmetic.fixed_base_g1(&toxic.g1.to_affine(), ic, &mut points)?;
    Ok(VerifyingKey {
        alpha_g1: (toxic.g1 * toxic.alpha).to_affine(),
        beta_g1: (toxic.g1 * toxic.beta).to_affine(),
        beta_g2: (toxic.g2 * toxic.beta).to_affine(),
        gamma_g2: (toxic.g2 * toxic.gamma).to_affine(),
        delta_g1: (toxic.g1 * toxic.delta).to_affine(),
        delta_g2: (toxic.g2 * toxic.delta).to_affine(),
        ic: points,
    })
}

/// A query's scalars: in memory, or computed where they are needed.
enum Source<'a> {
    Held(&'a [Scalar]),
    Computed(&'a dyn Fn(u64, &mut [Scalar])),
}

/// A point that the arithmetic computes from a setup's generator.
trait FixedBase: Point {
    fn multiply(work: &Work, toxic: &ToxicWaste, scalars: &[Scalar], out: &mut [Self]) -> Result<()>;
}

impl FixedBase for G1Affine {
    fn multiply(work: &Work, toxic: &ToxicWaste, scalars: &[Scalar], out: &mut [Self]) -> Result<()> {
        work.arithmetic.fixed_base_g1(&toxic.g1.to_affine(), scalars, out)
    }
}

impl FixedBase for G2Affine {
    fn multiply(work: &Work, toxic: &ToxicWaste, scalars: &[Scalar], out: &mut [Self]) -> Result<()> {
        work.arithmetic.fixed_base_g2(&toxic.g2.to_affine(), scalars, out)
    }
}

/// Computes, encodes, hashes and writes points, a batch at a time.
struct ParamsWriter<'a> {
    staged: Staged,
    hasher: State,
    toxic: &'a ToxicWaste,
    work: &'a Work<'a>,
    points: Region,
    encoded: Region,
}

impl<'a> ParamsWriter<'a> {
    fn new(staged: Staged, toxic: &'a ToxicWaste, work: &'a Work<'a>) -> Result<Self> {
        let zeroed = |bytes| Region::zeroed(Class::WorkingSet, Stage::Shared, bytes);
        let (points, encoded) = (zeroed(BATCH)?, zeroed(LEAF)?);
        Ok(ParamsWriter { staged, hasher: State::new(), toxic, work, points, encoded })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.staged.write(bytes)
    }

    fn query_of<P: FixedBase>(&mut self, query: Query, scalars: &[Scalar]) -> Result<()> {
        self.query::<P>(query, scalars.len() as u64, &Source::Held(scalars))
    }

    /// Writes a query's count and its points.
    fn query<P: FixedBase>(&mut self, query: Query, total: u64, source: &Source) -> Result<()> {
        let count = u32::try_from(total).map_err(|_| {
            let name = query.name();
            Error::new(
                Code::InvalidArgument,
                format!("expected fewer than 2^32 points in query {name}, found {total}"),
            )
        })?;
        self.write(&count.to_be_bytes())?;
        let batch = ((BATCH / P::LEN) as u64).min(total.max(1));
        let mut scratch = match source {
            Source::Held(_) => Region::zeroed(Class::WorkingSet, Stage::Shared, 0)?,
            Source::Computed(_) => {
                Region::zeroed(Class::WorkingSet, Stage::Shared, batch as usize * size_of::<Scalar>())?
            }
        };
        let mut done = 0;
        while done < total {
            self.work.step(Phase::Query(query), done, total)?;
            let n = (total - done).min(batch) as usize;
            let scalars = match source {
                Source::Held(all) => &all[done as usize..][..n],
                Source::Computed(fill) => {
                    let scalars = &mut scratch.as_mut_slice::<Scalar>()[..n];
                    fill(done, scalars);
                    &*scalars
                }
            };
            P::multiply(self.work, self.toxic, scalars, &mut self.points.as_mut_slice::<P>()[..n])?;
            self.write_points::<P>(n)?;
            done += n as u64;
        }
        self.work.step(Phase::Query(query), done, total)
    }

    fn write_points<P: Point>(&mut self, n: usize) -> Result<()> {
        let ParamsWriter { points, encoded, hasher, staged, .. } = self;
        for points in points.as_slice::<P>()[..n].chunks(LEAF / P::LEN) {
            let bytes = &mut encoded.as_mut_slice::<u8>()[..points.len() * P::LEN];
            encode_all(points, bytes);
            let bytes = &*bytes;
            let (_, written) = rayon::join(|| hasher.update(bytes).count(), || staged.write(bytes));
            written?;
        }
        Ok(())
    }

    fn finish(self) -> (Staged, Digest) {
        (self.staged, *self.hasher.finalize().as_array())
    }
}
