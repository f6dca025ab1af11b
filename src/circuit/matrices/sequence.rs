//! The compressed sequence of a circuit's rows.

use super::chunk::{damaged, Chunk, Decoder, Numbers, CHUNK_ROWS};
use super::pattern::{Dictionary, FarColumns, Pattern, Place, Side};
use crate::circuit::shape::Shape;
use crate::error::Result;
use crate::memory::{Class, RegionVec, Stage};

/// Chunks and their frames, one after the other.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) chunks: Vec<Chunk>,
    pub(super) frames: RegionVec<u8>,
}

impl Sequence {
    pub(super) fn empty() -> Result<Self> {
        Ok(Sequence {
            chunks: Vec::new(),
            frames: RegionVec::with_capacity(Class::Matrices, Stage::Shared, 0)?,
        })
    }

    pub(super) fn push(&mut self, mut chunk: Chunk, frame: &[u8]) -> Result<()> {
        chunk.offset = self.frames.len() as u64;
        self.frames.extend_from_slice(frame)?;
        self.chunks.push(chunk);
        Ok(())
    }

    pub(super) fn shrink(&mut self) -> Result<()> {
        self.chunks.shrink_to_fit();
        self.frames.shrink_to_fit()
    }

    /// The chunk's frame.
    pub(super) fn frame(&self, chunk: &Chunk) -> Result<&[u8]> {
        let start = chunk.offset as usize;
        let end = start.checked_add(chunk.compressed as usize);
        end.and_then(|end| self.frames.as_slice().get(start..end))
            .ok_or_else(|| damaged(format!("a chunk at byte {start} is outside the file")))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.frames.mapped().0 + (self.chunks.capacity() * size_of::<Chunk>()) as u64
    }

    /// Reads every row once and checks what evaluation relies on: pattern numbers, columns, the chain of
    /// variable counts and the counts of the shape.
    pub(super) fn verify(&self, dictionary: &Dictionary, shape: &Shape) -> Result<()> {
        let expected = shape.constraints.div_ceil(CHUNK_ROWS as u64);
        if self.chunks.len() as u64 != expected {
            return Err(damaged(format!("{} chunks instead of {expected}", self.chunks.len())));
        }
        let demands: Vec<_> = dictionary.patterns.iter().map(|p| Demand::of(dictionary, p)).collect();
        let mut decoder = Decoder::new()?;
        let mut walk = Walk { aux: 0, inputs: 1, nonzeros: [0; 2] };
        let mut left = shape.constraints;
        for chunk in &self.chunks {
            let rows = left.min(CHUNK_ROWS as u64) as usize;
            left -= rows as u64;
            if (chunk.aux, chunk.inputs) != (walk.aux, walk.inputs) {
                return Err(damaged("a chunk does not begin where the one before it ends"));
            }
            let (numbers, far) = decoder.decode(chunk, rows, self.frame(chunk)?, [true; 2])?;
            walk.chunk(&demands, numbers, far)?;
        }
        let counted = (walk.nonzeros, walk.aux <= shape.aux, walk.inputs <= shape.inputs);
        if counted != ([shape.nonzeros_a, shape.nonzeros_b], true, true) {
            return Err(damaged("the rows do not have the shape that the header gives"));
        }
        Ok(())
    }
}

/// What a pattern needs of the variables that exist at its row.
struct Demand {
    pattern: Pattern,
    back_aux: u64,
    back_inputs: u64,
    far: [FarTerms; 2],
    nonzeros: [u64; 2],
}

/// A side's far terms: how many private variables each one takes, and how many inputs there are.
struct FarTerms {
    aux: Vec<u8>,
    inputs: usize,
}

impl Demand {
    fn of(dictionary: &Dictionary, pattern: &Pattern) -> Demand {
        let sides = [&dictionary.sides[pattern.a as usize], &dictionary.sides[pattern.b as usize]];
        let at =
            |side: &Side, place| dictionary.terms_of(side).iter().filter(move |term| term.place == place);
        let furthest = |place| {
            let terms = sides.into_iter().flat_map(|side| at(side, place));
            terms.map(|term| u64::from(term.back)).max().unwrap_or(0)
        };
        Demand {
            pattern: *pattern,
            back_aux: furthest(Place::Aux),
            back_inputs: furthest(Place::Input),
            far: sides.map(|side| FarTerms {
                aux: at(side, Place::FarAux).map(|term| term.len).collect(),
                inputs: at(side, Place::FarInput).count(),
            }),
            nonzeros: sides.map(|side| dictionary.nonzeros(side)),
        }
    }
}

struct Walk {
    aux: u64,
    inputs: u64,
    nonzeros: [u64; 2],
}

impl Walk {
    fn chunk(&mut self, demands: &[Demand], numbers: Numbers<'_>, far: &[FarColumns; 2]) -> Result<()> {
        let mut lists = far.each_ref().map(|far| (far.aux.as_slice(), far.inputs.as_slice()));
        match numbers {
            Numbers::Two(numbers) => {
                for number in numbers {
                    self.row(demands.get(number), &mut lists)?;
                }
            }
            Numbers::Four(numbers) => {
                for number in numbers {
                    self.row(demands.get(number), &mut lists)?;
                }
            }
        }
        if lists.iter().any(|(aux, inputs)| !aux.is_empty() || !inputs.is_empty()) {
            return Err(damaged("a chunk lists more far columns than its rows have"));
        }
        Ok(())
    }

    fn row(&mut self, demand: Option<&Demand>, lists: &mut [(&[u64], &[u64]); 2]) -> Result<()> {
        let demand = demand.ok_or_else(|| damaged("a row has a pattern that is not in the dictionary"))?;
        self.aux += u64::from(demand.pattern.new_aux);
        self.inputs += u64::from(demand.pattern.new_inputs);
        if demand.back_aux > self.aux || demand.back_inputs > self.inputs {
            return Err(damaged("a row reaches back before the first variable"));
        }
        for (side, list) in lists.iter_mut().enumerate() {
            self.nonzeros[side] += demand.nonzeros[side];
            let far = &demand.far[side];
            take_below(&mut list.0, far.aux.iter().copied(), self.aux)?;
            take_below(&mut list.1, std::iter::repeat_n(1, far.inputs), self.inputs)?;
        }
        Ok(())
    }
}

/// Takes a column off the list for each run; the whole run must be below `limit`.
fn take_below(list: &mut &[u64], runs: impl Iterator<Item = u8>, limit: u64) -> Result<()> {
    for run in runs {
        let (column, rest) = list
            .split_first()
            .ok_or_else(|| damaged("a chunk lists fewer far columns than its rows have"))?;
        *list = rest;
        if column.checked_add(u64::from(run)).is_none_or(|end| end > limit) {
            return Err(damaged(format!("a row refers to variable {column} of {limit}")));
        }
    }
    Ok(())
}
