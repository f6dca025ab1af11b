//! Row patterns: what recurs among the rows of a circuit once columns are counted back from the newest
//! variable.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use bellpepper_core::LinearCombination;
use blstrs::Scalar;
use ff::Field;

use crate::circuit::rows::nonzero;
use crate::circuit::scalar::{from_limbs, limbs, Limbs};
use crate::error::{Code, Error, Result};

/// Private variables further back than this are listed apart, chunk by chunk.
pub(super) const NEAR_AUX: usize = 4096;
/// Inputs further back than this are listed apart.
pub(super) const NEAR_INPUTS: usize = 64;

/// The coefficient 1 has this number.
pub(super) const COEFFICIENT_ONE: u32 = 0;
/// The coefficient −1 has this number.
pub(super) const COEFFICIENT_MINUS_ONE: u32 = 1;
/// No coefficient: the side has no constant.
pub(super) const NONE: u32 = u32::MAX;

/// Where a term's variable is.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A private variable, `back` from the end of those allocated (1 is the newest).
    Aux = 0,
    /// The next private variable of the chunk's far list.
    FarAux = 1,
    /// A public input, `back` from the end of those allocated.
    Input = 2,
    /// The next input of the chunk's far list.
    FarInput = 3,
}

impl Place {
    pub(super) const ALL: [Place; 4] = [Place::Aux, Place::FarAux, Place::Input, Place::FarInput];
}

/// One term of a combination; the constant ONE is kept apart, in [`Side::constant`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) coefficient: u32,
    pub(super) back: u16,
    pub(super) place: Place,
}

/// The A or B combination of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Side {
    /// Number of the coefficient of ONE, or [`NONE`].
    pub(super) constant: u32,
    pub(super) first_term: u32,
    pub(super) terms: u32,
}

impl Side {
    #[inline(always)]
    pub(super) fn range(&self) -> Range<usize> {
        let first = self.first_term as usize;
        first..first + self.terms as usize
    }

    /// Non-zero coefficients, that of ONE included.
    pub(super) fn nonzeros(&self) -> u64 {
        u64::from(self.terms) + u64::from(self.constant != NONE)
    }
}

/// What a constraint looks like: how many variables were allocated since the one before it, and its sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    pub(super) new_aux: u32,
    pub(super) new_inputs: u32,
    pub(super) a: u32,
    pub(super) b: u32,
}

/// The distinct coefficients, sides and patterns of a circuit.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Dictionary {
    pub(super) coefficients: Vec<Scalar>,
    pub(super) sides: Vec<Side>,
    pub(super) terms: Vec<Term>,
    pub(super) patterns: Vec<Pattern>,
}

impl Dictionary {
    pub(super) fn terms_of(&self, side: &Side) -> &[Term] {
        &self.terms[side.range()]
    }

    pub(super) fn bytes(&self) -> usize {
        self.coefficients.capacity() * size_of::<Scalar>()
            + self.sides.capacity() * size_of::<Side>()
            + self.terms.capacity() * size_of::<Term>()
            + self.patterns.capacity() * size_of::<Pattern>()
    }

    pub(super) fn shrink(&mut self) {
        self.coefficients.shrink_to_fit();
        self.sides.shrink_to_fit();
        self.terms.shrink_to_fit();
        self.patterns.shrink_to_fit();
    }
}

/// Columns of far terms, in order of their rows: private variables and inputs.
#[derive(Debug, Default)]
pub(super) struct FarColumns {
    pub(super) aux: Vec<u64>,
    pub(super) inputs: Vec<u64>,
}

impl FarColumns {
    pub(super) fn clear(&mut self) {
        self.aux.clear();
        self.inputs.clear();
    }
}

/// A dictionary under construction.
#[derive(Default)]
pub(super) struct Interner {
    dictionary: Dictionary,
    coefficients: HashMap<Limbs, u32>,
    sides: HashMap<Box<[u64]>, u32>,
    patterns: HashMap<Pattern, u32>,
    key: Vec<u64>,
}

impl Interner {
    pub(super) fn new() -> Result<Self> {
        let mut interner = Interner::default();
        interner.coefficient(&Scalar::ONE)?;
        interner.coefficient(&-Scalar::ONE)?;
        Ok(interner)
    }

    pub(super) fn finish(self) -> Dictionary {
        let mut dictionary = self.dictionary;
        dictionary.shrink();
        dictionary
    }

    /// The number of the pattern.
    pub(super) fn pattern(&mut self, pattern: Pattern) -> Result<u32> {
        if let Some(number) = self.patterns.get(&pattern) {
            return Ok(*number);
        }
        let number = next_number(self.dictionary.patterns.len())?;
        self.dictionary.patterns.push(pattern);
        self.patterns.insert(pattern, number);
        Ok(number)
    }

    /// The number of the side that this combination is where `aux` private variables and `inputs` inputs
    /// are allocated. Appends its far columns.
    pub(super) fn side(
        &mut self,
        combination: &LinearCombination<Scalar>,
        (aux, inputs): (u64, u64),
        far: &mut FarColumns,
    ) -> Result<u32> {
        self.key.clear();
        self.key.push(u64::from(NONE));
        for (column, coefficient) in nonzero(combination.iter_inputs()) {
            let coefficient = self.coefficient(coefficient)?;
            if column == 0 {
                self.key[0] = u64::from(coefficient);
                continue;
            }
            let places = (Place::Input, Place::FarInput);
            self.key.push(packed(coefficient, place(column, inputs, NEAR_INPUTS, places, &mut far.inputs)));
        }
        for (column, coefficient) in nonzero(combination.iter_aux()) {
            let coefficient = self.coefficient(coefficient)?;
            let places = (Place::Aux, Place::FarAux);
            self.key.push(packed(coefficient, place(column, aux, NEAR_AUX, places, &mut far.aux)));
        }
        match self.sides.get(self.key.as_slice()) {
            Some(number) => Ok(*number),
            None => self.new_side(),
        }
    }

    fn new_side(&mut self) -> Result<u32> {
        let number = next_number(self.dictionary.sides.len())?;
        let terms = &mut self.dictionary.terms;
        let side = Side {
            constant: self.key[0] as u32,
            first_term: next_number(terms.len())?,
            terms: next_number(self.key.len() - 1)?,
        };
        next_number(terms.len() + self.key.len())?;
        terms.extend(self.key[1..].iter().map(|key| unpacked(*key)));
        self.dictionary.sides.push(side);
        self.sides.insert(self.key.as_slice().into(), number);
        Ok(number)
    }

    fn coefficient(&mut self, value: &Scalar) -> Result<u32> {
        let key = limbs(value);
        if let [one, minus_one, ..] = self.dictionary.coefficients.as_slice() {
            if *one == from_limbs(key) {
                return Ok(COEFFICIENT_ONE);
            }
            if *minus_one == from_limbs(key) {
                return Ok(COEFFICIENT_MINUS_ONE);
            }
        }
        if let Some(number) = self.coefficients.get(&key) {
            return Ok(*number);
        }
        let number = next_number(self.dictionary.coefficients.len())?;
        self.dictionary.coefficients.push(*value);
        self.coefficients.insert(key, number);
        Ok(number)
    }
}

/// How a column is written where `allocated` variables of its sort exist; appends it to `far` where it is
/// further back than `near`. The column is one of those allocated.
fn place(
    column: usize,
    allocated: u64,
    near: usize,
    (here, there): (Place, Place),
    far: &mut Vec<u64>,
) -> (Place, u16) {
    let back = (allocated as usize).saturating_sub(column);
    if back <= near {
        return (here, back as u16);
    }
    far.push(column as u64);
    (there, 0)
}

fn packed(coefficient: u32, (place, back): (Place, u16)) -> u64 {
    u64::from(coefficient) << 32 | u64::from(back) << 2 | place as u64
}

fn unpacked(key: u64) -> Term {
    Term { coefficient: (key >> 32) as u32, back: (key >> 2) as u16, place: Place::ALL[(key & 3) as usize] }
}

fn next_number(taken: usize) -> Result<u32> {
    u32::try_from(taken).ok().filter(|number| *number < NONE).ok_or_else(|| {
        Error::new(Code::Unsupported, "a circuit with more than 2^32 distinct row parts is not supported")
    })
}
