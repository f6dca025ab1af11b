//! The word of private variables that is being filled.

use blstrs::Scalar;

use super::scalar::{self, limbs};

/// Variables of one word.
pub(super) const WORD: u32 = 64;

/// Up to 64 neighbouring private variables, least significant first: which are wide, and the value bits of
/// the others. Wide values are kept elsewhere, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) wide: u64,
    pub(super) value: u64,
    pub(super) len: u32,
}

/// The newest variables of a witness, gathered here until their word is full: a bit costs no more than this.
/// They begin where the witness ends, in the middle of a word perhaps.
#[derive(Debug, Default)]
pub(super) struct Tail {
    word: Word,
    first: u32,
}

impl Tail {
    /// An empty tail behind this many variables.
    pub(super) fn after(variables: usize) -> Tail {
        let first = (variables % WORD as usize) as u32;
        Tail { word: Word { len: first, ..Word::default() }, first }
    }

    /// Variables gathered.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        (self.word.len - self.first) as usize
    }

    /// Adds a variable; true where its value is wide, and has to be kept.
    #[inline(always)]
    pub(super) fn push(&mut self, value: &Scalar) -> bool {
        let limbs = limbs(value);
        let bit = 1 << (self.word.len % WORD);
        self.word.len += 1;
        if limbs == scalar::ZERO {
            return false;
        }
        if limbs == scalar::ONE {
            self.word.value |= bit;
            return false;
        }
        self.word.wide |= bit;
        true
    }

    /// Whether the word is full.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.word.len == WORD
    }

    /// The word so far; the variables that the witness has of it are zero here.
    pub(super) fn word(&self) -> Word {
        self.word
    }
}
