//! Draws memory timelines and parameter sweeps as SVG: one text, no scripts, no fonts, readable on light and on
//! dark backgrounds.

mod canvas;
mod plot;
mod scale;
mod style;
mod sweep;
mod text;
mod timeline;

pub use scale::Unit;
pub use style::{BandStyle, LineStyle, StageStyle};
pub use sweep::{Axis, Panel, Series, Sweep};
pub use timeline::{Band, Lane, Level, Line, Sample, Stage, Timeline};

// The samples are written as the gallery, an example, needs them.
#[cfg(test)]
extern crate self as forebay_pictures;
#[cfg(test)]
mod tests;
