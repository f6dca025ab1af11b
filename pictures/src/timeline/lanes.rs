//! The swimlanes: all while there is room for them, else evenly chosen ones and how many are missing.

use super::thin::Merged;
use super::{Lane, Timeline};
use crate::canvas::{Anchor, Canvas};
use crate::plot::{legend, Key, Plot, GAP, RIGHT};
use crate::text::{width, Size};

/// A lane's height with its space, where there is room.
const TALLEST: f64 = 24.0;
const THINNEST: f64 = 3.0;
/// Thinner lanes have no space between them: it would only pale their colours.
const SPACED: f64 = 8.0;
/// Room for all lanes together, until they are as thin as they may be.
const ROOM: f64 = 480.0;
/// Most lanes that are drawn.
const MOST: usize = 320;
/// The least distance between two labels.
const LABEL: f64 = 15.0;
/// Labels wider than this are shortened.
const WIDEST_LABEL: f64 = 200.0;

/// Which lanes are drawn, and how.
struct Layout<'a> {
    drawn: Vec<&'a Lane>,
    /// One of so many lanes is drawn.
    one_of: usize,
    /// How high each is, with its space.
    pitch: f64,
    /// One of so many drawn lanes is labelled.
    label_one_of: usize,
}

impl<'a> Layout<'a> {
    fn new(lanes: &'a [Lane]) -> Layout<'a> {
        let mut one_of = lanes.len().div_ceil(MOST).max(1);
        // Partitions come in tens: a multiple of 2 or 5 would show the same few of every sector.
        while one_of > 1 && (one_of.is_multiple_of(2) || one_of.is_multiple_of(5)) {
            one_of += 1;
        }
        let drawn: Vec<&Lane> = lanes.iter().step_by(one_of).collect();
        let pitch = (ROOM / drawn.len().max(1) as f64).floor().clamp(THINNEST, TALLEST);
        let label_one_of = [1, 2, 5].into_iter().find(|n| *n as f64 * pitch >= LABEL).unwrap_or(10);
        Layout { drawn, one_of, pitch, label_one_of }
    }

    fn bar(&self) -> f64 {
        if self.pitch < SPACED {
            self.pitch
        } else {
            self.pitch * 0.75
        }
    }
}

/// Room that the labels need at the left.
pub fn labels_width(timeline: &Timeline) -> f64 {
    let layout = Layout::new(&timeline.lanes);
    let labels = layout.drawn.iter().step_by(layout.label_one_of);
    labels.map(|lane| width(&lane.label, Size::Small).min(WIDEST_LABEL)).fold(0.0, f64::max)
}

/// Draws the legend and the lanes, from the baseline `y` on; returns where they end.
pub fn lanes(canvas: &mut Canvas, timeline: &Timeline, plot: &Plot, y: f64) -> f64 {
    let entries: Vec<(Key, &str)> = timeline
        .stages
        .iter()
        .map(|stage| (Key::Square(stage.style.class()), stage.label.as_str()))
        .collect();
    let top = legend(canvas, y, &entries) + 18.0;
    let layout = Layout::new(&timeline.lanes);
    let mut wide = vec![Vec::new(); timeline.stages.len()];
    let mut narrow = wide.clone();
    for (i, lane) in layout.drawn.iter().enumerate() {
        let y = top + layout.pitch * i as f64;
        if i % layout.label_one_of == 0 {
            let place = (plot.left - GAP, y + layout.bar() / 2.0 + 4.5);
            canvas.text_within(Size::Small, place, Anchor::End, (&lane.label, WIDEST_LABEL));
        }
        let merged = Merged::new(&in_pixels(timeline, plot, &lane.steps), timeline.stages.len());
        for (rects, steps) in [(&mut wide, &merged.wide), (&mut narrow, &merged.narrow)] {
            for (stage, from, to) in steps {
                rects[*stage].push((*from, y, to - from));
            }
        }
    }
    for rects in [wide, narrow] {
        for (stage, rects) in timeline.stages.iter().zip(rects) {
            canvas.rects(stage.style.class(), &rects, layout.bar());
        }
    }
    let bottom = top + layout.pitch * layout.drawn.len() as f64 + 3.0;
    if layout.one_of == 1 {
        return bottom;
    }
    let (all, drawn) = (timeline.lanes.len(), layout.drawn.len());
    let missing = format!(
        "One of every {} is drawn: {drawn} of {all} {}; {} more are not drawn.",
        layout.one_of,
        timeline.noun,
        all - drawn
    );
    canvas.text_within(Size::Body, (plot.left, bottom + 16.0), Anchor::Start, (&missing, RIGHT - plot.left));
    bottom + 28.0
}

/// The steps that can be drawn, in order.
fn in_pixels(timeline: &Timeline, plot: &Plot, steps: &[(usize, f64, f64)]) -> Vec<(usize, f64, f64)> {
    let (start, end) = plot.x;
    let drawable = steps.iter().filter(|(stage, from, to)| {
        *stage < timeline.stages.len() && from.is_finite() && to.is_finite() && from < to
    });
    let within = drawable.filter(|(_, from, to)| *from < end && *to > start);
    let mut steps: Vec<_> =
        within.map(|(stage, from, to)| (*stage, plot.x(from.max(start)), plot.x(to.min(end)))).collect();
    steps.sort_by(|a, b| a.1.total_cmp(&b.1));
    steps
}
