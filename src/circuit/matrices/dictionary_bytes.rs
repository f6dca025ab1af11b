//! The dictionary and the chunk table as bytes: variable-length numbers, coefficients as 32 canonical
//! little-endian bytes.

use blstrs::Scalar;
use ff::Field;

use super::chunk::{damaged, Chunk};
use super::pattern::{Dictionary, Pattern, Place, Side, Term, MAX_RUN, NEAR_AUX, NEAR_INPUTS, NONE};
use super::varint::{get, get_u32, put};
use crate::error::Result;

pub(super) fn write(dictionary: &Dictionary, chunks: &[Chunk]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, dictionary.coefficients.len() as u64);
    for coefficient in &dictionary.coefficients {
        out.extend_from_slice(&coefficient.to_bytes_le());
    }
    put(&mut out, dictionary.sides.len() as u64);
    for side in &dictionary.sides {
        put(&mut out, u64::from(side.constant.wrapping_add(1)));
        put(&mut out, u64::from(side.terms));
        for term in dictionary.terms_of(side) {
            put(&mut out, u64::from(term.back) << 2 | term.place as u64);
            put(&mut out, u64::from(term.coefficient));
            out.push(term.len);
        }
    }
    put(&mut out, dictionary.patterns.len() as u64);
    for pattern in &dictionary.patterns {
        for number in [pattern.new_aux, pattern.new_inputs, pattern.a, pattern.b] {
            put(&mut out, u64::from(number));
        }
    }
    put(&mut out, chunks.len() as u64);
    let mut before = (0, 0);
    for chunk in chunks {
        put(&mut out, chunk.aux - before.0);
        put(&mut out, chunk.inputs - before.1);
        before = (chunk.aux, chunk.inputs);
        for number in [chunk.compressed, chunk.width].into_iter().chain(chunk.far) {
            put(&mut out, u64::from(number));
        }
    }
    out
}

/// Reads what [`write`] wrote; every number that indexes something is in range.
pub(super) fn read(mut bytes: &[u8]) -> Result<(Dictionary, Vec<Chunk>)> {
    let bytes = &mut bytes;
    let mut dictionary = Dictionary { coefficients: read_coefficients(bytes)?, ..Dictionary::default() };
    for _ in 0..count(bytes)? {
        read_side(bytes, &mut dictionary)?;
    }
    let sides = dictionary.sides.len() as u32;
    for _ in 0..count(bytes)? {
        dictionary.patterns.push(Pattern {
            new_aux: get_u32(bytes)?,
            new_inputs: get_u32(bytes)?,
            a: below(get_u32(bytes)?, sides)?,
            b: below(get_u32(bytes)?, sides)?,
        });
    }
    let mut chunks: Vec<Chunk> = Vec::new();
    for _ in 0..count(bytes)? {
        chunks.push(read_chunk(bytes, chunks.last())?);
    }
    if !bytes.is_empty() {
        return Err(damaged(format!("{} bytes after its dictionary", bytes.len())));
    }
    dictionary.shrink();
    chunks.shrink_to_fit();
    Ok((dictionary, chunks))
}

fn read_coefficients(bytes: &mut &[u8]) -> Result<Vec<Scalar>> {
    let mut coefficients = Vec::new();
    for _ in 0..count(bytes)? {
        let (coefficient, rest) =
            bytes.split_first_chunk().ok_or_else(|| damaged("its coefficients are cut off"))?;
        *bytes = rest;
        let coefficient = Option::<Scalar>::from(Scalar::from_bytes_le(coefficient))
            .filter(|coefficient| *coefficient != Scalar::ZERO)
            .ok_or_else(|| damaged("a coefficient that is zero or not reduced"))?;
        coefficients.push(coefficient);
    }
    if !coefficients.starts_with(&[Scalar::ONE, -Scalar::ONE]) {
        return Err(damaged("its coefficients do not begin with 1 and -1"));
    }
    coefficients.shrink_to_fit();
    Ok(coefficients)
}

fn read_side(bytes: &mut &[u8], dictionary: &mut Dictionary) -> Result<()> {
    let coefficients = dictionary.coefficients.len() as u32;
    let constant = match get_u32(bytes)? {
        0 => NONE,
        number => below(number - 1, coefficients)?,
    };
    let terms = get_u32(bytes)?;
    let first_term = u32::try_from(dictionary.terms.len())
        .ok()
        .filter(|first| first.checked_add(terms).is_some())
        .ok_or_else(|| damaged("more than 2^32 terms"))?;
    for _ in 0..terms {
        let term = read_term(bytes, coefficients)?;
        dictionary.terms.push(term);
    }
    dictionary.sides.push(Side { constant, first_term, terms });
    Ok(())
}

fn read_term(bytes: &mut &[u8], coefficients: u32) -> Result<Term> {
    let code = get_u32(bytes)?;
    let place = Place::ALL[(code & 3) as usize];
    let back = (code >> 2) as usize;
    let coefficient = below(get_u32(bytes)?, coefficients)?;
    let (len, rest) = bytes.split_first().ok_or_else(|| damaged("its terms are cut off"))?;
    *bytes = rest;
    let run = (1..=MAX_RUN).contains(&usize::from(*len));
    let fits = match place {
        Place::Aux => run && (usize::from(*len)..=NEAR_AUX).contains(&back),
        Place::FarAux => run && back == 0,
        Place::Input => *len == 1 && (1..=NEAR_INPUTS).contains(&back),
        Place::FarInput => *len == 1 && back == 0,
    };
    if !fits {
        return Err(damaged(format!("a term of {len} variables, {back} back")));
    }
    Ok(Term { coefficient, back: back as u16, place, len: *len })
}

fn read_chunk(bytes: &mut &[u8], before: Option<&Chunk>) -> Result<Chunk> {
    let too_large = || damaged("chunks of more than 2^64 variables or bytes");
    let before = before.copied().unwrap_or_default();
    let chunk = Chunk {
        aux: before.aux.checked_add(get(bytes)?).ok_or_else(too_large)?,
        inputs: before.inputs.checked_add(get(bytes)?).ok_or_else(too_large)?,
        offset: before.offset + u64::from(before.compressed),
        compressed: get_u32(bytes)?,
        width: get_u32(bytes)?,
        far: [get_u32(bytes)?, get_u32(bytes)?, get_u32(bytes)?, get_u32(bytes)?],
    };
    if chunk.width != 2 && chunk.width != 4 {
        return Err(damaged(format!("pattern numbers of {} bytes", chunk.width)));
    }
    Ok(chunk)
}

/// How many entries follow; each takes at least a byte.
fn count(bytes: &mut &[u8]) -> Result<u64> {
    let count = get(bytes)?;
    if count > bytes.len() as u64 {
        return Err(damaged(format!("{count} entries in {} bytes", bytes.len())));
    }
    Ok(count)
}

fn below(number: u32, limit: u32) -> Result<u32> {
    if number >= limit {
        return Err(damaged(format!("number {number} of {limit}")));
    }
    Ok(number)
}
