//! The picture: all large buffers against the limit, the small ones magnified, and each request's stages.

use forebay::kind::CircuitId;
use forebay::memory::Class;
use forebay::units::Bytes;

use super::canvas::{Anchor, Canvas};
use super::recording::{Recording, Sample, Step};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 928.0;
const LANE: f64 = 24.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Stacked from the bottom: what is shared, the slot's buffers, then what waits. Decoded requests are on the
/// heap, not in large buffers.
const STACK: [Class; 4] = [Class::Srs, Class::Matrices, Class::WorkingSet, Class::Witness];
/// Too small to be seen beside the others.
const SMALL: [Class; 2] = [Class::Matrices, Class::Witness];

/// One diagram's place and its scale in bytes.
struct Panel {
    top: f64,
    bottom: f64,
    most: f64,
    span: f64,
}

impl Panel {
    fn x(&self, seconds: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * seconds / self.span
    }

    fn y(&self, bytes: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * bytes / self.most
    }

    fn axes(&self, canvas: &mut Canvas) {
        let step = round_step(self.most / MIB / 4.0) * MIB;
        let mut bytes = 0.0;
        while bytes <= self.most {
            let y = self.y(bytes);
            canvas.line("grid", (LEFT, y), (RIGHT, y));
            let label = format!("{:.0} MiB", bytes / MIB);
            canvas.text("small", (LEFT - 8.0, y + 4.0), Anchor::End, &label);
            bytes += step;
        }
        canvas.line("axis", (LEFT, self.bottom), (RIGHT, self.bottom));
        canvas.line("axis", (LEFT, self.top), (LEFT, self.bottom));
    }

    fn line(&self, samples: &[&Sample], bytes: impl Fn(&Sample) -> u64) -> Vec<(f64, f64)> {
        samples.iter().map(|s| (self.x(s.at), self.y(bytes(s) as f64))).collect()
    }

    fn stack(&self, canvas: &mut Canvas, samples: &[&Sample], classes: &[Class]) {
        let mut below: Vec<u64> = vec![0; samples.len()];
        for class in classes {
            let points = |sums: &[u64]| -> Vec<_> {
                samples.iter().zip(sums).map(|(s, sum)| (self.x(s.at), self.y(*sum as f64))).collect()
            };
            let lower = points(&below);
            for (sum, sample) in below.iter_mut().zip(samples) {
                *sum += sample.classes[*class as usize];
            }
            canvas.band(&class_style(*class), &lower, &points(&below));
        }
    }
}

/// 1, 2 or 5 times a power of ten (of two from 128 on), not below `at_least`.
fn round_step(at_least: f64) -> f64 {
    if at_least > 64.0 {
        return at_least.log2().ceil().exp2();
    }
    let ten = 10f64.powf(at_least.max(0.01).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * ten).find(|step| *step >= at_least).unwrap_or(ten * 10.0)
}

fn class_style(class: Class) -> String {
    format!("c{}", class as usize)
}

fn class_label(class: Class) -> &'static str {
    match class {
        Class::Intake => "decoded requests",
        Class::Witness => "compact witnesses",
        Class::WorkingSet => "working set of the prover slot",
        Class::Srs => "SRS (mapped file)",
        Class::Matrices => "matrices",
    }
}

fn step_label(step: Step) -> &'static str {
    match step {
        Step::Queued => "waits, decoded",
        Step::Synthesis => "synthesis",
        Step::Ready => "waits, witness ready",
        Step::Start => "slot: evaluate, transforms, h",
        Step::Finish => "finish: l, a, b, verify",
    }
}

/// The whole picture.
pub fn picture(recording: &Recording, circuit: CircuitId, threads: usize) -> String {
    let lanes = recording.lanes.len() as f64 * LANE;
    let height = 722.0 + lanes;
    let mut canvas = Canvas::new(WIDTH, height);
    let count = recording.lanes.len();
    let title = format!(
        "{count} {circuit} requests at once, memory.limit {}, {threads} threads",
        Bytes(recording.limit)
    );
    canvas.text("title", (24.0, 32.0), Anchor::Start, &title);
    let samples = thinned(&recording.samples);
    everything(&mut canvas, recording, &samples);
    let bottom = magnified(&mut canvas, recording, &samples);
    swimlanes(&mut canvas, recording, bottom + 34.0);
    canvas.finish(&title)
}

/// At most one sample a pixel: of each pixel's samples the one that held most.
fn thinned(samples: &[Sample]) -> Vec<&Sample> {
    let group = samples.len().div_ceil((RIGHT - LEFT) as usize).max(1);
    samples.chunks(group).filter_map(|chunk| chunk.iter().max_by_key(|s| s.mapped())).collect()
}

fn everything(canvas: &mut Canvas, recording: &Recording, samples: &[&Sample]) {
    let resident = samples.iter().map(|s| s.resident).max().unwrap_or(0);
    let most = resident.max(recording.limit) as f64 * 1.08;
    let panel = Panel { top: 108.0, bottom: 408.0, most, span: recording.span() };
    legend(canvas, 56.0, &STACK);
    let mut x = 24.0;
    for (class, label) in [
        ("limit", "memory.limit less memory.margin"),
        ("promised", "promised by the ledger"),
        ("resident", "resident (whole process, as the kernel counts)"),
    ] {
        canvas.line(class, (x, 80.0), (x + 26.0, 80.0));
        canvas.text("", (x + 32.0, 84.0), Anchor::Start, label);
        x += 58.0 + 7.2 * label.len() as f64;
    }
    panel.axes(canvas);
    panel.stack(canvas, samples, &STACK);
    canvas.polyline("promised", &panel.line(samples, |s| s.promised));
    canvas.polyline("resident", &panel.line(samples, |s| s.resident));
    let limit = panel.y(recording.limit as f64);
    canvas.line("limit", (LEFT, limit), (RIGHT, limit));
}

/// Returns where it ends.
fn magnified(canvas: &mut Canvas, recording: &Recording, samples: &[&Sample]) -> f64 {
    let sum = |s: &&Sample| SMALL.iter().map(|class| s.classes[*class as usize]).sum::<u64>();
    let most = samples.iter().map(sum).max().unwrap_or(1).max(1) as f64 * 1.1;
    let panel = Panel { top: 470.0, bottom: 610.0, most, span: recording.span() };
    canvas.text("", (24.0, 446.0), Anchor::Start, "The small ones, magnified:");
    legend_from(canvas, 214.0, 446.0, &SMALL);
    panel.axes(canvas);
    panel.stack(canvas, samples, &SMALL);
    panel.bottom
}

fn swimlanes(canvas: &mut Canvas, recording: &Recording, top: f64) {
    let panel = Panel { top, bottom: top, most: 1.0, span: recording.span() };
    let mut x = 24.0;
    for step in Step::ALL {
        let label = step_label(step);
        canvas.rect(&format!("s{}", step as usize), (x, top - 11.0), 14.0, 14.0);
        canvas.text("", (x + 20.0, top), Anchor::Start, label);
        x += 40.0 + 7.2 * label.len() as f64;
    }
    let lanes = top + 20.0;
    for (i, lane) in recording.lanes.iter().enumerate() {
        let y = lanes + LANE * i as f64;
        canvas.text("small", (LEFT - 8.0, y + 14.0), Anchor::End, &format!("request {}", i + 1));
        for (step, from, to) in &lane.steps {
            let (from, to) = (panel.x(*from), panel.x(*to));
            canvas.rect(&format!("s{}", *step as usize), (from, y), (to - from).max(1.5), LANE - 6.0);
        }
    }
    let bottom = lanes + LANE * recording.lanes.len() as f64 + 2.0;
    canvas.line("axis", (LEFT, bottom), (RIGHT, bottom));
    let step = round_step(recording.span() / 10.0);
    let mut seconds = 0.0;
    while seconds <= recording.span() {
        let x = panel.x(seconds);
        canvas.line("axis", (x, bottom), (x, bottom + 5.0));
        canvas.text("small", (x, bottom + 20.0), Anchor::Middle, &format!("{seconds:.0}"));
        seconds += step;
    }
    let label = "seconds since the requests came";
    canvas.text("small", ((LEFT + RIGHT) / 2.0, bottom + 40.0), Anchor::Middle, label);
}

fn legend(canvas: &mut Canvas, y: f64, classes: &[Class]) {
    legend_from(canvas, 24.0, y, classes);
}

fn legend_from(canvas: &mut Canvas, x: f64, y: f64, classes: &[Class]) {
    let mut x = x;
    for class in classes {
        let label = class_label(*class);
        canvas.rect(&class_style(*class), (x, y - 11.0), 14.0, 14.0);
        canvas.text("", (x + 20.0, y), Anchor::Start, label);
        x += 40.0 + 7.4 * label.len() as f64;
    }
}
