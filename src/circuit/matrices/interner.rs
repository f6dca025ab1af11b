//! Collects the distinct parts of a circuit's rows and numbers them.

use std::collections::HashMap;

use bellpepper_core::LinearCombination;
use blstrs::Scalar;
use ff::Field;

use super::pattern::{Dictionary, FarColumns, Pattern, Place, Side, Term};
use super::pattern::{COEFFICIENT_MINUS_ONE, COEFFICIENT_ONE, MAX_RUN, MIN_RUN, NEAR_AUX, NEAR_INPUTS, NONE};
use crate::circuit::rows::nonzero;
use crate::circuit::scalar::{from_limbs, limbs, Limbs};
use crate::error::{Code, Error, Result};

/// A dictionary under construction.
#[derive(Default)]
pub(super) struct Interner {
    dictionary: Dictionary,
    coefficients: HashMap<Limbs, u32>,
    sides: HashMap<Box<[u64]>, u32>,
    patterns: HashMap<Pattern, u32>,
    key: Vec<u64>,
    private: Vec<(usize, Scalar)>,
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
            let back = inputs as usize - column;
            let place = if back <= NEAR_INPUTS { Place::Input } else { Place::FarInput };
            self.push(Term { coefficient, back: back as u16, place, len: 1 }, column, &mut far.inputs);
        }
        let mut private = std::mem::take(&mut self.private);
        private.extend(nonzero(combination.iter_aux()).map(|(column, coefficient)| (column, *coefficient)));
        let mut rest = private.as_slice();
        while let Some((column, coefficient)) = rest.first() {
            let coefficient = self.coefficient(coefficient)?;
            let back = aux as usize - column;
            let near = back <= NEAR_AUX;
            let len = run(rest, if near { MAX_RUN } else { MAX_RUN.min(back - NEAR_AUX) });
            let place = if near { Place::Aux } else { Place::FarAux };
            self.push(Term { coefficient, back: back as u16, place, len: len as u8 }, *column, &mut far.aux);
            rest = &rest[len..];
        }
        private.clear();
        self.private = private;
        match self.sides.get(self.key.as_slice()) {
            Some(number) => Ok(*number),
            None => self.new_side(),
        }
    }

    /// Adds a term to the key of the side; a far one's distance is its column, listed apart.
    fn push(&mut self, mut term: Term, column: usize, far: &mut Vec<u64>) {
        if matches!(term.place, Place::FarAux | Place::FarInput) {
            term.back = 0;
            far.push(column as u64);
        }
        self.key.push(packed(term));
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

/// Length of the run that the terms begin with: 1, or from [`MIN_RUN`] to `longest`.
fn run(terms: &[(usize, Scalar)], longest: usize) -> usize {
    let follows = |pair: &[(usize, Scalar)]| {
        matches!(pair, [(column, coefficient), (next, double)]
            if column + 1 == *next && coefficient.double() == *double)
    };
    let len = 1 + terms.windows(2).take(longest - 1).take_while(|pair| follows(pair)).count();
    if len < MIN_RUN {
        1
    } else {
        len
    }
}

fn packed(term: Term) -> u64 {
    u64::from(term.coefficient) << 32
        | u64::from(term.len) << 24
        | u64::from(term.back) << 2
        | term.place as u64
}

fn unpacked(key: u64) -> Term {
    Term {
        coefficient: (key >> 32) as u32,
        back: (key >> 2) as u16,
        place: Place::ALL[(key & 3) as usize],
        len: (key >> 24) as u8,
    }
}

fn next_number(taken: usize) -> Result<u32> {
    u32::try_from(taken).ok().filter(|number| *number < NONE).ok_or_else(|| {
        Error::new(Code::Unsupported, "a circuit with more than 2^32 distinct row parts is not supported")
    })
}
