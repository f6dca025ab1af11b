//! Development parameters of Filecoin's circuits.

use std::path::Path;

use bellpepper_core::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::Scalar;
use rand::rngs::OsRng;

use super::blank::{parameter_stem, with_blank_circuit, CircuitVisitor};
use crate::error::Result;
use crate::kind::CircuitId;
use crate::srs::develop::{develop, Developed, Target, ToxicWaste};
use crate::srs::Work;

/// Makes a development key of a circuit under the names that Filecoin's crates look for in `folder`. Whoever makes it
/// could forge proofs, so it is marked insecure. Refuses to replace a file that has no such mark.
pub fn develop_parameters(circuit: CircuitId, folder: &Path, work: &Work) -> Result<Developed> {
    let stem = parameter_stem(circuit)?;
    let target = Target { folder, stem: &stem, circuit };
    with_blank_circuit(circuit, Setup { target, work })
}

struct Setup<'a> {
    target: Target<'a>,
    work: &'a Work<'a>,
}

impl CircuitVisitor for Setup<'_> {
    type Output = Developed;

    fn visit<C, F>(self, blank: F) -> Result<Developed>
    where
        C: Circuit<Scalar> + Send,
        F: Fn() -> Result<C>,
    {
        drop(blank()?);
        develop(&self.target, || Late(&blank), &ToxicWaste::random(&mut OsRng), self.work)
    }
}

/// A circuit that is built when it is synthesised, since the setup has no place for the error of building it.
struct Late<F>(F);

impl<C: Circuit<Scalar>, F: Fn() -> Result<C>> Circuit<Scalar> for Late<F> {
    fn synthesize<CS: ConstraintSystem<Scalar>>(
        self,
        cs: &mut CS,
    ) -> std::result::Result<(), SynthesisError> {
        let circuit = (self.0)().map_err(|e| SynthesisError::IoError(std::io::Error::other(e)))?;
        circuit.synthesize(cs)
    }
}
