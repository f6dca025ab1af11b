//! What being watched costs: counting inside the engine, a scrape, and many who scrape, read slowly and hold `/events`
//! open while proofs are made.

mod threads;
mod watchers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay::engine::{telemetry_cost, Engine, Shutdown};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use forebay_sector::Request;
use forebay_server::{Address, Options, Server, Stop};
use tokio::sync::watch;

use crate::load::{self, bar, quantiles};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;
use threads::Threads;
use watchers::Watchers;

const KIND: ProofKind = ProofKind::WindowPost;
/// Requests whose counting is timed.
const COUNTED: u32 = 100_000;
const SCRAPES: usize = 200;
/// Of a proof's time.
const COUNTING_GOAL: f64 = 0.001;
/// Milliseconds.
const SCRAPE_GOAL: f64 = 5.0;
/// Of the machine's processors.
const WATCHED_GOAL: f64 = 0.01;
/// Proofs between two changes of who watches.
const ROUND: usize = 10;
/// Until everybody who watches has come.
const COMING: Duration = Duration::from_millis(1500);
/// The name of the server's threads.
const SERVE: &str = "serve";

/// A server in this process.
struct Served {
    _runtime: tokio::runtime::Runtime,
    engine: Arc<Engine>,
    stop: watch::Sender<Stop>,
    address: String,
}

impl Served {
    fn start(engine: Arc<Engine>) -> Result<Served, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(SERVE)
            .enable_all()
            .build()?;
        let options = Options { listen: vec![Address::Tcp("127.0.0.1:0".into())], ..Options::default() };
        let server = runtime.block_on(Server::bind(engine.clone(), &options))?;
        let address = server.addresses().first().ok_or("the server has no address")?.to_string();
        let (stop, stopping) = watch::channel(Stop::No);
        runtime.spawn(server.run(stopping));
        Ok(Served { _runtime: runtime, engine, stop, address })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.send_replace(Stop::Abort);
    }
}

/// Times of proofs, and what the machine's processors did meanwhile.
#[derive(Default)]
struct Side {
    seconds: Vec<f64>,
    passed: Duration,
    threads: Threads,
}

impl Side {
    fn round(&mut self, engine: &Engine, request: &Request, name: &str) -> Result<(), Failure> {
        let (before, begun) = (Threads::now()?, Instant::now());
        for proof in 0..ROUND {
            let begun = Instant::now();
            let job = engine.submit(&World::named(request, &format!("{name}-{proof}")))?.job_id;
            let answer = engine.wait(&job, None)?;
            if answer.status() != Status::Completed {
                return Err(format!("no proof: {}", answer.error_message).into());
            }
            self.seconds.push(begun.elapsed().as_secs_f64());
        }
        self.passed += begun.elapsed();
        self.threads.add(&Threads::now()?, &before);
        Ok(())
    }

    /// Share of the machine's processors that threads of this name used.
    fn share(&self, world: &World, name: &str) -> f64 {
        self.threads.seconds(name) / (self.passed.as_secs_f64() * world.threads() as f64)
    }
}

/// Prints what watching costs.
pub fn run(world: &World, options: &load::Options) -> Result<Report, Failure> {
    drop(world.load(KIND)?);
    let limit = Bytes(world.needs(KIND)?.alone().0 + Bytes::gib(1).0);
    let engine = Engine::open(load::config(world, limit, 1))?;
    let served = Served::start(engine)?;
    let request = world.request(KIND)?;
    let (mut alone, mut watched) = (Side::default(), Side::default());
    // The first proof loads the circuit.
    Side::default().round(&served.engine, &request, "first")?;
    let rounds = options.proofs.div_ceil(ROUND);
    let progress = bar(2 * rounds as u64, "rounds {bar:32} {human_pos}/{human_len} {elapsed}");
    let mut counts = watchers::Counts::default();
    for round in 0..rounds {
        alone.round(&served.engine, &request, &format!("alone-{round}"))?;
        progress.inc(1);
        let watchers = Watchers::start(&served.address)?;
        std::thread::sleep(COMING);
        watched.round(&served.engine, &request, &format!("watched-{round}"))?;
        counts.add(&watchers.stop());
        progress.inc(1);
    }
    progress.finish_and_clear();
    let mut report = Report::default();
    counting(&mut report, world, &mut alone)?;
    scraping(&mut report, &served.engine);
    watching(&mut report, world, (&mut alone, &mut watched), &counts);
    served.engine.shutdown(Shutdown::Abort);
    Ok(report)
}

fn counting(report: &mut Report, world: &World, alone: &mut Side) -> Result<(), Failure> {
    let cost = telemetry_cost(world.circuit_id(KIND)?, COUNTED)?.as_secs_f64();
    let [proof] = quantiles(&mut alone.seconds, [0.5]);
    report.value("window_post 2 KiB, request to answer: median", 1000.0 * proof, "ms", Goal::None);
    report.value("counting and timing a request", 1e6 * cost, "us", Goal::None);
    report.value("the same, of the whole", cost / proof, "", Goal::AtMost(COUNTING_GOAL));
    Ok(())
}

fn scraping(report: &mut Report, engine: &Engine) {
    let mut times = Vec::with_capacity(SCRAPES);
    let mut bytes = 0;
    for _ in 0..SCRAPES {
        let begun = Instant::now();
        bytes = engine.metrics().len();
        times.push(1000.0 * begun.elapsed().as_secs_f64());
    }
    let [median, more, most] = quantiles(&mut times, [0.5, 0.9, 0.99]);
    report.value("a scrape: median", median, "ms", Goal::AtMost(SCRAPE_GOAL));
    report.value("a scrape: 90 %", more, "ms", Goal::AtMost(SCRAPE_GOAL));
    report.value("a scrape: 99 %", most, "ms", Goal::None);
    report.value("a scrape: size", bytes as f64, "bytes", Goal::None);
}

fn watching(
    report: &mut Report,
    world: &World,
    (alone, watched): (&mut Side, &mut Side),
    counts: &watchers::Counts,
) {
    counts.rows(report);
    let more = |name: &str| (watched.share(world, name) - alone.share(world, name)).max(0.0);
    let served = more(SERVE);
    let asked = more("scheduler");
    report.value("serving them, of the processors", served, "", Goal::None);
    report.value("the scheduler's answers to them", asked, "", Goal::None);
    report.value("both together", served + asked, "", Goal::AtMost(WATCHED_GOAL));
    report.value("the watchers themselves", more("watchers"), "", Goal::None);
    let [before] = quantiles(&mut alone.seconds, [0.5]);
    let [during] = quantiles(&mut watched.seconds, [0.5]);
    report.value("a proof watched over one alone: medians", during / before, "", Goal::None);
    report.note(
        "the watchers run in this process, on this machine's processors: their own work is in the last ratio, not in the shares above",
    );
}
