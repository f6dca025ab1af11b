//! The metrics for people: `docs/metrics.md`.

use std::fmt::Write;

use super::metric::{Kind, ALL, BUCKETS};

const INTRODUCTION: &str = "\
# Metrics

Written from the catalogue in `src/telemetry/metric.rs` (`FOREBAY_WRITE_METRICS=1 cargo test --release --test metrics`); a
test holds both equal. `forebay_metrics` of the C ABI, `Metrics` and `Gatherer` of the Go package and `/metrics` of
`forebay serve` all give the same text, in the format of Prometheus, version 0.0.4.

Everything is of one engine, except the buffers and the resident bytes: these are of the whole process.
";

const VALUES: &str = "
## What labels hold

| label | values |
| --- | --- |
| `proof_kind` | `porep_c2`, `snap_update`, `window_post`, `winning_post` |
| `circuit` | kind and sector size, such as `porep-32g` |
| `class` of memory | `intake`, `witness`, `working_set`, `srs`, `matrices` |
| `class` of footprints | `witness`, `shared` (key and matrices), `working_set` |
| `class` of claims | `witness`, `turn` (a slot's), `finish` |
| `stage` of memory | `waiting`, `synthesis`, `queued`, `proving`, `finishing`, `shared` |
| `stage` of partitions | `waiting`, `synthesis`, `queued`, `proving`, `proved`, `finishing`, `freeing` |
| `stage` of times | `synthesis`, `start`, `finish`, `verify`, `diagnose` |
| `device`, `slot` | `cpu`, or the device's name; a slot for urgent work alone says whom it serves |
| `result` | `completed`, `failed`, `cancelled`; of loads `loaded`, `failed` |
| `reason` of waits | `turn`, `worker`, `ahead`, `memory`, `door`, `pressure`, `circuit`, `slot`; `none`: admitted at once |
| `reason` of refusals | the names of the error codes |

## How events and gauges agree

A partition goes through stages, and each step is one event. The events are counted where the scheduler's decisions are
carried out, the claims by the scheduler itself; a scrape reads both at one moment. So for each proof kind, at every scrape:

| stage | comes in by | goes out by |
| --- | --- | --- |
| `synthesis` | `synthesis_started` | `synthesis_done`, `synthesis_failed` |
| `queued` | `synthesis_done`, `not_verified` | `proving_started`, `withdrawn` |
| `proving` | `proving_started` | `evaluation_freed`, `proving_failed` |
| `proved` | `evaluation_freed` | `finish_started`, `proof_withdrawn` |
| `finishing` | `finish_started` | `finish_done`, `finish_failed`, `not_verified` |
| `freeing` | `synthesis_failed`, `withdrawn`, `proving_failed`, `proof_withdrawn`, `finish_done`, `finish_failed` | `dealloc_done` |

- `forebay_partitions` of a stage is what came in less what went out;
- `synthesis_started` less `dealloc_done` is `forebay_claims{class=\"witness\"}`: a partition's memory is booked as long as
  it exists;
- `forebay_memory_buffers` is `forebay_memory_buffers_entered_total` less `forebay_memory_buffers_left_total`.
";

/// The text of `docs/metrics.md`.
pub fn reference() -> String {
    let mut out = String::from(INTRODUCTION);
    let _ = writeln!(out, "\n| name | kind | unit | labels | what |\n| --- | --- | --- | --- | --- |");
    for metric in ALL {
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, unit) = (metric.name, metric.kind.name(), metric.unit.name());
        let _ = writeln!(out, "| `{name}` | {kind} | {unit} | {} | {} |", labels.join(", "), metric.help);
    }
    let bounds: Vec<_> = BUCKETS.iter().map(f64::to_string).collect();
    let histograms = ALL.iter().filter(|metric| metric.kind == Kind::Histogram).count();
    let _ = writeln!(
        out,
        "\nThe {histograms} histograms have the buckets of the miner's own tasks, and smaller ones: {} s.",
        bounds.join(", ")
    );
    out.push_str(VALUES);
    out
}
