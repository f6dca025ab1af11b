//! What the pipeline needs to know of the thing it proves. `filecoin` implements these for the four
//! kinds; other users of the crate implement them for circuits of their own.

use std::sync::Arc;

use blstrs::Scalar;

use super::Proof;
use crate::cancel::Cancel;
use crate::circuit::{first_violation, AnyCircuit, Expected, Matrices, Shape, Witness};
use crate::error::Result;
use crate::kind::{CircuitId, ProofKind};
use crate::srs::Srs;
use crate::units::Bytes;

/// A decoded and checked request: one or more partitions of one circuit.
pub trait ProofTask: Send + Sync {
    /// The proof kind.
    fn kind(&self) -> ProofKind;

    /// The circuit of every partition.
    fn circuit(&self) -> CircuitId;

    /// How many partitions there are; at least one.
    fn partitions(&self) -> usize;

    /// Heap bytes this decoded request holds.
    fn intake_bytes(&self) -> Bytes;

    /// Runs the circuit's witness generator for one partition, on the calling thread.
    /// `wide_hint` is how many wide values to expect (0: unknown).
    fn synthesize(&self, partition: usize, wide_hint: usize, cancel: &Cancel) -> Result<Witness>;

    /// The public inputs that the partition's verifier uses, without the leading ONE; computed from the
    /// statement, not from the witness.
    fn public_inputs(&self, partition: usize) -> Result<Vec<Scalar>>;

    /// The circuit of one partition with its values.
    fn circuit_with_values(&self, partition: usize) -> Result<AnyCircuit>;

    /// Runs the circuit again with every constraint checked, after a proof failed to verify. `None`: the
    /// witness satisfies the circuit and its public inputs are those of the statement; else what is violated.
    fn diagnose(&self, partition: usize) -> Result<Option<String>> {
        if let Some(violation) = first_violation(self.circuit_with_values(partition)?)? {
            return Ok(Some(violation.to_string()));
        }
        let circuit = self.circuit_with_values(partition)?;
        let witness = Witness::generate(circuit, Expected::default(), &Cancel::new())?;
        let inputs = witness.inputs().get(1..).unwrap_or_default();
        Ok(first_difference(&self.public_inputs(partition)?, inputs))
    }

    /// Puts the partitions' verified proofs, in order, into the bytes the miner expects.
    fn assemble(&self, proofs: &[Proof]) -> Result<Vec<u8>>;
}

/// Everything that the partitions of one circuit share.
#[derive(Clone)]
pub struct CircuitData {
    /// Which circuit.
    pub id: CircuitId,
    /// Its constraint matrices and densities.
    pub matrices: Arc<Matrices>,
    /// Its proving and verifying key.
    pub srs: Arc<Srs>,
}

/// Projected resident bytes of one circuit, known before anything of it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// The circuit's sizes.
    pub shape: Shape,
    /// One compact witness.
    pub witness: Bytes,
    /// Wide values that a witness of this circuit is expected to have.
    pub wide_hint: u64,
    /// Compact matrices and densities.
    pub matrices: Bytes,
    /// The mapped SRS.
    pub srs: Bytes,
}

/// BLAKE2b-512 of a `.params` file: which proving key it is.
pub type KeyDigest = [u8; 64];

/// Where circuits come from: their sizes, matrices and parameters.
pub trait Catalog: Send + Sync {
    /// The projection for a circuit; may compile and cache its matrices on first use.
    /// Fails with `ParametersMissing`, naming file and folders, where the circuit cannot be proved here.
    fn footprint(&self, circuit: CircuitId) -> Result<Footprint>;

    /// The projections of the circuits that are ready to be proved: parameters and compiled matrices are
    /// there. Cheap; the circuits whose first use compiles them are not among these.
    fn prepared(&self) -> Vec<(CircuitId, Footprint)> {
        Vec::new()
    }

    /// Whether a circuit's parameters are there; `ParametersMissing` names what is not. Reads no parameters.
    fn available(&self, circuit: CircuitId) -> Result<()> {
        let _ = circuit;
        Ok(())
    }

    /// The key that a proof of this circuit would be made with; `None` where that is not known without reading
    /// all of it, or where that key would be refused.
    fn key(&self, circuit: CircuitId) -> Result<Option<KeyDigest>>;

    /// Loads the circuit's matrices and SRS.
    fn load(&self, circuit: CircuitId, cancel: &Cancel) -> Result<CircuitData>;

    /// Hears how many wide values a witness had, to project the next ones by what was measured.
    fn learn(&self, circuit: CircuitId, wide: u64) -> Result<()> {
        let _ = (circuit, wide);
        Ok(())
    }
}

fn first_difference(statement: &[Scalar], witness: &[Scalar]) -> Option<String> {
    if statement.len() != witness.len() {
        return Some(format!(
            "the circuit has {} public inputs, the statement {}",
            witness.len(),
            statement.len()
        ));
    }
    let at = statement.iter().zip(witness).position(|(expected, found)| expected != found)?;
    Some(format!("public input {at} of the circuit is not that of the statement"))
}
