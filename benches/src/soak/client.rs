//! A client: sends requests, waits, gives up, cancels, sends twice, sends what is no request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay::error::Code;
use forebay::kind::{ProofKind, Urgency};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::Rng;

use super::counts::{Counts, What};
use super::ground::Ground;
use super::mischief;
use crate::world::World;
use crate::Failure;

/// Before the next try where the engine is busy.
const BUSY: Duration = Duration::from_millis(100);
/// A cancel comes at most so late.
const LATEST_CANCEL: f64 = 3.0;
/// Of a slow client's requests so many are PoRep or an update.
const SLOW: f64 = 0.12;

/// Runs until it is stopped. Only a `slow` client sends what takes long to prove.
pub fn run(
    ground: &Ground,
    mut random: StdRng,
    slow: bool,
    stop: &AtomicBool,
    counts: &Counts,
) -> Result<(), Failure> {
    while !stop.load(Ordering::Relaxed) {
        ground.collect(counts)?;
        match random.gen_range(0..10) {
            0 | 1 => mischief::send_nonsense(ground, &mut random, counts),
            _ => request(ground, &mut random, slow, counts)?,
        }
    }
    Ok(())
}

fn request(ground: &Ground, random: &mut StdRng, slow: bool, counts: &Counts) -> Result<(), Failure> {
    let patient = slow && random.gen_bool(SLOW);
    let wanted = |kind: ProofKind| (kind.urgency() == Urgency::Patient) == patient;
    let kinds: Vec<_> = ground.requests.iter().filter(|(kind, _)| wanted(*kind)).collect();
    let Some((_, request)) = kinds.choose(random) else { return Ok(()) };
    let message = World::named(request, &ground.name());
    let job = match ground.engine.submit(&message) {
        Ok(submitted) => submitted.job_id,
        Err(error) if error.code() == Code::Busy => {
            counts.add(What::Busy);
            std::thread::sleep(BUSY);
            return Ok(());
        }
        Err(error) => return Err(format!("a good request is refused: {error}").into()),
    };
    counts.add(What::Submitted);
    match random.gen_range(0..10) {
        0..=2 => {
            std::thread::sleep(Duration::from_secs_f64(LATEST_CANCEL * random.gen::<f64>().powi(2)));
            ground.engine.cancel(&job)?;
            counts.add(What::CancelAsked);
            ground.answer(&job, counts)
        }
        3 => {
            counts.add(What::GaveUp);
            ground.engine.wait(&job, Some(Duration::from_millis(random.gen_range(0..200))))?;
            ground.leave(job);
            Ok(())
        }
        4 => {
            again(ground, &message, &job, counts);
            ground.answer(&job, counts)
        }
        _ => ground.answer(&job, counts),
    }
}

/// The same request once more is the same job, unless that failed meanwhile: then it is a new one.
fn again(ground: &Ground, message: &[u8], job: &str, counts: &Counts) {
    match ground.engine.submit(message) {
        Ok(submitted) if submitted.job_id == job => counts.add(What::SameAgain),
        Ok(submitted) => {
            counts.add(What::Submitted);
            ground.leave(submitted.job_id);
        }
        Err(error) if error.code() == Code::Busy => counts.add(What::Busy),
        Err(error) => counts.wrong(&format!("the same request again is refused: {error}")),
    }
}
