//! The Lagrange polynomials of a power-of-two domain, evaluated at one point without a transform.

use blstrs::Scalar;
use ff::{Field, PrimeField};
use rayon::prelude::*;

use crate::error::{Code, Error, Result};

/// Values that share one inversion.
const BATCH: usize = 1024;

/// The domain of 2ᵏ roots of unity, and a point τ outside of it.
pub(super) struct Lagrange {
    tau: Scalar,
    omega: Scalar,
    omega_inverse: Scalar,
    vanishing: Scalar,
    /// t(τ)/n.
    scale: Scalar,
    size: u64,
}

impl Lagrange {
    /// The smallest domain that holds `rows` rows.
    pub(super) fn new(rows: u64, tau: Scalar) -> Result<Lagrange> {
        let bad = |what: String| Error::new(Code::InvalidArgument, what);
        let size = rows.max(1).next_power_of_two();
        let log2 = size.trailing_zeros();
        if log2 >= Scalar::S {
            return Err(bad(format!("expected a circuit of fewer than 2^{} rows, found {rows}", Scalar::S)));
        }
        let omega = (log2..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |w, _| w.square());
        let vanishing = tau.pow_vartime([size]) - Scalar::ONE;
        if vanishing.is_zero_vartime() {
            return Err(bad("toxic waste: expected tau outside the domain, found a root of unity".into()));
        }
        let inverse = |x: Scalar| Option::<Scalar>::from(x.invert()).unwrap_or(Scalar::ZERO);
        Ok(Lagrange {
            tau,
            omega,
            omega_inverse: inverse(omega),
            vanishing,
            scale: vanishing * inverse(Scalar::from(size)),
            size,
        })
    }

    /// Size of the domain.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// t(τ) = τⁿ − 1.
    pub(super) fn vanishing(&self) -> Scalar {
        self.vanishing
    }

    /// out[i] = L_{first+i}(τ), where Lⱼ(τ) = (t(τ)/n)·ωʲ/(τ − ωʲ).
    pub(super) fn fill(&self, first: u64, out: &mut [Scalar]) {
        out.par_chunks_mut(BATCH).enumerate().for_each(|(batch, out)| {
            let mut root = self.omega.pow_vartime([first + (batch * BATCH) as u64]);
            let mut product = Scalar::ONE;
            for value in out.iter_mut() {
                *value = product;
                product *= self.tau - root;
                root *= self.omega;
            }
            // Every factor is non-zero, since τ is outside the domain.
            let mut inverse = Option::<Scalar>::from(product.invert()).unwrap_or(Scalar::ZERO);
            for value in out.iter_mut().rev() {
                root *= self.omega_inverse;
                *value *= inverse * root * self.scale;
                inverse *= self.tau - root;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn they_interpolate() {
        let tau = Scalar::random(rand_chacha::ChaCha8Rng::seed_from_u64(1));
        for rows in [1, 2, 3, 1000, 1025, 4096] {
            let domain = Lagrange::new(rows, tau).unwrap();
            let mut values = vec![Scalar::ZERO; domain.size() as usize];
            domain.fill(0, &mut values);
            // They sum to 1, and interpolate x ↦ x³ exactly where the domain is larger than its degree.
            assert_eq!(values.iter().sum::<Scalar>(), Scalar::ONE);
            if domain.size() > 3 {
                let cubes = (0..domain.size()).map(|i| domain.omega.pow_vartime([3 * i]));
                assert_eq!(cubes.zip(&values).map(|(c, l)| c * l).sum::<Scalar>(), tau * tau * tau);
            }
            let middle = values.len() / 2;
            let mut part = vec![Scalar::ZERO; values.len() - middle];
            domain.fill(middle as u64, &mut part);
            assert_eq!(part, values[middle..]);
        }
    }

    #[test]
    fn a_point_of_the_domain_is_refused() {
        assert_eq!(Lagrange::new(8, Scalar::ONE).err().unwrap().code(), Code::InvalidArgument);
        assert!(Lagrange::new(1 << 32, Scalar::from(5)).is_err());
    }
}
