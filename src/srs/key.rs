//! A native file, opened: mapped, its head checked.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bellperson::groth16::{prepare_verifying_key, PreparedVerifyingKey, VerifyingKey};
use blstrs::{Bls12, G1Affine, G2Affine};

use super::header::Header;
use super::layout::Counts;
use super::native::{SectionChecksum, LEAF};
use super::params::refuse_development;
use super::work::{invalid, system, Phase, Query, Work};
use crate::cancel::Cancel;
use crate::circuit::Shape;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::memory::{Class, FileMap, Pod};
use crate::units::Bytes;

/// Bytes that are hashed between two looks at the cancellation flag.
const BLOCK: usize = 32 * LEAF;

/// A circuit's proving and verifying key, mapped from its native file.
///
/// The points are affine, in Montgomery form, as `blst_p1_affine` and `blst_p2_affine` are in memory. They are
/// pages of the page cache: the kernel may drop them and read them again.
pub struct Srs {
    path: PathBuf,
    map: FileMap,
    header: Header,
    pvk: OnceLock<PreparedVerifyingKey<Bls12>>,
}

impl Srs {
    /// Maps a native file and checks its head, its length and that it is this circuit's. The points' checksums
    /// are compared by [`Srs::verify`]. Refuses a development key unless it is allowed.
    ///
    /// Fails with `ParametersMissing` or `ParametersInvalid`, naming the file.
    pub fn open(path: &Path, circuit: CircuitId, allow_development: bool) -> Result<Srs> {
        let srs = Srs::open_any(path)?;
        srs.require_circuit(circuit)?;
        srs.require_allowed(allow_development)?;
        Ok(srs)
    }

    pub(super) fn require_circuit(&self, circuit: CircuitId) -> Result<()> {
        let (expected, found) = (circuit.to_string(), &self.header.circuit);
        if *found != expected {
            return Err(invalid(
                &self.path,
                format!("expected parameters of circuit {expected}, found those of {found:?}"),
            ));
        }
        Ok(())
    }

    pub(super) fn require_allowed(&self, allow_development: bool) -> Result<()> {
        if self.is_development() && !allow_development {
            return Err(refuse_development(&self.path));
        }
        Ok(())
    }

    /// As [`Srs::open`], whatever the circuit and wherever the key came from.
    pub(super) fn open_any(path: &Path) -> Result<Srs> {
        let file = File::open(path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(Code::ParametersMissing, format!("{} does not exist", path.display()))
            }
            _ => system("opening", path)(e),
        })?;
        let map = FileMap::open(Class::Srs, &file)?;
        let header = Header::decode(map.bytes(), path)?;
        let (expected, found) = (header.file_len(), map.bytes().len() as u64);
        if expected != Some(found) {
            let expected = expected.map_or("an impossible number of".into(), |n| n.to_string());
            return Err(invalid(
                path,
                format!("expected {expected} bytes, found {found}; delete the file and import again"),
            ));
        }
        Ok(Srs { path: path.into(), map, header, pvk: OnceLock::new() })
    }

    /// The verifying key.
    pub fn vk(&self) -> &VerifyingKey<Bls12> {
        &self.header.vk
    }

    /// The verifying key, prepared for pairings on first use.
    pub fn pvk(&self) -> &PreparedVerifyingKey<Bls12> {
        self.pvk.get_or_init(|| prepare_verifying_key(self.vk()))
    }

    /// τⁱ·t(τ)/δ for i below domain − 1.
    pub fn h(&self) -> &[G1Affine] {
        self.section(Query::H)
    }

    /// The private variables' (β·Aⱼ(τ) + α·Bⱼ(τ) + Cⱼ(τ))/δ.
    pub fn l(&self) -> &[G1Affine] {
        self.section(Query::L)
    }

    /// Aⱼ(τ): inputs, then private variables, the zero ones left out.
    pub fn a(&self) -> &[G1Affine] {
        self.section(Query::A)
    }

    /// Bⱼ(τ) in G1: inputs, then private variables, the zero ones left out.
    pub fn b_g1(&self) -> &[G1Affine] {
        self.section(Query::BG1)
    }

    /// Bⱼ(τ) in G2, in the order of [`Srs::b_g1`].
    pub fn b_g2(&self) -> &[G2Affine] {
        self.section(Query::BG2)
    }

    /// Bytes mapped.
    pub fn mapped(&self) -> Bytes {
        Bytes(self.map.bytes().len() as u64)
    }

    /// True where the key came from a development setup: proofs of it can be forged.
    pub fn is_development(&self) -> bool {
        self.header.development
    }

    /// Points of each vector.
    pub fn counts(&self) -> Counts {
        self.header.counts
    }

    /// BLAKE2b-512 of the `.params` file that was imported.
    pub fn source_digest(&self) -> &[u8; 64] {
        &self.header.source
    }

    /// The circuit's name, as the file says it.
    pub fn circuit(&self) -> &str {
        &self.header.circuit
    }

    /// The native file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a key whose lengths are not those of the circuit.
    pub fn check_shape(&self, shape: &Shape) -> Result<()> {
        self.header.counts.require(&self.path, &Counts::of_shape(shape))
    }

    /// Reads the whole file and compares the checksums of its sections.
    pub fn verify(&self, work: &Work) -> Result<()> {
        let total = self.mapped().0;
        let mut done = self.header.offset(Query::H);
        for query in Query::ALL {
            let start = self.header.offset(query) as usize;
            let len = self.header.counts.of(query) as usize * query.point_len();
            let mut sum = SectionChecksum::new();
            for block in self.map.slice::<u8>(start, len)?.chunks(BLOCK) {
                work.step(Phase::Verify, done, total)?;
                sum.update(block);
                done += block.len() as u64;
            }
            if sum.finish() != self.header.sections[query as usize] {
                return Err(invalid(
                    &self.path,
                    format!(
                        "the checksum of query {} does not match; delete the file and import again",
                        query.name()
                    ),
                ));
            }
        }
        work.step(Phase::Verify, done, total)
    }

    /// Tells the kernel that the points will be read soon.
    pub fn will_need(&self) {
        self.map.will_need();
    }

    /// Brings every page in and maps it: the key is resident when this returns, and the first proof does not
    /// wait for the disk.
    pub fn populate(&self, cancel: &Cancel) -> Result<()> {
        self.map.populate(cancel)
    }

    fn section<T: Pod>(&self, query: Query) -> &[T] {
        let (offset, count) = (self.header.offset(query), self.header.counts.of(query));
        // The length was checked when the file was opened.
        self.map.slice(offset as usize, count as usize).unwrap_or_default()
    }
}

impl std::fmt::Debug for Srs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Srs")
            .field("path", &self.path)
            .field("circuit", &self.header.circuit)
            .field("counts", &self.header.counts)
            .field("development", &self.header.development)
            .finish_non_exhaustive()
    }
}
