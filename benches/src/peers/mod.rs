//! The peers.

pub mod allocator;
pub mod blst;
pub mod gnark;
pub mod products;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::report::Report;
use crate::Failure;
use gnark::{Gnark, Request};

/// Ours, on one thread.
pub const SINGLE: &str = "one thread of ours";
/// blst's own multiplication.
pub const BLST: &str = "blst 0.3.17";
/// arkworks.
pub const ARKWORKS: &str = "arkworks 0.6";
/// What bellperson computes with.
pub const BELLPERSON: &str = "ec-gpu-gen 0.7.1";
/// gnark's arithmetic; its version is that of `peers/gnark/go.mod`.
pub const GNARK_CRYPTO: &str = "gnark-crypto 0.22";

/// The peers that need more than a call.
pub struct Peers {
    /// None takes part.
    pub alone: bool,
    /// The gnark process, where there is Go.
    pub gnark: Option<RefCell<Gnark>>,
    folder: TempDir,
}

impl Peers {
    /// Starts gnark, and says in the report who takes part with what.
    pub fn start(alone: bool, report: &mut Report) -> Result<Peers, Failure> {
        let folder = tempfile::tempdir()?;
        if alone {
            return Ok(Peers { alone, gnark: None, folder });
        }
        let mut sets = instruction_sets();
        let gnark = match Gnark::start(folder.path())? {
            Some(mut gnark) => {
                let about = gnark.ask(&Request { op: "about", ..Request::default() })?;
                sets += &format!("; gnark finds {}", about.text);
                Some(RefCell::new(gnark))
            }
            None => {
                report.note("gnark is left out: there is no Go on this machine");
                None
            }
        };
        report.note(sets);
        Ok(Peers { alone, gnark, folder })
    }

    /// A file in the peers' folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name.replace(' ', "-"))
    }

    /// The name of a file of limbs, written on first use.
    pub fn file<I: Iterator<Item = u64>>(
        &self,
        name: &str,
        limbs: impl FnOnce() -> I,
    ) -> Result<String, Failure> {
        let path = self.path(name);
        if !path.exists() {
            gnark::write_limbs(&path, limbs())?;
        }
        Ok(Path::to_str(&path).ok_or("a folder's name is no text")?.to_owned())
    }
}

/// The instruction sets that the peers were built with, or choose at run time, as far as they tell.
pub fn instruction_sets() -> String {
    let runs = |has: bool, name: &'static str| has.then_some(name);
    #[cfg(target_arch = "x86_64")]
    let processor = [
        runs(is_x86_feature_detected!("adx"), "ADX"),
        runs(is_x86_feature_detected!("avx2"), "AVX2"),
        runs(is_x86_feature_detected!("avx512ifma"), "AVX-512 IFMA"),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let processor = [runs(false, "")];
    let processor: Vec<_> = processor.into_iter().flatten().collect();
    let has = if processor.is_empty() { "none of ADX, AVX2, IFMA".into() } else { processor.join(", ") };
    // arkworks decides when it is compiled.
    let arkworks = if cfg!(all(target_feature = "adx", target_feature = "bmi2")) {
        "assembly with ADX"
    } else {
        "compiled code (its assembly needs RUSTFLAGS=-Ctarget-feature=+adx,+bmi2)"
    };
    format!(
        "instruction sets: the processor has {has}; blst and bellperson take ADX where there is ADX; arkworks: \
         {arkworks}"
    )
}
