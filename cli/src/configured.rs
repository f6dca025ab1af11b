//! A configuration file and the flags that take precedence over it: for every command that opens the engine of one.

use std::path::PathBuf;

use forebay::engine::Config;
use forebay::units::Bytes;
use forebay::{Code, Error};
use forebay_server::Options;

use crate::failure::{system, Result};

/// Name of the journal in the cache folder, where the configuration names none.
const JOURNAL: &str = "proofs.journal";

#[derive(clap::Args)]
pub struct Args {
    /// The configuration, in TOML: the library's keys and a [serve] table [default: all defaults]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for native parameters, matrices and the journal of finished proofs; takes precedence over the configuration.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Bytes that the engine may hold, such as 64GiB; takes precedence over the configuration.
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<Bytes>,
}

impl Args {
    /// The engine's configuration and the server's.
    pub fn read(&self) -> Result<(Config, Options)> {
        let text = match &self.config {
            None => String::new(),
            Some(path) => {
                std::fs::read_to_string(path).map_err(system(format!("reading {}", path.display())))?
            }
        };
        let mut root: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            Error::new(
                Code::InvalidConfig,
                format!("the configuration is not valid TOML: {}", e.to_string().trim_end()),
            )
        })?;
        let options = Options::take(&mut root)?;
        let mut config = Config::from_toml(&root.to_string())?;
        if let Some(cache) = &self.cache {
            config.cache_directory = cache.clone();
        }
        if self.memory_limit.is_some() {
            config.memory_limit = self.memory_limit;
        }
        // An empty name turns the journal off.
        config.journal_file.get_or_insert_with(|| config.cache_directory.join(JOURNAL));
        Ok((config, options))
    }
}
