//! Scalars and points as the limbs that the C++ core reads.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};

/// A value that is an array of 64-bit limbs in memory.
///
/// # Safety
/// The implementor must be a transparent wrapper of 64-bit limbs, without padding, every pattern valid.
pub(super) unsafe trait Limbed: Copy {}

// SAFETY: blstrs wraps blst_fr, four limbs, transparently.
unsafe impl Limbed for Scalar {}
// SAFETY: blstrs wraps blst_p1_affine, twelve limbs, transparently.
unsafe impl Limbed for G1Affine {}
// SAFETY: blstrs wraps blst_p2_affine, 24 limbs, transparently.
unsafe impl Limbed for G2Affine {}
// SAFETY: blstrs wraps blst_p1, 18 limbs, transparently.
unsafe impl Limbed for G1Projective {}
// SAFETY: blstrs wraps blst_p2, 36 limbs, transparently.
unsafe impl Limbed for G2Projective {}

/// The limbs of a slice.
pub(super) fn limbs<T: Limbed>(values: &[T]) -> &[u64] {
    // SAFETY: T is limbs without padding, so the same bytes are that many limbs.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values) / 8) }
}

/// The limbs of a mutable slice.
pub(super) fn limbs_mut<T: Limbed>(values: &mut [T]) -> &mut [u64] {
    // SAFETY: as in `limbs`, and every pattern that C++ writes is a valid T.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values) / 8) }
}

/// The value with these limbs, put in place of `value`'s.
pub(super) fn from_limbs<T: Limbed, const N: usize>(value: T, from: &[u64; N]) -> T {
    const { assert!(size_of::<T>() == N * 8) };
    let mut value = [value];
    limbs_mut(&mut value).copy_from_slice(from);
    let [value] = value;
    value
}
