//! Quantities over one that is varied: diagrams below each other over the same horizontal axis.

use crate::canvas::{Anchor, Canvas};
use crate::plot::{
    heading, is_drawable, legend, marker, next_row, series_class, texts_width, vertical_ticks, Key, Plot,
    GAP, MARGIN, RIGHT, WIDTH,
};
use crate::scale::{told, Ticks, Unit};
use crate::text::Size;
use crate::timeline::thinned;

/// Diagrams of what follows from one varied quantity.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The heading; wrapped where it is long.
    pub title: String,
    /// What is varied.
    pub x: Axis,
    /// The diagrams, from the top.
    pub panels: Vec<Panel>,
}

/// A quantity and how its values are written.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it is.
    pub label: String,
    /// What it counts.
    pub unit: Unit,
}

/// One diagram.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is drawn; the axis starts at 0.
    pub y: Axis,
    /// Its lines.
    pub series: Vec<Series>,
    /// The label of the line where y = x, if there is one: a limit that grows with what is varied.
    pub diagonal: Option<String>,
}

/// A line with markers.
#[derive(Clone, Debug)]
pub struct Series {
    /// What it is; a series of the same label and style in another panel shares its entry in the legend.
    pub label: String,
    /// Colour and marker, by number; any number will do.
    pub style: usize,
    /// x and y, at least 0. A y that is not such a number leaves a gap: there is no answer for this x.
    pub points: Vec<(f64, f64)>,
}

/// Series with more points get no markers.
const MOST_MARKERS: usize = 60;

impl Sweep {
    /// Draws the picture.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(WIDTH);
        let x = self.range();
        let height = if self.panels.len() > 2 { 180.0 } else { 240.0 };
        let ticks: Vec<Ticks> =
            self.panels.iter().map(|panel| vertical_ticks(panel.y.unit, panel.most(x), height)).collect();
        let left = MARGIN + GAP + ticks.iter().map(texts_width).fold(24.0, f64::max);
        let mut y = heading(&mut canvas, &self.title);
        let entries = self.entries();
        if !entries.is_empty() {
            y = legend(&mut canvas, next_row(y), &entries);
        }
        let marks = Ticks::new(self.x.unit, x, 9.0);
        for (panel, ticks) in self.panels.iter().zip(&ticks) {
            y += 36.0;
            let label = (panel.y.label.as_str(), WIDTH - 2.0 * MARGIN);
            canvas.text_within(Size::Body, (MARGIN, y), Anchor::Start, label);
            let top = y + 16.0;
            let plot = Plot { left, top, bottom: top + height, x, most: panel.most(x) };
            plot.vertical_axis(&mut canvas, ticks);
            plot.frame(&mut canvas);
            panel.draw(&mut canvas, &plot);
            y = plot.horizontal_marks(&mut canvas, &marks, true);
            y = plot.horizontal_name(&mut canvas, y, &self.x.label);
        }
        canvas.finish(y + 22.0, &self.title, &self.description())
    }

    /// What the horizontal axis spans: all points and a little more.
    fn range(&self) -> (f64, f64) {
        let all = self.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for x in all.map(|point| point.0).filter(|x| is_drawable(*x)) {
            (low, high) = (low.min(x), high.max(x));
        }
        if low > high || high < 1e-9 {
            return (0.0, 1.0);
        }
        let space = ((high - low) * 0.02).max(high * 1e-6);
        if high - low < high * 1e-6 {
            (low * 0.9, high * 1.1)
        } else {
            ((low - space).max(0.0), high + space)
        }
    }

    /// The legend of all panels.
    fn entries(&self) -> Vec<(Key, &str)> {
        let mut entries = Vec::new();
        for panel in &self.panels {
            let series = panel.series.iter().map(|series| (Key::Series(series.style), series.label.as_str()));
            let diagonal = panel.diagonal.iter().map(|label| (Key::Line("limit"), label.as_str()));
            for entry in series.chain(diagonal) {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
        }
        entries
    }

    fn description(&self) -> String {
        let mut text = format!("Over {}:", self.x.label);
        for panel in &self.panels {
            text += &format!(" {}:", panel.y.label);
            for series in &panel.series {
                let values = || series.points.iter().map(|point| point.1).filter(|y| is_drawable(*y));
                let (low, high) = (values().reduce(f64::min), values().reduce(f64::max));
                let range = match (low, high) {
                    (Some(low), Some(high)) => {
                        format!("{} to {}", told(panel.y.unit, low), told(panel.y.unit, high))
                    }
                    _ => "no values".to_owned(),
                };
                text += &format!(" {}: {range};", series.label);
            }
        }
        text.trim_end_matches([';', ':']).to_owned() + "."
    }
}

impl Panel {
    /// Where the vertical axis ends.
    fn most(&self, x: (f64, f64)) -> f64 {
        let values = self.series.iter().flat_map(|series| &series.points).map(|point| point.1);
        let most = values.filter(|y| is_drawable(*y)).fold(0.0, f64::max);
        let most = if self.diagonal.is_some() { most.max(x.1) } else { most };
        if most < 1e-9 {
            1.0
        } else {
            most * 1.08
        }
    }

    fn draw(&self, canvas: &mut Canvas, plot: &Plot) {
        if self.diagonal.is_some() {
            let (from, to) = plot.x;
            canvas.line_with_halo("limit", (plot.left, plot.y(from)), (RIGHT, plot.y(to)));
        }
        for series in &self.series {
            series.draw(canvas, plot);
        }
        let points = || self.series.iter().flat_map(|series| &series.points);
        if !points().any(|(x, y)| is_drawable(*x) && is_drawable(*y)) {
            plot.nothing(canvas);
        }
    }
}

impl Series {
    fn draw(&self, canvas: &mut Canvas, plot: &Plot) {
        let mut points = self.points.clone();
        points.retain(|(x, _)| is_drawable(*x));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for run in points.split(|(_, y)| !is_drawable(*y)) {
            let all: Vec<(f64, f64)> = run.iter().map(|(x, y)| (plot.x(*x), *y)).collect();
            let line: Vec<(f64, f64)> =
                thinned(&all, false).into_iter().map(|(x, i)| (x, plot.y(all[i].1))).collect();
            if line.len() > 1 {
                canvas.polyline(&series_class(self.style), &line);
            }
            if points.len() <= MOST_MARKERS || line.len() == 1 {
                line.iter().for_each(|point| marker(canvas, self.style, *point));
            }
        }
    }
}
