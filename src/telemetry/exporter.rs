//! One engine's metrics: the `metrics` facade in front, Prometheus' text behind it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use metrics::{Gauge, Histogram, Key, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use super::metric::{Kind, Metric, Unit, ALL, BUCKETS};
use crate::error::{Error, Result};

/// A counter that its engine can read too. Adding takes no lock.
#[derive(Debug)]
pub struct Counter {
    value: AtomicU64,
    exported: metrics::Counter,
}

impl Counter {
    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Adds so many.
    pub fn add(&self, count: u64) {
        self.value.fetch_add(count, Ordering::Relaxed);
        self.exported.increment(count);
    }

    /// The sum so far.
    pub fn value(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// Registers what an engine measures and writes it as text. What is registered is used without a lock.
pub struct Exporter {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// One text at a time: its values are set together.
    writing: Mutex<()>,
}

static METADATA: Metadata<'static> = Metadata::new("forebay", Level::INFO, None);

fn key(metric: &'static Metric, labels: &[(&'static str, &str)]) -> Key {
    debug_assert!(
        metric.labels.iter().eq(labels.iter().map(|(name, _)| name)),
        "{}: {labels:?} are not its labels",
        metric.name
    );
    let labels: Vec<_> = labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

fn unit(unit: Unit) -> metrics::Unit {
    match unit {
        Unit::Count | Unit::Flag | Unit::Ratio => metrics::Unit::Count,
        Unit::Bytes => metrics::Unit::Bytes,
        Unit::Seconds => metrics::Unit::Seconds,
    }
}

impl Exporter {
    /// An exporter that knows every metric and has no value yet.
    pub fn new() -> Result<Exporter> {
        let refused = |e| Error::internal(format!("the metrics exporter: {e}"));
        let mut builder = PrometheusBuilder::new();
        for metric in ALL.iter().filter(|metric| metric.kind == Kind::Histogram) {
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), &BUCKETS)
                .map_err(refused)?;
        }
        let recorder = builder.build_recorder();
        for metric in ALL {
            let (name, help) = (metric.name.into(), SharedString::const_str(metric.help));
            let unit = Some(unit(metric.unit));
            match metric.kind {
                Kind::Counter => recorder.describe_counter(name, unit, help),
                Kind::Gauge => recorder.describe_gauge(name, unit, help),
                Kind::Histogram => recorder.describe_histogram(name, unit, help),
            }
        }
        let handle = recorder.handle();
        Ok(Exporter { recorder, handle, writing: Mutex::new(()) })
    }

    /// A counter; it is in the text from now on.
    pub fn counter(&self, metric: &'static Metric, labels: &[(&'static str, &str)]) -> Counter {
        let exported = self.recorder.register_counter(&key(metric, labels), &METADATA);
        Counter { value: AtomicU64::new(0), exported }
    }

    /// A counter whose sum is kept elsewhere.
    pub fn total(&self, metric: &'static Metric, labels: &[(&'static str, &str)], sum: u64) {
        self.recorder.register_counter(&key(metric, labels), &METADATA).absolute(sum);
    }

    /// A gauge's value now.
    pub fn gauge(&self, metric: &'static Metric, labels: &[(&'static str, &str)], value: f64) {
        self.kept_gauge(metric, labels).set(value);
    }

    /// A gauge, to be set again and again.
    pub fn kept_gauge(&self, metric: &'static Metric, labels: &[(&'static str, &str)]) -> Gauge {
        self.recorder.register_gauge(&key(metric, labels), &METADATA)
    }

    /// A histogram; it is in the text from now on.
    pub fn histogram(&self, metric: &'static Metric, labels: &[(&'static str, &str)]) -> Histogram {
        self.recorder.register_histogram(&key(metric, labels), &METADATA)
    }

    /// Sorts what histograms were given into their buckets: without it, values pile up between two texts.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// Has the values set, then writes the text format of Prometheus, version 0.0.4, in the catalogue's order.
    pub fn text(&self, set: impl FnOnce(&Exporter)) -> String {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        set(self);
        ordered(&self.handle.render())
    }
}

impl Drop for Exporter {
    /// A histogram that is dropped loses the memory of what was not sorted in yet.
    fn drop(&mut self) {
        self.upkeep();
    }
}

/// The families in the catalogue's order, samples of counters and gauges in that of their labels.
fn ordered(text: &str) -> String {
    let ranks: HashMap<_, _> = ALL.iter().enumerate().map(|(rank, metric)| (metric.name, rank)).collect();
    let mut families: Vec<_> = text
        .split("\n\n")
        .map(|family| {
            let mut lines: Vec<_> = family.lines().filter(|line| !line.is_empty()).collect();
            let name = lines.first().and_then(|line| line.split(' ').nth(2)).unwrap_or_default();
            let rank = ranks.get(name).copied().unwrap_or(usize::MAX);
            let head = lines.iter().take_while(|line| line.starts_with('#')).count();
            if ALL.get(rank).is_some_and(|metric| metric.kind != Kind::Histogram) {
                lines[head..].sort_unstable();
            }
            (rank, lines)
        })
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    families.sort_by_key(|(rank, _)| *rank);
    let mut out = String::with_capacity(text.len());
    for line in families.iter().flat_map(|(_, lines)| lines) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::*;

    #[test]
    fn text_has_each_family_once_with_help_type_and_escaped_labels() {
        let exporter = Exporter::new().unwrap();
        let labels = [("proof_kind", "porep_c2"), ("device", "a \"b\"\\c")];
        let proofs = exporter.counter(&metric::PROOFS, &labels);
        exporter.counter(&metric::PROOFS, &[("proof_kind", "porep_c2"), ("device", "cpu")]).one();
        proofs.add(3);
        let text = exporter.text(|exporter| exporter.gauge(&metric::BUDGET, &[], 1e15));
        let expected = "# HELP forebay_memory_budget_bytes The budget: bytes that may be promised now.\n\
                        # TYPE forebay_memory_budget_bytes gauge\n\
                        forebay_memory_budget_bytes 1000000000000000\n\
                        # HELP forebay_proofs_total Partitions proved and verified.\n\
                        # TYPE forebay_proofs_total counter\n\
                        forebay_proofs_total{proof_kind=\"porep_c2\",device=\"a \\\"b\\\"\\\\c\"} 3\n\
                        forebay_proofs_total{proof_kind=\"porep_c2\",device=\"cpu\"} 1\n";
        assert_eq!(text, expected);
        assert_eq!(proofs.value(), 3);
    }

    #[test]
    fn histograms_are_true_ones_and_keep_what_upkeep_sorted_in() {
        let exporter = Exporter::new().unwrap();
        let histogram = exporter.histogram(&metric::PAUSE_SECONDS, &[]);
        histogram.record(0.02);
        histogram.record(36000.0);
        exporter.upkeep();
        histogram.record(40000.0);
        let text = exporter.text(|_| {});
        for line in [
            "# TYPE forebay_pause_seconds histogram",
            "forebay_pause_seconds_bucket{le=\"0.005\"} 0",
            "forebay_pause_seconds_bucket{le=\"0.025\"} 1",
            "forebay_pause_seconds_bucket{le=\"36000\"} 2",
            "forebay_pause_seconds_bucket{le=\"+Inf\"} 3",
            "forebay_pause_seconds_count 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn two_exporters_share_nothing() {
        let (a, b) = (Exporter::new().unwrap(), Exporter::new().unwrap());
        a.counter(&metric::PANICS, &[]).one();
        assert_eq!(b.counter(&metric::PANICS, &[]).value(), 0);
        assert!(b.text(|_| {}).contains("forebay_panics_total 0\n"));
    }
}
