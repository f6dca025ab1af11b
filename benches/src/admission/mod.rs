//! Whether what is promised is what is needed: random mixes of requests through the engine under random limits,
//! each in a process of its own, the highest resident memory against the most that the ledger promised.

mod child;
mod mix;
mod sampler;

use forebay::kind::ProofKind;

use crate::load::{bar, quantiles, Options};
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
        bar.suspend(|| {
            let (ratio, seconds) = (outcome.ratio(), outcome.seconds);
            let (measured, projected) = (outcome.measured, outcome.projected);
            eprintln!(
                "mix {number}: {ratio:.4}: {measured} of {projected} promised, {seconds:.1} s: {}",
                mix.name()
            );
        });
        ran.push((number, mix, outcome));
        bar.inc(1);
    }
    bar.finish_and_clear();
    judge(&ran)
}

fn judge(ran: &[(u64, Mix, Outcome)]) -> Result<Report, Failure> {
    let mut report = Report::default();
    let mut ratios: Vec<f64> = ran.iter().map(|(.., outcome)| outcome.ratio()).collect();
    let [least, median, most] = quantiles(&mut ratios, [0.0, 0.5, 1.0]);
    let count = |pass: &dyn Fn(&Outcome) -> bool| ran.iter().filter(|(.., o)| pass(o)).count() as f64;
    report.value("mixes judged", ran.len() as f64, "", Goal::AtLeast(1.0));
    report.value("measured over projected, least", least, "", Goal::AtLeast(LEAST));
    report.value("measured over projected, median", median, "", Goal::None);
    report.value("measured over projected, most", most, "", Goal::AtMost(MOST));
    let over = count(&|o| o.whole > o.limit);
    report.value("mixes above memory.limit", over, "", Goal::AtMost(0.0));
    report.value(
        "steps that held more than promised",
        ran.iter().map(|(.., o)| o.overruns as f64).sum(),
        "",
        Goal::AtMost(0.0),
    );
    report.value("requests proved", ran.iter().map(|(.., o)| o.proved as f64).sum(), "", Goal::None);
    let off = |outcome: &Outcome| (outcome.ratio() - (LEAST + MOST) / 2.0).abs();
    let worst = ran.iter().max_by(|x, y| off(&x.2).total_cmp(&off(&y.2))).ok_or("no mixes were run")?;
    describe(&mut report, worst);
    Ok(report)
}

/// The mix whose ratio lies farthest from the middle of what it may be.
fn describe(report: &mut Report, (number, mix, outcome): &(u64, Mix, Outcome)) {
    let Outcome { measured, projected, limit, .. } = outcome;
    report.note(format!(
        "worst mix: number {number}: {}; {} synthesis workers; {measured} bytes measured, {projected} promised, limit {limit}",
        mix.name(),
        mix.workers
    ));
    for (class, promised) in &outcome.promised {
        let counted = outcome.counted.get(class).copied().unwrap_or_default();
        report.note(format!("  {class}: {counted} bytes in buffers, {promised} promised"));
    }
    let counted: u64 = outcome.counted.values().sum();
    report.note(format!("  resident beside the buffers: {} bytes", *measured as i64 - counted as i64));
}
