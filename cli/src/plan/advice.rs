//! What limits a machine, what more of anything would bring, and what it could do without: found by asking the
//! simulator again, with one change and the same seed.

use forebay::kind::ProofKind;
use forebay::simulate::Outcome;
use forebay::units::Bytes;
use forebay::Result;
use rayon::prelude::*;
use serde::Serialize;

use super::question::{least, Question};
use super::words::{change, counted, percent};

/// A gain, as a share, that is more than chance.
const NOTABLE: f64 = 0.02;
/// What counts as the same throughput.
const AS_GOOD: f64 = 0.98;
/// An epoch, in seconds: a block whose proof comes later is lost.
const EPOCH: f64 = 30.0;
/// A deadline of window_post, in seconds.
const DEADLINE: f64 = 30.0 * 60.0;

/// One change of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Memory,
    Gpu,
    Workers,
    Cores,
    Slot,
    OneSlot,
    Disk,
}

const MORE_MEMORY: Bytes = Bytes::gib(64);
const MORE_WORKERS: usize = 4;

impl Change {
    fn apply(self, to: &Question) -> Question {
        let mut changed = to.clone();
        match self {
            Change::Memory => return to.with_room(to.room.size().saturating_add(MORE_MEMORY)),
            Change::Gpu => changed.gpus = changed.gpus.saturating_add(1),
            Change::Workers => changed.workers = changed.workers.saturating_add(MORE_WORKERS),
            Change::Cores => changed.cores = changed.cores.saturating_mul(2),
            Change::Slot => changed.slots = changed.slots.saturating_add(1),
            Change::OneSlot => changed.slots = 1,
            Change::Disk => {
                let mut profile = (*to.profile).clone();
                profile.disk = profile.disk.saturating_add(profile.disk);
                changed.profile = profile.into();
            }
        }
        changed
    }

    /// What it adds.
    pub fn text(self) -> &'static str {
        match self {
            Change::Memory => "64 GiB more",
            Change::Gpu => "one more GPU",
            Change::Workers => "4 more synthesis workers",
            Change::Cores => "twice the cores",
            Change::Slot => "one more prover slot a GPU",
            Change::OneSlot => "one slot a GPU",
            Change::Disk => "a disk twice as fast",
        }
    }

    /// What is short where it helps, and how that shows.
    fn bottleneck(self, of: &Outcome) -> String {
        match self {
            Change::Memory => {
                let loads = counted(of.loads, "time", "times");
                format!(
                    "memory: requests waited for it {} of the time, parameters were loaded {loads}",
                    percent(of.busy.memory)
                )
            }
            Change::Gpu => format!("the GPU: busy {} of the time", percent(of.busy.devices)),
            Change::Workers => {
                format!("synthesis: its workers were busy {} of the time", percent(of.busy.workers.min(1.0)))
            }
            Change::Cores => format!("the processor: busy {} of the time", percent(of.busy.cores)),
            Change::Slot => {
                "the prover slots of the GPU: its kernels wait for the processor's part".to_owned()
            }
            Change::OneSlot => "memory: what a GPU's further slots hold is missing elsewhere".to_owned(),
            Change::Disk => {
                format!("the disk: parameters were loaded {}", counted(of.loads, "time", "times"))
            }
        }
    }
}

/// An answer with changes.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIf {
    /// What is changed.
    pub changes: Vec<Change>,
    /// In words.
    pub text: String,
    /// Proofs an hour; `None`: it does not fit, or is killed.
    pub an_hour: Option<f64>,
    /// More than without the change, as a share; `None` also where the plan itself is not whole.
    pub gain: Option<f64>,
    /// Whether it fits, nothing is killed and every PoSt is on time.
    pub whole: bool,
}

/// The plan that changes are compared with.
#[derive(Clone, Copy)]
struct Base {
    /// Proofs an hour.
    an_hour: f64,
    /// Whether nothing was killed and every PoSt was on time.
    whole: bool,
}

impl WhatIf {
    /// Whether it is worth telling: more throughput, or all that was lacking.
    fn notable(&self, base: Base) -> bool {
        match base.whole {
            true => self.gain.is_some_and(|gain| gain >= NOTABLE),
            false => self.whole,
        }
    }

    /// The larger the better.
    fn worth(&self) -> f64 {
        self.gain.or(self.an_hour).unwrap_or(f64::NEG_INFINITY)
    }
}

/// A PoSt that came too late.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Late {
    /// The kind.
    pub kind: ProofKind,
    /// Its longest latency, in seconds.
    pub longest: f64,
    /// What it has, in seconds.
    pub deadline: f64,
}

/// The advice.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Proofs an hour of the kinds that are queued without pause, or of all.
    pub an_hour: f64,
    /// What limits it.
    pub bottleneck: String,
    /// What more would bring.
    pub what_if: Vec<WhatIf>,
    /// The least memory (of the machine, or limit) that is as good; `None`: of the prior art.
    pub least_memory: Option<Bytes>,
    /// The fewest workers that are as good.
    pub fewest_workers: Option<usize>,
    /// Kinds that came too late.
    pub late: Vec<Late>,
}

/// Proofs an hour of the kinds that are queued without pause, until the last of these was answered; of all kinds
/// where every one has its interval. 0 where the process was killed.
pub fn rate(question: &Question, outcome: &Outcome) -> f64 {
    if outcome.killed.is_some() {
        return 0.0;
    }
    let entries = &question.mix.entries;
    let paced = entries.iter().all(|entry| entry.every.is_some());
    let (mut proofs, mut hours) = (0.0, 0f64);
    for kind in &outcome.kinds {
        let entry = entries.iter().find(|entry| entry.circuit == kind.circuit);
        if paced || entry.is_some_and(|entry| entry.every.is_none()) {
            proofs += kind.proofs as f64;
            hours = hours.max(kind.proofs as f64 / kind.an_hour.max(f64::MIN_POSITIVE));
        }
    }
    proofs / hours.max(f64::MIN_POSITIVE)
}

/// Which kinds came too late.
pub fn late(outcome: &Outcome) -> Vec<Late> {
    let of = |kind: ProofKind| match kind {
        ProofKind::WinningPost => Some(EPOCH),
        ProofKind::WindowPost => Some(DEADLINE),
        _ => None,
    };
    let kinds = outcome.kinds.iter().filter_map(|kind| Some((kind, of(kind.kind)?)));
    let late = kinds.filter(|(kind, deadline)| kind.latency[2] > *deadline);
    late.map(|(kind, deadline)| Late { kind: kind.kind, longest: kind.latency[2], deadline }).collect()
}

/// Partitions that a change is judged by: a plan asks dozens of times.
const JUDGED: usize = 1500;

/// Asks again, with what could be more and less.
pub fn advise(question: &Question, outcome: &Outcome) -> Result<Advice> {
    let (an_hour, judged) = (rate(question, outcome), question.of_at_most(JUDGED));
    let shorter = if judged.mix == question.mix { outcome.clone() } else { judged.ask(false)? };
    let base = Base {
        an_hour: rate(&judged, &shorter),
        whole: [outcome, &shorter].iter().all(|of| of.killed.is_none() && late(of).is_empty()),
    };
    let (what_if, less) = rayon::join(
        || what_if(&judged, base),
        || match question.policy.is_prior() || !base.whole {
            // How much is enough was measured for forebay's scheduler, and means nothing where something is lacking.
            true => (Ok(None), Ok(None)),
            false => rayon::join(
                || least_memory(&judged, &shorter, base.an_hour),
                || fewest_workers(&judged, &shorter, base.an_hour).map(Some),
            ),
        },
    );
    let (mut what_if, least_memory, fewest_workers) = (what_if?, less.0?, less.1?);
    for what in &mut what_if {
        what.an_hour = what.gain.map(|gain| an_hour * (1.0 + gain)).or(what.an_hour);
    }
    let bottleneck = bottleneck(question, outcome, &what_if, base);
    Ok(Advice { an_hour, bottleneck, what_if, least_memory, fewest_workers, late: late(outcome) })
}

/// `None`: there can be no such machine.
fn with_all(question: &Question, changes: &[Change], base: Base) -> Result<Option<WhatIf>> {
    let changed = changes.iter().fold(question.clone(), |question, change| change.apply(&question));
    if changed.check().is_err() {
        return Ok(None);
    }
    let outcome = changed.attempt()?.filter(|outcome| outcome.killed.is_none());
    let an_hour = outcome.as_ref().map(|outcome| rate(&changed, outcome));
    Ok(Some(WhatIf {
        changes: changes.to_vec(),
        text: changes.iter().map(|change| change.text()).collect::<Vec<_>>().join(" and "),
        gain: an_hour.filter(|_| base.whole && base.an_hour > 0.0).map(|rate| rate / base.an_hour - 1.0),
        an_hour,
        whole: outcome.is_some_and(|outcome| late(&outcome).is_empty()),
    }))
}

fn ask_all(question: &Question, all: &[Vec<Change>], base: Base) -> Result<Vec<WhatIf>> {
    let answers = all.par_iter().map(|changes| with_all(question, changes, base));
    Ok(answers.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// What is always told, what is told where it helps, and, where nothing does, what helps together.
fn what_if(question: &Question, base: Base) -> Result<Vec<WhatIf>> {
    let heavy = if question.gpus > 0 { Change::Gpu } else { Change::Cores };
    let (memory, workers) = (Change::Memory, Change::Workers);
    let usual = [memory, heavy, workers];
    let mut told = usual.map(|change| vec![change]).to_vec();
    if question.gpus > 0 {
        told.extend([vec![Change::Cores], vec![Change::Slot]]);
        if question.slots > 1 {
            told.push(vec![Change::OneSlot]);
        }
    }
    told.push(vec![Change::Disk]);
    let mut answers = ask_all(question, &told, base)?;
    answers.retain(|what| usual.contains(&what.changes[0]) || what.notable(base));
    if !answers.iter().any(|what| what.notable(base)) {
        let together =
            [vec![heavy, workers], vec![memory, heavy], vec![memory, workers], vec![memory, heavy, workers]];
        let found = ask_all(question, &together, base)?.into_iter().find(|what| what.notable(base));
        answers.extend(found);
    } else if base.whole {
        // What relieves one part shows the next: whether it is worth both.
        let more = |what: &WhatIf| {
            let alone = answers.iter().filter(|one| what.changes.contains(&one.changes[0]));
            alone.filter_map(|one| one.gain).all(|gain| what.gain.is_some_and(|both| both >= gain + NOTABLE))
        };
        let both = ask_all(question, &[vec![heavy, workers]], base)?;
        let both: Vec<_> = both.into_iter().filter(more).collect();
        answers.extend(both);
    }
    Ok(answers)
}

fn bottleneck(question: &Question, outcome: &Outcome, what_if: &[WhatIf], base: Base) -> String {
    let best = |single: bool| {
        let some = what_if.iter().filter(|what| (what.changes.len() == 1) == single);
        some.filter(|what| what.notable(base)).max_by(|a, b| a.worth().total_cmp(&b.worth()))
    };
    let best = best(true).or_else(|| best(false));
    if outcome.killed.is_some() {
        let cure = best.map_or_else(
            || "none of these changes keeps it alive".to_owned(),
            |what| format!("it lives with {}", what.text),
        );
        return format!("memory: the process was killed; {cure}");
    }
    let Some(what) = best else {
        let paced = question.mix.entries.iter().all(|entry| entry.every.is_some());
        return match (base.whole, paced) {
            (false, _) => "none of these changes brings every PoSt on time".to_owned(),
            (true, true) => "nothing: the machine keeps up with the requests as they come".to_owned(),
            (true, false) => "nothing that more of one part would relieve by 2 %".to_owned(),
        };
    };
    let brings = match what.gain {
        Some(gain) => format!("would bring {}", change(gain)),
        None => "would bring every PoSt on time".to_owned(),
    };
    match what.changes.as_slice() {
        [one] => format!("{}; {} {brings}", one.bottleneck(outcome), what.text),
        _ => format!("no part alone; {} together {brings}", what.text),
    }
}

/// As fast, and nothing late that was not.
fn as_good(changed: &Question, base: (&Outcome, f64)) -> Result<bool> {
    let Some(outcome) = changed.attempt()? else { return Ok(false) };
    let was_late = late(base.0);
    Ok(rate(changed, &outcome) >= AS_GOOD * base.1
        && late(&outcome).iter().all(|late| was_late.iter().any(|was| was.kind == late.kind)))
}

fn least_memory(question: &Question, outcome: &Outcome, base: f64) -> Result<Option<Bytes>> {
    const SAMPLES: u64 = 10;
    let enough = |size| as_good(&question.with_room(size), (outcome, base));
    let most = question.room.size();
    let mut floor = Bytes::ZERO;
    loop {
        let Some(found) = least(floor, most, enough)? else { return Ok(None) };
        // More memory is now and then worse: circuits that almost fit together push each other out. What is advised
        // is as good from there on.
        let step = (most.0 - found.0) / SAMPLES;
        let above = (1..SAMPLES).into_par_iter().map(|i| Bytes(found.0 + i * step));
        let worse = above.map(|size| Ok((!enough(size)?).then_some(size))).collect::<Result<Vec<_>>>()?;
        match worse.into_iter().flatten().max() {
            Some(worse) if worse > found => floor = worse,
            _ => return Ok(Some(found)),
        }
    }
}

fn fewest_workers(question: &Question, outcome: &Outcome, base: f64) -> Result<usize> {
    let (mut low, mut high) = (0, question.workers);
    while high - low > 1 {
        let workers = low + (high - low) / 2;
        match as_good(&Question { workers, ..question.clone() }, (outcome, base))? {
            true => high = workers,
            false => low = workers,
        }
    }
    Ok(high)
}
