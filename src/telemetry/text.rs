//! The Prometheus text format, version 0.0.4.

use std::fmt::Write;

use super::metric::{Kind, Metric, ALL};
use super::tally::{Labels, Tally};

/// Gathers gauges, then writes every metric once.
#[derive(Debug, Default)]
pub struct Exposition {
    gauges: Vec<(&'static Metric, Labels, f64)>,
}

impl Exposition {
    /// A gauge's value now.
    pub fn gauge(&mut self, metric: &'static Metric, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.gauges.push((metric, labels, value));
    }

    /// The text of these gauges and an engine's counters.
    pub fn text(&self, tally: &Tally) -> String {
        let mut out = String::new();
        for metric in ALL {
            let mut samples: Vec<_> = tally.samples(metric);
            samples.extend(self.gauges.iter().filter(|(m, ..)| m == metric).map(|(_, l, v)| (l.clone(), *v)));
            if samples.is_empty() && metric.kind() == Kind::Gauge {
                continue;
            }
            let (name, help) = (metric.name, metric.help);
            let _ = writeln!(
                out,
                "# HELP {name} {}\n# TYPE {name} {}",
                escape(help, false),
                metric.kind().name()
            );
            for (labels, value) in samples {
                let _ = writeln!(out, "{name}{} {value}", written(&labels));
            }
        }
        out
    }
}

fn written(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<_> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value, true))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn escape(text: &str, quotes: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quotes {
        text.replace('"', "\\\"")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::metric;
    use super::*;

    #[test]
    fn labels_are_escaped_and_families_written_once() {
        let tally = Tally::default();
        tally.add(metric::PROOFS, &[("kind", "porep_c2"), ("device", "a \"b\"\\\n")], 1.0);
        tally.add(metric::PROOFS, &[("kind", "porep_c2"), ("device", "a \"b\"\\\n")], 2.0);
        tally.add(metric::PROOFS, &[("kind", "snap_update"), ("device", "cpu")], 1.0);
        let mut exposition = Exposition::default();
        exposition.gauge(metric::BUDGET_BYTES, &[], 1e15);
        let text = exposition.text(&tally);
        assert!(
            text.contains("forebay_proofs_total{kind=\"porep_c2\",device=\"a \\\"b\\\"\\\\\\n\"} 3\n"),
            "{text}"
        );
        assert!(text.contains("forebay_memory_budget_bytes 1000000000000000\n"), "{text}");
        assert_eq!(text.matches("# TYPE forebay_proofs_total counter").count(), 1);
        assert_eq!(tally.sum(metric::PROOFS, |name, value| name != "kind" || value == "porep_c2"), 3.0);
    }

    #[test]
    fn two_tallies_share_nothing() {
        let (a, b) = (Tally::default(), Tally::default());
        a.add(metric::PANICS, &[], 1.0);
        assert_eq!(b.sum(metric::PANICS, |_, _| true), 0.0);
    }
}
