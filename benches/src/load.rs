//! What the measurements that put an engine under load share: options, configuration, metrics by name.

use std::time::Duration;

use forebay::engine::{BackendChoice, Config};
use forebay::kind::ProofKind;
use forebay::units::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::world::World;

/// Options of these measurements alone.
#[derive(Clone, clap::Args)]
pub struct Options {
    /// admission: random mixes of requests.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub mixes: u64,
    /// admission, urgent, soak: seed of what is drawn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Run this mix here and print what came of it.
    #[arg(long, hide = true)]
    pub mix: Option<u64>,
    /// urgent, telemetry: requests, each submitted after the answer to the one before.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub proofs: usize,
    /// soak: how long the load lasts.
    #[arg(long, value_name = "M", default_value_t = 1.0)]
    pub minutes: f64,
}

/// An engine on this machine's processor and the real 2 KiB circuits of all kinds.
pub fn config(world: &World, limit: Bytes, workers: usize) -> Config {
    Config {
        memory_limit: Some(limit),
        threads: world.threads(),
        synthesis_workers: workers,
        backend: BackendChoice::Cpu,
        kernels: world.kernels,
        kinds: ProofKind::ALL.to_vec(),
        allow_development_parameters: true,
        min_idle: Duration::ZERO,
        parameter_directories: vec![world.parameter_folder()],
        cache_directory: world.cache_folder().to_owned(),
        ..Config::default()
    }
}

/// The sum of a metric's values over the lines that have each of these labels, such as `kind="porep_c2"`.
pub fn metric(exposition: &str, name: &str, labels: &[&str]) -> f64 {
    let ours = exposition.lines().filter(|line| {
        let rest = line.strip_prefix(name).unwrap_or("-");
        rest.starts_with([' ', '{']) && labels.iter().all(|label| rest.contains(label))
    });
    ours.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).fold(0.0, |sum, value| sum + value)
}

/// A bar on standard error; nothing is drawn where that is no terminal.
pub fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(4));
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// The values at these shares of the sorted sample; zeros where it is empty.
pub fn quantiles<const N: usize>(sample: &mut [f64], shares: [f64; N]) -> [f64; N] {
    sample.sort_unstable_by(f64::total_cmp);
    let last = sample.len().saturating_sub(1) as f64;
    shares.map(|share| sample.get((last * share).round() as usize).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_the_labels_that_are_left_open() {
        let text = "# HELP a_total All.\na_total{kind=\"x\",stage=\"s\"} 2\na_total{kind=\"y\",stage=\"s\"} 3\na_total_more 7\n";
        assert_eq!(metric(text, "a_total", &[]), 5.0);
        assert_eq!(metric(text, "a_total", &["kind=\"y\"", "stage=\"s\""]), 3.0);
        assert_eq!(metric(text, "a", &[]), 0.0);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        assert_eq!(quantiles(&mut [3.0, 1.0, 2.0], [0.0, 0.5, 1.0]), [1.0, 2.0, 3.0]);
        assert_eq!(quantiles(&mut [], [0.5]), [0.0]);
    }
}
