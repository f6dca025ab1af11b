//! Products over and over by blst and arkworks. Elements are limbs in Montgomery form.

use ark_bls12_381::{Fq, Fq2, Fr};
use ark_ff::{BigInt, Field};
use blst::{blst_fp, blst_fp2, blst_fr};
use forebay::prove::cpu::Product;

use crate::process::timed;

/// What came of the rounds: their seconds and the values.
pub type Repeated = (f64, Vec<u64>);

fn fp(limbs: &[u64]) -> blst_fp {
    let mut value = blst_fp::default();
    value.l.copy_from_slice(limbs);
    value
}

fn fp2(limbs: &[u64]) -> blst_fp2 {
    blst_fp2 { fp: [fp(&limbs[..6]), fp(&limbs[6..])] }
}

fn fr(limbs: &[u64]) -> blst_fr {
    let mut value = blst_fr::default();
    value.l.copy_from_slice(limbs);
    value
}

fn repeat<T>(values: &mut [T], factors: &[T], rounds: usize, product: impl Fn(&mut T, &T)) -> f64 {
    let ((), seconds) = timed(|| {
        for _ in 0..rounds {
            values.iter_mut().zip(factors).for_each(|(value, factor)| product(value, factor));
        }
    });
    seconds
}

macro_rules! in_place {
    ($name:ident, $element:ty, |$value:ident, $factor:ident| $call:expr) => {
        fn $name($value: &mut $element, $factor: &$element) {
            // SAFETY: one element out, one or two in; blst allows them to be the same.
            unsafe { $call }
        }
    };
}

in_place!(multiply_fp, blst_fp, |v, f| blst::blst_fp_mul(v, v, f));
in_place!(square_fp, blst_fp, |v, _f| blst::blst_fp_sqr(v, v));
in_place!(multiply_fp2, blst_fp2, |v, f| blst::blst_fp2_mul(v, v, f));
in_place!(square_fp2, blst_fp2, |v, _f| blst::blst_fp2_sqr(v, v));
in_place!(multiply_fr, blst_fr, |v, f| blst::blst_fr_mul(v, v, f));

/// Values and factors as elements.
struct Batch<'a> {
    values: &'a [u64],
    factors: &'a [u64],
    rounds: usize,
}

impl Batch<'_> {
    /// Generic in the product, so that it is called as directly as anywhere.
    fn repeat<T>(
        &self,
        limbs: usize,
        of: impl Fn(&[u64]) -> T,
        product: impl Fn(&mut T, &T),
        back: impl Fn(&T) -> Vec<u64>,
    ) -> Repeated {
        let all = |from: &[u64]| from.chunks_exact(limbs).map(&of).collect::<Vec<_>>();
        let mut own = all(self.values);
        let seconds = repeat(&mut own, &all(self.factors), self.rounds, product);
        (seconds, own.iter().flat_map(back).collect())
    }
}

/// By blst.
pub fn blst(product: Product, values: &[u64], factors: &[u64], rounds: usize) -> Repeated {
    let batch = Batch { values, factors, rounds };
    let back_fp = |v: &blst_fp| v.l.to_vec();
    let back_fp2 = |v: &blst_fp2| [v.fp[0].l, v.fp[1].l].concat();
    match product {
        Product::MultiplyFp => batch.repeat(6, fp, multiply_fp, back_fp),
        Product::SquareFp => batch.repeat(6, fp, square_fp, back_fp),
        Product::MultiplyFp2 => batch.repeat(12, fp2, multiply_fp2, back_fp2),
        Product::SquareFp2 => batch.repeat(12, fp2, square_fp2, back_fp2),
        Product::MultiplyFr => batch.repeat(4, fr, multiply_fr, |v| v.l.to_vec()),
    }
}

/// By arkworks.
pub fn arkworks(product: Product, values: &[u64], factors: &[u64], rounds: usize) -> Repeated {
    let batch = Batch { values, factors, rounds };
    let fq = |limbs: &[u64]| Fq::new_unchecked(BigInt(fp(limbs).l));
    let fq2 = |limbs: &[u64]| Fq2::new(fq(&limbs[..6]), fq(&limbs[6..]));
    let back_fq = |v: &Fq| v.0 .0.to_vec();
    let back_fq2 = |v: &Fq2| [v.c0.0 .0, v.c1.0 .0].concat();
    match product {
        Product::MultiplyFp => batch.repeat(6, fq, |v, f| *v *= f, back_fq),
        Product::SquareFp => batch.repeat(6, fq, |v, _| *v = v.square(), back_fq),
        Product::MultiplyFp2 => batch.repeat(12, fq2, |v, f| *v *= f, back_fq2),
        Product::SquareFp2 => batch.repeat(12, fq2, |v, _| *v = v.square(), back_fq2),
        Product::MultiplyFr => {
            let element = |limbs: &[u64]| Fr::new_unchecked(BigInt(fr(limbs).l));
            batch.repeat(4, element, |v, f| *v *= f, |v| v.0 .0.to_vec())
        }
    }
}
