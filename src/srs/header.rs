//! The head of a native file: what the file holds, the verifying key, and checksums.
//!
//! All integers are little-endian. A native file is the head, zeros up to a multiple of 64 bytes, then the
//! points of h, l, a, b_g1 and b_g2 in affine Montgomery form (96 or 192 bytes each, as blst keeps them),
//! without gaps: every section starts at a multiple of 32 bytes.

use std::path::Path;

use bellperson::groth16::VerifyingKey;
use blake2b_simd::{Hash, Params};
use blstrs::{Bls12, G1Affine, G2Affine};

use super::layout::Counts;
use super::official::Digest;
use super::work::{invalid, Query};
use crate::error::Result;

const MAGIC: [u8; 8] = *b"FBYSRS\r\n";
const VERSION: u32 = 1;
const DEVELOPMENT: u32 = 1;
const CIRCUIT_LEN: usize = 32;
const FIXED_LEN: usize = 8 + 4 + 4 + CIRCUIT_LEN + 6 * 8 + 64 + 5 * 32;
const ALIGNMENT: u64 = 64;
/// More public inputs than any circuit has; bounds what a corrupt head can ask for.
const MAX_IC: u64 = 1 << 24;

/// A BLAKE2b-256 checksum.
pub(super) type Checksum = [u8; 32];

/// The head of a native file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    /// The circuit's name.
    pub circuit: String,
    /// True where the key came from a development setup.
    pub development: bool,
    /// Points of each vector.
    pub counts: Counts,
    /// Digest of the `.params` file that was imported.
    pub source: Digest,
    /// Checksums of the sections.
    pub sections: [Checksum; 5],
    /// The verifying key.
    pub vk: VerifyingKey<Bls12>,
}

/// BLAKE2b with an output of 256 bits.
pub(super) fn checksum_params() -> Params {
    let mut params = Params::new();
    params.hash_length(size_of::<Checksum>());
    params
}

/// The bytes of a hash made with [`checksum_params`].
pub(super) fn to_checksum(hash: &Hash) -> Checksum {
    let mut out = [0; size_of::<Checksum>()];
    out.copy_from_slice(hash.as_bytes());
    out
}

fn checksum(bytes: &[u8]) -> Checksum {
    to_checksum(&checksum_params().hash(bytes))
}

/// Bytes from the file's start to the h section.
pub(super) fn head_len(ic: u64) -> u64 {
    let used = FIXED_LEN as u64 + 3 * 48 + 3 * 96 + ic * 48 + 32;
    used.div_ceil(ALIGNMENT) * ALIGNMENT
}

impl Header {
    /// Bytes of the whole file.
    pub(super) fn file_len(&self) -> Option<u64> {
        self.counts.native_len()
    }

    /// Byte offset of a query's section.
    pub(super) fn offset(&self, query: Query) -> u64 {
        let before = Query::ALL.into_iter().take_while(|q| *q != query);
        head_len(self.counts.ic) + before.map(|q| self.counts.of(q) * q.point_len() as u64).sum::<u64>()
    }

    /// The head's bytes, zeros up to the first section included.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(head_len(self.counts.ic) as usize);
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend((if self.development { DEVELOPMENT } else { 0 }).to_le_bytes());
        let mut circuit = [0; CIRCUIT_LEN];
        let name = self.circuit.as_bytes();
        circuit[..name.len().min(CIRCUIT_LEN)].copy_from_slice(&name[..name.len().min(CIRCUIT_LEN)]);
        out.extend(circuit);
        out.extend(self.counts.ic.to_le_bytes());
        self.counts.queries.iter().for_each(|count| out.extend(count.to_le_bytes()));
        out.extend(self.source);
        self.sections.iter().for_each(|sum| out.extend(sum));
        let vk = &self.vk;
        [vk.alpha_g1, vk.beta_g1, vk.delta_g1].iter().for_each(|p| out.extend(p.to_compressed()));
        [vk.beta_g2, vk.gamma_g2, vk.delta_g2].iter().for_each(|p| out.extend(p.to_compressed()));
        vk.ic.iter().for_each(|p| out.extend(p.to_compressed()));
        let sum = checksum(&out);
        out.extend(sum);
        out.resize(head_len(self.counts.ic) as usize, 0);
        out
    }

    /// Parses the head of a file; `bytes` is the whole file, or as much of it as there is.
    pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Header> {
        let mut reader = Reader { bytes, path };
        if reader.take::<8>()? != MAGIC {
            return Err(invalid(path, "expected a native parameter file, found something else"));
        }
        let version = u32::from_le_bytes(reader.take()?);
        if version != VERSION {
            return Err(invalid(
                path,
                format!(
                    "expected format version {VERSION}, found {version}; delete the file and import again"
                ),
            ));
        }
        let flags = u32::from_le_bytes(reader.take()?);
        let circuit = reader.take::<CIRCUIT_LEN>()?;
        let mut counts = Counts { ic: u64::from_le_bytes(reader.take()?), queries: [0; 5] };
        for count in &mut counts.queries {
            *count = u64::from_le_bytes(reader.take()?);
        }
        require_checksum(bytes, counts.ic, path)?;
        let source = reader.take()?;
        let mut sections = [[0; 32]; 5];
        for sum in &mut sections {
            *sum = reader.take()?;
        }
        let vk = reader.verifying_key(counts.ic)?;
        let name = circuit.split(|b| *b == 0).next().unwrap_or_default();
        Ok(Header {
            circuit: String::from_utf8_lossy(name).into_owned(),
            development: flags & DEVELOPMENT != 0,
            counts,
            source,
            sections,
            vk,
        })
    }
}

fn require_checksum(bytes: &[u8], ic: u64, path: &Path) -> Result<()> {
    let corrupt = || invalid(path, "the head is truncated or corrupt; delete the file and import again");
    if ic > MAX_IC {
        return Err(corrupt());
    }
    let end = FIXED_LEN + 3 * 48 + 3 * 96 + ic as usize * 48;
    let (Some(covered), Some(kept)) = (bytes.get(..end), bytes.get(end..end + 32)) else {
        return Err(corrupt());
    };
    if checksum(covered) != kept {
        return Err(corrupt());
    }
    Ok(())
}

struct Reader<'a> {
    bytes: &'a [u8],
    path: &'a Path,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some((head, rest)) = self.bytes.split_first_chunk() else {
            return Err(invalid(self.path, "truncated in its head; delete the file and import again"));
        };
        self.bytes = rest;
        Ok(*head)
    }

    /// The key's points were checked when the file was made and the checksum covers them, so their
    /// subgroup is not checked again.
    fn g1(&mut self) -> Result<G1Affine> {
        let bytes = self.take()?;
        Option::from(G1Affine::from_compressed_unchecked(&bytes)).ok_or_else(|| self.bad_point())
    }

    fn g2(&mut self) -> Result<G2Affine> {
        let bytes = self.take()?;
        Option::from(G2Affine::from_compressed_unchecked(&bytes)).ok_or_else(|| self.bad_point())
    }

    fn bad_point(&self) -> crate::Error {
        invalid(
            self.path,
            "a point of the verifying key is not on the curve; delete the file and import again",
        )
    }

    fn verifying_key(&mut self, ic: u64) -> Result<VerifyingKey<Bls12>> {
        let (alpha_g1, beta_g1, delta_g1) = (self.g1()?, self.g1()?, self.g1()?);
        let (beta_g2, gamma_g2, delta_g2) = (self.g2()?, self.g2()?, self.g2()?);
        let ic = (0..ic).map(|_| self.g1()).collect::<Result<_>>()?;
        Ok(VerifyingKey { alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, ic })
    }
}
