//! Products over and over by blst and arkworks. Elements are limbs in Montgomery form.

use ark_ff::BigInt;
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

/// By blst.
pub fn blst(product: Product, values: &[u64], factors: &[u64], rounds: usize) -> Repeated {
    let of_fp = |limbs: &[u64]| limbs.chunks_exact(6).map(fp).collect::<Vec<_>>();
    let of_fp2 = |limbs: &[u64]| limbs.chunks_exact(12).map(fp2).collect::<Vec<_>>();
    let of_fr = |limbs: &[u64]| limbs.chunks_exact(4).map(fr).collect::<Vec<_>>();
    match product {
        Product::MultiplyFp | Product::SquareFp => {
            let (mut own, factors) = (of_fp(values), of_fp(factors));
            let seconds = match product {
                // SAFETY: one element out, one or two in; blst allows them to be the same.
                Product::SquareFp => {
                    repeat(&mut own, &factors, rounds, |v, _| unsafe { blst::blst_fp_sqr(v, v) })
                }
                // SAFETY: as above.
                _ => repeat(&mut own, &factors, rounds, |v, f| unsafe { blst::blst_fp_mul(v, v, f) }),
            };
            (seconds, own.iter().flat_map(|v| v.l).collect())
        }
        Product::MultiplyFp2 | Product::SquareFp2 => {
            let (mut own, factors) = (of_fp2(values), of_fp2(factors));
            let seconds = match product {
                // SAFETY: as above.
                Product::SquareFp2 => {
                    repeat(&mut own, &factors, rounds, |v, _| unsafe { blst::blst_fp2_sqr(v, v) })
                }
                // SAFETY: as above.
                _ => repeat(&mut own, &factors, rounds, |v, f| unsafe { blst::blst_fp2_mul(v, v, f) }),
            };
            (seconds, own.iter().flat_map(|v| [v.fp[0].l, v.fp[1].l].concat()).collect())
        }
        Product::MultiplyFr => {
            let (mut own, factors) = (of_fr(values), of_fr(factors));
            // SAFETY: as above.
            let seconds = repeat(&mut own, &factors, rounds, |v, f| unsafe { blst::blst_fr_mul(v, v, f) });
            (seconds, own.iter().flat_map(|v| v.l).collect())
        }
    }
}

/// By arkworks.
pub fn arkworks(product: Product, values: &[u64], factors: &[u64], rounds: usize) -> Repeated {
    use ark_bls12_381::{Fq, Fq2, Fr};
    use ark_ff::Field;
    let fq = |limbs: &[u64]| Fq::new_unchecked(BigInt(fp(limbs).l));
    let of_fq = |limbs: &[u64]| limbs.chunks_exact(6).map(fq).collect::<Vec<_>>();
    let of_fq2 = |limbs: &[u64]| {
        limbs.chunks_exact(12).map(|l| Fq2::new(fq(&l[..6]), fq(&l[6..]))).collect::<Vec<_>>()
    };
    let of_fr =
        |limbs: &[u64]| limbs.chunks_exact(4).map(|l| Fr::new_unchecked(BigInt(fr(l).l))).collect::<Vec<_>>();
    match product {
        Product::MultiplyFp | Product::SquareFp => {
            let (mut own, factors) = (of_fq(values), of_fq(factors));
            let seconds = match product {
                Product::SquareFp => repeat(&mut own, &factors, rounds, |v, _| {
                    v.square_in_place();
                }),
                _ => repeat(&mut own, &factors, rounds, |v, f| *v *= f),
            };
            (seconds, own.iter().flat_map(|v| v.0 .0).collect())
        }
        Product::MultiplyFp2 | Product::SquareFp2 => {
            let (mut own, factors) = (of_fq2(values), of_fq2(factors));
            let seconds = match product {
                Product::SquareFp2 => repeat(&mut own, &factors, rounds, |v, _| {
                    v.square_in_place();
                }),
                _ => repeat(&mut own, &factors, rounds, |v, f| *v *= f),
            };
            (seconds, own.iter().flat_map(|v| [v.c0.0 .0, v.c1.0 .0].concat()).collect())
        }
        Product::MultiplyFr => {
            let (mut own, factors) = (of_fr(values), of_fr(factors));
            let seconds = repeat(&mut own, &factors, rounds, |v, f| *v *= f);
            (seconds, own.iter().flat_map(|v| v.0 .0).collect())
        }
    }
}
