//! Scalars as four 64-bit limbs, and what synthesis reports as this library's errors.

use bellpepper_core::SynthesisError;
use blst::blst_fr;
use blstrs::Scalar;

use crate::error::{Code, Error};

/// Little-endian limbs of a scalar, in the Montgomery form that blstrs keeps.
pub(super) type Limbs = [u64; 4];

pub(super) const ZERO: Limbs = [0; 4];

/// The Montgomery form of one, 2²⁵⁶ mod r; a test compares it with blstrs.
pub(super) const ONE: Limbs =
    [0x0000_0001_ffff_fffe, 0x5884_b7fa_0003_4802, 0x998c_4fef_ecbc_4ff5, 0x1824_b159_acc5_056f];

#[inline(always)]
pub(super) fn limbs(value: &Scalar) -> Limbs {
    blst_fr::from(*value).l
}

/// The scalar with these limbs; they must be less than the modulus.
#[inline(always)]
pub(super) fn from_limbs(limbs: Limbs) -> Scalar {
    Scalar::from(blst_fr { l: limbs })
}

/// What a circuit's own synthesis refused, as an error of this library.
pub(super) fn synthesis_error(error: SynthesisError) -> Error {
    let code = match &error {
        SynthesisError::AssignmentMissing => Code::InvalidRequest,
        SynthesisError::DivisionByZero | SynthesisError::Unsatisfiable => Code::Unsatisfied,
        SynthesisError::IoError(_) => Code::System,
        _ => Code::Internal,
    };
    Error::new(code, format!("circuit synthesis: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff::Field;

    #[test]
    fn constants_are_those_of_blstrs() {
        assert_eq!(limbs(&Scalar::ONE), ONE);
        assert_eq!(limbs(&Scalar::ZERO), ZERO);
        assert_eq!(from_limbs(ONE), Scalar::ONE);
    }
}
