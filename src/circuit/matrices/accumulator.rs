//! Sums of scalars that are reduced once, at the end.

use blstrs::Scalar;

use crate::circuit::scalar::{from_limbs, Limbs};

/// The order r of the scalar field.
const MODULUS: Limbs =
    [0xffff_ffff_0000_0001, 0x53bd_a402_fffe_5bfe, 0x3339_d808_09a1_d805, 0x73ed_a753_299d_7d48];

/// ⌊2³¹⁸ / r⌋.
const RECIPROCAL: u64 = 0x8d54_253b_7fb7_8ddf;

/// A sum of at most 2³⁰ multiples of scalars by numbers of 32 bits, not reduced.
#[derive(Clone, Copy, Default)]
pub(super) struct Accumulator([u64; 5]);

#[inline(always)]
fn add_carry(a: u64, b: u64, carry: u64) -> (u64, u64) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, (sum >> 64) as u64)
}

#[inline(always)]
fn sub_borrow(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(a).wrapping_sub(u128::from(b)).wrapping_sub(u128::from(borrow));
    (difference as u64, (difference >> 127) as u64)
}

impl Accumulator {
    #[inline(always)]
    pub(super) fn add(&mut self, term: Limbs) {
        let mut carry = 0;
        for (limb, part) in self.0.iter_mut().zip(term) {
            (*limb, carry) = add_carry(*limb, part, carry);
        }
        self.0[4] = self.0[4].wrapping_add(carry);
    }

    /// Adds `factor` times the term; the factor has at most 32 bits. Witness bits come as factors too: no
    /// branch could predict them.
    #[inline(always)]
    pub(super) fn add_multiple(&mut self, factor: u64, term: Limbs) {
        let mut carry = 0;
        for (limb, part) in self.0.iter_mut().zip(term) {
            let sum = u128::from(factor) * u128::from(part) + u128::from(*limb) + u128::from(carry);
            *limb = sum as u64;
            carry = (sum >> 64) as u64;
        }
        self.0[4] = self.0[4].wrapping_add(carry);
    }

    /// Subtracts a term that is reduced.
    #[inline(always)]
    pub(super) fn sub(&mut self, term: Limbs) {
        let mut borrow = 0;
        let mut negated = MODULUS;
        for (limb, part) in negated.iter_mut().zip(term) {
            (*limb, borrow) = sub_borrow(*limb, part, borrow);
        }
        self.add(negated);
    }

    /// The sum modulo r. The quotient is estimated from the bits above 2²⁵⁴ and is at most two too small.
    #[inline(always)]
    pub(super) fn reduce(self) -> Scalar {
        let sum = self.0;
        let high = (sum[4] << 2) | (sum[3] >> 62);
        let quotient = ((u128::from(high) * u128::from(RECIPROCAL)) >> 64) as u64;
        let mut rest = [0; 5];
        let (mut borrow, mut carry) = (0, 0);
        for i in 0..4 {
            let product = u128::from(quotient) * u128::from(MODULUS[i]) + u128::from(carry);
            carry = (product >> 64) as u64;
            (rest[i], borrow) = sub_borrow(sum[i], product as u64, borrow);
        }
        rest[4] = sum[4].wrapping_sub(carry).wrapping_sub(borrow);
        let mut reduced = once_less(rest);
        while reduced[4] != 0 || !below_modulus(&reduced) {
            reduced = once_less(reduced);
        }
        from_limbs([reduced[0], reduced[1], reduced[2], reduced[3]])
    }
}

/// `value` − r where that is not negative, else `value`; without a branch.
#[inline(always)]
fn once_less(value: [u64; 5]) -> [u64; 5] {
    let mut less = value;
    let mut borrow = 0;
    for i in 0..4 {
        (less[i], borrow) = sub_borrow(value[i], MODULUS[i], borrow);
    }
    (less[4], borrow) = sub_borrow(value[4], 0, borrow);
    let keep = borrow.wrapping_neg();
    let mut out = value;
    for i in 0..5 {
        out[i] = (value[i] & keep) | (less[i] & !keep);
    }
    out
}

#[inline(always)]
fn below_modulus(value: &[u64; 5]) -> bool {
    let mut borrow = 0;
    for i in 0..4 {
        (_, borrow) = sub_borrow(value[i], MODULUS[i], borrow);
    }
    borrow == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::scalar::limbs;
    use ff::Field;
    use proptest::prelude::*;
    use rand_chacha::rand_core::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn agrees_with_the_field(seed in any::<u64>(), count in 0_usize..200, kinds in any::<[u8; 7]>()) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut sum, mut expected) = (Accumulator::default(), Scalar::ZERO);
            for i in 0..count {
                let value = match kinds[i % 7] % 4 {
                    0 => -Scalar::ONE,
                    1 => Scalar::ONE,
                    // The largest Montgomery form: r − 1.
                    2 => from_limbs([MODULUS[0] - 1, MODULUS[1], MODULUS[2], MODULUS[3]]),
                    _ => Scalar::random(&mut rng),
                };
                match kinds[(i + 3) % 7] % 3 {
                    0 => { sum.add(limbs(&value)); expected += value; }
                    1 => { sum.sub(limbs(&value)); expected -= value; }
                    _ => {
                        let factor = [0, 1, 77, u64::from(u32::MAX)][i % 4];
                        sum.add_multiple(factor, limbs(&value));
                        expected += value * Scalar::from(factor);
                    }
                }
            }
            prop_assert_eq!(sum.reduce(), expected);
        }
    }

    #[test]
    fn holds_the_largest_sum() {
        let largest = [MODULUS[0] - 1, MODULUS[1], MODULUS[2], MODULUS[3]];
        for n in [1, 2, 3, 1 << 32, 1 << 62] {
            let sum = Accumulator(largest_times(n));
            assert_eq!(sum.reduce(), from_limbs(largest) * Scalar::from(n), "{n} times");
        }
    }

    fn largest_times(n: u64) -> [u64; 5] {
        let largest = [MODULUS[0] - 1, MODULUS[1], MODULUS[2], MODULUS[3]];
        let mut out = [0; 5];
        let mut carry = 0_u128;
        for i in 0..4 {
            let product = u128::from(n) * u128::from(largest[i]) + carry;
            out[i] = product as u64;
            carry = product >> 64;
        }
        out[4] = carry as u64;
        out
    }
}
