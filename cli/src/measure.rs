//! `forebay plan --measure`: a machine's profile from real proofs on it.

use std::path::{Path, PathBuf};

use forebay::engine::Config;
use forebay::kind::ProofKind;
use forebay::simulate::measure;
use forebay::wire::SubmitProofRequest;
use forebay::{Code, Error};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use prost::Message;

use crate::failure::{system, Result};
use crate::ground::{self, Ground};

/// Measuring instead of planning.
#[derive(clap::Args)]
pub struct Args {
    /// Prove on this machine and write its profile to this file: the four kinds of a 2 KiB sector, or the requests named with
    /// --request. The machine should have nothing else to do.
    #[arg(long, value_name = "FILE")]
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
        // A file that cannot be written is found before minutes of proving.
        std::fs::write(file, "").map_err(system(format!("writing {}", file.display())))?;
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
        let text = measured?.to_toml()?;
        std::fs::write(file, text).map_err(system(format!("writing {}", file.display())))?;
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
