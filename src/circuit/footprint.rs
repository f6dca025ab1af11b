//! Projected bytes: pure functions of a circuit's shape.

use blstrs::Scalar;

use super::shape::Shape;
use crate::units::Bytes;

const SCALAR: u64 = size_of::<Scalar>() as u64;
const PAGE: u64 = 4096;

/// A compact witness with `wide` wide values: two bits a private variable, four bytes of rank for 256 of
/// them, 32 bytes for each wide value and each input; every part in whole pages.
pub fn witness_bytes(shape: &Shape, wide: u64) -> Bytes {
    let words = shape.aux.div_ceil(64);
    let parts = [
        bytes(shape.inputs, SCALAR),
        bytes(words, 8),
        bytes(words, 8),
        bytes(words.div_ceil(4), 4),
        bytes(wide, SCALAR),
    ];
    parts.into_iter().fold(Bytes::ZERO, |sum, part| sum.saturating_add(pages(part)))
}

/// Matrices and densities before they are compiled: two bits a private variable for the densities, and
/// for the dictionary and the compressed sequence more than any measured circuit takes: 1 MiB, and a
/// byte for every sixteen constraints (measured for porep 2 KiB: 0.3 MB and a byte for 56).
pub fn matrices_bytes(shape: &Shape) -> Bytes {
    let bitmap = bytes(shape.aux.div_ceil(64), 8);
    let inputs = bytes(shape.inputs.div_ceil(64), 8);
    let rows = Bytes::mib(1).saturating_add(Bytes(shape.constraints / 16));
    [bitmap, bitmap, inputs].into_iter().fold(rows, |sum, part| sum.saturating_add(pages(part)))
}

/// One evaluation vector over the domain.
pub fn evaluation_bytes(shape: &Shape) -> Bytes {
    bytes(shape.domain(), SCALAR)
}

/// Scratch of one thread that evaluates: a decoded chunk of 65,536 rows and its far columns.
pub fn evaluation_scratch_bytes() -> Bytes {
    Bytes::mib(2)
}

fn bytes(count: u64, each: u64) -> Bytes {
    Bytes(count.saturating_mul(each))
}

fn pages(part: Bytes) -> Bytes {
    Bytes(part.0.div_ceil(PAGE).saturating_mul(PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::circuit::testing::RandomCircuit;
    use crate::circuit::{Expected, Matrices, Witness};

    #[test]
    fn projects_what_a_witness_maps() {
        for (aux, boolean_percent) in [(0, 0), (1, 100), (3000, 0), (3000, 60), (5000, 98)] {
            let circuit = RandomCircuit { seed: 7, inputs: 150, aux, boolean_percent, values: true };
            let witness = Witness::generate(circuit, Expected::default(), &Cancel::new()).unwrap();
            let matrices = Matrices::compile("random", circuit).unwrap();
            let wide = witness.wide_values().len() as u64;
            assert_eq!(witness_bytes(matrices.shape(), wide), witness.mapped(), "{circuit:?}");
        }
    }

    #[test]
    fn a_queued_porep_partition_is_small() {
        let porep = Shape { inputs: 40, aux: 2_685_673, constraints: 2_687_921, ..Shape::default() };
        assert!(witness_bytes(&porep, 43_806) <= Bytes(2_500_000));
        assert!(matrices_bytes(&porep) <= Bytes(2_000_000));
        assert_eq!(evaluation_bytes(&porep), Bytes::mib(128));
        let sealed_32g =
            Shape { inputs: 328, aux: 130_169_893, constraints: 130_278_869, ..Shape::default() };
        assert!(matrices_bytes(&sealed_32g) <= Bytes(64_000_000));
        assert_eq!(witness_bytes(&Shape { aux: u64::MAX, ..porep }, u64::MAX).0, u64::MAX);
    }
}
