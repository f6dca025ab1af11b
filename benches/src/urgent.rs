//! How long PoSt waits while PoRep floods the queue: requests submitted one after the other at random moments,
//! against the same on an idle engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay::engine::{Engine, Shutdown};
use forebay::kind::{ProofKind, Urgency};
use forebay::units::Bytes;
use forebay::wire::await_proof_response::Status;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::load::{self, bar, metric, quantiles, Options};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

const FLOOD: ProofKind = ProofKind::PorepC2;
/// The labels of its heavy step.
const HEAVY: [&str; 2] = ["\"porep_c2\"", "\"start\""];
/// Unfinished PoReps at any time.
const FLOODING: usize = 4;
const POSTS: [ProofKind; 2] = [ProofKind::WinningPost, ProofKind::WindowPost];
const WORKERS: usize = 2;
/// The longest time between an answer and the next request.
const PAUSE: Duration = Duration::from_millis(1500);
const LOOK: Duration = Duration::from_millis(1);
const LOOK_AT_HEADROOM: Duration = Duration::from_millis(10);

/// One request's way.
struct Passed {
    /// Seconds from submission to the beginning of synthesis.
    wait: f64,
    /// Seconds from submission to the answer.
    answer: f64,
    /// Heavy steps of the flood that ended before its own synthesis began.
    ended_before: f64,
    /// Heavy steps of the flood that ended before its answer.
    ended: f64,
}

/// Measures one kind of PoSt.
pub fn run(world: &World, kind: ProofKind, options: &Options) -> Result<Report, Failure> {
    if kind.urgency() == Urgency::Patient {
        return Err(format!("--kind {kind} is not urgent: winning_post or window_post").into());
    }
    for kind in ProofKind::ALL {
        drop(world.load(kind)?);
    }
    let messages = world.messages(kind, options.proofs)?;
    let mut random = StdRng::seed_from_u64(options.seed);
    let mut report = Report::default();

    let engine = Engine::open(load::config(world, limit(world)?, WORKERS))?;
    engine.preload(world.circuit_id(kind)?)?;
    let idle = pass(&engine, &messages, &mut random, "idle")?;
    engine.shutdown(Shutdown::Drain);
    rows(&mut report, &format!("{kind}, idle"), &idle);

    let engine = Engine::open(load::config(world, limit(world)?, WORKERS))?;
    let flood = Flood::start(world, &engine)?;
    let flooded = pass(&engine, &messages, &mut random, "under a flood of porep_c2");
    let (metrics, headroom) = (engine.metrics(), flood.stop(&engine)?);
    engine.shutdown(Shutdown::Abort);
    let flooded = flooded?;
    rows(&mut report, &format!("{kind}, flooded"), &flooded);
    judge(&mut report, &flooded, &metrics);
    for (kind, (least, looks)) in POSTS.into_iter().zip(headroom) {
        let name = format!("headroom of {kind}, least of {looks} looks");
        report.value(&name, f64::from(least), "", Goal::AtLeast(1.0));
    }
    Ok(report)
}

/// Room for one PoRep after the other, for PoSt beside it, and for little more.
fn limit(world: &World) -> Result<Bytes, Failure> {
    let alone = |kind| Ok::<_, Failure>(world.needs(kind)?.alone().0);
    let posts = alone(ProofKind::WinningPost)? + alone(ProofKind::WindowPost)?;
    let porep = world.needs(FLOOD)?;
    let more = 3 * porep.witness.0 + porep.finish.0 + Bytes::mib(64).0;
    Ok(Bytes(porep.alone().0 + posts + more))
}

/// Submits the requests one by one and waits for each.
fn pass(
    engine: &Engine,
    messages: &[Vec<u8>],
    random: &mut StdRng,
    what: &'static str,
) -> Result<Vec<Passed>, Failure> {
    let bar = bar(messages.len() as u64, "{msg:32} {bar:32} {human_pos}/{human_len} {elapsed}");
    bar.set_message(what);
    let flood_steps =
        || metric(&engine.metrics(), "forebay_stage_seconds_count", &["\"porep_c2\"", "\"start\""]);
    let mut passed = Vec::new();
    for message in messages {
        std::thread::sleep(PAUSE.mul_f64(random.gen()));
        let (before, begun) = (flood_steps(), Instant::now());
        let job = engine.submit(message)?.job_id;
        while engine.report(&job).is_some_and(|report| report.state == "queued") {
            std::thread::sleep(LOOK);
        }
        let (wait, at_synthesis) = (begun.elapsed().as_secs_f64(), flood_steps());
        let answer = engine.wait(&job, None)?;
        if answer.status() != Status::Completed {
            return Err(format!("{job} ended without a proof: {}", answer.error_message).into());
        }
        passed.push(Passed {
            wait,
            answer: begun.elapsed().as_secs_f64(),
            ended_before: at_synthesis - before,
            ended: flood_steps() - before,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(passed)
}

fn rows(report: &mut Report, name: &str, passed: &[Passed]) {
    let mut distribution = |what: &str, of: fn(&Passed) -> f64| {
        let mut sample: Vec<f64> = passed.iter().map(of).collect();
        let values = quantiles(&mut sample, [0.0, 0.5, 0.9, 1.0]);
        for (share, value) in ["least", "median", "90 %", "most"].into_iter().zip(values) {
            report.value(&format!("{name}: {what}, {share}"), value, "s", Goal::None);
        }
    };
    distribution("to synthesis", |passed| passed.wait);
    distribution("to answer", |passed| passed.answer);
}

fn judge(report: &mut Report, passed: &[Passed], metrics: &str) {
    let most = |of: fn(&Passed) -> f64| passed.iter().map(of).fold(0.0, f64::max);
    let steps = heavy_steps(metrics);
    let step = metric(metrics, "forebay_stage_seconds_sum", &HEAVY) / steps.max(1.0);
    let paused = metric(metrics, "forebay_pause_seconds_sum", &[]);
    let delay = metric(metrics, "forebay_pause_delay_seconds", &[]);
    report.value("heavy steps of porep_c2 that ended meanwhile", steps, "", Goal::AtLeast(1.0));
    report.value("one of them, mean, pauses included", step, "s", Goal::None);
    report.value("of these ended before a synthesis, most", most(|p| p.ended_before), "", Goal::AtMost(1.0));
    report.value("of these ended before an answer, most", most(|p| p.ended), "", Goal::AtMost(1.0));
    report.value("longest wait for synthesis", most(|p| p.wait), "s", Goal::AtMost(step));
    report.value("longest delay of a pause", delay, "s", Goal::AtMost(step));
    report.value("paused, summed over threads", paused, "s", Goal::None);
}

/// Heavy steps of the flood that have ended.
fn heavy_steps(metrics: &str) -> f64 {
    metric(metrics, "forebay_stage_seconds_count", &HEAVY)
}

/// PoReps that are always queued, and looks at the headroom meanwhile.
struct Flood {
    stop: Arc<AtomicBool>,
    flooding: std::thread::JoinHandle<Result<(), String>>,
    looking: std::thread::JoinHandle<[(u32, u64); 2]>,
}

impl Flood {
    /// Returns when the first heavy step of them has ended: its length is what waits are judged by.
    fn start(world: &World, engine: &Arc<Engine>) -> Result<Flood, Failure> {
        let request = world.request(FLOOD)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (ours, ended) = (engine.clone(), stop.clone());
        let flooding = std::thread::spawn(move || {
            let mut queue = std::collections::VecDeque::new();
            let mut number = 0;
            while !ended.load(Ordering::Relaxed) {
                while queue.len() < FLOODING {
                    let message = World::named(&request, &format!("flood-{number}"));
                    queue.push_back(ours.submit(&message).map_err(|error| error.to_string())?.job_id);
                    number += 1;
                }
                let answer = ours.wait(&queue[0], Some(Duration::from_millis(50)));
                match answer.map_err(|error| error.to_string())?.status() {
                    Status::Timeout => {}
                    Status::Completed => drop(queue.pop_front()),
                    other => return Err(format!("a PoRep of the flood ended as {other:?}")),
                }
            }
            Ok(())
        });
        while heavy_steps(&engine.metrics()) < 1.0 && !flooding.is_finished() {
            std::thread::sleep(LOOK_AT_HEADROOM);
        }
        let (ours, ended) = (engine.clone(), stop.clone());
        let looking = std::thread::spawn(move || look(&ours, &ended));
        Ok(Flood { stop, flooding, looking })
    }

    /// The least headroom of winning_post and of window_post, and how often it was looked at.
    fn stop(self, engine: &Engine) -> Result<[(u32, u64); 2], Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let unfinished = engine.status().jobs.len();
        self.flooding.join().map_err(|_| "the flood panicked")??;
        if unfinished < FLOODING - 1 {
            return Err(format!("only {unfinished} PoReps were unfinished at the end: no flood").into());
        }
        Ok(self.looking.join().map_err(|_| "the look at the headroom panicked")?)
    }
}

fn look(engine: &Engine, stop: &AtomicBool) -> [(u32, u64); 2] {
    let mut seen = [(u32::MAX, 0); 2];
    while !stop.load(Ordering::Relaxed) {
        for ((least, looks), kind) in seen.iter_mut().zip(POSTS) {
            *least = engine.headroom(kind).min(*least);
            *looks += 1;
        }
        std::thread::sleep(LOOK_AT_HEADROOM);
    }
    seen
}
