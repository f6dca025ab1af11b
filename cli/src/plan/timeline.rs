//! The picture of a plan: memory by class against the limit, and what each partition did meanwhile.

use std::collections::BTreeMap;

use forebay::kind::CircuitId;
use forebay::memory::Class;
use forebay::simulate::{Doing, Lane, Timeline};
use forebay_pictures::{self as pictures, Band, BandStyle, Level, Line, LineStyle, Stage, StageStyle};

use super::answer::{of_class, Plan};
use super::words::{counted, requests, unbroken};

/// Bands from the bottom.
type Stack = [(Class, &'static str, BandStyle); 5];

const FOREBAY: Stack = [
    (Class::Srs, "SRS", BandStyle::Srs),
    (Class::Matrices, "matrices", BandStyle::Matrices),
    (Class::WorkingSet, "prover slots", BandStyle::WorkingSet),
    (Class::Witness, "compact witnesses", BandStyle::Witness),
    (Class::Intake, "requests", BandStyle::Other),
];
const PRIOR: Stack = [
    (Class::Srs, "SRS", BandStyle::Srs),
    (Class::Matrices, "matrices", BandStyle::Matrices),
    (Class::Witness, "private variables", BandStyle::Witness),
    (Class::WorkingSet, "evaluation vectors a, b, c", BandStyle::Evaluations),
    (Class::Intake, "requests", BandStyle::Other),
];
/// Of forebay's stack, what is too small to be seen beside the rest.
const SMALL: [usize; 3] = [1, 3, 4];

fn stage(doing: Doing, prior: bool) -> Stage {
    let (label, style) = match (doing, prior) {
        (Doing::Queued, _) => ("waits, decoded", StageStyle::WaitsDecoded),
        (Doing::Synthesis, _) => ("synthesis", StageStyle::Synthesis),
        (Doing::Waiting, false) => ("waits, witness ready", StageStyle::WaitsWitness),
        (Doing::Waiting, true) => ("waits with its evaluation vectors", StageStyle::WaitsEvaluated),
        (Doing::Start, _) => ("prover slot", StageStyle::Slot),
        (Doing::Finish, _) => ("finish and verify", StageStyle::Finish),
    };
    Stage { label: label.to_owned(), style }
}

/// The picture as SVG.
pub fn svg(plan: &Plan) -> String {
    let question = &plan.question;
    let prior = question.policy.is_prior();
    let stack = if prior { PRIOR } else { FOREBAY };
    let used = |class| plan_has(plan, class);
    let bands: Vec<_> = stack.into_iter().filter(|(class, ..)| used(*class)).collect();
    let small: Vec<Class> = SMALL.iter().map(|i| FOREBAY[*i].0).collect();
    let magnified = bands.iter().enumerate().filter(|(_, (class, ..))| !prior && small.contains(class));
    let (label, lines) = match prior {
        true => ("where the kernel kills it", Vec::new()),
        false => {
            let label = "held by buffers (the bands are promised)".to_owned();
            ("memory.limit less memory.margin", vec![Line { label, style: LineStyle::Resident }])
        }
    };
    let recorded = plan.outcome.timeline.clone().unwrap_or_default();
    let samples = recorded.samples.iter().map(|sample| pictures::Sample {
        at: sample.at,
        bytes: bands.iter().map(|(class, ..)| of_class(&sample.classes, *class)).collect(),
        lines: if prior { Vec::new() } else { vec![sample.held] },
    });
    let budget = question.budget();
    let did =
        |doing: &Doing| recorded.lanes.iter().any(|lane| lane.steps.iter().any(|step| step.0 == *doing));
    let stages: Vec<Doing> = Doing::ALL.into_iter().filter(did).collect();
    let timeline = pictures::Timeline {
        title: title(plan),
        span: plan.outcome.seconds,
        since: "since the first request came".to_owned(),
        limit: Some(Level { label: format!("{label}: {budget}"), bytes: budget.0 }),
        magnified: magnified.map(|(i, _)| i).collect(),
        bands: bands
            .iter()
            .map(|(_, label, style)| Band { label: (*label).to_owned(), style: *style })
            .collect(),
        lines,
        samples: samples.collect(),
        // The prior art's vectors grow between two samples.
        steps: !prior,
        stages: stages.iter().map(|doing| stage(*doing, prior)).collect(),
        noun: "partitions".to_owned(),
        lanes: lanes(plan, &recorded, &stages),
    };
    timeline.svg()
}

fn plan_has(plan: &Plan, class: Class) -> bool {
    let samples = plan.outcome.timeline.as_ref().map_or(&[][..], |timeline| &timeline.samples);
    samples.iter().any(|sample| of_class(&sample.classes, class) > 0)
}

fn lanes(plan: &Plan, recorded: &Timeline, stages: &[Doing]) -> Vec<pictures::Lane> {
    let numbers = numbers(recorded);
    let of = |one: &Lane| lane(plan, stages, one, label(plan, recorded, &numbers, one));
    recorded.lanes.iter().map(of).collect()
}

fn lane(plan: &Plan, stages: &[Doing], lane: &Lane, label: String) -> pictures::Lane {
    let steps = lane.steps.iter().filter_map(|(doing, from, to)| {
        let stage = stages.iter().position(|stage| stage == doing)?;
        Some((stage, *from, *to))
    });
    let mut steps: Vec<_> = steps.collect();
    // A step that did not end went on until the process was killed.
    if let (Some(killed), Some((_, from, to))) = (plan.outcome.killed, steps.last_mut()) {
        if to <= from {
            *to = killed.at;
        }
    }
    pictures::Lane { label, steps }
}

/// Which request of its circuit each is.
fn numbers(recorded: &Timeline) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    let number = |(request, circuit): (&usize, &CircuitId)| {
        let count = counts.entry(*circuit).or_insert(0);
        *count += 1;
        (*request, *count)
    };
    recorded.circuits.iter().map(number).collect()
}

/// `porep_c2 3, part 7`: which request of its kind, and which partition of it.
fn label(plan: &Plan, recorded: &Timeline, numbers: &BTreeMap<usize, usize>, lane: &Lane) -> String {
    let (Some(circuit), Some(number)) = (recorded.circuits.get(&lane.request), numbers.get(&lane.request))
    else {
        return String::new();
    };
    let request = format!("{} {number}", circuit.kind);
    match plan.question.profile.circuits.get(circuit).map(|circuit| circuit.partitions) {
        Some(1) => request,
        _ => format!("{request}, part {}", lane.partition + 1),
    }
}

fn title(plan: &Plan) -> String {
    let question = &plan.question;
    let heavy = unbroken(&match question.gpus {
        0 => counted(question.cores, "thread", "threads"),
        gpus => counted(gpus, "GPU", "GPUs"),
    });
    let ending = match plan.outcome.killed {
        Some(killed) => format!(": killed for memory, holding {}", killed.held),
        None => String::new(),
    };
    format!(
        "{} simulated on {}: {} {}, {heavy}, {}, policy {}{ending}",
        requests(&question.mix),
        question.profile.name,
        unbroken(&question.room.size().to_string()),
        question.room.noun(),
        unbroken(&counted(question.workers, "synthesis worker", "synthesis workers")),
        question.policy
    )
}
