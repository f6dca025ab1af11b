//! Memory over time: bands stacked from the bottom, lines above them, the limit, and what each job did meanwhile.

mod lanes;
mod stack;
mod thin;

use crate::canvas::Canvas;
use crate::plot::{
    heading, legend, next_row, texts_width, vertical_ticks, Key, Plot, GAP, MARGIN, RIGHT, WIDTH,
};
use crate::scale::{told, Ticks, Unit};
use crate::style::{BandStyle, LineStyle, StageStyle};
use stack::Stack;
pub(crate) use thin::thinned;

/// A memory timeline.
///
/// Nothing in it can make the drawing fail: what is not a number, lies outside the span or names a band or stage
/// that is not there is left out.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The heading; wrapped where it is long.
    pub title: String,
    /// Seconds that the picture spans.
    pub span: f64,
    /// What time is counted from, written after its unit: "since the requests came".
    pub since: String,
    /// The limit's line, if there is a limit.
    pub limit: Option<Level>,
    /// What is stacked, bottom first.
    pub bands: Vec<Band>,
    /// Lines above the bands.
    pub lines: Vec<Line>,
    /// What was held when.
    pub samples: Vec<Sample>,
    /// Whether a sample holds until the next one. Else samples are joined by straight lines.
    pub steps: bool,
    /// Bands, by index, that are drawn once more in a scale of their own, bottom first. Empty: no second diagram.
    pub magnified: Vec<usize>,
    /// The legend of the lanes.
    pub stages: Vec<Stage>,
    /// What the lanes are, in the plural: "requests".
    pub noun: String,
    /// What each job did when; where they are too many for the picture, it says how many it does not show.
    pub lanes: Vec<Lane>,
}

/// A level of memory.
#[derive(Clone, Debug)]
pub struct Level {
    /// What it is.
    pub label: String,
    /// Where it is.
    pub bytes: u64,
}

/// A band of memory.
#[derive(Clone, Debug)]
pub struct Band {
    /// What it is.
    pub label: String,
    /// What it looks like.
    pub style: BandStyle,
}

/// A line above the bands.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is.
    pub label: String,
    /// What it looks like.
    pub style: LineStyle,
}

/// What was held at one moment; what is missing in a list counts as 0.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Seconds since the start.
    pub at: f64,
    /// One a band.
    pub bytes: Vec<u64>,
    /// One a line.
    pub lines: Vec<u64>,
}

/// A stage of a lane.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it is.
    pub label: String,
    /// What it looks like.
    pub style: StageStyle,
}

/// One job.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its name.
    pub label: String,
    /// Stage (an index), from, to; seconds since the start.
    pub steps: Vec<(usize, f64, f64)>,
}

const MAIN_HEIGHT: f64 = 300.0;
const MAGNIFIED_HEIGHT: f64 = 140.0;
const MAGNIFIED: &str = "The small ones, magnified:";

impl Timeline {
    /// Draws the picture.
    pub fn svg(&self) -> String {
        let mut canvas = Canvas::new(WIDTH);
        let all: Vec<usize> = (0..self.bands.len()).collect();
        let small: Vec<usize> = self.magnified.iter().copied().filter(|i| *i < self.bands.len()).collect();
        let span = self.drawn_span();
        let stack = Stack::new(self, span);
        let most = self.limit.as_ref().map_or(0, |limit| limit.bytes) as f64;
        let most = most.max(stack.most(&all)).max(stack.most_of_lines()).max(1.0) * 1.08;
        let most_small = stack.most(&small).max(1.0) * 1.1;
        let ticks = vertical_ticks(Unit::Bytes, most, MAIN_HEIGHT);
        let small_ticks = vertical_ticks(Unit::Bytes, most_small, MAGNIFIED_HEIGHT);

        let y = heading(&mut canvas, &self.title);
        let top = self.legends(&mut canvas, y) + 22.0;
        let widest = texts_width(&ticks).max(texts_width(&small_ticks)).max(lanes::labels_width(self));
        let left = MARGIN + widest + GAP;
        let mut plot = Plot { left, top, bottom: top + MAIN_HEIGHT, x: (0.0, span), most };
        plot.vertical_axis(&mut canvas, &ticks);
        stack.bands(&mut canvas, &plot, &all);
        plot.frame(&mut canvas);
        stack.lines(&mut canvas, &plot);
        if stack.is_empty() {
            plot.nothing(&mut canvas);
        }
        if let Some(limit) = &self.limit {
            let y = plot.y(limit.bytes as f64);
            canvas.line_with_halo("limit", (left, y), (RIGHT, y));
        }
        if !small.is_empty() {
            let entries: Vec<_> =
                [(Key::Heading, MAGNIFIED)].into_iter().chain(self.band_entries(&small)).collect();
            let top = legend(&mut canvas, plot.bottom + 38.0, &entries) + 22.0;
            plot = Plot { top, bottom: top + MAGNIFIED_HEIGHT, most: most_small, ..plot };
            plot.vertical_axis(&mut canvas, &small_ticks);
            stack.bands(&mut canvas, &plot, &small);
            plot.frame(&mut canvas);
        }
        if !self.lanes.is_empty() {
            let bottom = lanes::lanes(&mut canvas, self, &plot, plot.bottom + 34.0);
            plot = Plot { top: bottom, bottom, ..plot };
            plot.frame(&mut canvas);
        }
        let y = self.time_axis(&mut canvas, &plot);
        canvas.finish(y + 22.0, &self.title, &self.description(&stack, &all, span))
    }

    /// The span, or what the lanes and samples need where it is none.
    fn drawn_span(&self) -> f64 {
        let usable = |seconds: &f64| seconds.is_finite() && *seconds > 1e-9 && *seconds < 1e15;
        if usable(&self.span) {
            return self.span;
        }
        let ends = self.lanes.iter().flat_map(|lane| lane.steps.iter().map(|step| step.2));
        let moments = self.samples.iter().map(|sample| sample.at);
        ends.chain(moments).filter(usable).reduce(f64::max).unwrap_or(1.0)
    }

    fn band_entries<'a>(&'a self, which: &'a [usize]) -> impl Iterator<Item = (Key, &'a str)> + 'a {
        let bands = which.iter().filter_map(|i| self.bands.get(*i));
        bands.map(|band| (Key::Square(band.style.class()), band.label.as_str()))
    }

    fn legends(&self, canvas: &mut Canvas, y: f64) -> f64 {
        let mut y = y;
        let all: Vec<usize> = (0..self.bands.len()).collect();
        let bands: Vec<_> = self.band_entries(&all).collect();
        let limit = self.limit.iter().map(|limit| (Key::Line("limit"), limit.label.as_str()));
        let lines = self.lines.iter().map(|line| (Key::Line(line.style.class()), line.label.as_str()));
        let lines: Vec<_> = limit.chain(lines).collect();
        for entries in [bands, lines] {
            if !entries.is_empty() {
                y = legend(canvas, next_row(y), &entries);
            }
        }
        y
    }

    /// Returns the last baseline.
    fn time_axis(&self, canvas: &mut Canvas, plot: &Plot) -> f64 {
        let ticks = Ticks::new(Unit::Seconds, plot.x, 10.0);
        let y = plot.horizontal_marks(canvas, &ticks, false);
        plot.horizontal_name(canvas, y, format!("{} {}", ticks.long, self.since).trim_end())
    }

    fn description(&self, stack: &Stack, all: &[usize], span: f64) -> String {
        let peak = told(Unit::Bytes, stack.most(all));
        let mut text = format!("Memory over {}: at most {peak} held", told(Unit::Seconds, span));
        if let Some(limit) = &self.limit {
            text += &format!("; {}: {}", limit.label, told(Unit::Bytes, limit.bytes as f64));
        }
        for (i, line) in self.lines.iter().enumerate() {
            text += &format!("; {}: at most {}", line.label, told(Unit::Bytes, stack.most_of_line(i)));
        }
        if !self.lanes.is_empty() {
            text += &format!("; {} {} below", self.lanes.len(), self.noun);
        }
        text + "."
    }
}
