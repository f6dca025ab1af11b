//! Finding a circuit's files, checking and importing them once, opening them.

use std::fs;
use std::path::{Path, PathBuf};

use bellperson::groth16::VerifyingKey;
use blstrs::Bls12;
use serde::Serialize;

use super::import::{import, remember_verified};
use super::key::Srs;
use super::layout::Counts;
use super::official;
use super::params::{read_verifying_key, Examine, Examined};
use super::sidecar::{DevelopmentMark, Verdict};
use super::staged::Staged;
use super::work::{invalid, system, Work};
use crate::circuit::Shape;
use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;

/// The native files' extension.
pub const NATIVE_EXTENSION: &str = "fsrs";

/// Where parameters are looked for and kept.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// Folders with `.params` and `.vk` files, in the order in which they are searched. They may be read-only.
    pub parameter_dirs: Vec<PathBuf>,
    /// Folder of the native files; created on first use.
    pub cache_dir: PathBuf,
    /// True where development keys are acceptable.
    pub allow_development: bool,
}

/// A circuit's parameter files, by stem: the name without extension that Filecoin's crates give them (`v28-…`).
#[derive(Clone, Debug)]
pub struct Store {
    config: StoreConfig,
}

/// Which files of a stem exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Located {
    /// The files' name without extension.
    pub stem: String,
    /// The `.params` file.
    pub params: Option<PathBuf>,
    /// The `.vk` file.
    pub vk: Option<PathBuf>,
    /// The native file.
    pub native: Option<PathBuf>,
    /// True where the `.params` file carries a development mark.
    pub marked: bool,
    /// True where Filecoin's own list names the `.params` file.
    pub listed: bool,
}

/// What [`Store::check`] found sound.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The `.params` file, where there is one.
    pub params: Option<Examined>,
    /// The native file's origin is the same key; true where there is one.
    pub native: bool,
    /// The `.vk` file holds the same key; true where there is one.
    pub vk: bool,
}

impl Store {
    /// A store over these folders; touches none of them.
    pub fn new(config: StoreConfig) -> Store {
        Store { config }
    }

    /// The configuration.
    pub fn config(&self) -> &StoreConfig {
        &self.config
    }

    /// Which files of a stem exist, and where.
    pub fn locate(&self, stem: &str) -> Result<Located> {
        require_plain(stem)?;
        let params = self.find(&format!("{stem}.params"));
        let native = self.native_path(stem);
        Ok(Located {
            stem: stem.into(),
            vk: self.find(&format!("{stem}.vk")),
            native: native.is_file().then_some(native),
            marked: params.as_deref().is_some_and(|file| DevelopmentMark::path(file).is_file()),
            listed: official::listed(Path::new(&format!("{stem}.params"))).is_some(),
            params,
        })
    }

    /// As [`Store::locate`]; fails with `ParametersMissing` where there is no proving key.
    pub fn require(&self, stem: &str) -> Result<Located> {
        let located = self.locate(stem)?;
        if located.params.is_none() && located.native.is_none() {
            return Err(self.missing(stem, "params"));
        }
        Ok(located)
    }

    /// Every stem that has a file in one of the folders, in order of its name.
    pub fn list(&self) -> Result<Vec<Located>> {
        let mut stems = std::collections::BTreeSet::new();
        let cache = std::iter::once((&self.config.cache_dir, &[NATIVE_EXTENSION][..]));
        let folders = self.config.parameter_dirs.iter().map(|folder| (folder, &["params", "vk"][..]));
        for (folder, extensions) in folders.chain(cache) {
            let entries = match fs::read_dir(folder) {
                Ok(entries) => entries,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(system("listing", folder)(e)),
            };
            for entry in entries {
                let path = entry.map_err(system("listing", folder))?.path();
                let known =
                    path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e));
                if let (true, Some(stem)) = (known, path.file_stem().and_then(|s| s.to_str())) {
                    stems.insert(stem.to_owned());
                }
            }
        }
        stems.iter().map(|stem| self.locate(stem)).collect()
    }

    /// Opens a circuit's key, after checking and importing its `.params` file where that was not done before. Several
    /// callers, in one process or many, import a file once.
    ///
    /// Fails with `ParametersMissing`, naming file and folders, or with `ParametersInvalid`, naming the file.
    pub fn open(&self, circuit: CircuitId, stem: &str, shape: &Shape, work: &Work) -> Result<Srs> {
        let located = self.locate(stem)?;
        let expected = Counts::of_shape(shape);
        if let Some(srs) = self.open_native(circuit, &located, &expected, work)? {
            return Ok(srs);
        }
        let params = located.params.as_deref().ok_or_else(|| self.missing(stem, "params"))?;
        let native = self.native_path(stem);
        let staged = Staged::create(&native, work.cancel)?;
        // Another caller may have imported the file while this one waited for its turn.
        let located = self.locate(stem)?;
        if let Some(srs) = self.open_native(circuit, &located, &expected, work)? {
            return Ok(srs);
        }
        self.write_native(&self.examine(params, Some(expected), false), circuit, staged, work)?;
        let srs = Srs::open(&native, circuit, self.config.allow_development)?;
        srs.check_shape(shape)?;
        Ok(srs)
    }

    /// Writes the native file anew, whatever is there.
    pub fn import(&self, circuit: CircuitId, stem: &str, work: &Work) -> Result<Examined> {
        let located = self.locate(stem)?;
        let params = located.params.as_deref().ok_or_else(|| self.missing(stem, "params"))?;
        let staged = Staged::create(&self.native_path(stem), work.cancel)?;
        self.write_native(&self.examine(params, None, false), circuit, staged, work)
    }

    /// Checks every file of a stem from its first to its last byte, whatever is remembered, and that all hold the
    /// same key.
    pub fn check(&self, stem: &str, work: &Work) -> Result<Checked> {
        let located = self.require(stem)?;
        let params = match &located.params {
            Some(params) => Some(self.examine(params, None, true).check(work)?),
            None => None,
        };
        let mut vk = params.as_ref().map(|examined| examined.vk.clone());
        if let Some(native) = &located.native {
            let srs = Srs::open_any(native)?;
            self.require_origin(&srs, stem)?;
            srs.verify(work)?;
            if params.as_ref().is_some_and(|params| params.digest != *srs.source_digest()) {
                return Err(invalid(native, "imported from another .params file; import again"));
            }
            remember_verified(native, srs.source_digest())?;
            vk = vk.or_else(|| Some(srs.vk().clone()));
        }
        if let Some(file) = &located.vk {
            let found = read_verifying_key(file, self.config.allow_development)?;
            if vk.is_some_and(|vk| vk != found) {
                return Err(invalid(
                    file,
                    "expected the verifying key of the .params file, found another key",
                ));
            }
        }
        Ok(Checked { params, native: located.native.is_some(), vk: located.vk.is_some() })
    }

    /// The key of a stem's `.vk` file.
    pub fn verifying_key(&self, stem: &str) -> Result<VerifyingKey<Bls12>> {
        let path = self.locate(stem)?.vk.ok_or_else(|| self.missing(stem, "vk"))?;
        read_verifying_key(&path, self.config.allow_development)
    }

    /// BLAKE2b-512 of the `.params` file that a stem's key is from. `None` where there is none, where it is not known
    /// without reading all of the file, or where the key would be refused.
    pub fn key(&self, stem: &str) -> Result<Option<official::Digest>> {
        let located = self.locate(stem)?;
        if let Some(params) = &located.params {
            let allowed = self.config.allow_development || !located.marked;
            let remembered = Verdict::recall(params, &self.config.cache_dir).filter(|_| allowed);
            return Ok(remembered.and_then(|verdict| verdict.digest()));
        }
        let Some(native) = &located.native else { return Ok(None) };
        let srs = Srs::open_any(native)?;
        Ok(self.require_origin(&srs, stem).is_ok().then(|| *srs.source_digest()))
    }

    /// Where the native file of a stem is, or would be.
    pub fn native_path(&self, stem: &str) -> PathBuf {
        self.config.cache_dir.join(format!("{stem}.{NATIVE_EXTENSION}"))
    }

    fn examine<'a>(&'a self, path: &'a Path, expected: Option<Counts>, again: bool) -> Examine<'a> {
        let StoreConfig { cache_dir, allow_development, .. } = &self.config;
        Examine { path, fallback: cache_dir, expected, allow_development: *allow_development, again }
    }

    fn write_native(
        &self,
        examine: &Examine,
        circuit: CircuitId,
        staged: Staged,
        work: &Work,
    ) -> Result<Examined> {
        let native = staged.destination().to_owned();
        let examined = import(examine, circuit, staged, work)?;
        remember_verified(&native, &examined.digest)?;
        Ok(examined)
    }

    /// The native file, if there is one and it is of the `.params` file that is there now.
    fn open_native(
        &self,
        circuit: CircuitId,
        located: &Located,
        expected: &Counts,
        work: &Work,
    ) -> Result<Option<Srs>> {
        let Some(native) = &located.native else { return Ok(None) };
        let srs = Srs::open_any(native)?;
        if let Some(params) = &located.params {
            // Costs one reading where the file's digest is not remembered.
            let remembered = Verdict::recall(params, &self.config.cache_dir).and_then(|v| v.digest());
            let current = match remembered {
                Some(digest) => digest,
                None => self.examine(params, Some(*expected), false).check(work)?.digest,
            };
            if current != *srs.source_digest() {
                return Ok(None);
            }
        }
        srs.require_circuit(circuit)?;
        self.require_origin(&srs, &located.stem)?;
        srs.counts().require(native, expected)?;
        if Verdict::recall(native, &self.config.cache_dir).is_none() {
            srs.verify(work)?;
            remember_verified(native, srs.source_digest())?;
        }
        Ok(Some(srs))
    }

    /// A key under an official name is the official one or a development key.
    fn require_origin(&self, srs: &Srs, stem: &str) -> Result<()> {
        srs.require_allowed(self.config.allow_development)?;
        if srs.is_development() {
            return Ok(());
        }
        match official::listed(Path::new(&format!("{stem}.params"))) {
            Some(listed) => official::compare(srs.path(), listed, srs.source_digest()),
            None => Ok(()),
        }
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        self.config.parameter_dirs.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    fn missing(&self, stem: &str, extension: &str) -> Error {
        let folders: Vec<_> = self.config.parameter_dirs.iter().map(|f| f.display().to_string()).collect();
        Error::new(
            Code::ParametersMissing,
            format!(
                "{stem}.{extension} was not found; searched {}; fetch Filecoin's parameters into one of these folders, or run the development setup on a test network",
                if folders.is_empty() { "no folder, since none is configured".into() } else { folders.join(", ") }
            ),
        )
    }
}

fn require_plain(stem: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !stem.is_empty() && !stem.starts_with('.') && stem.chars().all(plain) {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!("expected a parameter file's name of letters, digits, '-', '_' and '.', found {stem:?}"),
    ))
}
