//! The CPU backend: the C++ core on a pool.

use std::sync::Arc;

use blstrs::{G1Affine, G1Projective, Scalar};
use rayon::ThreadPool;

use super::assemble::assemble;
use super::bridge::{self, KernelTable};
use super::crew::Crew;
use super::kernels::Kernels;
use super::multiply::{Multiply, Terms};
use super::projection::Projection;
use super::queries::{InputPoints, Queries, Query};
use super::transform::divide;
use crate::cancel::Cancel;
use crate::circuit::{Matrix, Shape, Witness};
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Region, Stage};
use crate::prove::{Backend, Blinding, Proof, Started, Step};
use crate::units::Bytes;

/// Proves on the processor, on the pools it is given.
pub struct CpuBackend {
    pub(super) pool: Arc<ThreadPool>,
    /// What [`Backend::finish`] runs on.
    finishing: Arc<ThreadPool>,
    pub(super) kernels: &'static KernelTable,
}

impl CpuBackend {
    /// A backend whose work runs on `pool`, with the fastest kernels that this processor runs.
    pub fn new(pool: Arc<ThreadPool>) -> Result<CpuBackend> {
        CpuBackend::with_kernels(pool, Kernels::Fastest)
    }

    /// A backend with these kernels; fails where this processor does not run them.
    pub fn with_kernels(pool: Arc<ThreadPool>, kernels: Kernels) -> Result<CpuBackend> {
        Ok(CpuBackend { finishing: pool.clone(), pool, kernels: kernels.table()? })
    }

    /// The same, finishing proofs on another pool.
    pub fn finishing_on(self, finishing: Arc<ThreadPool>) -> CpuBackend {
        CpuBackend { finishing, ..self }
    }

    /// The pool at the service of one call into C++.
    pub(super) fn crew(&self, cancel: &Cancel) -> Crew {
        Crew::new(&self.pool, self.kernels, cancel)
    }

    fn projection(&self, pool: &ThreadPool) -> Projection {
        Projection { kernels: self.kernels, threads: pool.current_num_threads() }
    }

    /// Threads of its pool.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Σ hᵢ·Hᵢ; `a` holds h as plain integers, `b` is free.
    pub(super) fn multiply_h(&self, step: &Step, a: &mut Region, mut b: Region) -> Result<G1Projective> {
        let crew = self.crew(step.cancel);
        let scalars = a.as_mut_slice::<Scalar>();
        let count = scalars.len().saturating_sub(1);
        let needed = G1Affine::scratch(self.kernels, count, crew.lanes());
        if b.len() < needed {
            drop(b);
            b = evaluation_region(step, needed)?;
        }
        let scalars = &mut scalars[..count];
        let terms = Terms { points: step.circuit.srs.h(), indices: &[], scalars, montgomery: false };
        G1Affine::multiply(&crew, terms, b.as_mut_slice())
    }

    /// The coefficients of the quotient in the first region; the second is free.
    fn evaluate_quotient(&self, step: &Step) -> Result<(Region, Region)> {
        let Step { witness, cancel, .. } = *step;
        let matrices = &step.circuit.matrices;
        let bytes = domain_bytes(matrices.shape())?;
        let (mut a, mut b) = (evaluation_region(step, bytes)?, evaluation_region(step, bytes)?);
        self.pool.install(|| {
            matrices.evaluate(Matrix::A, witness, a.as_mut_slice(), cancel)?;
            matrices.evaluate(Matrix::B, witness, b.as_mut_slice(), cancel)
        })?;
        let refill = |c: &mut [Scalar]| self.pool.install(|| matrices.evaluate_product(witness, c, cancel));
        let mut scratch = evaluation_region(step, bridge::domain_scratch(self.threads()))?;
        let crew = self.crew(cancel);
        divide(&crew, [a.as_mut_slice(), b.as_mut_slice()], refill, scratch.as_mut_slice())?;
        Ok((a, b))
    }
}

fn evaluation_region(step: &Step, bytes: usize) -> Result<Region> {
    Region::zeroed_for(step.meter, Class::WorkingSet, Stage::Proving, bytes)
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }

    fn working_set(&self, shape: &Shape) -> Bytes {
        self.projection(&self.pool).working_set(shape)
    }

    fn finishing_set(&self, shape: &Shape, wide: u64) -> Bytes {
        self.projection(&self.finishing).finishing_set(shape, wide)
    }

    fn start(&self, step: &Step) -> Result<Started> {
        let shape = step.circuit.matrices.shape();
        step.circuit.srs.check_shape(shape)?;
        check_witness(shape, step.witness)?;
        let (mut a, b) = self.evaluate_quotient(step)?;
        Ok(Started { h: self.multiply_h(step, &mut a, b)? })
    }

    fn finish(&self, step: &Step, started: Started, blinding: Blinding) -> Result<Proof> {
        let matrices = &step.circuit.matrices;
        check_witness(matrices.shape(), step.witness)?;
        let (srs, densities) = (&step.circuit.srs, matrices.densities());
        let l = Query { name: "l", points: srs.l(), inputs: InputPoints::None, density: &[] };
        let a = Query { name: "a", points: srs.a(), inputs: InputPoints::All, density: densities.a_aux() };
        let b_inputs = InputPoints::Dense(densities.b_input());
        let b_g1 = Query { name: "b_g1", points: srs.b_g1(), inputs: b_inputs, density: densities.b_aux() };
        let b_g2 = Query { name: "b_g2", points: srs.b_g2(), inputs: b_inputs, density: densities.b_aux() };
        let crew = Crew::new(&self.finishing, self.kernels, step.cancel);
        let sums = Queries { l, a, b_g1, b_g2 }.sum(&crew, step.witness, step.meter)?;
        assemble(srs.vk(), started.h, &sums, blinding)
    }
}

/// Bytes of one evaluation vector over the domain.
pub(super) fn domain_bytes(shape: &Shape) -> Result<usize> {
    shape
        .domain()
        .checked_mul(size_of::<Scalar>() as u64)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(|| Error::new(Code::Unsupported, "the circuit's domain does not fit the address space"))
}

fn check_witness(shape: &Shape, witness: &Witness) -> Result<()> {
    let (inputs, aux) = (witness.inputs().len() as u64, witness.aux_len() as u64);
    if inputs == shape.inputs && aux == shape.aux {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!(
            "the witness has {inputs} inputs and {aux} private variables, the circuit {} and {}",
            shape.inputs, shape.aux
        ),
    ))
}
