//! What all pictures are made of: the title, legends, and diagrams with axes.

use crate::canvas::{Anchor, Canvas, Place};
use crate::scale::{Ticks, Unit};
use crate::style::SERIES_COLOURS;
use crate::text::{width, wrapped, Size};

/// The width of every picture.
pub const WIDTH: f64 = 960.0;
/// Free space beside the texts.
pub const MARGIN: f64 = 24.0;
/// Where every diagram ends; half a tick's text has room beyond.
pub const RIGHT: f64 = 920.0;
/// Between a text at an axis and the axis.
pub const GAP: f64 = 8.0;

const TITLE_LINES: usize = 4;
const TITLE_LINE: f64 = 22.0;
const LEGEND_ROW: f64 = 24.0;
/// Values this large are not drawn: sums of them must stay finite.
const TOO_LARGE: f64 = 1e30;

/// A quantity that can be drawn.
pub fn is_drawable(value: f64) -> bool {
    (0.0..TOO_LARGE).contains(&value)
}

/// Writes the title; returns its last baseline.
pub fn heading(canvas: &mut Canvas, title: &str) -> f64 {
    let mut y = 32.0 - TITLE_LINE;
    for line in wrapped(title, Size::Title, WIDTH - 2.0 * MARGIN, TITLE_LINES) {
        y += TITLE_LINE;
        canvas.text(Size::Title, (MARGIN, y), Anchor::Start, &line);
    }
    y
}

/// What stands before a legend's text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Nothing: the text is a heading.
    Heading,
    /// A filled square of this class.
    Square(&'static str),
    /// A stretch of a line of this class.
    Line(&'static str),
    /// The line and the marker of a series.
    Series(usize),
}

impl Key {
    fn width(self) -> f64 {
        match self {
            Key::Heading => 0.0,
            Key::Square(_) => 20.0,
            Key::Line(_) | Key::Series(_) => 34.0,
        }
    }

    fn draw(self, canvas: &mut Canvas, (x, y): Place) {
        let line = [(x, y - 4.5), (x + 27.0, y - 4.5)];
        match self {
            Key::Heading => {}
            Key::Square(class) => canvas.rect(class, (x, y - 11.0), 14.0, 14.0),
            Key::Line(class) => canvas.line(class, line[0], line[1]),
            Key::Series(series) => {
                canvas.polyline(&series_class(series), &line);
                marker(canvas, series, (x + 13.5, y - 4.5));
            }
        }
    }
}

/// The class of a series' line.
pub fn series_class(series: usize) -> String {
    let again = if (series / SERIES_COLOURS) % 2 == 1 { " again" } else { "" };
    format!("q{}{again}", series % SERIES_COLOURS)
}

/// One point of a series; the shapes tell series apart without colours.
pub fn marker(canvas: &mut Canvas, series: usize, (x, y): Place) {
    let r = 4.0;
    let corners: &[Place] = match series % 4 {
        0 => &[(-r, -r), (r, -r), (r, r), (-r, r)],
        1 => &[(0.0, -1.4 * r), (1.4 * r, 0.0), (0.0, 1.4 * r), (-1.4 * r, 0.0)],
        2 => &[(0.0, -1.3 * r), (1.3 * r, r), (-1.3 * r, r)],
        _ => &[(0.0, 1.3 * r), (1.3 * r, -r), (-1.3 * r, -r)],
    };
    let corners: Vec<Place> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    canvas.polygon(&format!("m{}", series % SERIES_COLOURS), &corners);
}

/// Writes the entries in as many rows as they need, from this baseline on; returns the last baseline.
pub fn legend(canvas: &mut Canvas, y: f64, entries: &[(Key, &str)]) -> f64 {
    let (mut x, mut y) = (MARGIN, y);
    for (key, label) in entries {
        let needed = key.width() + width(label, Size::Body);
        if x > MARGIN && x + needed > WIDTH - MARGIN {
            x = MARGIN;
            y += LEGEND_ROW;
        }
        key.draw(canvas, (x, y));
        let room = WIDTH - MARGIN - x - key.width();
        canvas.text_within(Size::Body, (x + key.width(), y), Anchor::Start, (label, room));
        x += needed + 22.0;
    }
    y
}

/// The next legend's baseline below the last one.
pub fn next_row(y: f64) -> f64 {
    y + LEGEND_ROW
}

/// One diagram's place and its scales.
pub struct Plot {
    pub left: f64,
    pub top: f64,
    pub bottom: f64,
    /// The horizontal axis' range.
    pub x: (f64, f64),
    /// The vertical axis' end; it starts at 0.
    pub most: f64,
}

impl Plot {
    pub fn x(&self, value: f64) -> f64 {
        self.left + (RIGHT - self.left) * (value - self.x.0) / (self.x.1 - self.x.0)
    }

    pub fn y(&self, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * value / self.most
    }

    /// The vertical axis with its grid.
    pub fn vertical_axis(&self, canvas: &mut Canvas, ticks: &Ticks) {
        for (value, text) in &ticks.marks {
            let y = self.y(*value);
            canvas.line("grid", (self.left, y), (RIGHT, y));
            canvas.text(Size::Small, (self.left - GAP, y + 4.0), Anchor::End, &ticks.label(text));
        }
    }

    /// Says that there is nothing to see.
    pub fn nothing(&self, canvas: &mut Canvas) {
        let middle = ((self.left + RIGHT) / 2.0, (self.top + self.bottom) / 2.0);
        canvas.text(Size::Small, middle, Anchor::Middle, "nothing to draw");
    }

    /// The lines of both axes, above what is drawn.
    pub fn frame(&self, canvas: &mut Canvas) {
        canvas.line("axis", (self.left, self.bottom), (RIGHT, self.bottom));
        canvas.line("axis", (self.left, self.top), (self.left, self.bottom));
    }

    /// Marks below the horizontal axis; returns their baseline.
    pub fn horizontal_marks(&self, canvas: &mut Canvas, ticks: &Ticks, with_unit: bool) -> f64 {
        for (value, text) in &ticks.marks {
            let x = self.x(*value);
            canvas.line("axis", (x, self.bottom), (x, self.bottom + 5.0));
            let text = if with_unit { ticks.label(text) } else { text.clone() };
            canvas.text(Size::Small, (x, self.bottom + 20.0), Anchor::Middle, &text);
        }
        self.bottom + 20.0
    }

    /// Names the horizontal axis; returns the baseline.
    pub fn horizontal_name(&self, canvas: &mut Canvas, baseline: f64, name: &str) -> f64 {
        let middle = (self.left + RIGHT) / 2.0;
        let room = 2.0 * (WIDTH - MARGIN - middle);
        canvas.text_within(Size::Small, (middle, baseline + 20.0), Anchor::Middle, (name, room));
        baseline + 20.0
    }
}

/// Marks of a vertical axis that is so many pixels high.
pub fn vertical_ticks(unit: Unit, most: f64, height: f64) -> Ticks {
    Ticks::new(unit, (0.0, most), height / 45.0)
}

/// Room that an axis' texts need at its left.
pub fn texts_width(ticks: &Ticks) -> f64 {
    ticks.marks.iter().map(|(_, text)| width(&ticks.label(text), Size::Small)).fold(0.0, f64::max)
}
