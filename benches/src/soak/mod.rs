//! Hours in minutes: random requests, cancels, bad messages, limits that move and faults, on an engine with the
//! real parts and on one whose provers fail, panic, stall, lie and return wrong proofs. In the end everything must
//! have come back.

mod client;
mod counts;
mod faults;
mod ground;
mod mischief;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::SeedableRng;

use crate::load::{bar, Options};
use crate::peers::allocator;
use crate::process::Resident;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;
use counts::{Counts, Tally};
use faults::Faults;
use ground::Ground;

/// Clients of each engine.
const CLIENTS: u64 = 3;
/// The load comes in parts; between them everything must come back.
const PARTS: u32 = 9;
/// After so many parts every table has its size and memory its level.
const WARM: usize = 3;
/// Memory at the end may differ so much from its level.
const DRIFT: f64 = 0.02;
const LOOK: Duration = Duration::from_millis(200);

/// Memory that is left when all is at rest.
struct Level {
    /// Bytes of the heap in use.
    heap: u64,
    resident: Resident,
}

/// Two engines under load.
struct Soak<'a> {
    real: Ground,
    faulty: Ground,
    faults: Faults,
    world: &'a World,
    seed: u64,
}

/// Puts both engines under load for so many minutes.
pub fn run(world: &World, options: &Options) -> Result<Report, Failure> {
    allocator::count_exactly()?;
    allocator::share_heaps();
    let whole = Duration::try_from_secs_f64(options.minutes * 60.0)?;
    for kind in forebay::kind::ProofKind::ALL {
        drop(world.load(kind)?);
    }
    faults::keep_quiet();
    let state = tempfile::tempdir()?;
    let faults = Faults::new(world, state.path())?;
    let soak = Soak {
        real: Ground::real(world)?,
        faulty: Ground::on(world, faults.engine.clone(), faults.limit, &faults::KINDS)?,
        faults,
        world,
        seed: options.seed,
    };
    let counts = Counts::default();
    soak.real.warm(&counts)?;
    let mut levels = Vec::new();
    for part in 0..PARTS {
        soak.load(whole / PARTS, u64::from(part), &counts)?;
        levels.push(soak.settle(&counts)?);
    }
    soak.judge(&levels, &counts)
}

impl Soak<'_> {
    /// Runs every client and every disturbance for so long; what they leave unfinished stays.
    fn load(&self, time: Duration, part: u64, counts: &Counts) -> Result<(), Failure> {
        let stop = AtomicBool::new(false);
        let random =
            |n: u64| StdRng::seed_from_u64(self.seed.wrapping_mul(7919).wrapping_add(100 * part + n));
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (at, ground) in [&self.real, &self.faulty].into_iter().enumerate() {
                for client in 0..CLIENTS {
                    let random = random(10 * at as u64 + client);
                    let (stop, slow) = (&stop, at == 0 && client == 0);
                    threads.push(scope.spawn(move || client::run(ground, random, slow, stop, counts)));
                }
                let (stop, random) = (&stop, random(50 + at as u64));
                threads.push(scope.spawn(move || mischief::move_limits(ground, random, stop, counts)));
                let random = StdRng::seed_from_u64(self.seed + 60 + at as u64);
                threads.push(scope.spawn(move || mischief::move_circuits(ground, random, stop, counts)));
            }
            let (stop_faults, random) = (&stop, random(70));
            threads.push(scope.spawn(move || self.faults.strike(random, stop_faults, counts)));
            self.wait(time, counts, &threads);
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().map_err(|_| "a client panicked")??;
            }
            Ok(())
        })
    }

    fn wait(
        &self,
        time: Duration,
        counts: &Counts,
        threads: &[std::thread::ScopedJoinHandle<Result<(), Failure>>],
    ) {
        let begun = Instant::now();
        let bar = bar(time.as_secs(), "{msg:48} {bar:32} {elapsed}");
        // A thread that ends before its time has a failure to tell.
        while begun.elapsed() < time && !threads.iter().any(|thread| thread.is_finished()) {
            std::thread::sleep(LOOK);
            bar.set_position(begun.elapsed().as_secs());
            bar.set_message(counts.line());
        }
        bar.finish_and_clear();
    }

    /// Waits until every job has its answer and every circuit has left; what remains.
    fn settle(&self, counts: &Counts) -> Result<Level, Failure> {
        for ground in [&self.real, &self.faulty] {
            ground.settle(counts)?;
        }
        // The allocator keeps what bursts have freed.
        allocator::give_back();
        Ok(Level { heap: allocator::in_use(), resident: Resident::now() })
    }

    fn judge(&self, levels: &[Level], counts: &Counts) -> Result<Report, Failure> {
        let mut report = Report::default();
        counts.rows(&mut report);
        for (name, ground) in [("real", &self.real), ("faulty", &self.faulty)] {
            Tally::of(ground).rows(&mut report, name);
        }
        ground::counters(&mut report);
        for (part, level) in levels.iter().enumerate() {
            let name = |what: &str| format!("part {}: {what}", part + 1);
            report.value(&name("heap in use"), level.heap as f64, "bytes", Goal::None);
            report.value(&name("anonymous"), level.resident.anonymous as f64, "bytes", Goal::None);
            report.value(&name("of files"), level.resident.file as f64, "bytes", Goal::None);
        }
        let (warm, end) = levels.get(WARM - 1).zip(levels.last()).ok_or("the load has too few parts")?;
        drift(&mut report, "heap in use at the end over its level", end.heap, warm.heap);
        // What stays of stacks and of the heap's gaps differs from part to part; what is lost stays in all.
        let least = |parts: &[Level]| parts.iter().map(|level| level.resident.total()).min().unwrap_or(0);
        let warmed = levels.get(WARM - 1..).unwrap_or_default();
        let (first, last) = warmed.split_at(warmed.len() / 2);
        drift(&mut report, "resident, least of later parts over earlier", least(last), least(first));
        report.note(format!("kernels {}, {} threads", self.world.kernels.name()?, self.world.threads()));
        Ok(report)
    }
}

fn drift(report: &mut Report, name: &str, end: u64, level: u64) {
    let ratio = end as f64 / level as f64;
    report.value(name, ratio, "", Goal::AtMost(1.0 + DRIFT));
    report.value("the same, at least", ratio, "", Goal::AtLeast(1.0 - DRIFT));
}
