//! The matrix file. Little-endian throughout:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4, 4 | version, length of the header |
//! | 2, n | length of the circuit's tag, the tag (UTF-8) |
//! | 8 × 8 | shape: inputs, aux, constraints, non-zeros of A and B, densities of A aux, B input, B aux |
//! | 8 | wide values of a measured witness; all ones where none was measured |
//! | 8 | bytes that they take in memory |
//! | 6 × 8 | lengths: dictionary before compression; then of the compressed sections in their order: dictionary with chunk table, frames, a_aux, b_input, b_aux |
//! | 32, 32 | BLAKE2b-256 of the sections, and of the header up to here |
//! | … | the sections; all but the frames (which are compressed one by one) are zstd frames |

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use super::chunk::damaged;
use super::{dictionary_bytes, Matrices};
use crate::circuit::density::Densities;
use crate::circuit::shape::Shape;
use crate::error::{Code, Error, Result};
use crate::memory::{Class, RegionVec, Stage};

use super::sequence::Sequence;

const MAGIC: [u8; 8] = *b"FOREBAYM";
const VERSION: u32 = 2;
const MAX_TAG: usize = 256;
pub(super) const DIGEST: usize = 32;
const SECTIONS: usize = 5;
/// Header bytes beside the tag.
const FIXED: usize = 8 + 4 + 4 + 2 + 8 * 8 + 8 + 8 + 8 * (1 + SECTIONS) + 2 * DIGEST;
/// Level of the dictionary and the densities.
const LEVEL: i32 = 19;
/// The largest dictionary read; that of a circuit with a billion distinct terms is smaller.
const MAX_DICTIONARY: u64 = 8 << 30;

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) tag: String,
    pub(super) shape: Shape,
    pub(super) wide_hint: Option<u64>,
    pub(super) mapped: u64,
    dictionary_len: u64,
    sections: [u64; SECTIONS],
    digest: [u8; DIGEST],
}

pub(super) fn save(matrices: &Matrices, path: &Path) -> Result<()> {
    let plain = dictionary_bytes::write(&matrices.dictionary, &matrices.sequence.chunks);
    let dictionary = compress(&plain)?;
    let densities = [&matrices.densities.a_aux, &matrices.densities.b_input, &matrices.densities.b_aux];
    let [a_aux, b_input, b_aux] = densities.map(|bitmap| compress_words(bitmap.as_slice()));
    let (a_aux, b_input, b_aux) = (a_aux?, b_input?, b_aux?);
    let sections: [&[u8]; SECTIONS] =
        [&dictionary, matrices.sequence.frames.as_slice(), &a_aux, &b_input, &b_aux];
    let header = Header {
        tag: matrices.tag.clone(),
        shape: matrices.shape,
        wide_hint: matrices.wide_hint,
        mapped: matrices.mapped().0,
        dictionary_len: plain.len() as u64,
        sections: sections.map(|section| section.len() as u64),
        digest: digest(sections),
    };
    write_anew(path, &[&header.encode()], &sections).map_err(|e| Error::system(describe("writing", path), e))
}

pub(super) fn load(path: &Path) -> Result<Matrices> {
    let (mut file, len) = open(path)?;
    read(&mut file, len).map_err(|error| error.at(path.display()))
}

pub(super) fn read_header(path: &Path) -> Result<Header> {
    let (mut file, len) = open(path)?;
    Header::read(&mut file, len).map_err(|error| error.at(path.display()))
}

/// Reads a whole file of `len` bytes.
pub(super) fn read(file: &mut impl Read, len: u64) -> Result<Matrices> {
    let header = Header::read(file, len)?;
    read_sections(file, header)
}

fn open(path: &Path) -> Result<(File, u64)> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::new(Code::NotFound, format!("there is no matrix file {}", path.display()))
        }
        _ => Error::system(describe("opening", path), error),
    })?;
    let len = file.metadata().map_err(|error| Error::system(describe("opening", path), error))?.len();
    Ok((file, len))
}

fn read_sections(file: &mut impl Read, header: Header) -> Result<Matrices> {
    let mut hasher = hasher();
    let [dictionary, frames, a_aux, b_input, b_aux] = header.sections;
    let dictionary = read_section(file, dictionary, &mut hasher)?;
    let frames = read_section(file, frames, &mut hasher)?;
    let bitmaps = [a_aux, b_input, b_aux].map(|len| read_section(file, len, &mut hasher));
    if hasher.finalize().as_bytes() != header.digest {
        return Err(damaged("its checksum does not match"));
    }
    let shape = header.shape;
    let plain = decompress(dictionary.as_slice(), header.dictionary_len)?;
    let (dictionary, chunks) = dictionary_bytes::read(&plain)?;
    let sequence = Sequence { chunks, frames };
    sequence.verify(&dictionary, &shape)?;
    let [a_aux, b_input, b_aux] = bitmaps;
    let densities = Densities {
        a_aux: read_bitmap(a_aux?.as_slice(), shape.aux, shape.a_aux_density)?,
        b_input: read_bitmap(b_input?.as_slice(), shape.inputs, shape.b_input_density)?,
        b_aux: read_bitmap(b_aux?.as_slice(), shape.aux, shape.b_aux_density)?,
    };
    let mut matrices = Matrices::assemble(&header.tag, shape, densities, dictionary, sequence)?;
    matrices.wide_hint = header.wide_hint;
    Ok(matrices)
}

impl Header {
    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + self.tag.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&((FIXED + self.tag.len()) as u32).to_le_bytes());
        out.extend_from_slice(&(self.tag.len() as u16).to_le_bytes());
        out.extend_from_slice(self.tag.as_bytes());
        let numbers = shape_numbers(&self.shape)
            .into_iter()
            .chain([self.wide_hint.unwrap_or(u64::MAX), self.mapped, self.dictionary_len])
            .chain(self.sections);
        for number in numbers {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.digest);
        let own = digest([out.as_slice()]);
        out.extend_from_slice(&own);
        out
    }

    /// Reads and checks the header, and that the file is exactly as long as its sections.
    fn read(file: &mut impl Read, len: u64) -> Result<Header> {
        let mut start = [0; 16];
        read_header_bytes(file, &mut start, len)?;
        let (magic, lengths) = start.split_at(8);
        let (version, header_len) = lengths.split_at(4);
        let (version, header_len) = (le_u64(version), le_u64(header_len) as usize);
        if magic != MAGIC || version != u64::from(VERSION) {
            return Err(damaged(format!(
                "expected {MAGIC:?} version {VERSION}, found {magic:?} version {version}"
            )));
        }
        if !(FIXED..=FIXED + MAX_TAG).contains(&header_len) {
            return Err(damaged(format!("a header of {header_len} bytes")));
        }
        let mut bytes = start.to_vec();
        bytes.resize(header_len, 0);
        read_header_bytes(file, &mut bytes[16..], len)?;
        let (content, own) = bytes.split_at(header_len - DIGEST);
        if digest([content]) != own {
            return Err(damaged("the checksum of its header does not match"));
        }
        let header = Header::parse(&content[16..])?;
        let expected = header.sections.iter().try_fold(header_len as u64, |sum, len| sum.checked_add(*len));
        if expected != Some(len) {
            return Err(damaged(format!("it has {len} bytes, but its header tells of {expected:?}")));
        }
        Ok(header)
    }

    /// Parses what is between the lengths and the header's own checksum.
    fn parse(bytes: &[u8]) -> Result<Header> {
        let short = || damaged("its header is too short");
        let (tag_len, rest) = bytes.split_at_checked(2).ok_or_else(short)?;
        let tag_len = usize::from(u16::from_le_bytes([tag_len[0], tag_len[1]]));
        if rest.len() != tag_len + FIXED - 18 - DIGEST {
            return Err(short());
        }
        let (tag, rest) = rest.split_at(tag_len);
        let (numbers, stored_digest) = rest.split_at(rest.len() - DIGEST);
        let numbers: Vec<u64> = numbers.chunks_exact(8).map(le_u64).collect();
        let [inputs, aux, constraints, nonzeros_a, nonzeros_b, a_aux, b_input, b_aux, wide, mapped, dictionary_len, sections @ ..] =
            numbers.as_slice()
        else {
            return Err(short());
        };
        let shape = Shape {
            inputs: *inputs,
            aux: *aux,
            constraints: *constraints,
            nonzeros_a: *nonzeros_a,
            nonzeros_b: *nonzeros_b,
            a_aux_density: *a_aux,
            b_input_density: *b_input,
            b_aux_density: *b_aux,
        };
        let limit = 1 << 40;
        let sizes = shape_numbers(&shape).into_iter().chain([*mapped]);
        if sizes.into_iter().any(|number| number > limit) || *dictionary_len > MAX_DICTIONARY {
            return Err(damaged(format!("sizes that no circuit has: {shape:?}")));
        }
        Ok(Header {
            tag: std::str::from_utf8(tag).map_err(|_| damaged("its tag is not UTF-8"))?.to_owned(),
            shape,
            wide_hint: Some(*wide).filter(|wide| *wide != u64::MAX),
            mapped: *mapped,
            dictionary_len: *dictionary_len,
            sections: sections.try_into().map_err(|_| short())?,
            digest: stored_digest.try_into().map_err(|_| short())?,
        })
    }
}

fn read_header_bytes(file: &mut impl Read, bytes: &mut [u8], file_len: u64) -> Result<()> {
    file.read_exact(bytes).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => damaged(format!("it has only {file_len} bytes")),
        _ => Error::system("reading a matrix file", error),
    })
}

fn shape_numbers(shape: &Shape) -> [u64; 8] {
    [
        shape.inputs,
        shape.aux,
        shape.constraints,
        shape.nonzeros_a,
        shape.nonzeros_b,
        shape.a_aux_density,
        shape.b_input_density,
        shape.b_aux_density,
    ]
}

/// Refuses a tag that the header cannot carry.
pub(super) fn check_tag(tag: &str) -> Result<()> {
    if tag.len() > MAX_TAG {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("a circuit's tag of {} bytes; at most {MAX_TAG} are supported", tag.len()),
        ));
    }
    Ok(())
}

fn le_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn hasher() -> blake2b_simd::State {
    blake2b_simd::Params::new().hash_length(DIGEST).to_state()
}

pub(super) fn digest<const N: usize>(parts: [&[u8]; N]) -> [u8; DIGEST] {
    let mut hasher = hasher();
    for part in parts {
        hasher.update(part);
    }
    let mut out = [0; DIGEST];
    out.copy_from_slice(hasher.finalize().as_bytes());
    out
}

/// Reads a section whose length the file's own length has confirmed.
fn read_section(file: &mut impl Read, len: u64, hasher: &mut blake2b_simd::State) -> Result<RegionVec<u8>> {
    let mut section = RegionVec::with_capacity(Class::Matrices, Stage::Shared, len as usize)?;
    let mut part = vec![0; (len as usize).min(1 << 16)];
    let mut left = len as usize;
    while left > 0 {
        let part_len = left.min(part.len());
        let part = &mut part[..part_len];
        file.read_exact(part).map_err(|e| Error::system("reading a matrix file", e))?;
        hasher.update(part);
        section.extend_from_slice(part)?;
        left -= part_len;
    }
    Ok(section)
}

fn compress(plain: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(plain, LEVEL).map_err(|e| Error::system("compressing a dictionary", e))
}

fn compress_words(words: &[u64]) -> Result<Vec<u8>> {
    let compressed = (|| {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        encoder.set_pledged_src_size(Some(size_of_val(words) as u64))?;
        for part in words.chunks(1 << 12) {
            let bytes: Vec<u8> = part.iter().flat_map(|word| word.to_le_bytes()).collect();
            encoder.write_all(&bytes)?;
        }
        encoder.finish()
    })();
    compressed.map_err(|e| Error::system("compressing densities", e))
}

/// Decompresses exactly `len` bytes; memory grows only with what really comes.
fn decompress(compressed: &[u8], len: u64) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    let decoder =
        zstd::stream::read::Decoder::new(compressed).map_err(|e| Error::system("preparing zstd", e))?;
    decoder.take(len + 1).read_to_end(&mut plain).map_err(damaged)?;
    if plain.len() as u64 != len {
        return Err(damaged(format!("its dictionary does not have {len} bytes")));
    }
    Ok(plain)
}

/// Reads a bitmap of `bits` bits, `set` of them set.
fn read_bitmap(compressed: &[u8], bits: u64, set: u64) -> Result<RegionVec<u64>> {
    let words = bits.div_ceil(64) as usize;
    let mut decoder =
        zstd::stream::read::Decoder::new(compressed).map_err(|e| Error::system("preparing zstd", e))?;
    let mut bitmap = RegionVec::with_capacity(Class::Matrices, Stage::Shared, 0)?;
    let mut counted = 0;
    let mut bytes = [0; 8];
    for _ in 0..words {
        decoder.read_exact(&mut bytes).map_err(damaged)?;
        let word = u64::from_le_bytes(bytes);
        counted += u64::from(word.count_ones());
        bitmap.push(word)?;
    }
    let more = decoder.read(&mut bytes).map_err(damaged)?;
    let beyond =
        bitmap.as_slice().last().is_some_and(|word| !bits.is_multiple_of(64) && word >> (bits % 64) != 0);
    if more != 0 || beyond || counted != set {
        return Err(damaged(format!("a density of {counted} variables instead of {set}")));
    }
    bitmap.shrink_to_fit()?;
    Ok(bitmap)
}

/// Writes a file beside `path`, syncs it, and renames it to `path`.
fn write_anew(path: &Path, header: &[&[u8]], sections: &[&[u8]]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for part in header.iter().chain(sections) {
        file.write_all(part)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

fn describe(doing: &str, path: &Path) -> String {
    format!("{doing} the matrix file {}", path.display())
}
