//! What disturbs an engine from outside: messages that are none, limits that move, circuits that come and go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay::error::Code;
use forebay::units::Bytes;
use forebay_sector::{Message, Request};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngCore};

use super::counts::{Counts, What};
use super::ground::Ground;
use crate::world::World;
use crate::Failure;

/// Sends something that must be refused.
pub fn send_nonsense(ground: &Ground, random: &mut StdRng, counts: &Counts) {
    let Some((_, request)) = ground.requests.choose(random) else { return };
    let message = match random.gen_range(0..6) {
        0 => garbage(random),
        1 => truncated(World::named(request, &ground.name()), random),
        2 => World::named(request, ""),
        3 => short_proof(request, ground.name()),
        4 => Request { sector_size: 4096, request_id: ground.name(), ..request.clone() }.encode_to_vec(),
        _ => return other_content(ground, request, counts),
    };
    refused(ground, &message, counts);
}

fn refused(ground: &Ground, message: &[u8], counts: &Counts) {
    match ground.engine.submit(message) {
        Err(error) if error.code() == Code::InvalidRequest => counts.add(What::BadRefused),
        Err(error) if error.code() == Code::Busy => counts.add(What::Busy),
        Err(error) => counts.wrong(&format!("a bad message is refused as {}: {error}", error.code().name())),
        Ok(submitted) => {
            counts.wrong(&format!("a bad message is job {}", submitted.job_id));
            counts.add(What::Submitted);
            ground.leave(submitted.job_id);
        }
    }
}

fn garbage(random: &mut StdRng) -> Vec<u8> {
    let mut bytes = vec![0; random.gen_range(1..100_000)];
    random.fill_bytes(&mut bytes);
    // A field of the reserved wire type 7: no message whatever follows.
    bytes[0] = 0x0f;
    bytes
}

fn truncated(mut message: Vec<u8>, random: &mut StdRng) -> Vec<u8> {
    message.truncate(random.gen_range(1..message.len()));
    message
}

/// A vanilla proof of the wrong size.
fn short_proof(request: &Request, request_id: String) -> Vec<u8> {
    let mut request = Request { request_id, ..request.clone() };
    request.vanilla_proof.pop();
    request.vanilla_proofs.iter_mut().for_each(|proof| proof.truncate(proof.len() / 2));
    request.encode_to_vec()
}

/// An id that is in use, with other content.
fn other_content(ground: &Ground, request: &Request, counts: &Counts) {
    let name = ground.name();
    let job = match ground.engine.submit(&World::named(request, &name)) {
        Ok(submitted) => submitted.job_id,
        Err(error) if error.code() == Code::Busy => return counts.add(What::Busy),
        Err(error) => return counts.wrong(&format!("a good request is refused: {error}")),
    };
    counts.add(What::Submitted);
    let other = Request { request_id: name, priority: request.priority + 1, ..request.clone() };
    match ground.engine.submit(&other.encode_to_vec()) {
        Err(error) if error.code() == Code::DuplicateRequest => counts.add(What::BadRefused),
        Err(error) if error.code() == Code::Busy => counts.add(What::Busy),
        Err(error) => counts.wrong(&format!("an id in use is refused as {}", error.code().name())),
        // It failed before: then the name is free again.
        Ok(submitted) => {
            counts.add(What::Submitted);
            ground.leave(submitted.job_id);
        }
    }
    if ground.engine.cancel(&job).is_ok() {
        counts.add(What::CancelAsked);
    }
    ground.leave(job);
}

/// Moves the limit between what the largest circuit needs and the limit at open, now and then below.
pub fn move_limits(
    ground: &Ground,
    mut random: StdRng,
    stop: &AtomicBool,
    counts: &Counts,
) -> Result<(), Failure> {
    while nap(&mut random, stop, 4000) {
        let low = if random.gen_bool(0.15) { ground.least.0 / 4 } else { ground.least.0 };
        let limit = random.gen_range(low.min(ground.limit.0)..=ground.limit.0);
        ground.engine.set_memory_limit(Bytes(limit))?;
        counts.add(What::LimitMoved);
    }
    Ok(())
}

/// Loads circuits ahead of their use, and sends idle ones away.
pub fn move_circuits(
    ground: &Ground,
    mut random: StdRng,
    stop: &AtomicBool,
    counts: &Counts,
) -> Result<(), Failure> {
    while nap(&mut random, stop, 3000) {
        let Some(circuit) = ground.circuits.choose(&mut random) else { return Ok(()) };
        let (what, done) = match random.gen_bool(0.5) {
            true => (What::Preloaded, ground.engine.preload(*circuit).map(drop)),
            false => (What::Evicted, ground.engine.evict(*circuit).map(drop)),
        };
        match done {
            Ok(()) => counts.add(what),
            Err(error) if matches!(error.code(), Code::Busy | Code::BudgetExceeded) => counts.add(What::Busy),
            Err(error) => counts.wrong(&format!("{circuit} neither comes nor goes: {error}")),
        }
    }
    Ok(())
}

/// Sleeps for a random time of at most so many milliseconds; false where it is time to stop.
pub fn nap(random: &mut StdRng, stop: &AtomicBool, most: u64) -> bool {
    let mut left = random.gen_range(0..most);
    while left > 0 && !stop.load(Ordering::Relaxed) {
        let piece = left.min(100);
        std::thread::sleep(Duration::from_millis(piece));
        left -= piece;
    }
    !stop.load(Ordering::Relaxed)
}
