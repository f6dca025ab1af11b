//! Points between their encoding in parameter files (uncompressed, big-endian) and their packed affine
//! Montgomery form in memory, many at a time.

use blstrs::{G1Affine, G2Affine};
use rayon::prelude::*;

use super::Arithmetic;
use crate::error::Result;
use crate::memory::Pod;

/// A curve point that parameter files hold.
pub(super) trait Point: Pod {
    /// Bytes of the uncompressed encoding, and of the point in memory.
    const LEN: usize = size_of::<Self>();

    /// The point of a canonical uncompressed encoding that is on the curve and not infinity.
    /// Membership of the prime-order subgroup is not checked.
    fn decode(bytes: &[u8]) -> Option<Self>;

    /// Writes the uncompressed encoding; `out` has `LEN` bytes.
    fn encode(&self, out: &mut [u8]);

    /// Index of the first point outside the curve or its prime-order subgroup.
    fn first_bad(arithmetic: &dyn Arithmetic, points: &[Self]) -> Result<Option<usize>>;
}

/// The flag bits of an encoding's first byte: compressed, infinity, sign. None is set in a parameter file.
const FLAGS: u8 = 0xe0;

macro_rules! point {
    ($type:ty, $first_bad:ident) => {
        impl Point for $type {
            fn decode(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.try_into().ok().filter(|b: &&[u8; Self::LEN]| b[0] & FLAGS == 0)?;
                Option::from(Self::from_uncompressed_unchecked(bytes))
            }

            fn encode(&self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_uncompressed());
            }

            fn first_bad(arithmetic: &dyn Arithmetic, points: &[Self]) -> Result<Option<usize>> {
                arithmetic.$first_bad(points)
            }
        }
    };
}

point!(G1Affine, first_bad_g1);
point!(G2Affine, first_bad_g2);

/// Points that one task converts at a time.
const TASK: usize = 1024;

/// Decodes as many points as `out` holds; the index of the first that is not a point, if any.
pub(super) fn decode_all<P: Point>(bytes: &[u8], out: &mut [P]) -> Option<usize> {
    out.par_chunks_mut(TASK)
        .zip(bytes.par_chunks(TASK * P::LEN))
        .enumerate()
        .filter_map(|(task, (points, bytes))| {
            for (i, (point, bytes)) in points.iter_mut().zip(bytes.chunks_exact(P::LEN)).enumerate() {
                match P::decode(bytes) {
                    Some(decoded) => *point = decoded,
                    None => return Some(task * TASK + i),
                }
            }
            None
        })
        .min()
}

/// Encodes all points; `out` has `P::LEN` bytes for each.
pub(super) fn encode_all<P: Point>(points: &[P], out: &mut [u8]) {
    points.par_chunks(TASK).zip(out.par_chunks_mut(TASK * P::LEN)).for_each(|(points, out)| {
        for (point, out) in points.iter().zip(out.chunks_exact_mut(P::LEN)) {
            point.encode(out);
        }
    });
}
