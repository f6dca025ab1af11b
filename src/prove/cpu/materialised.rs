//! The heavy step from evaluation vectors that were made before: what a pipeline that keeps them needs.

use blstrs::Scalar;

use super::backend::domain_bytes;
use super::CpuBackend;
use crate::circuit::Shape;
use crate::error::{Code, Error, Result};
use crate::memory::Region;
use crate::prove::{Started, Step};

/// A·w, B·w and C·w of one partition: one scalar for each row of the circuit's shape.
pub struct Evaluated {
    /// A·w.
    pub a: Region,
    /// B·w.
    pub b: Region,
    /// C·w.
    pub c: Region,
}

impl CpuBackend {
    /// [`Backend::start`] without the evaluation: a and b grow to the domain in place, c is dropped where it has
    /// been read, a and b at the end. `InvalidArgument` where a vector has other than one scalar a row.
    ///
    /// [`Backend::start`]: crate::prove::Backend::start
    pub fn start_evaluated(&self, step: &Step, vectors: Evaluated) -> Result<Started> {
        let shape = step.circuit.matrices.shape();
        step.circuit.srs.check_shape(shape)?;
        let Evaluated { mut a, mut b, c } = vectors;
        [&a, &b, &c].into_iter().try_for_each(|vector| check_rows(shape, vector))?;
        let bytes = domain_bytes(shape)?;
        a.resize(bytes)?;
        b.resize(bytes)?;
        let refill = |out: &mut [Scalar]| {
            let rows = c.as_slice::<Scalar>();
            let (head, padding) = out.split_at_mut(rows.len());
            head.copy_from_slice(rows);
            padding.fill(Scalar::default());
            drop(c);
            Ok(())
        };
        self.quotient(a.as_mut_slice(), b.as_mut_slice(), refill, step.cancel)?;
        Ok(Started { h: self.multiply_h(step, &mut a, b)? })
    }
}

fn check_rows(shape: &Shape, vector: &Region) -> Result<()> {
    let scalars = vector.as_slice::<Scalar>().len() as u64;
    if scalars == shape.rows() {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!("an evaluation vector has {scalars} scalars, the circuit {} rows", shape.rows()),
    ))
}
