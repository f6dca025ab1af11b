//! The structure of a `.params` file as bellperson writes it: the verifying key, then the queries h, l, a,
//! b_g1 and b_g2, each a big-endian 32-bit count and as many uncompressed points.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bellperson::groth16::VerifyingKey;
use blstrs::Bls12;

use super::header::head_len;
use super::work::{invalid, system, Query};
use crate::circuit::Shape;
use crate::error::Result;

/// α, β, δ in G1 and β, γ, δ in G2.
const FIXED_KEY_LEN: u64 = 3 * 96 + 3 * 192;
/// A count.
pub(super) const COUNT_LEN: u64 = 4;

/// Lengths of a key's point vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Points of the verifying key's input vector: the public inputs, the constant ONE included.
    pub ic: u64,
    /// Points of the queries, in file order: h, l, a, b_g1, b_g2.
    pub queries: [u64; 5],
}

impl Counts {
    /// What a circuit of this shape needs.
    pub fn of_shape(shape: &Shape) -> Counts {
        let b = shape.b_input_density + shape.b_aux_density;
        Counts {
            ic: shape.inputs,
            queries: [shape.domain() - 1, shape.aux, shape.inputs + shape.a_aux_density, b, b],
        }
    }

    /// Points of one query.
    pub fn of(&self, query: Query) -> u64 {
        self.queries[query as usize]
    }

    /// Bytes of all five queries' points.
    pub(super) fn points_len(&self) -> Option<u64> {
        Query::ALL.into_iter().try_fold(0u64, |sum, query| {
            sum.checked_add(self.of(query).checked_mul(query.point_len() as u64)?)
        })
    }

    /// Bytes of the `.params` file that has these counts.
    pub fn params_len(&self) -> Option<u64> {
        let key = FIXED_KEY_LEN.checked_add(COUNT_LEN)?.checked_add(self.ic.checked_mul(96)?)?;
        key.checked_add(5 * COUNT_LEN)?.checked_add(self.points_len()?)
    }

    /// Bytes of the native file that has these counts.
    pub fn native_len(&self) -> Option<u64> {
        head_len(self.ic).checked_add(self.points_len()?)
    }

    /// Refuses counts other than those of the circuit.
    pub(super) fn require(&self, path: &Path, expected: &Counts) -> Result<()> {
        let named = Query::ALL.into_iter().map(|q| (q.name(), expected.of(q), self.of(q)));
        for (name, expected, found) in std::iter::once(("ic", expected.ic, self.ic)).chain(named) {
            if expected != found {
                return Err(invalid(
                    path,
                    format!(
                        "parameters of another circuit: expected {expected} points in {name}, found {found}"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// A `.params` file's verifying key and where its points are.
pub(super) struct Layout {
    /// The verifying key, its points checked.
    pub vk: VerifyingKey<Bls12>,
    /// Points of each vector.
    pub counts: Counts,
    /// Bytes of the whole file.
    pub len: u64,
}

impl Layout {
    /// Reads the key and the counts, and checks that the file has exactly the length they say.
    pub(super) fn read(file: &File, path: &Path) -> Result<Layout> {
        let len = file.metadata().map_err(system("reading the length of", path))?.len();
        let ic = u64::from(read_count(file, path, FIXED_KEY_LEN, len)?);
        let key_len = FIXED_KEY_LEN + COUNT_LEN + ic * 96;
        require_len(path, "the verifying key", key_len, len)?;
        let mut key = vec![0; key_len as usize];
        file.read_exact_at(&mut key, 0).map_err(system("reading", path))?;
        let vk = parse_key(&key, path)?;
        let mut counts = Counts { ic, queries: [0; 5] };
        let mut at = key_len;
        for query in Query::ALL {
            let count = u64::from(read_count(file, path, at, len)?);
            counts.queries[query as usize] = count;
            at += COUNT_LEN + count * query.point_len() as u64;
            require_len(path, &format!("{count} points of query {}", query.name()), at, len)?;
        }
        if at != len {
            return Err(invalid(path, format!("expected {at} bytes as its counts say, found {len}")));
        }
        Ok(Layout { vk, counts, len })
    }

    /// Bytes before the h query's count.
    pub(super) fn key_len(&self) -> u64 {
        FIXED_KEY_LEN + COUNT_LEN + self.counts.ic * 96
    }
}

/// Parses a verifying key: all points canonical, on the curve, in the subgroup, none at infinity.
pub(super) fn parse_key(bytes: &[u8], path: &Path) -> Result<VerifyingKey<Bls12>> {
    let bad = |what: String| invalid(path, format!("the verifying key is not valid: {what}"));
    let vk = VerifyingKey::<Bls12>::read(bytes).map_err(|e| bad(e.to_string()))?;
    let mut again = Vec::with_capacity(bytes.len());
    vk.write(&mut again).map_err(|e| bad(e.to_string()))?;
    if again != bytes {
        return Err(bad(format!(
            "expected the canonical encoding of {} bytes, found {} bytes that differ",
            again.len(),
            bytes.len()
        )));
    }
    let in_g1 = [vk.alpha_g1, vk.beta_g1, vk.delta_g1];
    let in_g2 = [vk.beta_g2, vk.gamma_g2, vk.delta_g2];
    if in_g1.contains(&Default::default()) || in_g2.contains(&Default::default()) {
        return Err(bad("a point is at infinity".into()));
    }
    Ok(vk)
}

fn read_count(file: &File, path: &Path, at: u64, len: u64) -> Result<u32> {
    require_len(path, "the next count", at + COUNT_LEN, len)?;
    let mut bytes = [0; COUNT_LEN as usize];
    file.read_exact_at(&mut bytes, at).map_err(system("reading", path))?;
    Ok(u32::from_be_bytes(bytes))
}

fn require_len(path: &Path, what: &str, needed: u64, len: u64) -> Result<()> {
    if needed <= len {
        return Ok(());
    }
    Err(invalid(path, format!("truncated: expected at least {needed} bytes for {what}, found {len}")))
}
