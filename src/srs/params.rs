//! Reading `.params` files: what they are, whether they are sound, and their points on the way to a native file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bellperson::groth16::VerifyingKey;
use blake2b_simd::State;
use blstrs::{Bls12, G1Affine, G2Affine};
use serde::Serialize;

use super::layout::{parse_key, Counts, Layout, COUNT_LEN};
use super::native::{NativeWriter, LEAF};
use super::official::{self, Digest};
use super::points::{decode_all, Point};
use super::sidecar::{DevelopmentMark, Stamp, Verdict};
use super::staged::Staged;
use super::work::{invalid, system, Phase, Query, Work};
use crate::error::{Code, Error, Result};
use crate::memory::{Class, Region, Stage};

/// Bytes read, hashed and converted at a time.
const BLOCK: usize = 8 * LEAF;

/// Where a key came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Filecoin's own list names the file and its digest.
    Official,
    /// This program's development setup: insecure.
    Development,
    /// Anything else; its points were checked.
    Foreign,
}

/// A `.params` file that was found sound.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Where the key came from.
    pub origin: Origin,
    /// BLAKE2b-512 of the whole file.
    pub digest: [u8; 64],
    /// Points of each vector.
    pub counts: Counts,
    /// The verifying key.
    pub vk: VerifyingKey<Bls12>,
}

/// How a `.params` file is to be examined.
#[derive(Clone, Copy)]
pub(super) struct Examine<'a> {
    /// The file.
    pub path: &'a Path,
    /// Where verdicts are kept when the file's own folder cannot be written.
    pub fallback: &'a Path,
    /// The lengths the circuit needs, where they are known.
    pub expected: Option<Counts>,
    /// True where a development key is acceptable.
    pub allow_development: bool,
    /// True where the file is read whole even if a verdict on it is remembered. Its points are the same if its
    /// digest is, so they are not checked again.
    pub again: bool,
}

impl Examine<'_> {
    /// Checks the file, reading it whole only where no verdict on it is remembered.
    pub(super) fn check(&self, work: &Work) -> Result<Examined> {
        let opened = self.open()?;
        if let Some(digest) = opened.remembered() {
            let origin = self.classify(&digest, &opened)?;
            return Ok(opened.examined(origin, digest));
        }
        let digest = Scan::new(self.path, &opened, Phase::Check, work)?.run(&opened.layout, &mut None)?;
        self.conclude(opened, digest)
    }

    /// Checks the file and writes its points to a native file, in one pass.
    pub(super) fn import(&self, staged: Staged, work: &Work) -> Result<(Examined, NativeWriter)> {
        let opened = self.open()?;
        if let Some(digest) = opened.remembered() {
            self.classify(&digest, &opened)?;
        }
        let mut sink = Some(NativeWriter::new(staged, opened.layout.counts.ic)?);
        let digest = Scan::new(self.path, &opened, Phase::Import, work)?.run(&opened.layout, &mut sink)?;
        let examined = self.conclude(opened, digest)?;
        let sink = sink.ok_or_else(|| Error::internal("an import lost its destination"))?;
        Ok((examined, sink))
    }

    fn open(&self) -> Result<Opened> {
        let file = File::open(self.path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(Code::ParametersMissing, format!("{} does not exist", self.path.display()))
            }
            _ => system("opening", self.path)(e),
        })?;
        let mark = DevelopmentMark::read(self.path)?;
        let listed = official::listed(self.path);
        if mark.is_some() && listed.is_none() && !self.allow_development {
            return Err(refuse_development(self.path));
        }
        let points_needed = mark.is_some() || listed.is_none();
        let mut stamp = Stamp::of(&file, self.path)?;
        let kept = Verdict::recall_of(&stamp, self.path, self.fallback)
            .filter(|verdict| verdict.points_checked || !points_needed);
        let fresh = self.again || kept.is_none();
        if fresh {
            stamp = Stamp::settled(&file, self.path)?;
        }
        let layout = Layout::read(&file, self.path)?;
        if let Some(expected) = &self.expected {
            layout.counts.require(self.path, expected)?;
        }
        Ok(Opened { file, layout, mark, listed, points_needed, kept, fresh, stamp })
    }

    fn conclude(&self, opened: Opened, read: Option<Digest>) -> Result<Examined> {
        opened.stamp.require_unchanged(self.path)?;
        let digest = read
            .or_else(|| opened.remembered())
            .ok_or_else(|| Error::internal("a parameter file was read without its digest"))?;
        let origin = self.classify(&digest, &opened)?;
        if opened.kept.as_ref().and_then(Verdict::digest).is_some_and(|kept| kept != digest) {
            return Err(invalid(
                self.path,
                "its digest is no longer what it was, though its times are: the file is damaged; fetch or make it again",
            ));
        }
        if opened.fresh {
            let verdict = Verdict::new(opened.stamp.clone(), &digest, opened.points_needed);
            verdict.remember(self.path, self.fallback);
        }
        Ok(opened.examined(origin, digest))
    }

    fn classify(&self, digest: &Digest, opened: &Opened) -> Result<Origin> {
        let origin = classify(self.path, digest, opened.listed, opened.mark.as_ref())?;
        if origin == Origin::Development && !self.allow_development {
            return Err(refuse_development(self.path));
        }
        Ok(origin)
    }
}

/// Where a file with this digest came from; an error where its name or its mark says another digest.
fn classify(
    path: &Path,
    digest: &Digest,
    listed: Option<&str>,
    mark: Option<&DevelopmentMark>,
) -> Result<Origin> {
    if mark.is_some_and(|mark| mark.marks(digest)) {
        return Ok(Origin::Development);
    }
    match (listed, mark) {
        (Some(listed), _) => official::compare(path, listed, digest).map(|()| Origin::Official),
        (None, Some(mark)) => Err(invalid(
            path,
            format!(
                "expected the development parameters with digest {}, found {}; run the development setup again",
                mark.params.get(..32).unwrap_or(&mark.params),
                official::short(digest)
            ),
        )),
        (None, None) => Ok(Origin::Foreign),
    }
}

pub(super) fn refuse_development(path: &Path) -> Error {
    invalid(
        path,
        "these are development parameters, with which anybody can forge proofs; on a test network set allow_development_parameters = true",
    )
}

struct Opened {
    file: File,
    layout: Layout,
    mark: Option<DevelopmentMark>,
    listed: Option<&'static str>,
    points_needed: bool,
    /// What an earlier check found.
    kept: Option<Verdict>,
    /// True where the digest is to be computed.
    fresh: bool,
    stamp: Stamp,
}

impl Opened {
    /// The digest, where that of an earlier check holds.
    fn remembered(&self) -> Option<Digest> {
        self.kept.as_ref().filter(|_| !self.fresh).and_then(Verdict::digest)
    }

    fn examined(self, origin: Origin, digest: Digest) -> Examined {
        Examined { origin, digest, counts: self.layout.counts, vk: self.layout.vk }
    }
}

/// One pass over a file.
struct Scan<'a> {
    path: &'a Path,
    file: &'a File,
    work: &'a Work<'a>,
    phase: Phase,
    hasher: Option<State>,
    check_points: bool,
    raw: Region,
    points: Region,
    done: u64,
    total: u64,
}

impl<'a> Scan<'a> {
    fn new(path: &'a Path, opened: &'a Opened, phase: Phase, work: &'a Work<'a>) -> Result<Scan<'a>> {
        Ok(Scan {
            path,
            file: &opened.file,
            work,
            phase,
            hasher: opened.fresh.then(State::new),
            check_points: opened.points_needed && opened.kept.is_none(),
            raw: Region::zeroed(Class::Srs, Stage::Shared, BLOCK)?,
            points: Region::zeroed(Class::Srs, Stage::Shared, BLOCK)?,
            done: 0,
            total: opened.layout.len,
        })
    }

    /// Reads the whole file; its digest, unless that is remembered.
    fn run(mut self, layout: &Layout, sink: &mut Option<NativeWriter>) -> Result<Option<Digest>> {
        self.skip(layout.key_len())?;
        for query in Query::ALL {
            self.skip(COUNT_LEN)?;
            let count = layout.counts.of(query);
            match query {
                Query::BG2 => self.section::<G2Affine>(query, count, sink)?,
                _ => self.section::<G1Affine>(query, count, sink)?,
            }
            if let Some(sink) = sink {
                sink.end_section(query);
            }
        }
        self.work.step(self.phase, self.done, self.total)?;
        Ok(self.hasher.map(|hasher| *hasher.finalize().as_array()))
    }

    /// Reads bytes that are no points, for the digest only.
    fn skip(&mut self, mut len: u64) -> Result<()> {
        while len > 0 {
            let n = len.min(BLOCK as u64) as usize;
            let block = &mut self.raw.as_mut_slice::<u8>()[..n];
            self.file.read_exact(block).map_err(system("reading", self.path))?;
            if let Some(hasher) = &mut self.hasher {
                hasher.update(block);
            }
            self.done += n as u64;
            len -= n as u64;
        }
        Ok(())
    }

    fn section<P: Point>(&mut self, query: Query, count: u64, sink: &mut Option<NativeWriter>) -> Result<()> {
        let mut first = 0;
        while first < count {
            self.work.step(self.phase, self.done, self.total)?;
            let n = (count - first).min((BLOCK / P::LEN) as u64) as usize;
            let raw = &mut self.raw.as_mut_slice::<u8>()[..n * P::LEN];
            self.file.read_exact(raw).map_err(system("reading", self.path))?;
            let (points, hasher) = (&mut self.points.as_mut_slice::<P>()[..n], &mut self.hasher);
            let (check, needed) = (self.check_points, self.check_points || sink.is_some());
            let hash = || hasher.as_mut().map(|hasher| hasher.update(raw).count());
            let convert = || match needed {
                true => convert(raw, points, check.then_some(self.work)),
                false => Ok(None),
            };
            if let (_, Some((i, what))) = {
                let (hashed, bad) = rayon::join(hash, convert);
                (hashed, bad?)
            } {
                return Err(invalid(
                    self.path,
                    format!(
                        "expected points of the prime-order subgroup, found point {} of query {} {what}",
                        first + i as u64,
                        query.name()
                    ),
                ));
            }
            if let Some(sink) = sink {
                sink.append(&self.points.as_slice::<u8>()[..n * P::LEN])?;
            }
            self.done += (n * P::LEN) as u64;
            first += n as u64;
        }
        Ok(())
    }
}

/// Decodes points; the first bad one and what is wrong with it. Their subgroup is checked where `check` is given.
fn convert<P: Point>(
    raw: &[u8],
    points: &mut [P],
    check: Option<&Work>,
) -> Result<Option<(usize, &'static str)>> {
    if let Some(bad) = decode_all(raw, points) {
        return Ok(Some((bad, "that is no canonical point of the curve")));
    }
    let Some(work) = check else { return Ok(None) };
    Ok(P::first_bad(work.arithmetic, points)?.map(|bad| (bad, "outside of it")))
}

/// Reads a `.vk` file. One that Filecoin's own list names must have the listed digest, or be marked as a
/// development key, which is refused unless allowed.
pub fn read_verifying_key(path: &Path, allow_development: bool) -> Result<VerifyingKey<Bls12>> {
    /// Far above any key: 100,000 public inputs.
    const MAX_LEN: u64 = 10 << 20;
    let len = std::fs::metadata(path).map_err(system("opening", path))?.len();
    if len > MAX_LEN {
        return Err(invalid(
            path,
            format!("expected a verifying key of at most {MAX_LEN} bytes, found {len}"),
        ));
    }
    let bytes = std::fs::read(path).map_err(system("reading", path))?;
    let vk = parse_key(&bytes, path)?;
    let digest = *blake2b_simd::blake2b(&bytes).as_array();
    let mark = DevelopmentMark::read(path)?;
    let origin = classify(path, &digest, official::listed(path), mark.as_ref())?;
    if origin == Origin::Development && !allow_development {
        return Err(refuse_development(path));
    }
    Ok(vk)
}
