//! `forebay params`: development setup, check, import and list of parameter files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args as ClapArgs, Subcommand};
use forebay::engine::Config;
use forebay::filecoin::parameter_stem;
use forebay::kind::{CircuitId, ProofKind};
use forebay::srs::{Located, Store, StoreConfig};
use forebay::{Code, Error};

use crate::failure::{system, Failure, Result};
use crate::setup::{default_cache, kinds_or_all, sector_size, Workshop};

/// Makes, checks, imports and lists Groth16 parameters.
#[derive(ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make development parameters: insecure, for tests and test networks only.
    Dev(DevArgs),
    /// Check every byte of the files: length, structure, digest or points, and that all hold the same key.
    Check(FileArgs),
    /// Write the native files that proofs are made from, whatever is there.
    Import(FileArgs),
    /// List the files of every circuit.
    List(ListArgs),
}

#[derive(ClapArgs)]
struct DevArgs {
    #[command(flatten)]
    circuits: Circuits,
    /// Folder that gets the .params and .vk files.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Threads [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(ClapArgs)]
struct FileArgs {
    #[command(flatten)]
    circuits: Circuits,
    #[command(flatten)]
    folders: Folders,
    /// Accept development parameters.
    #[arg(long)]
    allow_development: bool,
    /// Threads [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(ClapArgs)]
struct ListArgs {
    #[command(flatten)]
    folders: Folders,
    /// Print one JSON object a circuit.
    #[arg(long)]
    json: bool,
}

#[derive(ClapArgs)]
struct Circuits {
    /// This kind only: porep_c2, snap_update, window_post or winning_post; may be repeated.
    #[arg(long, value_name = "KIND")]
    kind: Vec<ProofKind>,
    /// This sector size: 2k, 8m, 512m, 32g or 64g. `dev` takes 2k by default, the others every size that is there.
    #[arg(long, value_name = "SIZE", value_parser = sector_size)]
    size: Option<u64>,
}

#[derive(ClapArgs)]
struct Folders {
    /// Folder with .params and .vk files; may be repeated [default: $FIL_PROOFS_PARAMETER_CACHE, else
    /// /var/tmp/filecoin-proof-parameters]
    #[arg(long, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// Folder of the native files [default: ${XDG_CACHE_HOME:-~/.cache}/forebay]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl Folders {
    fn store(&self, allow_development: bool) -> Store {
        let parameter_dirs = match self.dir.is_empty() {
            true => Config::default().parameter_directories,
            false => self.dir.clone(),
        };
        let cache_dir = self.cache.clone().unwrap_or_else(default_cache);
        Store::new(StoreConfig { parameter_dirs, cache_dir, allow_development })
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::Dev(args) => develop(args),
        Command::Check(args) => check(args),
        Command::Import(args) => import(args),
        Command::List(args) => list(args),
    }
}

fn develop(args: &DevArgs) -> Result<()> {
    const SMALLEST: u64 = 2 << 10;
    let workshop = Workshop::new(args.threads)?;
    for kind in kinds_or_all(&args.circuits.kind) {
        let circuit = CircuitId::new(kind, args.circuits.size.unwrap_or(SMALLEST))?;
        let begun = Instant::now();
        workshop.develop(circuit, &args.dir)?;
        let stem = parameter_stem(circuit)?;
        say(format!("{circuit}: {stem}.params made in {:.1} s, insecure", begun.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

/// The circuits that were asked for and have a key in the store's folders.
fn present(args: &FileArgs, store: &Store) -> Result<Vec<(CircuitId, Located)>> {
    let kinds = kinds_or_all(&args.circuits.kind);
    let mut found = Vec::new();
    for circuit in CircuitId::all() {
        let wanted =
            kinds.contains(&circuit.kind) && args.circuits.size.is_none_or(|s| s == circuit.sector_size);
        if !wanted {
            continue;
        }
        let located = store.locate(&parameter_stem(circuit)?)?;
        if located.params.is_some() || located.native.is_some() {
            found.push((circuit, located));
        }
    }
    if found.is_empty() {
        let folders: Vec<_> = store.config().parameter_dirs.iter().map(|d| d.display().to_string()).collect();
        return Err(Error::new(
            Code::ParametersMissing,
            format!("no parameter file of the circuits asked for; searched {}", folders.join(", ")),
        )
        .into());
    }
    Ok(found)
}

fn check(args: &FileArgs) -> Result<()> {
    let store = args.folders.store(args.allow_development);
    let workshop = Workshop::new(args.threads)?;
    let (mut unsound, found) = (0, present(args, &store)?);
    for (circuit, located) in &found {
        match workshop.run(&circuit.to_string(), |work| store.check(&located.stem, work)) {
            Ok(_) => say(format!("{circuit}: sound ({})", kept(located)))?,
            Err(error) => {
                unsound += 1;
                say(format!("{circuit}: {error}"))?;
            }
        }
    }
    match unsound {
        0 => Ok(()),
        n => Err(Failure::Unsound(format!("{n} of {} circuits have unsound parameters", found.len()))),
    }
}

fn import(args: &FileArgs) -> Result<()> {
    let store = args.folders.store(args.allow_development);
    let workshop = Workshop::new(args.threads)?;
    for (circuit, located) in present(args, &store)? {
        if located.params.is_none() {
            continue;
        }
        workshop.run(&circuit.to_string(), |work| store.import(circuit, &located.stem, work).map(drop))?;
        say(format!("{circuit}: {}", store.native_path(&located.stem).display()))?;
    }
    Ok(())
}

fn list(args: &ListArgs) -> Result<()> {
    let store = args.folders.store(true);
    for circuit in CircuitId::all() {
        let located = store.locate(&parameter_stem(circuit)?)?;
        if args.json {
            let mut object = serde_json::json!(located);
            object["circuit"] = circuit.to_string().into();
            say(object.to_string())?;
        } else {
            say(format!("{:<13} {:<34} {}", circuit.to_string(), kept(&located), located.stem))?;
        }
    }
    Ok(())
}

/// Which files there are, in words.
fn kept(located: &Located) -> String {
    let files = [("params", &located.params), ("vk", &located.vk), ("native", &located.native)];
    let mut words: Vec<_> = files.iter().filter(|(_, path)| path.is_some()).map(|(name, _)| *name).collect();
    if words.is_empty() {
        words.push("missing");
    }
    if located.marked {
        words.push("(development)");
    }
    words.join(" ")
}

fn say(line: String) -> Result<()> {
    writeln!(io::stdout(), "{line}").map_err(system("writing to standard output"))
}
