//! The compact witness.

use blstrs::Scalar;
use ff::Field;

use super::generator::Expected;
use super::tail::{Tail, Word, WORD};
use crate::error::{Code, Error, Result};
use crate::memory::{Class, RegionVec, Stage};
use crate::units::Bytes;

/// Words of 64 variables that share one entry of the rank index.
const GROUP_WORDS: usize = 4;

/// A partition's witness: one bit "is wide", one bit of value, 32 bytes for each wide value.
#[derive(Debug)]
pub struct Witness {
    inputs: RegionVec<Scalar>,
    aux_len: usize,
    wide: RegionVec<u64>,
    value: RegionVec<u64>,
    /// Wide values before each group of words.
    rank: RegionVec<u32>,
    wide_values: RegionVec<Scalar>,
}

impl Witness {
    /// A witness without variables, with room for what is expected.
    pub(super) fn empty(expected: Expected) -> Result<Witness> {
        let words = expected.aux.div_ceil(64);
        Ok(Witness {
            inputs: RegionVec::with_capacity(Class::Witness, Stage::Synthesis, 0)?,
            aux_len: 0,
            wide: RegionVec::with_capacity(Class::Witness, Stage::Synthesis, words)?,
            value: RegionVec::with_capacity(Class::Witness, Stage::Synthesis, words)?,
            rank: RegionVec::with_capacity(Class::Witness, Stage::Synthesis, words.div_ceil(GROUP_WORDS))?,
            wide_values: RegionVec::with_capacity(Class::Witness, Stage::Synthesis, expected.wide)?,
        })
    }

    /// Public inputs, the leading ONE included.
    pub fn inputs(&self) -> &[Scalar] {
        self.inputs.as_slice()
    }

    /// Private variables.
    pub fn aux_len(&self) -> usize {
        self.aux_len
    }

    /// One bit for each private variable, least significant first: its value is neither 0 nor 1.
    pub fn wide_bits(&self) -> &[u64] {
        self.wide.as_slice()
    }

    /// One bit for each private variable, least significant first: its value, 0 where it is wide.
    pub fn value_bits(&self) -> &[u64] {
        self.value.as_slice()
    }

    /// The wide values in order of their variables.
    pub fn wide_values(&self) -> &[Scalar] {
        self.wide_values.as_slice()
    }

    /// The value of private variable `index`; zero past the end.
    pub fn get(&self, index: usize) -> Scalar {
        if index >= self.aux_len {
            return Scalar::ZERO;
        }
        let values = self.values();
        let (wide, bit) = values.bits(index);
        match (wide, bit) {
            (true, _) => values.wide_value(index),
            (false, true) => Scalar::ONE,
            (false, false) => Scalar::ZERO,
        }
    }

    /// Bytes mapped.
    pub fn mapped(&self) -> Bytes {
        [
            self.inputs.mapped(),
            self.wide.mapped(),
            self.value.mapped(),
            self.rank.mapped(),
            self.wide_values.mapped(),
        ]
        .into_iter()
        .fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// Counts the memory under another stage from now on.
    pub fn set_stage(&mut self, stage: Stage) {
        self.inputs.set_stage(stage);
        self.wide.set_stage(stage);
        self.value.set_stage(stage);
        self.rank.set_stage(stage);
        self.wide_values.set_stage(stage);
    }

    pub(super) fn push_input(&mut self, value: Scalar) -> Result<()> {
        self.inputs.push(value)
    }

    pub(super) fn inputs_mut(&mut self) -> &mut [Scalar] {
        self.inputs.as_mut_slice()
    }

    /// Appends a private variable.
    pub(super) fn push_aux(&mut self, value: Scalar) -> Result<()> {
        let mut tail = Tail::after(self.aux_len);
        if tail.push(&value) {
            self.push_wide(value)?;
        }
        self.take(&tail)
    }

    /// Keeps the value of a variable that is wide in the tail.
    #[inline(never)]
    pub(super) fn push_wide(&mut self, value: Scalar) -> Result<()> {
        self.wide_values.push(value)
    }

    /// Appends the variables of a tail that began where this witness ends; their wide values are here already.
    pub(super) fn take(&mut self, tail: &Tail) -> Result<()> {
        self.merge(tail.word(), tail.len())
    }

    /// The variables in words, those of the tail included.
    pub(super) fn words<'a>(&'a self, tail: &'a Tail) -> impl Iterator<Item = Word> + 'a {
        let full = self.aux_len / WORD as usize;
        let words = self.wide.as_slice().iter().zip(self.value.as_slice());
        let begun = words.clone().nth(full).map_or((0, 0), |(wide, value)| (*wide, *value));
        let open = tail.word();
        let last = Word { wide: open.wide | begun.0, value: open.value | begun.1, len: open.len };
        let full = words.take(full).map(|(wide, value)| Word { wide: *wide, value: *value, len: WORD });
        full.chain((last.len > 0).then_some(last))
    }

    /// Appends the variables of `other` and of its tail. Its first input is a ONE of its own.
    pub(super) fn append(&mut self, other: &Witness, tail: &Tail) -> Result<()> {
        for input in other.inputs().iter().skip(1) {
            self.push_input(*input)?;
        }
        let mut wide_values = other.wide_values();
        for word in other.words(tail) {
            wide_values = self.append_word(word, wide_values)?;
        }
        Ok(())
    }

    /// Gives unused capacity back.
    pub(super) fn shrink(&mut self) -> Result<()> {
        self.inputs.shrink_to_fit()?;
        self.wide.shrink_to_fit()?;
        self.value.shrink_to_fit()?;
        self.rank.shrink_to_fit()?;
        self.wide_values.shrink_to_fit()
    }

    /// Borrowed slices for random access in a hot loop.
    pub(super) fn values(&self) -> Values<'_> {
        Values {
            inputs: self.inputs.as_slice(),
            wide: self.wide.as_slice(),
            value: self.value.as_slice(),
            rank: self.rank.as_slice(),
            wide_values: self.wide_values.as_slice(),
        }
    }

    /// Appends a word's variables: as many as the last word has room for, then the rest. Returns the wide
    /// values that are left.
    fn append_word<'a>(&mut self, word: Word, mut wide_values: &'a [Scalar]) -> Result<&'a [Scalar]> {
        let mut done = 0;
        while done < word.len {
            let at = (self.aux_len % WORD as usize) as u32;
            let taken = (WORD - at).min(word.len - done);
            let mask = u64::MAX >> (WORD - taken);
            let wide = (word.wide >> done) & mask;
            let (values, rest) = wide_values
                .split_at_checked(wide.count_ones() as usize)
                .ok_or_else(|| Error::internal("a witness has fewer wide values than wide variables"))?;
            self.wide_values.extend_from_slice(values)?;
            wide_values = rest;
            let value = ((word.value >> done) & mask) << at;
            self.merge(Word { wide: wide << at, value, len: at + taken }, taken as usize)?;
            done += taken;
        }
        Ok(wide_values)
    }

    /// Appends the last `count` variables of a word that stand at the next places of the last one. Their wide
    /// values are here already.
    fn merge(&mut self, word: Word, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if self.aux_len.is_multiple_of(WORD as usize) {
            self.open_word(word)?;
        } else if let (Some(wide), Some(value)) =
            (self.wide.as_mut_slice().last_mut(), self.value.as_mut_slice().last_mut())
        {
            *wide |= word.wide;
            *value |= word.value;
        }
        self.aux_len += count;
        Ok(())
    }

    fn open_word(&mut self, word: Word) -> Result<()> {
        if self.wide.len().is_multiple_of(GROUP_WORDS) {
            let before = self.wide_values.len() - word.wide.count_ones() as usize;
            let before = u32::try_from(before).map_err(|_| {
                Error::new(Code::Unsupported, "a witness of more than 2^32 wide values is not supported")
            })?;
            self.rank.push(before)?;
        }
        self.wide.push(word.wide)?;
        self.value.push(word.value)
    }
}

impl PartialEq for Witness {
    /// Whether all variables are equal.
    fn eq(&self, other: &Witness) -> bool {
        self.aux_len == other.aux_len
            && self.inputs() == other.inputs()
            && self.wide_bits() == other.wide_bits()
            && self.value_bits() == other.value_bits()
            && self.wide_values() == other.wide_values()
    }
}

/// A witness's slices.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) inputs: &'a [Scalar],
    pub(super) wide: &'a [u64],
    pub(super) value: &'a [u64],
    rank: &'a [u32],
    wide_values: &'a [Scalar],
}

impl Values<'_> {
    /// Whether the variable is wide, and its value bit.
    #[inline(always)]
    pub(super) fn bits(&self, index: usize) -> (bool, bool) {
        let (word, bit) = (index / 64, index % 64);
        ((self.wide[word] >> bit) & 1 == 1, (self.value[word] >> bit) & 1 == 1)
    }

    /// The wide bits and the value bits of up to 32 neighbours.
    #[inline(always)]
    pub(super) fn window(&self, first: usize, len: u8) -> (u64, u64) {
        let (word, bit, len) = (first / 64, first % 64, usize::from(len));
        let (mut wide, mut value) = (self.wide[word] >> bit, self.value[word] >> bit);
        if bit + len > 64 {
            wide |= self.wide[word + 1] << (64 - bit);
            value |= self.value[word + 1] << (64 - bit);
        }
        let mask = (1 << len) - 1;
        (wide & mask, value & mask)
    }

    /// The value of a variable that is wide.
    #[inline(always)]
    pub(super) fn wide_value(&self, index: usize) -> Scalar {
        let word = index / 64;
        let group = word / GROUP_WORDS;
        let mut rank = self.rank[group] as usize;
        for before in &self.wide[group * GROUP_WORDS..word] {
            rank += before.count_ones() as usize;
        }
        rank += (self.wide[word] & ((1 << (index % 64)) - 1)).count_ones() as usize;
        self.wide_values[rank]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::usage;
    use proptest::prelude::*;

    fn scalar_of(code: u8) -> Scalar {
        match code {
            0 => Scalar::ZERO,
            1 => Scalar::ONE,
            2 => -Scalar::ONE,
            n => Scalar::from(u64::from(n)),
        }
    }

    fn witness_of(codes: &[u8]) -> Witness {
        let mut witness = Witness::empty(Expected { aux: codes.len() / 2, wide: 0 }).unwrap();
        witness.push_input(Scalar::ONE).unwrap();
        for code in codes {
            witness.push_aux(scalar_of(*code)).unwrap();
        }
        witness
    }

    fn check(witness: &Witness, codes: &[u8]) {
        assert_eq!(witness.aux_len(), codes.len());
        assert_eq!(witness.wide_bits().len(), codes.len().div_ceil(64));
        assert_eq!(witness.value_bits().len(), codes.len().div_ceil(64));
        for (i, code) in codes.iter().enumerate() {
            assert_eq!(witness.get(i), scalar_of(*code), "variable {i}");
        }
        let wide: Vec<_> = codes.iter().filter(|code| **code > 1).map(|code| scalar_of(*code)).collect();
        assert_eq!(witness.wide_values(), wide);
        assert_eq!(witness.get(codes.len()), Scalar::ZERO);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn holds_what_was_pushed(codes in proptest::collection::vec(0_u8..6, 0..700)) {
            let mut witness = witness_of(&codes);
            check(&witness, &codes);
            witness.shrink().unwrap();
            check(&witness, &codes);
        }

        #[test]
        fn appends_at_any_bit(
            a in proptest::collection::vec(0_u8..6, 0..300),
            b in proptest::collection::vec(0_u8..6, 0..300),
        ) {
            let mut witness = witness_of(&a);
            let other = witness_of(&b);
            witness.append(&other, &Tail::after(other.aux_len())).unwrap();
            check(&witness, &[a, b].concat());
            prop_assert_eq!(witness.inputs().len(), 1);
        }
    }

    #[test]
    fn bits_take_a_quarter_byte_a_variable() {
        let mut witness = witness_of(&vec![1; 1 << 20]);
        witness.shrink().unwrap();
        // Two bits a variable, four bytes of rank for 256 variables, a page for the inputs.
        assert_eq!(witness.mapped(), Bytes((1 << 18) + (1 << 14) + 4096));
        witness.set_stage(Stage::Finishing);
        assert!(usage::mapped(Class::Witness, Stage::Finishing).1 >= Bytes(1 << 18));
    }
}
