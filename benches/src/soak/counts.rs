//! What was done, and what the engines say of it.

use std::sync::atomic::{AtomicU64, Ordering};

use super::ground::Ground;
use crate::load::metric;
use crate::report::{Goal, Report};

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Submitted,
    Busy,
    Proved,
    Failed,
    Cancelled,
    CancelAsked,
    GaveUp,
    SameAgain,
    BadRefused,
    LimitMoved,
    Preloaded,
    Evicted,
    Fault,
    /// Things that must not be.
    Wrong,
}

const NAMES: [(What, &str); 14] = [
    (What::Submitted, "requests accepted"),
    (What::Busy, "requests refused for now"),
    (What::Proved, "answered with a proof"),
    (What::Failed, "answered with an error"),
    (What::Cancelled, "answered as cancelled"),
    (What::CancelAsked, "cancels"),
    (What::GaveUp, "waits given up"),
    (What::SameAgain, "requests sent twice"),
    (What::BadRefused, "bad messages refused"),
    (What::LimitMoved, "changes of the limit"),
    (What::Preloaded, "preloads"),
    (What::Evicted, "evictions"),
    (What::Fault, "faults put in"),
    (What::Wrong, "answers that must not be"),
];

/// How often it happened.
#[derive(Default)]
pub struct Counts([AtomicU64; NAMES.len()]);

impl Counts {
    pub fn add(&self, what: What) {
        self.0[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Says what must not be, and counts it.
    pub fn wrong(&self, text: &str) {
        eprintln!("soak: {text}");
        self.add(What::Wrong);
    }

    fn get(&self, what: What) -> u64 {
        self.0[what as usize].load(Ordering::Relaxed)
    }

    /// For the progress bar.
    pub fn line(&self) -> String {
        let [submitted, proved, cancelled] =
            [What::Submitted, What::Proved, What::Cancelled].map(|w| self.get(w));
        format!("{submitted} requests, {proved} proved, {cancelled} cancelled")
    }

    pub fn rows(&self, report: &mut Report) {
        for (what, name) in NAMES {
            let goal = match what {
                What::Wrong => Goal::AtMost(0.0),
                What::Submitted | What::Proved | What::Cancelled | What::BadRefused => Goal::AtLeast(1.0),
                _ => Goal::None,
            };
            report.value(name, self.get(what) as f64, "", goal);
        }
        let answered = self.get(What::Proved) + self.get(What::Failed) + self.get(What::Cancelled);
        let missing = self.get(What::Submitted) as f64 - answered as f64;
        report.value("accepted and not answered", missing.abs(), "", Goal::AtMost(0.0));
    }
}

/// One engine's own account.
pub struct Tally {
    accepted: f64,
    answered: f64,
    completions: f64,
    panics: f64,
    faults: f64,
    overruns: f64,
    above_limit: f64,
    reserved: f64,
}

impl Tally {
    pub fn of(ground: &Ground) -> Tally {
        let status = ground.engine.status();
        let metrics = ground.engine.metrics();
        let totals = status.totals;
        Tally {
            accepted: totals.accepted as f64,
            answered: (totals.completed + totals.failed + totals.cancelled) as f64,
            completions: ground.completions() as f64,
            panics: totals.panics as f64,
            faults: metric(&metrics, "forebay_scheduler_faults_total", &[]),
            overruns: status.memory.overruns as f64,
            above_limit: status.memory.peak.saturating_sub(ground.limit.0) as f64,
            reserved: status.memory.reserved as f64,
        }
    }

    pub fn rows(&self, report: &mut Report, engine: &str) {
        let mut row = |what: &str, value: f64, unit, goal| {
            report.value(&format!("{engine}: {what}"), value, unit, goal);
        };
        row("accepted", self.accepted, "", Goal::AtLeast(1.0));
        row("accepted less answered", self.accepted - self.answered, "", Goal::AtMost(0.0));
        row(
            "accepted less completions heard",
            (self.accepted - self.completions).abs(),
            "",
            Goal::AtMost(0.0),
        );
        row("panics caught", self.panics, "", Goal::None);
        row("faults of the scheduler", self.faults, "", Goal::AtMost(0.0));
        row("steps above their projection", self.overruns, "", Goal::None);
        row("most promised above the limit", self.above_limit, "bytes", Goal::None);
        row("booked at the end", self.reserved, "bytes", Goal::AtMost(0.0));
    }
}
