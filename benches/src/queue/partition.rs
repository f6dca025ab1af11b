//! A synthesised partition as the prior art keeps it: a, b, c and the private values as 32-byte scalars.

use blstrs::Scalar;
use forebay::cancel::Cancel;
use forebay::circuit::{Matrices, Matrix, Witness};
use forebay::memory::{Class, Meter, Region, Stage};
use forebay::prove::cpu::{CpuBackend, Evaluated};
use forebay::prove::{Backend, Blinding, CircuitData, Proof, ProofTask, Step};

use crate::Failure;

/// One partition, 128 bytes a constraint.
pub struct Partition {
    vectors: Evaluated,
    /// Kept until the proof is finished, as the prior art must for its queries.
    aux: Region,
    /// What our core's queries read: 2 MB beside the 344.
    witness: Witness,
}

impl Partition {
    /// Synthesises on the calling thread, if that is a rayon pool of its own: our witness generator, then one
    /// evaluation of the matrices.
    pub fn synthesize(
        task: &dyn ProofTask,
        circuit: &CircuitData,
        wide: usize,
    ) -> Result<Partition, Failure> {
        let witness = task.synthesize(0, wide, &Cancel::new())?;
        let vectors = evaluate(&circuit.matrices, &witness)?;
        let mut aux = scalars(witness.aux_len())?;
        for (at, value) in aux.as_mut_slice::<Scalar>().iter_mut().enumerate() {
            *value = witness.get(at);
        }
        Ok(Partition { vectors, aux, witness })
    }

    /// Proves with our core, from the vectors that are there.
    pub fn prove(self, core: &CpuBackend, circuit: &CircuitData) -> forebay::Result<Proof> {
        let Partition { vectors, aux, witness } = self;
        let cancel = Cancel::new();
        let meter = Meter::unlimited();
        let step = Step { circuit, witness: &witness, cancel: &cancel, meter: &meter };
        let started = core.start_evaluated(&step, vectors)?;
        let proof = core.finish(&step, started, Blinding::random());
        drop(aux);
        proof
    }
}

fn evaluate(matrices: &Matrices, witness: &Witness) -> Result<Evaluated, Failure> {
    let cancel = Cancel::new();
    let rows = usize::try_from(matrices.shape().rows())?;
    let (mut a, mut b, mut c) = (scalars(rows)?, scalars(rows)?, scalars(rows)?);
    matrices.evaluate(Matrix::A, witness, a.as_mut_slice(), &cancel)?;
    matrices.evaluate(Matrix::B, witness, b.as_mut_slice(), &cancel)?;
    let factors = a.as_slice::<Scalar>().iter().zip(b.as_slice::<Scalar>());
    for (product, (a, b)) in c.as_mut_slice::<Scalar>().iter_mut().zip(factors) {
        *product = a * b;
    }
    Ok(Evaluated { a, b, c })
}

fn scalars(count: usize) -> Result<Region, Failure> {
    Ok(Region::zeroed(Class::Witness, Stage::Queued, count * size_of::<Scalar>())?)
}
