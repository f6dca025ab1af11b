//! A checked request as the pipeline sees it, the same for all four kinds.

use bellpepper_core::Circuit;
use blstrs::Scalar;

use super::guard::guarded;
use crate::cancel::Cancel;
use crate::circuit::{AnyCircuit, Expected, Witness};
use crate::error::{Code, Error, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Proof, ProofTask};
use crate::units::Bytes;

/// What one request states, and the vanilla proofs that show it.
pub(super) trait Statement: Send + Sync {
    /// The circuit of one partition.
    type Circuit: Circuit<Scalar> + Send + 'static;

    /// How many partitions there are.
    fn partitions(&self) -> usize;

    /// What is checked of a partition's vanilla proof before its circuit is built, beyond decoding.
    fn check(&self, _partition: usize, _cancel: &Cancel) -> Result<()> {
        Ok(())
    }

    /// The circuit of a partition with its values.
    fn circuit(&self, partition: usize) -> Result<Self::Circuit>;

    /// The public inputs of a partition, without the leading ONE.
    fn public_inputs(&self, partition: usize) -> Result<Vec<Scalar>>;
}

/// A decoded request.
pub(super) struct Task<S> {
    pub id: CircuitId,
    /// Heap bytes of the statement.
    pub heap: Bytes,
    pub statement: S,
}

impl<S: Statement> Task<S> {
    fn check_partition(&self, partition: usize) -> Result<()> {
        let partitions = self.statement.partitions();
        if partition < partitions {
            return Ok(());
        }
        Err(Error::internal(format!("partition {partition} of {} which has {partitions}", self.id)))
    }

    fn guarded<T>(&self, doing: &str, partition: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check_partition(partition)?;
        guarded(doing, work).map_err(|error| error.at(format_args!("{} partition {partition}", self.id)))
    }
}

impl<S: Statement> ProofTask for Task<S> {
    fn kind(&self) -> ProofKind {
        self.id.kind
    }

    fn circuit(&self) -> CircuitId {
        self.id
    }

    fn partitions(&self) -> usize {
        self.statement.partitions()
    }

    fn intake_bytes(&self) -> Bytes {
        self.heap
    }

    fn synthesize(&self, partition: usize, wide_hint: usize, cancel: &Cancel) -> Result<Witness> {
        self.guarded("synthesis", partition, || {
            self.statement.check(partition, cancel)?;
            let circuit = self.statement.circuit(partition)?;
            Witness::generate_without_indices(circuit, Expected { aux: 0, wide: wide_hint }, cancel)
        })
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Scalar>> {
        self.guarded("the public inputs", partition, || self.statement.public_inputs(partition))
    }

    fn circuit_with_values(&self, partition: usize) -> Result<AnyCircuit> {
        self.guarded("building the circuit", partition, || {
            Ok(AnyCircuit::new(self.statement.circuit(partition)?))
        })
    }

    fn assemble(&self, proofs: &[Proof]) -> Result<Vec<u8>> {
        if proofs.len() != self.statement.partitions() {
            return Err(Error::new(
                Code::Internal,
                format!(
                    "{} proofs for {} partitions of {}",
                    proofs.len(),
                    self.statement.partitions(),
                    self.id
                ),
            ));
        }
        Ok(proofs.iter().flat_map(Proof::to_bytes).collect())
    }
}
