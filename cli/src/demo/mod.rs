//! `forebay demo`: a 2 KiB sector, proved through libforebay.so and verified by Filecoin's own code.

mod facts;
mod table;

use std::path::{Path, PathBuf};

use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use forebay::{Code, Error};
use forebay_sector::Sector;
use prost::Message;

use crate::failure::{sector_error, system, Failure, Result};
use crate::ground::{self, of_sector, Ground};
use crate::library::{Engine, Library};
use crate::setup::kinds_or_all;
use facts::Facts;

/// Makes a 2 KiB sector, proves it through libforebay.so in every way, and has Filecoin's verifier judge the proofs.
///
/// The first run makes development parameters, which takes a minute or two and about 4 GB in the cache folder. They are insecure
/// and for this demonstration only.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    ground: Ground,
    /// Print one JSON object a kind instead of the table.
    #[arg(long)]
    json: bool,
    /// Prove this kind only: porep_c2, snap_update, window_post or winning_post; may be repeated.
    #[arg(long, value_name = "KIND")]
    kind: Vec<ProofKind>,
    /// Threads that prove [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Bytes that the library may hold, such as 4GiB [default: what the machine leaves]
    #[arg(long, value_name = "SIZE")]
    memory_limit: Option<Bytes>,
    /// Also write the requests, as `KIND.request` in this folder, for `forebay prove --request` and examples/prove.c.
    #[arg(long, value_name = "DIR")]
    requests: Option<PathBuf>,
    /// The library to load [default: libforebay.so near this executable]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

impl Args {
    /// Tells Filecoin's crates where parameters are. To be called before any other thread exists.
    pub fn use_parameter_folder(&self) {
        self.ground.use_parameter_folder();
    }

    /// The library's configuration.
    fn config(&self, kinds: &[ProofKind]) -> String {
        let mut root = toml::Table::new();
        let folder = |path: PathBuf| toml::Value::from(path.to_string_lossy().into_owned());
        let names: Vec<toml::Value> = kinds.iter().map(|kind| kind.name().into()).collect();
        root.insert("kinds".into(), names.into());
        root.insert("allow_development_parameters".into(), true.into());
        if let Some(threads) = self.threads {
            root.insert("threads".into(), i64::try_from(threads).unwrap_or(i64::MAX).into());
        }
        let mut section = |name: &str, key: &str, value: toml::Value| {
            root.insert(name.into(), toml::Table::from_iter([(key.to_string(), value)]).into());
        };
        section("parameters", "directories", vec![folder(self.ground.parameters())].into());
        section("cache", "directory", folder(self.ground.cache()));
        if let Some(Bytes(limit)) = self.memory_limit {
            section("memory", "limit", limit.to_string().into());
        }
        root.to_string()
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let kinds = kinds_or_all(&args.kind);
    // Loaded first: without it, minutes of preparation would be for nothing.
    let library = Library::load(args.library.as_deref())?;
    let sector = args.ground.sector()?;
    args.ground.make_parameters(&kinds, args.threads)?;
    let engine = library.open(&args.config(&kinds))?;
    let mut all = Vec::new();
    for kind in kinds {
        let facts = prove(args, &engine, &sector, kind)?;
        if args.json {
            table::print_json(&facts)?;
        }
        all.push(facts);
    }
    engine.close()?;
    if !args.json {
        table::print(&all, &args.ground.cache())?;
    }
    let refused: Vec<_> = all.iter().filter(|f| !f.verified).map(|f| f.kind.as_str()).collect();
    if refused.is_empty() {
        return Ok(());
    }
    Err(Failure::Unsound(format!("filecoin-proofs-api does not accept the proof of {}", refused.join(", "))))
}

fn prove(args: &Args, engine: &Engine, sector: &Sector, kind: ProofKind) -> Result<Facts> {
    let request = ground::request(sector, kind).encode_to_vec();
    if let Some(folder) = &args.requests {
        write_request(folder, kind, &request)?;
    }
    let peak = facts::PeakMemory::from_here();
    let job = engine.submit(&request)?;
    let answer = engine.wait(&job, None)?;
    let peak = peak.reached();
    if answer.status() != Status::Completed {
        let text = format!("{kind} ended as {}: {}", answer.status().as_str_name(), answer.error_message);
        return Err(Error::new(Code::Backend, text).into());
    }
    let mut facts = Facts::from_report(&engine.report(&job)?)?;
    facts.peak_rss_bytes = peak;
    facts.proof_bytes = answer.proof.len();
    facts.verified = sector
        .verify(of_sector(kind), &answer.proof)
        .map_err(sector_error("verifying with filecoin-proofs-api"))?;
    Ok(facts)
}

fn write_request(folder: &Path, kind: ProofKind, request: &[u8]) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(system(format!("making {}", folder.display())))?;
    let path = folder.join(format!("{kind}.request"));
    std::fs::write(&path, request).map_err(system(format!("writing {}", path.display())))
}
