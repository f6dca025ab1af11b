//! Small JSON files beside parameter files: what an expensive check found, and the mark of a development key.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::official::{hex, Digest};
use super::staged::{sibling, write_small};
use super::work::{invalid, system};
use crate::cancel::Cancel;
use crate::error::Result;

/// A later write within this time of the last one might leave a file's times unchanged.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// What identifies a file's contents without reading them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    length: u64,
    modified_s: i64,
    modified_ns: i64,
    inode: u64,
}

impl Stamp {
    /// The open file as it is now.
    pub(super) fn of(file: &File, path: &Path) -> Result<Stamp> {
        Ok(Stamp::from(&file.metadata().map_err(system("reading the metadata of", path))?))
    }

    /// The open file as it is now, once any later write is sure to change its modification time.
    pub(super) fn settled(file: &File, path: &Path) -> Result<Stamp> {
        let modified = file
            .metadata()
            .and_then(|meta| meta.modified())
            .map_err(system("reading the metadata of", path))?;
        let age = SystemTime::now().duration_since(modified).unwrap_or_default();
        std::thread::sleep(CLOCK_TICK.saturating_sub(age));
        Stamp::of(file, path)
    }

    /// Refuses a file that is no longer as it was.
    pub(super) fn require_unchanged(&self, path: &Path) -> Result<()> {
        let now = fs::metadata(path).map_err(system("reading the metadata of", path))?;
        if *self == Stamp::from(&now) {
            return Ok(());
        }
        Err(invalid(
            path,
            "the file changed while it was being read; run the command again when it is complete",
        ))
    }
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Stamp {
        Stamp {
            length: meta.len(),
            modified_s: meta.mtime(),
            modified_ns: meta.mtime_nsec(),
            inode: meta.ino(),
        }
    }
}

/// What an expensive check of a file found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdict {
    #[serde(flatten)]
    stamp: Stamp,
    digest: String,
    /// True where every point was checked to be in the prime-order subgroup.
    pub points_checked: bool,
}

impl Verdict {
    pub(super) fn new(stamp: Stamp, digest: &Digest, points_checked: bool) -> Verdict {
        Verdict { stamp, digest: hex(digest), points_checked }
    }

    /// The digest of the whole file.
    pub(super) fn digest(&self) -> Option<Digest> {
        unhex(&self.digest)
    }

    /// Keeps the verdict beside the file, or in `fallback` where its folder cannot be written. Where neither can,
    /// that is logged, and the check is repeated next time.
    pub(super) fn remember(&self, path: &Path, fallback: &Path) {
        let kept = serde_json::to_vec(self)
            .map_err(|e| crate::Error::internal(format!("encoding a verdict: {e}")))
            .and_then(|json| {
                let [beside, elsewhere] = verdict_paths(path, fallback)?;
                write_small(&beside, &json, &Cancel::new())
                    .or_else(|_| write_small(&elsewhere, &json, &Cancel::new()))
            });
        if let Err(error) = kept {
            tracing::warn!(file = %path.display(), %error, "the check of a parameter file could not be remembered");
        }
    }

    /// The verdict that was kept, if the file is still the one it was about.
    pub(super) fn recall(path: &Path, fallback: &Path) -> Option<Verdict> {
        Verdict::recall_of(&Stamp::from(&fs::metadata(path).ok()?), path, fallback)
    }

    /// The verdict that was kept about a file with this stamp.
    pub(super) fn recall_of(stamp: &Stamp, path: &Path, fallback: &Path) -> Option<Verdict> {
        verdict_paths(path, fallback).ok()?.iter().find_map(|kept| {
            let verdict: Verdict = serde_json::from_slice(&fs::read(kept).ok()?).ok()?;
            (verdict.stamp == *stamp && verdict.digest().is_some()).then_some(verdict)
        })
    }
}

fn verdict_paths(path: &Path, fallback: &Path) -> Result<[PathBuf; 2]> {
    let beside = sibling(path, "checked")?;
    let elsewhere = fallback.join(beside.file_name().unwrap_or_default());
    Ok([beside, elsewhere])
}

/// The mark of keys whose toxic waste was known to this program: `<stem>.development`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevelopmentMark {
    /// Why the file is there.
    pub warning: String,
    /// Version of the library that made the key.
    pub forebay: String,
    /// The circuit.
    pub circuit: String,
    /// BLAKE2b-512 of the `.params` file.
    pub params: String,
    /// BLAKE2b-512 of the `.vk` file.
    pub vk: String,
}

impl DevelopmentMark {
    pub(super) fn new(circuit: &str, params: &Digest, vk: &Digest) -> DevelopmentMark {
        DevelopmentMark {
            warning: "insecure: whoever made these parameters can forge proofs; for tests and development networks only".into(),
            forebay: env!("CARGO_PKG_VERSION").into(),
            circuit: circuit.into(),
            params: hex(params),
            vk: hex(vk),
        }
    }

    /// Where the mark of a `.params` or `.vk` file is.
    pub fn path(file: &Path) -> PathBuf {
        file.with_extension("development")
    }

    /// The mark of a `.params` or `.vk` file, if there is one.
    pub fn read(file: &Path) -> Result<Option<DevelopmentMark>> {
        let path = DevelopmentMark::path(file);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(system("reading", &path)(e)),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| {
            invalid(&path, format!("expected the mark of development parameters in JSON, found: {e}"))
        })
    }

    pub(super) fn write(&self, file: &Path, cancel: &Cancel) -> Result<()> {
        let json = serde_json::to_vec_pretty(self)
            .map_err(|e| crate::Error::internal(format!("encoding a development mark: {e}")))?;
        write_small(&DevelopmentMark::path(file), &json, cancel)
    }

    /// True where this mark is about a file with this digest.
    pub(super) fn marks(&self, digest: &Digest) -> bool {
        let digest = hex(digest);
        self.params == digest || self.vk == digest
    }
}

fn unhex(text: &str) -> Option<Digest> {
    let mut digest = [0; 64];
    let digits = text.as_bytes();
    if digits.len() != 2 * digest.len() {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(path: &Path) -> Stamp {
        Stamp::settled(&File::open(path).unwrap(), path).unwrap()
    }

    #[test]
    fn a_verdict_lasts_until_the_file_changes() {
        let dir = tempfile::tempdir().unwrap();
        let (path, cache) = (dir.path().join("x.params"), dir.path().join("cache"));
        fs::write(&path, b"contents").unwrap();
        assert_eq!(Verdict::recall(&path, &cache), None);
        let verdict = Verdict::new(settled(&path), &[7; 64], true);
        verdict.remember(&path, &cache);
        assert_eq!(Verdict::recall(&path, &cache).unwrap().digest(), Some([7; 64]));
        fs::write(&path, b"contentt").unwrap();
        assert_eq!(Verdict::recall(&path, &cache), None);
    }

    #[test]
    fn a_replaced_or_garbled_verdict_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, b"contents").unwrap();
        let verdict = Verdict::new(settled(&path), &[7; 64], true);
        verdict.remember(&path, dir.path());
        let kept = dir.path().join("x.checked");
        for garbage in [&b""[..], b"{}", b"[1]", b"\xff\xff"] {
            fs::write(&kept, garbage).unwrap();
            assert_eq!(Verdict::recall(&path, dir.path()), None);
        }
    }

    #[test]
    fn a_verdict_goes_elsewhere_where_the_folder_cannot_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, b"contents").unwrap();
        // A folder in the way of the sidecar fails the write for every user, root included.
        fs::create_dir(dir.path().join("x.checked")).unwrap();
        let cache = dir.path().join("cache");
        let verdict = Verdict::new(settled(&path), &[9; 64], false);
        verdict.remember(&path, &cache);
        assert_eq!(Verdict::recall(&path, &cache), Some(verdict));
    }

    #[test]
    fn a_replaced_file_is_not_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, b"contents").unwrap();
        let stamp = settled(&path);
        stamp.require_unchanged(&path).unwrap();
        fs::write(dir.path().join("y"), b"contents").unwrap();
        fs::rename(dir.path().join("y"), &path).unwrap();
        assert_eq!(stamp.require_unchanged(&path).unwrap_err().code(), crate::Code::ParametersInvalid);
    }

    #[test]
    fn digests_survive_their_digits() {
        let digest: Digest = std::array::from_fn(|i| (i * 5) as u8);
        assert_eq!(unhex(&hex(&digest)), Some(digest));
        assert_eq!(unhex("00"), None);
        assert_eq!(unhex(&"g0".repeat(64)), None);
    }
}
