//! Pictures of every kind and size, for the tests and the gallery.

use forebay_pictures::*;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

fn band(label: &str, style: BandStyle) -> Band {
    Band { label: label.to_owned(), style }
}

fn line(label: &str, style: LineStyle) -> Line {
    Line { label: label.to_owned(), style }
}

fn stages(all: &[(&str, StageStyle)]) -> Vec<Stage> {
    all.iter().map(|(label, style)| Stage { label: (*label).to_owned(), style: *style }).collect()
}

/// Requests that pass a slot one after the other; their witnesses wait.
pub fn requests(count: usize, seconds_each: f64) -> Timeline {
    let span = seconds_each * (count as f64 + 0.2);
    let moment = |share: f64| share * seconds_each;
    let lane = |i: usize| {
        let synthesis = moment(0.1 * i as f64);
        let slot = moment(i as f64 + 0.1);
        let finish = slot + moment(0.85);
        let steps = vec![
            (0, 0.0, synthesis),
            (1, synthesis, synthesis + moment(0.1)),
            (2, synthesis + moment(0.1), slot),
            (3, slot, finish),
            (4, finish, slot + moment(1.0)),
        ];
        Lane { label: format!("request {}", i + 1), steps }
    };
    let samples = (0..2000).map(|i| {
        let at = span * f64::from(i) / 2000.0;
        let waiting = ((10.0 * at / seconds_each).min(count as f64) - at / seconds_each).max(0.0) as u64;
        let working = if (at / seconds_each).fract() > 0.1 { 300 * MIB } else { 0 };
        let bytes = vec![1064 * MIB, MIB, working, waiting * 2 * MIB];
        let held = bytes.iter().sum();
        Sample { at, bytes, lines: vec![1400 * MIB, held] }
    });
    Timeline {
        title: format!("{count} porep-2k requests at once, memory.limit 1.5 GiB, 2 threads"),
        span,
        since: "since the requests came".to_owned(),
        limit: Some(Level { label: "memory.limit less memory.margin".to_owned(), bytes: 1536 * MIB }),
        bands: vec![
            band("SRS (mapped file)", BandStyle::Srs),
            band("matrices", BandStyle::Matrices),
            band("working set of the prover slot", BandStyle::WorkingSet),
            band("compact witnesses", BandStyle::Witness),
        ],
        lines: vec![
            line("promised by the ledger", LineStyle::Promised),
            line("resident (whole process, as the kernel counts)", LineStyle::Resident),
        ],
        samples: samples.collect(),
        steps: true,
        magnified: vec![1, 3],
        stages: stages(&[
            ("waits, decoded", StageStyle::WaitsDecoded),
            ("synthesis", StageStyle::Synthesis),
            ("waits, witness ready", StageStyle::WaitsWitness),
            ("slot: evaluate, transforms, h", StageStyle::Slot),
            ("finish: l, a, b, verify", StageStyle::Finish),
        ]),
        noun: "requests".to_owned(),
        lanes: (0..count).map(lane).collect(),
    }
}

/// Partitions of 16 GiB that pile up before one GPU, far over the limit.
pub fn piled_up(count: usize) -> Timeline {
    let (synthesis, proving) = (40.0, 110.0);
    let start = |i: usize| 60.0 * (i / 6) as f64 + 5.0 * (i % 6) as f64;
    let mut free = 0.0;
    let mut lanes = Vec::new();
    for i in 0..count {
        let ready = start(i) + synthesis;
        let begin = f64::max(ready, free);
        free = begin + proving;
        let steps = vec![(0, start(i), ready), (1, ready, begin), (2, begin, free)];
        lanes.push(Lane { label: format!("sector {} partition {}", i / 10 + 1, i % 10), steps });
    }
    let mut moments: Vec<f64> = lanes.iter().flat_map(|lane| lane.steps.iter().map(|step| step.1)).collect();
    moments.push(free);
    moments.sort_by(f64::total_cmp);
    let at = |now: f64, stage: usize| {
        let steps = lanes.iter().flat_map(|lane| &lane.steps);
        steps.filter(|(s, from, to)| *s == stage && *from <= now && now < *to).count() as u64
    };
    let samples = moments.iter().map(|now| {
        let bytes = vec![33 * GIB, at(*now, 2) * 24 * GIB, at(*now, 1) * 16 * GIB, at(*now, 0) * 10 * GIB];
        Sample { at: *now, bytes, lines: Vec::new() }
    });
    Timeline {
        title: format!("{count} partitions of 32 GiB PoRep, prior art, one GPU"),
        span: free,
        since: "since the first sector came".to_owned(),
        limit: Some(Level { label: "memory of the machine, 84 GiB".to_owned(), bytes: 84 * GIB }),
        bands: vec![
            band("SRS", BandStyle::Srs),
            band("the GPU's partition", BandStyle::WorkingSet),
            band("evaluation vectors that wait", BandStyle::Evaluations),
            band("synthesis under way", BandStyle::Other),
        ],
        samples: samples.collect(),
        steps: true,
        stages: stages(&[
            ("synthesis", StageStyle::Synthesis),
            ("waits, evaluated", StageStyle::WaitsEvaluated),
            ("slot", StageStyle::Slot),
        ]),
        noun: "partitions".to_owned(),
        lanes,
        ..Timeline::default()
    }
}

/// Labels that do not fit anywhere.
pub fn wordy() -> Timeline {
    let mut timeline = requests(5, 4000.0);
    let long = "a label that goes on and on, with <angle> & \"quoted\" parts, ";
    timeline.title = long.repeat(9);
    for (i, band) in timeline.bands.iter_mut().enumerate() {
        band.label = long.repeat(i);
    }
    for (i, lane) in timeline.lanes.iter_mut().enumerate() {
        lane.label = format!("{i} {long}");
    }
    timeline.since = long.repeat(5);
    timeline
}

fn series(label: &str, style: usize, value: impl Fn(f64) -> f64) -> Series {
    let points = (0..15).map(|i| 96.0 + 48.0 * f64::from(i));
    let points = points.map(|gib| (gib * GIB as f64, value(gib))).collect();
    Series { label: label.to_owned(), style, points }
}

/// What more memory brings.
pub fn sweep() -> Sweep {
    let gib = GIB as f64;
    Sweep {
        title: "32 GiB PoRep, 1 GPU, 96 threads: what more memory brings".to_owned(),
        x: Axis { label: "memory of the machine".to_owned(), unit: Unit::Bytes },
        panels: vec![
            Panel {
                y: Axis { label: "time a proof".to_owned(), unit: Unit::Seconds },
                series: vec![
                    series("forebay", 0, |ram| 440.0 + 20_000.0 / ram),
                    series("prior art, 3 partitions at once", 1, |ram| {
                        if ram < 200.0 {
                            f64::NAN
                        } else {
                            700.0 - ram / 10.0
                        }
                    }),
                    series("prior art, all partitions at once", 2, |ram| {
                        if ram < 500.0 {
                            f64::NAN
                        } else {
                            520.0
                        }
                    }),
                ],
                diagonal: None,
            },
            Panel {
                y: Axis { label: "peak memory".to_owned(), unit: Unit::Bytes },
                series: vec![
                    series("forebay", 0, |ram| (ram * 0.9).min(300.0) * gib),
                    series("prior art, 3 partitions at once", 1, |_| 203.0 * gib),
                    series("prior art, all partitions at once", 2, |_| 640.0 * gib),
                ],
                diagonal: Some("all of the machine's memory".to_owned()),
            },
        ],
    }
}

/// Every sample picture and its name.
pub fn all() -> Vec<(String, String)> {
    let mut pictures: Vec<(String, String)> = [0, 1, 12, 200, 3000]
        .map(|count| (format!("requests-{count}"), requests(count, 14.0).svg()))
        .into_iter()
        .collect();
    let no_sweep = Sweep { panels: Vec::new(), ..sweep() };
    let mut crowd = sweep();
    for panel in &mut crowd.panels {
        let more = (3..16).map(|i| series(&format!("policy number {i}"), i, |ram| ram * i as f64 * 1e9));
        panel.series.extend(more);
    }
    let others = [
        ("piled-up", piled_up(40).svg()),
        ("piled-up-300", piled_up(300).svg()),
        ("wordy", wordy().svg()),
        ("empty", Timeline::default().svg()),
        ("sweep", sweep().svg()),
        ("sweep-crowd", crowd.svg()),
        ("sweep-empty", no_sweep.svg()),
    ];
    pictures.extend(others.map(|(name, svg)| (name.to_owned(), svg)));
    pictures
}
