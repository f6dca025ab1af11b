//! The state file of what measurements corrected: by circuit, how much larger than its projection its memory
//! was. A small TOML file in the cache folder; deleting it forgets.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Code, Error, Result};
use crate::kind::CircuitId;
use crate::schedule::Factors;

const FILE: &str = "footprints.toml";
const HEAD: &str =
    "# What forebay measured beyond its projections, in thousandths of them, by circuit. Delete to forget.\n";

/// The factors of every circuit, and the file they are kept in.
pub(super) struct Footprints {
    path: PathBuf,
    factors: BTreeMap<CircuitId, Factors>,
}

impl Footprints {
    /// Reads the file of this folder. One that cannot be understood is set aside with a warning: projections
    /// then start from nothing, which is safe.
    pub fn open(folder: &Path) -> Footprints {
        let path = folder.join(FILE);
        let factors = match read(&path) {
            Ok(factors) => factors,
            Err(error) if error.code() == Code::System => {
                tracing::warn!(%error, "corrected footprints are not known");
                BTreeMap::new()
            }
            Err(error) => {
                let aside = path.with_extension("toml.unreadable");
                let kept = std::fs::rename(&path, &aside).is_ok();
                tracing::warn!(%error, kept, aside = %aside.display(), "corrected footprints are forgotten");
                BTreeMap::new()
            }
        };
        Footprints { path, factors }
    }

    /// The factors by circuit.
    pub fn factors(&self) -> BTreeMap<CircuitId, Factors> {
        self.factors.clone()
    }

    /// Remembers a circuit's factors, and writes the file: whole or not at all.
    pub fn remember(&mut self, circuit: CircuitId, factors: Factors) -> Result<()> {
        self.factors.insert(circuit, factors);
        let failed = |e| Error::system(format!("writing {}", self.path.display()), e);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(self.text().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (circuit, Factors { witness, shared, working_set }) in &self.factors {
            text += &format!(
                "\n[{circuit}]\nwitness = {witness}\nshared = {shared}\nworking_set = {working_set}\n"
            );
        }
        text
    }
}

fn read(path: &Path) -> Result<BTreeMap<CircuitId, Factors>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(e) => return Err(Error::system(format!("reading {}", path.display()), e)),
    };
    let invalid = |what: String| Error::new(Code::InvalidConfig, format!("{}: {what}", path.display()));
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| invalid(e.to_string()))?;
    let mut factors = BTreeMap::new();
    for (name, value) in table {
        let circuit = CircuitId::from_str(&name).map_err(|e| invalid(e.message().to_owned()))?;
        let get = |key: &str| {
            let number = value.get(key).and_then(toml::Value::as_integer);
            let number =
                number.and_then(|n| u32::try_from(n).ok()).filter(|n| (1000..=Factors::LARGEST).contains(n));
            number.ok_or_else(|| {
                invalid(format!("{name}.{key} is not a number from 1000 to {}", Factors::LARGEST))
            })
        };
        let read =
            Factors { witness: get("witness")?, shared: get("shared")?, working_set: get("working_set")? };
        factors.insert(circuit, read);
    }
    Ok(factors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::ProofKind;

    fn circuit() -> CircuitId {
        CircuitId::new(ProofKind::PorepC2, 2048).unwrap()
    }

    #[test]
    fn factors_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let nested = folder.path().join("not/yet/there");
        let mut footprints = Footprints::open(&nested);
        assert!(footprints.factors().is_empty());
        let factors = Factors { witness: 1034, shared: 1000, working_set: 2500 };
        footprints.remember(circuit(), factors).unwrap();
        footprints.remember(CircuitId::new(ProofKind::WindowPost, 32 << 30).unwrap(), factors).unwrap();
        let again = Footprints::open(&nested);
        assert_eq!(again.factors().get(&circuit()), Some(&factors));
        assert_eq!(again.factors().len(), 2);
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_set_aside() {
        for text in [
            "not toml",
            "[porep-3k]\nwitness = 1000\nshared = 1000\nworking_set = 1000\n",
            "[porep-2k]\nwitness = 1000\nshared = 1000\n",
            "[porep-2k]\nwitness = 999\nshared = 1000\nworking_set = 1000\n",
            "[porep-2k]\nwitness = 99999999999\nshared = 1000\nworking_set = 1000\n",
            "porep-2k = 3\n",
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(FILE), text).unwrap();
            assert!(Footprints::open(folder.path()).factors().is_empty(), "{text}");
            let aside = std::fs::read_to_string(folder.path().join("footprints.toml.unreadable")).unwrap();
            assert_eq!(aside, text);
        }
    }
}
