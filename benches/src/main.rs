//! `forebay-bench NAME`: measures forebay beside its peers in one run and prints a table. Every figure in
//! the documents comes from here.

mod abi;
mod admission;
mod concrete;
mod contest;
#[path = "../../tests/support/group.rs"]
mod control_group;
mod curve;
mod field;
mod inputs;
mod load;
mod memory;
mod msm;
mod ntt;
mod peers;
mod plan;
mod process;
mod prove;
mod queue;
mod report;
mod scale;
mod schedule;
mod setup;
mod sizes;
mod soak;
mod srs;
mod synthesis;
mod telemetry;
mod timeline;
mod urgent;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use forebay::kind::ProofKind;
use forebay::prove::cpu::Kernels;

use report::Report;
use world::World;

/// Why a measurement could not be made.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures forebay beside its peers, in one run, on the same inputs.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// What to measure.
    name: Bench,
    /// Print one JSON object a row.
    #[arg(long)]
    json: bool,
    /// Exit with status 1 when a goal is missed.
    #[arg(long)]
    check: bool,
    /// Threads for ours and for the peers [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The proof kind, where one circuit is measured [default: winning_post; memory, srs and timeline: porep_c2]
    #[arg(long, value_name = "KIND")]
    kind: Option<ProofKind>,
    /// The kernels of ours: auto, portable, avx2 or ifma.
    #[arg(long, value_name = "NAME", default_value_t)]
    kernels: Kernels,
    /// Count processor time, not the time that passes: for --threads 1 on a machine that is not quiet.
    #[arg(long)]
    cpu: bool,
    /// prove: also gnark, on a synthetic circuit of the same size.
    #[arg(long)]
    gnark: bool,
    /// Folder for sectors, development parameters and matrices [default: that of `forebay demo`]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    #[command(flatten)]
    sizes: sizes::Sizes,
    #[command(flatten)]
    scale: scale::Options,
    #[command(flatten)]
    timeline: timeline::Options,
    #[command(flatten)]
    queue: queue::Options,
    #[command(flatten)]
    load: load::Options,
    #[command(flatten)]
    plan: plan::Options,
}

#[derive(Clone, Copy, ValueEnum)]
enum Bench {
    /// Products in Fp, Fp2 and Fr against blst, arkworks and gnark-crypto.
    Field,
    /// Multi-scalar multiplications against blst, arkworks, bellperson's and gnark-crypto.
    Msm,
    /// Transforms over Fr against arkworks, bellperson's and gnark-crypto.
    Ntt,
    /// Resident bytes: a queued partition, the matrices, the prover's working set.
    Memory,
    /// Development setup against bellperson's generator.
    Setup,
    /// The native SRS against the .params file: bytes, and time to open.
    Srs,
    /// One proof against bellperson's CPU prover: same circuit, same randomness, same bytes.
    Prove,
    /// The compact witness of PoRep against bellperson's synthesis; evaluation of A and B.
    Synthesis,
    /// Core-seconds and bytes of growing synthetic circuits, projected to 2^27.
    Scale,
    /// One step of the scheduler with 10,000 queued requests.
    Schedule,
    /// A queue of PoRep partitions through pipelines that keep evaluation vectors, and through forebay.
    Queue,
    /// Random mixes of requests under random limits: resident memory against what the ledger promised.
    Admission,
    /// How long PoSt waits while PoRep floods the queue.
    Urgent,
    /// Random requests, cancels, bad messages, moving limits and faults for minutes; then all must have come back.
    Soak,
    /// A mix of real requests against the same mix simulated from a measured profile.
    Plan,
    /// What the C ABI and `forebay serve` cost a request beyond the Rust call.
    Abi,
    /// What being watched costs: counting, scrapes, and many watchers while proofs are made.
    Telemetry,
    /// Memory over time while several requests run under a limit; draws a picture.
    Timeline,
}

impl Bench {
    fn default_kind(self) -> ProofKind {
        match self {
            Bench::Setup | Bench::Prove | Bench::Urgent => ProofKind::WinningPost,
            _ => ProofKind::PorepC2,
        }
    }
}

fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let threads = match arguments.threads {
        Some(threads) => threads,
        // Its goals are those of one thread.
        None if matches!(arguments.name, Bench::Synthesis) => 1,
        None => std::thread::available_parallelism()?.get(),
    };
    let kind = arguments.kind.unwrap_or(arguments.name.default_kind());
    if arguments.cpu && threads != 1 {
        return Err("--cpu counts the time of all threads together: it needs --threads 1".into());
    }
    if arguments.cpu {
        process::count_processor_time();
    }
    // Before any other thread exists: the peers read these once.
    std::env::set_var("RAYON_NUM_THREADS", threads.to_string());
    std::env::set_var("EC_GPU_NUM_THREADS", threads.to_string());
    let world = World::open(arguments.cache.clone(), threads, arguments.kernels)?;
    let sizes = arguments.sizes.clone().judged(arguments.check);
    match arguments.name {
        Bench::Field => field::run(&world, sizes.alone),
        Bench::Msm => msm::run(&world, &sizes),
        Bench::Ntt => ntt::run(&world, &sizes),
        Bench::Memory => memory::run(&world, kind),
        Bench::Setup => setup::run(&world, kind),
        Bench::Srs => srs::run(&world, kind),
        Bench::Prove => prove::run(&world, kind, arguments.gnark),
        Bench::Synthesis => synthesis::run(&world),
        Bench::Scale => scale::run(&world, &arguments.scale),
        Bench::Schedule => schedule::run(),
        Bench::Queue => queue::run(&world, &arguments.queue),
        Bench::Admission => admission::run(&world, &arguments.load),
        Bench::Urgent => urgent::run(&world, kind, &arguments.load),
        Bench::Soak => soak::run(&world, &arguments.load),
        Bench::Plan => plan::run(&world, &arguments.plan),
        Bench::Abi => abi::run(&world),
        Bench::Telemetry => telemetry::run(&world, &arguments.load),
        Bench::Timeline => timeline::run(&world, kind, threads, &arguments.timeline),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let report = match run(&arguments) {
        Ok(report) => report,
        Err(failure) => {
            eprintln!("forebay-bench: {failure}");
            return ExitCode::from(2);
        }
    };
    if let Err(failure) = report.print(arguments.json) {
        eprintln!("forebay-bench: {failure}");
        return ExitCode::from(2);
    }
    if arguments.check && !report.met() {
        eprintln!("forebay-bench: a goal is missed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
