//! Row patterns: what recurs among the rows of a circuit once columns are counted back from the newest
//! variable.

use std::ops::Range;

use blstrs::Scalar;

/// Private variables further back than this are listed apart, chunk by chunk.
pub(super) const NEAR_AUX: usize = 4096;
/// Inputs further back than this are listed apart.
pub(super) const NEAR_INPUTS: usize = 64;

/// Shortest and longest run of neighbouring private variables, each with twice the coefficient of the one
/// before it, that is one term: how gadgets pack bits into a number.
pub(super) const MIN_RUN: usize = 4;
pub(super) const MAX_RUN: usize = 32;

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

/// One term of a combination; the constant ONE is kept apart, in [`Side::constant`]. A run of private
/// variables is one term: its place and coefficient are those of its first variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) coefficient: u32,
    pub(super) back: u16,
    pub(super) place: Place,
    /// Variables of the run; 1 for a term of its own.
    pub(super) len: u8,
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

    /// Non-zero coefficients of a side, that of ONE included.
    pub(super) fn nonzeros(&self, side: &Side) -> u64 {
        let terms = self.terms_of(side).iter().map(|term| u64::from(term.len));
        terms.sum::<u64>() + u64::from(side.constant != NONE)
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

/// Columns of far terms (of a run, its first), in order of their rows: private variables and inputs.
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
