//! Metrics: every name, unit and help in one file, counters that each engine owns, and their text.

pub mod metric;
mod tally;
mod text;

pub use metric::{Kind, Metric};
pub use tally::Tally;
pub use text::Exposition;
