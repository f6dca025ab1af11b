//! Chunks of rows: pattern numbers and far columns, compressed so that each can be read on its own.

use std::slice::ChunksExact;

use super::pattern::FarColumns;
use super::varint;
use crate::error::{Code, Error, Result};

/// Rows in a chunk; the last one may have fewer.
pub(super) const CHUNK_ROWS: usize = 1 << 16;

/// The most that a chunk may take before compression: 4 KiB a row.
const MAX_RAW: usize = CHUNK_ROWS << 12;

/// The level at which zstd finds the long repetitions of pattern numbers.
const LEVEL: i32 = 19;

/// Where a chunk's frame is, what it holds, and how many variables exist before its first row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) aux: u64,
    pub(super) inputs: u64,
    pub(super) offset: u64,
    pub(super) compressed: u32,
    /// Bytes of a pattern number: 2 or 4.
    pub(super) width: u32,
    /// Bytes of the far lists: A's private variables, A's inputs, then B's.
    pub(super) far: [u32; 4],
}

impl Chunk {
    /// Bytes of the chunk before compression.
    pub(super) fn raw_len(&self, rows: usize) -> usize {
        self.far.iter().fold(rows * self.width as usize, |sum, len| sum + *len as usize)
    }
}

/// The rows of the chunk being filled.
#[derive(Default)]
pub(super) struct ChunkRows {
    pub(super) patterns: Vec<u32>,
    pub(super) far: [FarColumns; 2],
}

/// Compresses chunk after chunk with one context.
pub(super) struct Encoder {
    compressor: zstd::bulk::Compressor<'static>,
    raw: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Result<Self> {
        let compressor =
            zstd::bulk::Compressor::new(LEVEL).map_err(|e| Error::system("preparing zstd", e))?;
        Ok(Encoder { compressor, raw: Vec::new() })
    }

    /// The compressed rows, and `chunk` with their lengths.
    pub(super) fn encode(&mut self, rows: &ChunkRows, mut chunk: Chunk) -> Result<(Chunk, Vec<u8>)> {
        self.raw.clear();
        let wide = rows.patterns.iter().any(|number| *number > u32::from(u16::MAX));
        chunk.width = if wide { 4 } else { 2 };
        for number in &rows.patterns {
            self.raw.extend_from_slice(&number.to_le_bytes()[..chunk.width as usize]);
        }
        let lists = rows.far.iter().flat_map(|far| [(&far.aux, chunk.aux), (&far.inputs, chunk.inputs)]);
        for ((columns, start), len) in lists.zip(&mut chunk.far) {
            let before = self.raw.len();
            varint::put_columns(&mut self.raw, columns, start);
            *len = small(self.raw.len() - before)?;
        }
        small(self.raw.len())?;
        let frame = self
            .compressor
            .compress(&self.raw)
            .map_err(|e| Error::system("compressing a chunk of rows", e))?;
        chunk.compressed = small(frame.len())?;
        Ok((chunk, frame))
    }
}

fn small(len: usize) -> Result<u32> {
    if len > MAX_RAW {
        return Err(Error::new(
            Code::Unsupported,
            format!("{CHUNK_ROWS} rows that take {len} bytes are not supported; at most {MAX_RAW} are"),
        ));
    }
    Ok(len as u32)
}

/// Decompresses chunk after chunk with one context and one set of buffers.
pub(super) struct Decoder {
    decompressor: zstd::bulk::Decompressor<'static>,
    raw: Vec<u8>,
    /// Far columns of A, then of B.
    pub(super) far: [FarColumns; 2],
}

/// Pattern numbers of a decoded chunk.
pub(super) enum Numbers<'a> {
    Two(TwoByte<'a>),
    Four(FourByte<'a>),
}

/// Numbers of two bytes.
pub(super) struct TwoByte<'a>(ChunksExact<'a, u8>);

/// Numbers of four bytes.
pub(super) struct FourByte<'a>(ChunksExact<'a, u8>);

impl Iterator for TwoByte<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        self.0.next().map(|n| usize::from(u16::from_le_bytes([n[0], n[1]])))
    }
}

impl Iterator for FourByte<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        self.0.next().map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize)
    }
}

impl Decoder {
    pub(super) fn new() -> Result<Self> {
        let decompressor = zstd::bulk::Decompressor::new().map_err(|e| Error::system("preparing zstd", e))?;
        Ok(Decoder { decompressor, raw: Vec::new(), far: Default::default() })
    }

    /// Decodes a chunk of `rows` rows from its frame, far columns only of the sides wanted.
    pub(super) fn decode(
        &mut self,
        chunk: &Chunk,
        rows: usize,
        frame: &[u8],
        sides: [bool; 2],
    ) -> Result<(Numbers<'_>, &[FarColumns; 2])> {
        let len = chunk.raw_len(rows);
        if len > MAX_RAW {
            return Err(damaged(format!("a chunk of {len} bytes")));
        }
        self.raw.resize(len, 0);
        let got = self.decompressor.decompress_to_buffer(frame, self.raw.as_mut_slice());
        if got.as_ref().ok() != Some(&len) {
            return Err(damaged(format!("a chunk does not decompress to {len} bytes: {got:?}")));
        }
        let (numbers, mut lists) = self.raw.split_at(rows * chunk.width as usize);
        for (side, far) in self.far.iter_mut().enumerate() {
            far.clear();
            let targets = [(&mut far.aux, chunk.aux), (&mut far.inputs, chunk.inputs)];
            for ((columns, start), len) in targets.into_iter().zip(&chunk.far[side * 2..]) {
                let (list, rest) = lists.split_at(*len as usize);
                lists = rest;
                if sides[side] {
                    varint::get_columns(list, start, columns)?;
                }
            }
        }
        let numbers = match chunk.width {
            2 => Numbers::Two(TwoByte(numbers.chunks_exact(2))),
            _ => Numbers::Four(FourByte(numbers.chunks_exact(4))),
        };
        Ok((numbers, &self.far))
    }
}

/// The error for a file whose content does not hold together.
pub(super) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(
        Code::ParametersInvalid,
        format!("the matrix file is damaged: {what}; delete it to have it rebuilt"),
    )
}
