//! Counters of one engine: two engines in one process share nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::metric::Metric;

/// Label names and values, in the order they are written.
pub(super) type Labels = Vec<(&'static str, String)>;

/// Growing sums by metric and labels.
#[derive(Debug, Default)]
pub struct Tally {
    sums: Mutex<BTreeMap<(&'static Metric, Labels), f64>>,
}

impl Tally {
    /// Adds to one sum.
    pub fn add(&self, metric: &'static Metric, labels: &[(&'static str, &str)], amount: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        *self.lock().entry((metric, labels)).or_insert(0.0) += amount;
    }

    /// The sum over all labels that pass.
    pub fn sum(&self, metric: &'static Metric, pass: impl Fn(&str, &str) -> bool) -> f64 {
        self.lock()
            .iter()
            .filter(|((m, labels), _)| *m == metric && labels.iter().all(|(name, value)| pass(name, value)))
            .map(|(_, sum)| sum)
            .sum()
    }

    /// Every sum of one metric.
    pub(super) fn samples(&self, metric: &'static Metric) -> Vec<(Labels, f64)> {
        self.lock().iter().filter(|((m, _), _)| *m == metric).map(|((_, l), v)| (l.clone(), *v)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(&'static Metric, Labels), f64>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
