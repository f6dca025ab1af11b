//! `forebay plan --measure`: a machine's profile from real proofs on it.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use forebay::engine::Config;
use forebay::kind::ProofKind;
use forebay::simulate::measure;
use forebay::wire::SubmitProofRequest;
use forebay::{Code, Error};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prost::Message;
use tempfile::NamedTempFile;

use crate::failure::{system, Result};
use crate::ground::{self, Ground};
use crate::plan::PLANNING;

/// Measuring instead of planning.
#[derive(clap::Args)]
pub struct Args {
    /// Prove on this machine and write its profile to this file: the four kinds of a 2 KiB sector, or the requests named with
    /// --request. The machine should have nothing else to do.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = PLANNING,
        conflicts_with_all = ["plot", "json", "published"]
    )]
    measure: Option<PathBuf>,
    /// With --measure: a serialized cuzk.v1.SubmitProofRequest of any kind and size; may be repeated.
    #[arg(long, value_name = "FILE", requires = "measure")]
    request: Vec<PathBuf>,
    /// With --measure: the library's configuration, in TOML [default: all defaults; for the 2 KiB sector also its parameters]
    #[arg(long, value_name = "FILE", requires = "measure")]
    config: Option<PathBuf>,
    #[command(flatten)]
    ground: Ground,
}

impl Args {
    /// Whether a profile is to be measured.
    pub fn wanted(&self) -> bool {
        self.measure.is_some()
    }

    /// Tells Filecoin's crates where parameters are. To be called before any other thread exists.
    pub fn use_parameter_folder(&self) {
        self.ground.use_parameter_folder();
    }

    /// Measures, where it was asked for.
    pub fn run(&self) -> Result<()> {
        let Some(file) = &self.measure else { return Ok(()) };
        // What cannot be written is found before minutes of proving.
        let target = Target::new(file)?;
        let (config, requests) = match self.request.is_empty() {
            true => self.two_kib()?,
            false => {
                (self.configured()?, self.request.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?)
            }
        };
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        let name =
            file.file_stem().map_or_else(|| "measured".into(), |stem| stem.to_string_lossy().into_owned());
        let measured = measure(&name, &config, &requests, &|doing| bar.set_message(doing.to_owned()));
        bar.finish_and_clear();
        target.write(&measured?.to_toml()?)?;
        eprintln!("wrote {}; plan with --profile {}", file.display(), file.display());
        Ok(())
    }

    fn configured(&self) -> Result<Config> {
        let Some(path) = &self.config else { return Ok(Config::default()) };
        let text = std::fs::read_to_string(path).map_err(system(format!("reading {}", path.display())))?;
        Ok(Config::from_toml(&text)?)
    }

    fn two_kib(&self) -> Result<(Config, Vec<SubmitProofRequest>)> {
        let sector = self.ground.sector()?;
        self.ground.make_parameters(&ProofKind::ALL, None)?;
        let config = Config {
            allow_development_parameters: true,
            parameter_directories: vec![self.ground.parameters()],
            cache_directory: self.ground.cache(),
            ..self.configured()?
        };
        let request = |kind| decode(&ground::request(&sector, kind).encode_to_vec(), "the sector's request");
        Ok((config, ProofKind::ALL.into_iter().map(request).collect::<Result<_>>()?))
    }
}

/// A file that is replaced as a whole or not at all.
struct Target {
    file: PathBuf,
    folder: PathBuf,
}

impl Target {
    /// A file that can be written; one that exists stays as it is until then.
    fn new(file: &Path) -> Result<Target> {
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if file.exists() && !file.is_file() {
            let text =
                format!("--measure {} is no regular file: expected where to write a profile", file.display());
            return Err(Error::new(Code::InvalidArgument, text).into());
        }
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let target = Target { folder: folder.unwrap_or(Path::new(".")).to_owned(), file };
        target.beside()?;
        Ok(target)
    }

    /// A file in the same folder, with the permissions of any new file; removed where it is dropped.
    fn beside(&self) -> Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".profile-").permissions(Permissions::from_mode(0o666));
        builder.tempfile_in(&self.folder).map_err(system(format!("writing {}", self.file.display())))
    }

    fn write(&self, text: &str) -> Result<()> {
        let mut beside = self.beside()?;
        let doing = || system(format!("writing {}", self.file.display()));
        beside.write_all(text.as_bytes()).map_err(doing())?;
        beside.persist(&self.file).map_err(|e| doing()(e.error))?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<SubmitProofRequest> {
    let bytes = std::fs::read(path).map_err(system(format!("reading {}", path.display())))?;
    decode(&bytes, &path.display().to_string())
}

fn decode(bytes: &[u8], what: &str) -> Result<SubmitProofRequest> {
    SubmitProofRequest::decode(bytes).map_err(|e| {
        let text = format!("{what} is no cuzk.v1.SubmitProofRequest: {e}");
        Error::new(Code::InvalidRequest, text).into()
    })
}
