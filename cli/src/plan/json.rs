//! Plans as JSON.

use forebay::simulate::{Core, Outcome};
use forebay::units::Bytes;
use forebay::{Error, Result};
use serde::Serialize;

use super::advice::Advice;
use super::answer::{Peak, Plan};
use super::question::Question;
use super::words::setting;

/// What was asked.
#[derive(Serialize)]
pub struct Asked<'a> {
    profile: &'a str,
    about: &'a str,
    policy: String,
    ram: Option<Bytes>,
    reserve: Bytes,
    limit: Bytes,
    budget: Bytes,
    gpus: usize,
    slots: usize,
    core: Core,
    cores: usize,
    workers: usize,
    mix: Vec<Requests<'a>>,
    queued: usize,
    seed: u64,
}

#[derive(Serialize)]
struct Requests<'a> {
    kind: &'a str,
    circuit: String,
    count: usize,
    every: Option<f64>,
}

impl<'a> Asked<'a> {
    pub fn new(question: &'a Question) -> Asked<'a> {
        let limited = question.room.option() == "--limit";
        let mix = question.mix.entries.iter().map(|entry| Requests {
            kind: entry.circuit.kind.name(),
            circuit: entry.circuit.to_string(),
            count: entry.count,
            every: entry.every,
        });
        Asked {
            profile: &question.profile.name,
            about: question.profile.about.trim(),
            policy: question.policy.to_string(),
            ram: (!limited).then_some(question.room.size()),
            reserve: question.room.reserve(),
            limit: question.room.limit(),
            budget: question.budget(),
            gpus: question.gpus,
            slots: question.slots,
            core: question.core,
            cores: question.cores,
            workers: question.workers,
            mix: mix.collect(),
            queued: question.mix.queued,
            seed: question.seed,
        }
    }
}

#[derive(Serialize)]
struct Written<'a> {
    asked: Asked<'a>,
    outcome: &'a Outcome,
    peak: Peak,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlimited_peak: Option<Bytes>,
    advice: &'a Advice,
    configure: Option<Configure>,
}

#[derive(Serialize)]
struct Configure {
    memory_limit: String,
    /// Where less is enough for 98 % of the throughput.
    enough_limit: Option<String>,
    synthesis_workers: usize,
}

/// One plan.
pub fn text(plan: &Plan) -> Result<String> {
    let question = &plan.question;
    line(&Written {
        asked: Asked::new(question),
        outcome: &plan.outcome,
        peak: plan.peak,
        unlimited_peak: plan.unlimited_peak,
        advice: &plan.advice,
        configure: (!question.policy.is_prior()).then(|| Configure {
            memory_limit: setting(question.room.limit()),
            enough_limit: plan.enough_limit().map(setting),
            synthesis_workers: question.workers,
        }),
    })
}

/// One line of JSON.
pub fn line(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(value);
    text.map(|text| text + "\n").map_err(|e| Error::internal(format!("writing JSON: {e}")))
}
