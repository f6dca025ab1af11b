//! Events, gauges and claims agree at every scrape.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::world::{config, fake, World};
use crate::engine::Config;
use crate::kind::ProofKind;
use crate::prove::fake::Fault;
use crate::telemetry::{metric, Kind};

/// What each stage of partitions gains and loses by; as in docs/metrics.md.
const FLOWS: [(&str, &[&str], &[&str]); 6] = [
    ("synthesis", &["synthesis_started"], &["synthesis_done", "synthesis_failed"]),
    ("queued", &["synthesis_done", "not_verified"], &["proving_started", "withdrawn"]),
    ("proving", &["proving_started"], &["evaluation_freed", "proving_failed"]),
    ("proved", &["evaluation_freed"], &["finish_started", "proof_withdrawn"]),
    ("finishing", &["finish_started"], &["finish_done", "finish_failed", "not_verified"]),
    (
        "freeing",
        &[
            "synthesis_failed",
            "withdrawn",
            "proving_failed",
            "proof_withdrawn",
            "finish_done",
            "finish_failed",
        ],
        &["dealloc_done"],
    ),
];

/// Samples by what comes before the value.
fn samples(text: &str) -> HashMap<&str, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, value)| (name, value.parse().unwrap()))
        .collect()
}

/// Checks a scrape.
pub fn events_agree(text: &str) {
    let samples = samples(text);
    let value = |name: &str| *samples.get(name).unwrap_or_else(|| panic!("no {name} in {text}"));
    for kind in ProofKind::ALL {
        let labelled = |metric: &str, label: &str, of: &str| {
            value(&format!("{metric}{{proof_kind=\"{}\",{label}=\"{of}\"}}", kind.name()))
        };
        let event = |name: &&str| labelled("forebay_partition_events_total", "event", name);
        for (stage, comes, goes) in FLOWS {
            let stay = comes.iter().map(event).sum::<f64>() - goes.iter().map(event).sum::<f64>();
            assert_eq!(labelled("forebay_partitions", "stage", stage), stay, "{kind} {stage}: {text}");
        }
        let open = event(&"synthesis_started") - event(&"dealloc_done");
        assert_eq!(labelled("forebay_claims", "class", "witness"), open, "{kind}: {text}");
    }
    for (name, buffers) in samples.iter().filter(|(name, _)| name.starts_with("forebay_memory_buffers{")) {
        let labels = name.trim_start_matches("forebay_memory_buffers");
        let entered = value(&format!("forebay_memory_buffers_entered_total{labels}"));
        let left = value(&format!("forebay_memory_buffers_left_total{labels}"));
        assert_eq!(*buffers, entered - left, "{labels}");
    }
}

#[test]
fn at_every_scrape_amid_faults_and_cancels() {
    let device = Arc::new(fake("gpu-0"));
    let world = World::with(Config { synthesis_workers: 3, ..config() }, std::slice::from_ref(&device));
    let (ended, scrapes) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    events_agree(&world.engine.metrics());
                    scrapes.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut random = StdRng::seed_from_u64(6);
        for round in 0..40 {
            device.on_start([Fault::Fail, Fault::Panic].into_iter().take(random.gen_range(0..3)));
            device.on_finish([Fault::Fail, Fault::Wrong].into_iter().take(random.gen_range(0..3)));
            let jobs: Vec<_> = ProofKind::ALL
                .into_iter()
                .map(|kind| world.start(&format!("{round}-{kind}"), kind, random.gen_range(1..6)))
                .collect();
            for job in &jobs {
                if random.gen_bool(0.3) {
                    world.engine.cancel(job).unwrap();
                }
            }
            for job in &jobs {
                world.engine.wait(job, None).unwrap();
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(scrapes.into_inner() > 100);
    world.nothing_is_booked();
    let text = world.engine.metrics();
    for event in ["synthesis_started", "finish_done", "proving_failed", "finish_failed", "dealloc_done"] {
        let count: f64 = samples(&text)
            .iter()
            .filter(|(name, _)| name.contains(&format!("event=\"{event}\"")))
            .map(|(_, value)| value)
            .sum();
        assert!(count > 0.0, "{event} never happened: {text}");
    }
}

#[test]
fn a_scrape_has_what_the_catalogue_says_and_nothing_else() {
    let world = World::with(config(), &[Arc::new(fake("gpu-0"))]);
    let job = world.start("a", ProofKind::PorepC2, 3);
    world.proved(&job, 3);
    let text = world.engine.metrics();
    let mut seen = std::collections::HashSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let family = metric::ALL.iter().find(|metric| {
            let part = name.strip_prefix(metric.name);
            part == Some("")
                || metric.kind == Kind::Histogram && matches!(part, Some("_bucket" | "_sum" | "_count"))
        });
        let family = family.unwrap_or_else(|| panic!("{name} is not in the catalogue"));
        let inside = rest.trim_start_matches('{').split('}').next().unwrap();
        let labels = inside.split("\",").filter_map(|pair| Some(pair.split_once('=')?.0));
        let labels: Vec<_> = labels.filter(|label| *label != "le").collect();
        assert_eq!(labels, family.labels, "{line}");
        seen.insert(family.name);
    }
    // The world has no journal and no timeouts.
    let absent =
        ["forebay_journal_proofs", "forebay_deadline_left_seconds", "forebay_deadline_slack_seconds"];
    let missing: Vec<_> =
        metric::ALL.iter().map(|metric| metric.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.iter().all(|name| absent.contains(name)), "{missing:?}");
}
