//! The picture of a sweep.

use forebay_pictures::{Axis, Panel, Series, Sweep as Picture, Unit};

use super::policy::Choice;
use super::range::Variable;
use super::sweep::{Beside, Point, Sweep, BESIDE};
use super::words::{counted, requests, unbroken};

/// The picture as SVG.
pub fn svg(sweep: &Sweep) -> String {
    let (label, lines) = match sweep.one_kind() {
        true => ("seconds a proof", with_rivals(sweep, Figure::Seconds)),
        false => ("proofs an hour", by_kind(sweep)),
    };
    let upper = Panel { y: axis(label, Unit::Plain), series: lines, diagonal: None };
    let lower = Panel {
        y: axis("peak memory", Unit::Bytes),
        series: with_rivals(sweep, Figure::Peak),
        diagonal: (sweep.variable == Variable::Ram).then(|| "all of the RAM".to_owned()),
    };
    let x = match sweep.variable {
        Variable::Ram => axis("RAM of the machine", Unit::Bytes),
        Variable::Gpus => axis("GPUs", Unit::Plain),
        Variable::Slots => axis("prover slots of a GPU", Unit::Plain),
        Variable::Workers => axis("synthesis workers", Unit::Plain),
        Variable::Cores => axis("threads", Unit::Plain),
    };
    Picture { title: title(sweep), x, panels: vec![upper, lower] }.svg()
}

fn axis(label: &str, unit: Unit) -> Axis {
    Axis { label: label.to_owned(), unit }
}

fn series(sweep: &Sweep, label: String, style: usize, y: impl Fn(&Point) -> Option<f64>) -> Series {
    let points = sweep.points.iter().map(|point| (point.value as f64, y(point).unwrap_or(f64::NAN)));
    Series { label, style, points: points.collect() }
}

/// What a line shows.
#[derive(Clone, Copy)]
enum Figure {
    Seconds,
    Peak,
}

impl Figure {
    fn of(self, point: &Point) -> Option<f64> {
        let outcome = point.outcome.as_ref().filter(|outcome| outcome.killed.is_none())?;
        match self {
            Figure::Seconds => outcome.kinds.first().map(|kind| kind.seconds_a_proof),
            Figure::Peak => Some(outcome.peak.0 as f64),
        }
    }

    fn of_rival(self, beside: &Beside) -> Option<f64> {
        match self {
            Figure::Seconds => beside.seconds_a_proof,
            Figure::Peak => beside.peak.map(|peak| peak.0 as f64),
        }
    }
}

/// Of the prior art's lines. Where both say the same they lie over each other: the second is dashed.
const STYLES: [usize; BESIDE.len()] = [1, 8];

/// The policy's own line, and those of the prior art that the points have.
fn with_rivals(sweep: &Sweep, figure: Figure) -> Vec<Series> {
    let (label, style) = match sweep.question.policy {
        Choice::Forebay if sweep.one_kind() => ("forebay".to_owned(), 0),
        Choice::Forebay => ("all kinds together".to_owned(), 5),
        prior => (format!("prior art: {prior}"), 0),
    };
    let mut all = vec![series(sweep, label, style, |point| figure.of(point))];
    for (rival, style) in BESIDE.into_iter().zip(STYLES) {
        let name = rival.to_string();
        let find = |point: &Point| point.beside.iter().find(|beside| beside.policy == name).cloned();
        if sweep.points.iter().all(|point| find(point).is_none()) {
            continue;
        }
        let label = match sweep.variable {
            Variable::Ram => format!("prior art, permit {name}: fastest that survives"),
            _ => format!("prior art, permit {name}"),
        };
        all.push(series(sweep, label, style, |point| figure.of_rival(&find(point)?)));
    }
    all
}

fn by_kind(sweep: &Sweep) -> Vec<Series> {
    let kinds = sweep.question.mix.entries.iter().enumerate();
    kinds
        .map(|(i, entry)| {
            series(sweep, entry.circuit.kind.to_string(), i, |point| {
                Some(point.outcome.as_ref()?.kinds.get(i)?.an_hour)
            })
        })
        .collect()
}

/// What is asked, without what is varied.
fn title(sweep: &Sweep) -> String {
    let question = &sweep.question;
    let mut fixed = Vec::new();
    if sweep.variable != Variable::Ram {
        fixed.push(format!("{} {}", question.room.size(), question.room.noun()));
    }
    if sweep.variable != Variable::Gpus && question.gpus > 0 {
        fixed.push(counted(question.gpus, "GPU", "GPUs"));
    }
    if sweep.variable != Variable::Workers {
        fixed.push(counted(question.workers, "synthesis worker", "synthesis workers"));
    }
    let fixed: Vec<_> = fixed.iter().map(|part| unbroken(part)).collect();
    format!("{} simulated on {}: {}", requests(&question.mix), question.profile.name, fixed.join(", "))
}
