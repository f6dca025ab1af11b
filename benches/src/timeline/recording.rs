//! Samples of a running engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use forebay::engine::{Engine, JobReport};
use forebay::memory::Class;

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(20);

/// What was held at one moment, in bytes.
pub struct Sample {
    /// Seconds since the start.
    pub at: f64,
    /// Mapped large buffers, in the order of [`Class::ALL`].
    pub classes: [u64; Class::ALL.len()],
    /// Promised by the ledger.
    pub promised: u64,
    /// Resident in the process, by the kernel's count.
    pub resident: u64,
}

impl Sample {
    /// All large buffers together.
    pub fn mapped(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// A stage of one job's life.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Queued,
    Synthesis,
    Ready,
    Start,
    Finish,
}

impl Step {
    pub const ALL: [Step; 5] = [Step::Queued, Step::Synthesis, Step::Ready, Step::Start, Step::Finish];
}

/// One job, with the moments at which its stages ended; known to a sampling period.
pub struct Lane {
    job: String,
    /// Stage, from, to; seconds since the start.
    pub steps: Vec<(Step, f64, f64)>,
    begun: f64,
    done: bool,
}

impl Lane {
    fn last_end(&self) -> f64 {
        self.steps.last().map_or(self.begun, |(_, _, to)| *to)
    }

    fn has(&self, step: Step) -> bool {
        self.steps.iter().any(|(known, ..)| *known == step)
    }

    /// A stage that took `millis` has just ended; before it the job was in `before`.
    fn ended(&mut self, step: Step, before: Option<Step>, millis: u64, now: f64) {
        if millis == 0 || self.has(step) {
            return;
        }
        let last = self.last_end();
        let from = (now - millis as f64 / 1000.0).clamp(last, now);
        if let Some(before) = before {
            self.steps.push((before, last, from));
        }
        self.steps.push((step, if before.is_some() { from } else { last }, now));
    }

    fn look(&mut self, report: &JobReport, now: f64) {
        self.ended(Step::Synthesis, Some(Step::Queued), report.synthesis_ms, now);
        self.ended(Step::Start, Some(Step::Ready), report.start_ms, now);
        self.ended(Step::Finish, None, report.finish_ms, now);
        self.done = !matches!(report.state, "queued" | "running");
    }
}

/// A whole run.
pub struct Recording {
    started: Instant,
    /// The engine's budget.
    pub limit: u64,
    /// One a period.
    pub samples: Vec<Sample>,
    /// One a job, in order of arrival.
    pub lanes: Vec<Lane>,
}

impl Recording {
    pub fn start(engine: &Arc<Engine>) -> Recording {
        let limit = engine.status().memory.limit;
        Recording { started: Instant::now(), limit, samples: Vec::new(), lanes: Vec::new() }
    }

    /// Adds a job to the lanes.
    pub fn follow(&mut self, job: String) {
        let begun = self.started.elapsed().as_secs_f64();
        self.lanes.push(Lane { job, steps: Vec::new(), begun, done: false });
    }

    /// Samples until every job has its answer, and a little longer.
    pub fn run(&mut self, engine: &Engine) {
        let mut after = 10;
        while after > 0 {
            self.sample(engine);
            if self.lanes.iter().all(|lane| lane.done) {
                after -= 1;
            }
            std::thread::sleep(PERIOD);
        }
    }

    fn sample(&mut self, engine: &Engine) {
        let status = engine.status();
        let now = self.started.elapsed().as_secs_f64();
        let of = |class: Class| {
            let cells = status.cells.iter().filter(|cell| cell.class == class.name());
            cells.map(|cell| cell.mapped).sum()
        };
        self.samples.push(Sample {
            at: now,
            classes: Class::ALL.map(of),
            promised: status.memory.reserved,
            resident: status.process.resident,
        });
        for lane in self.lanes.iter_mut().filter(|lane| !lane.done) {
            if let Some(report) = engine.report(&lane.job) {
                lane.look(&report, now);
            }
        }
    }

    pub fn jobs(&self) -> impl Iterator<Item = &str> {
        self.lanes.iter().map(|lane| lane.job.as_str())
    }

    /// Seconds from the start to the end of the last job.
    pub fn seconds(&self) -> f64 {
        self.lanes.iter().map(Lane::last_end).fold(0.0, f64::max)
    }

    /// Seconds that the samples span.
    pub fn span(&self) -> f64 {
        self.samples.last().map_or(1.0, |sample| sample.at)
    }
}
