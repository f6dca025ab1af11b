//! Writing a native file, and the checksums of its sections.

use std::io::{Seek, SeekFrom, Write};

use blake2b_simd::many::{hash_many, HashManyJob};
use blake2b_simd::{Hash, Params, State};
use rayon::prelude::*;

use super::header::{checksum_params, head_len, to_checksum, Checksum, Header};
use super::staged::Staged;
use super::work::Query;
use crate::error::{Error, Result};

/// Section bytes that one leaf of a checksum covers: a multiple of both point lengths.
pub(super) const LEAF: usize = 3 << 20;

/// Leaves that one task hashes side by side in vector registers.
const LANES: usize = 4;

/// A section's checksum: BLAKE2b-256 over the BLAKE2b-256 of each leaf, so that leaves hash in parallel.
pub(super) struct SectionChecksum(State);

impl SectionChecksum {
    pub(super) fn new() -> Self {
        SectionChecksum(checksum_params().to_state())
    }

    /// Adds bytes; all but a section's last call give a multiple of [`LEAF`].
    pub(super) fn update(&mut self, bytes: &[u8]) {
        let leaves: Vec<Hash> = bytes.par_chunks(LANES * LEAF).flat_map_iter(hash_leaves).collect();
        leaves.iter().for_each(|leaf| {
            self.0.update(leaf.as_bytes());
        });
    }

    pub(super) fn finish(&self) -> Checksum {
        to_checksum(&self.0.finalize())
    }
}

fn hash_leaves(bytes: &[u8]) -> impl Iterator<Item = Hash> {
    let params: Params = checksum_params();
    let mut jobs: Vec<_> = bytes.chunks(LEAF).map(|leaf| HashManyJob::new(&params, leaf)).collect();
    hash_many(&mut jobs);
    jobs.iter().map(HashManyJob::to_hash).collect::<Vec<_>>().into_iter()
}

/// Writes a native file section by section; its head comes last.
pub(super) struct NativeWriter {
    staged: Staged,
    sections: [Checksum; 5],
    current: SectionChecksum,
}

impl NativeWriter {
    /// Begins with room for the head of a key with `ic` inputs.
    pub(super) fn new(mut staged: Staged, ic: u64) -> Result<NativeWriter> {
        staged.write(&vec![0; head_len(ic) as usize])?;
        Ok(NativeWriter { staged, sections: [[0; 32]; 5], current: SectionChecksum::new() })
    }

    /// Appends points of the current section; all but its last call give a multiple of [`LEAF`].
    pub(super) fn append(&mut self, points: &[u8]) -> Result<()> {
        let NativeWriter { staged, current, .. } = self;
        let ((), written) = rayon::join(|| current.update(points), || staged.write(points));
        written
    }

    /// Ends the current section.
    pub(super) fn end_section(&mut self, query: Query) {
        self.sections[query as usize] = self.current.finish();
        self.current = SectionChecksum::new();
    }

    /// Writes the head, whose section checksums are filled in here, and gives the file its name.
    pub(super) fn finish(mut self, mut header: Header) -> Result<()> {
        header.sections = self.sections;
        let file = self.staged.file();
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.write_all(&header.encode()))
            .map_err(|e| Error::system("writing the head of a native parameter file", e))?;
        self.staged.commit()
    }
}
