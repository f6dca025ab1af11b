//! The picture of a recording: all large buffers against the limit, the small ones magnified, and each request's
//! stages.

use forebay::kind::CircuitId;
use forebay::memory::Class;
use forebay::units::Bytes;
use forebay_pictures::{Band, BandStyle, Lane, Level, Line, LineStyle, Sample, Stage, StageStyle, Timeline};

use super::recording::{Recording, Step};

/// Stacked from the bottom: what is shared, the slot's buffers, then what waits. Decoded requests are on the
/// heap, not in large buffers.
const STACK: [(Class, &str, BandStyle); 4] = [
    (Class::Srs, "SRS (mapped file)", BandStyle::Srs),
    (Class::Matrices, "matrices", BandStyle::Matrices),
    (Class::WorkingSet, "working set of the prover slot", BandStyle::WorkingSet),
    (Class::Witness, "compact witnesses", BandStyle::Witness),
];
/// Of the stack, what is too small to be seen beside the rest.
const SMALL: [usize; 2] = [1, 3];

fn stage(step: Step) -> Stage {
    let (label, style) = match step {
        Step::Queued => ("waits, decoded", StageStyle::WaitsDecoded),
        Step::Synthesis => ("synthesis", StageStyle::Synthesis),
        Step::Ready => ("waits, witness ready", StageStyle::WaitsWitness),
        Step::Start => ("slot: evaluate, transforms, h", StageStyle::Slot),
        Step::Finish => ("finish: l, a, b, verify", StageStyle::Finish),
    };
    Stage { label: label.to_owned(), style }
}

fn line(label: &str, style: LineStyle) -> Line {
    Line { label: label.to_owned(), style }
}

/// The picture as SVG.
pub fn picture(recording: &Recording, circuit: CircuitId, threads: usize) -> String {
    let count = recording.lanes.len();
    let limit = Bytes(recording.limit);
    let samples = recording.samples.iter().map(|sample| Sample {
        at: sample.at,
        bytes: STACK.map(|(class, ..)| sample.classes[class as usize]).to_vec(),
        lines: vec![sample.promised, sample.resident],
    });
    let lanes = recording.lanes.iter().enumerate().map(|(i, lane)| Lane {
        label: format!("request {}", i + 1),
        steps: lane.steps.iter().map(|(step, from, to)| (*step as usize, *from, *to)).collect(),
    });
    let bands = STACK.map(|(_, label, style)| Band { label: label.to_owned(), style });
    let timeline = Timeline {
        title: format!("{count} {circuit} requests at once, memory.limit {limit}, {threads} threads"),
        span: recording.span(),
        since: "since the requests came".to_owned(),
        limit: Some(Level { label: "memory.limit less memory.margin".to_owned(), bytes: recording.limit }),
        bands: bands.to_vec(),
        lines: vec![
            line("promised by the ledger", LineStyle::Promised),
            line("resident (whole process, as the kernel counts)", LineStyle::Resident),
        ],
        samples: samples.collect(),
        steps: false,
        magnified: SMALL.to_vec(),
        stages: Step::ALL.map(stage).to_vec(),
        noun: "requests".to_owned(),
        lanes: lanes.collect(),
    };
    timeline.svg()
}
