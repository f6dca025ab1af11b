//! The same question for each value of one variable.

use std::time::{Duration, Instant};

use forebay::simulate::Outcome;
use forebay::units::Bytes;
use forebay::Result;
use indicatif::{ProgressBar, ProgressDrawTarget};
use rayon::prelude::*;
use serde::Serialize;

use super::advice::{late, rate, Late};
use super::json::{line, Asked};
use super::policy::Choice;
use super::question::Question;
use super::range::{Range, Variable};
use super::table::asked;
use super::words::{number, paragraph, percent};
use crate::columns::render;
use crate::progress::counting;

/// Pipelines that are shown beside.
pub const BESIDE: [Choice; 2] = [Choice::Early, Choice::Held];
/// A sweep that takes longer shows how far it is.
const SILENT: Duration = Duration::from_secs(1);

/// All answers.
pub struct Sweep {
    /// With the variable's first value.
    pub question: Question,
    pub variable: Variable,
    pub points: Vec<Point>,
}

/// The answer for one value.
#[derive(Serialize)]
pub struct Point {
    pub value: u64,
    /// `None`: it does not fit.
    pub outcome: Option<Outcome>,
    /// Proofs an hour, all kinds that are queued without pause together.
    pub an_hour: Option<f64>,
    /// PoSt that came too late.
    pub late: Vec<Late>,
    /// Where it does not fit: the memory (as `--ram` or `--limit` count it) that would do, if any.
    pub needs: Option<Bytes>,
    /// The prior art's pipelines, where the profile has their sizes; the best of their worker counts that survives
    /// where memory is varied.
    pub beside: Vec<Beside>,
}

/// A pipeline of the prior art for the same value.
#[derive(Clone, Serialize)]
pub struct Beside {
    pub policy: String,
    /// Partitions synthesised at once.
    pub workers: usize,
    /// `None`: it is killed for memory.
    pub seconds_a_proof: Option<f64>,
    pub peak: Option<Bytes>,
}

impl Sweep {
    /// Asks for every value.
    pub fn run(question: &Question, range: &Range) -> Result<Sweep> {
        let values = range.values();
        let question = question.with(range.variable, values.first().copied().unwrap_or(1));
        let rivals = if has_prior(&question) { BESIDE.to_vec() } else { Vec::new() };
        let by_memory = range.variable == Variable::Ram;
        let bar = Shown::new("sweep", values.len());
        // The prior art does not look at memory: whatever it is, the run is the same until it is killed.
        let runs: Vec<Vec<Beside>> = match by_memory {
            true => rivals.iter().map(|rival| unlimited(&question, *rival)).collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let point = |value: &u64| {
            let asked = question.with(range.variable, *value);
            let mut point = point(&asked, *value)?;
            point.beside = match by_memory {
                true => {
                    rivals.iter().zip(&runs).map(|(rival, runs)| survivor(&asked, *rival, runs)).collect()
                }
                false => {
                    let all = rivals.iter().map(|rival| beside(&asked, *rival, asked.workers));
                    all.collect::<Result<_>>()?
                }
            };
            bar.step();
            Ok(point)
        };
        let points = values.par_iter().map(point).collect::<Result<Vec<_>>>()?;
        Ok(Sweep { question, variable: range.variable, points })
    }

    /// Whether one kind is asked for, so that seconds a proof mean something.
    pub fn one_kind(&self) -> bool {
        self.question.mix.entries.len() == 1
    }

    pub fn json(&self) -> Result<String> {
        #[derive(Serialize)]
        struct Written<'a> {
            asked: Asked<'a>,
            sweep: &'static str,
            points: &'a [Point],
        }
        line(&Written {
            asked: Asked::new(&self.question),
            sweep: self.variable.name(),
            points: &self.points,
        })
    }

    pub fn text(&self) -> String {
        let rivals: Vec<String> = self.rivals().map(|rival| rival.to_owned()).collect();
        let figure = if self.one_kind() { "s a proof" } else { "an hour" };
        let mut head = vec![self.variable.name(), figure, "peak", "GPU", "synth", "waits"];
        if self.question.gpus == 0 {
            head = head.into_iter().map(|name| if name == "GPU" { "slot" } else { name }).collect();
        }
        let mut head: Vec<String> = head.into_iter().map(String::from).collect();
        for rival in &rivals {
            head.extend([rival.clone(), "pw".to_owned()]);
        }
        head.push(String::new());
        let rows = self.points.iter().map(|point| self.row(point));
        let table = render(&std::iter::once(head).chain(rows).collect::<Vec<_>>());
        let mut text =
            format!("sweep of {}; the first machine:\n{}\n{table}", self.variable, asked(&self.question));
        text += "\n";
        text += &paragraph(
            "GPU, slot, synth: how much of the time GPUs, prover slot, synthesis workers were busy; waits: for memory",
        );
        if !rivals.is_empty() {
            let chosen = match self.variable {
                Variable::Ram => ": the fastest pw up to forebay's workers that is not killed for memory",
                _ => "",
            };
            text += &paragraph(&format!(
                "early, held: seconds a proof with the prior art's permits (simulator only), pw partitions \
                 synthesised at once{chosen}; oom: killed for memory"
            ));
        }
        text
    }

    fn rivals(&self) -> impl Iterator<Item = &str> {
        self.points.first().into_iter().flat_map(|point| &point.beside).map(|beside| beside.policy.as_str())
    }

    fn row(&self, point: &Point) -> Vec<String> {
        let mut cells = vec![self.variable.told(point.value)];
        let none = || "-".to_owned();
        match &point.outcome {
            Some(outcome) => {
                let busy = &outcome.busy;
                let heavy = if self.question.gpus == 0 { busy.slots } else { busy.devices };
                let one = outcome.kinds.first().filter(|_| self.one_kind());
                let figure = one.map(|kind| kind.seconds_a_proof).or(point.an_hour);
                cells.push(figure.map_or_else(none, number));
                cells.push(outcome.peak.to_string());
                cells.extend([heavy, busy.workers.min(1.0), busy.memory].map(percent));
            }
            None => cells.extend(vec![none(); 5]),
        }
        for beside in &point.beside {
            match beside.seconds_a_proof {
                Some(seconds) => {
                    cells.extend([number(seconds), beside.workers.to_string()]);
                }
                None => cells.extend(["oom".to_owned(), none()]),
            }
        }
        cells.push(self.remark(point));
        cells
    }

    fn remark(&self, point: &Point) -> String {
        let late = point.late.iter().map(|late| late.kind.name()).collect::<Vec<_>>().join(", ");
        let killed = point.outcome.as_ref().is_some_and(|outcome| outcome.killed.is_some());
        match (&point.outcome, point.needs) {
            (None, Some(needs)) => format!("does not fit: needs {}", Variable::Ram.told(needs.0)),
            (None, None) => "does not fit".to_owned(),
            _ if killed => "KILLED for memory".to_owned(),
            _ if late.is_empty() => String::new(),
            _ => format!("LATE: {late}"),
        }
    }
}

fn point(question: &Question, value: u64) -> Result<Point> {
    let mut point =
        Point { value, outcome: None, an_hour: None, late: Vec::new(), needs: None, beside: Vec::new() };
    question.check()?;
    match question.attempt()? {
        Some(outcome) => {
            point.an_hour = Some(rate(question, &outcome));
            point.late = late(&outcome);
            point.outcome = Some(outcome);
        }
        None => point.needs = question.least_room()?,
    }
    Ok(point)
}

/// Whether the profile knows what the prior art would hold for this mix.
fn has_prior(question: &Question) -> bool {
    let [entry] = question.mix.entries.as_slice() else { return false };
    let circuit = question.profile.circuits.get(&entry.circuit);
    let sizes = circuit.is_some_and(|circuit| circuit.materialised.is_some());
    sizes && question.profile.prior.is_some() && question.gpus > 0 && question.policy == Choice::Forebay
}

fn beside(question: &Question, policy: Choice, workers: usize) -> Result<Beside> {
    let asked = Question { policy, workers, ..question.clone() };
    let outcome = asked.attempt()?.filter(|outcome| outcome.killed.is_none());
    Ok(Beside {
        policy: policy.to_string(),
        workers,
        seconds_a_proof: outcome.as_ref().and_then(|outcome| Some(outcome.kinds.first()?.seconds_a_proof)),
        peak: outcome.map(|outcome| outcome.peak),
    })
}

/// With every number of workers, and all memory in the world.
fn unlimited(question: &Question, policy: Choice) -> Result<Vec<Beside>> {
    const MOST: usize = 32;
    let vast = question.with_room(Bytes(u64::MAX >> 1));
    let workers = (1..=question.workers.min(MOST)).into_par_iter();
    workers.map(|workers| beside(&vast, policy, workers)).collect()
}

/// The fastest of these that such a machine does not kill.
fn survivor(question: &Question, policy: Choice, runs: &[Beside]) -> Beside {
    let limit = question.room.limit();
    let alive = runs.iter().filter(|run| run.peak.is_some_and(|peak| peak <= limit));
    let seconds = |run: &&Beside| run.seconds_a_proof.unwrap_or(f64::INFINITY);
    alive.min_by(|a, b| seconds(a).total_cmp(&seconds(b))).cloned().unwrap_or(Beside {
        policy: policy.to_string(),
        workers: question.workers,
        seconds_a_proof: None,
        peak: None,
    })
}

/// A bar that appears when it takes long.
struct Shown {
    bar: ProgressBar,
    begun: Instant,
}

impl Shown {
    fn new(title: &str, points: usize) -> Shown {
        Shown { bar: counting(title, points), begun: Instant::now() }
    }

    fn step(&self) {
        if self.bar.is_hidden() && self.begun.elapsed() > SILENT {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        }
        self.bar.inc(1);
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
