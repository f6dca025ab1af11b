//! Whether what is promised is what is needed: random mixes of requests through the engine under random limits,
//! each in a process of its own, the highest resident memory against the most that the ledger promised.

mod child;
mod mix;
mod sampler;

use forebay::kind::ProofKind;
use forebay::units::Bytes;

use crate::load::{self, bar, quantiles, Options};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;
use child::Outcome;
use mix::Mix;

/// What measured over projected may be.
const LEAST: f64 = 0.90;
const MOST: f64 = 1.00;

/// Runs the mixes one after the other.
pub fn run(world: &World, options: &Options) -> Result<Report, Failure> {
    if let Some(number) = options.mix {
        child::run(world, &Mix::draw(options.seed, number))?;
        return Ok(Report::default());
    }
    // Whatever is missing is made here, before anything is measured.
    for kind in ProofKind::ALL {
        drop(world.load(kind)?);
    }
    let bar = bar(options.mixes, "{msg:40} {bar:32} {human_pos}/{human_len} {elapsed}");
    let mut ran = Vec::new();
    for number in 0..options.mixes {
        let mix = Mix::draw(options.seed, number);
        bar.set_message(mix.name());
        let outcome = child::start(world, options.seed, number)?;
        bar.suspend(|| eprintln!("mix {number}: {}", outcome.line(&mix)));
        ran.push((number, mix, outcome));
        bar.inc(1);
    }
    bar.finish_and_clear();
    judge(&ran, load::config(world, Bytes::ZERO, 1).memory_margin.0)
}

fn judge(ran: &[(u64, Mix, Outcome)], margin: u64) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut spread = |name: &str, of: fn(&Outcome) -> f64, least: Goal, most: Goal| {
        let mut sample: Vec<f64> = ran.iter().map(|(.., outcome)| of(outcome)).collect();
        let values = quantiles(&mut sample, [0.0, 0.5, 1.0]);
        for ((share, value), goal) in
            ["least", "median", "most"].into_iter().zip(values).zip([least, Goal::None, most])
        {
            report.value(&format!("{name}, {share}"), value, "", goal);
        }
    };
    spread("measured over projected", Outcome::ratio, Goal::AtLeast(LEAST), Goal::None);
    spread("of it in large buffers", Outcome::booked, Goal::AtLeast(LEAST), Goal::AtMost(MOST));
    let sum = |of: &dyn Fn(&Outcome) -> u64| ran.iter().map(|(.., o)| of(o)).sum::<u64>() as f64;
    let most =
        |of: &dyn Fn(&Outcome) -> u64| ran.iter().map(|(.., o)| of(o)).max().unwrap_or_default() as f64;
    report.value("beside large buffers, most", most(&|o| o.beside), "bytes", Goal::AtMost(margin as f64));
    report.value(
        "above memory.limit, most",
        most(&|o| o.whole.saturating_sub(o.limit)),
        "bytes",
        Goal::AtMost(0.0),
    );
    report.value("steps that held more than promised", sum(&|o| o.overruns), "", Goal::AtMost(0.0));
    report.value("mixes judged", ran.len() as f64, "", Goal::AtLeast(1.0));
    report.value("requests proved", sum(&|o| o.proved as u64), "", Goal::AtLeast(1.0));
    let off = |outcome: &Outcome| (outcome.ratio() - (LEAST + MOST) / 2.0).abs();
    let worst = ran.iter().max_by(|x, y| off(&x.2).total_cmp(&off(&y.2))).ok_or("no mixes were run")?;
    describe(&mut report, worst);
    Ok(report)
}

/// The mix whose ratio lies farthest from the middle of what it may be.
fn describe(report: &mut Report, (number, mix, outcome): &(u64, Mix, Outcome)) {
    report.note(format!(
        "worst mix: number {number}, {} synthesis workers: {}",
        mix.workers,
        outcome.line(mix)
    ));
    for (class, promised) in &outcome.promised {
        let counted = outcome.counted.get(class).copied().unwrap_or_default();
        report.note(format!("  {class}: {counted} bytes in buffers at the peak, {promised} promised"));
    }
    let Outcome { measured, projected, limit, .. } = outcome;
    report.note(format!(
        "  resident: {} bytes anonymous, {} of files; promised {projected}; memory.limit {limit}",
        measured.anonymous, measured.file
    ));
}
