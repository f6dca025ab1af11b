//! Compiles a circuit's matrices in one pass whose memory is bounded by the dictionary.

use bellpepper_core::Circuit;
use blstrs::Scalar;

use super::chunk::{Chunk, ChunkRows, Encoder, CHUNK_ROWS};
use super::interner::Interner;
use super::pattern::Pattern;
use super::sequence::Sequence;
use super::Matrices;
use crate::circuit::rows::{stream, Row};
use crate::error::{Code, Error, Result};

pub(super) fn compile<C: Circuit<Scalar>>(tag: &str, circuit: C) -> Result<Matrices> {
    let mut compiler = Compiler::new()?;
    let (shape, densities) = stream::<C, _, false>(circuit, |row| compiler.row(&row))?;
    let (sequence, interner) = compiler.finish()?;
    Matrices::assemble(tag, shape, densities, interner.finish(), sequence)
}

struct Compiler {
    interner: Interner,
    encoder: Encoder,
    rows: ChunkRows,
    /// Variables before the chunk's first row.
    chunk: Chunk,
    aux: u64,
    inputs: u64,
    sequence: Sequence,
}

impl Compiler {
    fn new() -> Result<Self> {
        Ok(Compiler {
            interner: Interner::new()?,
            encoder: Encoder::new()?,
            rows: ChunkRows::default(),
            chunk: Chunk { inputs: 1, ..Chunk::default() },
            aux: 0,
            inputs: 1,
            sequence: Sequence::empty()?,
        })
    }

    fn row(&mut self, row: &Row<'_>) -> Result<()> {
        if self.rows.patterns.len() == CHUNK_ROWS {
            self.flush()?;
        }
        let allocated = (row.aux, row.inputs);
        let [far_a, far_b] = &mut self.rows.far;
        let pattern = Pattern {
            new_aux: advance(row.aux - self.aux)?,
            new_inputs: advance(row.inputs - self.inputs)?,
            a: self.interner.side(row.a, allocated, far_a)?,
            b: self.interner.side(row.b, allocated, far_b)?,
        };
        self.rows.patterns.push(self.interner.pattern(pattern)?);
        (self.aux, self.inputs) = allocated;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let (chunk, frame) = self.encoder.encode(&self.rows, self.chunk)?;
        self.sequence.push(chunk, &frame)?;
        self.rows.patterns.clear();
        self.rows.far.iter_mut().for_each(|far| far.clear());
        self.chunk = Chunk { aux: self.aux, inputs: self.inputs, ..Chunk::default() };
        Ok(())
    }

    fn finish(mut self) -> Result<(Sequence, Interner)> {
        if !self.rows.patterns.is_empty() {
            self.flush()?;
        }
        self.sequence.shrink()?;
        Ok((self.sequence, self.interner))
    }
}

fn advance(new: u64) -> Result<u32> {
    u32::try_from(new).map_err(|_| {
        Error::new(Code::Unsupported, format!("{new} variables between two constraints are not supported"))
    })
}
