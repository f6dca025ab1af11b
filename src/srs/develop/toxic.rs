//! The secrets of a setup.

use blstrs::{G1Projective, G2Projective, Scalar};
use ff::Field;
use group::Group;
use rand::RngCore;

use crate::error::{Code, Error, Result};

/// The secrets of a setup and the generators it uses (Groth 2016, section 3.2). Who knows them can forge proofs.
#[derive(Clone, Copy)]
pub struct ToxicWaste {
    /// Generator of G1.
    pub g1: G1Projective,
    /// Generator of G2.
    pub g2: G2Projective,
    /// α.
    pub alpha: Scalar,
    /// β.
    pub beta: Scalar,
    /// γ.
    pub gamma: Scalar,
    /// δ.
    pub delta: Scalar,
    /// τ, where the polynomials are evaluated.
    pub tau: Scalar,
}

impl ToxicWaste {
    /// Draws everything from `rng`, in the order in which bellperson draws it: the same seed gives the same key.
    pub fn random(rng: &mut impl RngCore) -> ToxicWaste {
        ToxicWaste {
            g1: G1Projective::random(&mut *rng),
            g2: G2Projective::random(&mut *rng),
            alpha: Scalar::random(&mut *rng),
            beta: Scalar::random(&mut *rng),
            gamma: Scalar::random(&mut *rng),
            delta: Scalar::random(&mut *rng),
            tau: Scalar::random(&mut *rng),
        }
    }

    /// Refuses values that make a key useless.
    pub(super) fn check(&self) -> Result<()> {
        let zero = [self.alpha, self.beta, self.gamma, self.delta].iter().any(|s| s.is_zero_vartime());
        if zero || bool::from(self.g1.is_identity()) || bool::from(self.g2.is_identity()) {
            return Err(Error::new(
                Code::InvalidArgument,
                "toxic waste: expected non-zero scalars and generators, found a zero among them",
            ));
        }
        Ok(())
    }
}
