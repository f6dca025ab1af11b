//! Metrics: every name, unit, help and label in one file, what each engine counts, and their text.
//!
//! Engines share nothing here: each has an exporter of its own, and none is installed for the whole process, whose
//! recorder is the host's.

mod exporter;
pub mod metric;
mod reference;

pub use exporter::{Counter, Exporter};
pub use metric::{Kind, Metric, Unit};
pub use reference::reference;
