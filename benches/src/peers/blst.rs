//! blst's multiplication on the calling thread, which its Rust crate does not offer.

use blst::{blst_p1, blst_p1_affine, blst_p2, blst_p2_affine};

use crate::curve::SCALAR_BITS;

macro_rules! serial {
    ($multiply:ident, $affine:ident, $point:ty, $affine_point:ty, $size:path, $sum:path, $to_affine:path) => {
        /// Σ scalarᵢ·pointᵢ; a scalar is 32 bytes, least significant first.
        pub fn $multiply(points: &[$affine_point], scalars: &[u8]) -> $affine_point {
            assert_eq!(scalars.len(), points.len() * SCALAR_BITS.div_ceil(8), "a scalar for each point");
            let (points_list, scalars_list) =
                ([points.as_ptr(), std::ptr::null()], [scalars.as_ptr(), std::ptr::null()]);
            // SAFETY: a pure function of a number.
            let mut scratch = vec![0_u64; unsafe { $size(points.len()) }.div_ceil(8)];
            let mut sum = <$point>::default();
            // SAFETY: both lists name one array, of as many points and scalars as is said (checked above), and end
            // in null; the scratch has the size that blst asks for.
            unsafe {
                $sum(
                    &mut sum,
                    points_list.as_ptr(),
                    points.len(),
                    scalars_list.as_ptr(),
                    SCALAR_BITS,
                    scratch.as_mut_ptr(),
                )
            };
            $affine(&sum)
        }

        /// The point in affine coordinates.
        pub fn $affine(point: &$point) -> $affine_point {
            let mut affine = <$affine_point>::default();
            // SAFETY: one point in, one out.
            unsafe { $to_affine(&mut affine, point) };
            affine
        }
    };
}

serial!(
    multiply_g1,
    affine_g1,
    blst_p1,
    blst_p1_affine,
    blst::blst_p1s_mult_pippenger_scratch_sizeof,
    blst::blst_p1s_mult_pippenger,
    blst::blst_p1_to_affine
);
serial!(
    multiply_g2,
    affine_g2,
    blst_p2,
    blst_p2_affine,
    blst::blst_p2s_mult_pippenger_scratch_sizeof,
    blst::blst_p2s_mult_pippenger,
    blst::blst_p2_to_affine
);
