//! Rows of the pipelines, and the comparison with forebay.

use super::outcome::Outcome;
use super::policy::Policy;
use crate::report::{Goal, Report};

/// forebay's memory above the key, of that of the best pipeline.
const MEMORY: f64 = 0.15;
/// forebay's proofs a minute, of those of the best pipeline.
const THROUGHPUT: f64 = 0.95;

/// What one pipeline held and did.
pub fn rows(report: &mut Report, policy: Policy, outcome: &Outcome, partitions: usize) {
    let mut row = |what: &str, value: f64, unit, goal| {
        report.value(&format!("{policy}, {what}"), value, unit, goal);
    };
    row("peak above the key", outcome.peak as f64, "bytes", Goal::None);
    row("most partitions waiting", outcome.waiting as f64, "", Goal::None);
    row("proofs a minute", outcome.rate(), "", Goal::None);
    row("proofs verified", outcome.verified as f64, "", Goal::AtLeast(partitions as f64));
    if let Some(budget) = outcome.budget {
        row("budget found", budget as f64, "bytes", Goal::None);
    }
    if let Some(promised) = outcome.promised {
        row("most promised, the key included", promised as f64, "bytes", Goal::None);
    }
    report.note(format!("{policy}: {}", policy.meaning()));
}

/// forebay against the pipeline with the best throughput, and against the one with the least memory. Goals hold
/// for a queue that fills the most bounded pipeline: `full`.
pub fn compare(report: &mut Report, outcomes: &[(Policy, Outcome)], full: bool) {
    let judged = |goal| if full { goal } else { Goal::Unjudged("queue not full") };
    let others = || outcomes.iter().filter(|(policy, _)| !policy.is_forebay());
    let ours = outcomes.iter().find(|(policy, _)| policy.is_forebay());
    let fastest = others().max_by(|x, y| x.1.rate().total_cmp(&y.1.rate()));
    let least = others().min_by_key(|(_, outcome)| outcome.peak);
    let (Some((_, ours)), Some(fastest), Some(least)) = (ours, fastest, least) else { return };
    let mut memory = |(policy, other): &(Policy, Outcome), which: &str, goal| {
        let peer = format!("{policy}, {which}");
        report.smaller("d, peak above the key", ours.peak as f64, (&peer, other.peak as f64), goal);
    };
    memory(fastest, "best throughput", judged(Goal::RatioAtMost(MEMORY)));
    memory(least, "least memory", Goal::None);
    let peer = format!("{}, best", fastest.0);
    let goal = judged(Goal::RatioAtLeast(THROUGHPUT));
    report.more("d, proofs a minute", ours.rate(), "", (&peer, fastest.1.rate()), goal);
}
