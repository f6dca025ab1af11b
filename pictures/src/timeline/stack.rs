//! Bands on top of each other, and lines.

use super::thin::{corners, thinned};
use super::{Sample, Timeline};
use crate::canvas::{Canvas, Place};
use crate::plot::{Plot, RIGHT};

/// The samples of a timeline that can be drawn, in order.
pub struct Stack<'a> {
    timeline: &'a Timeline,
    /// Moment, sample.
    samples: Vec<(f64, &'a Sample)>,
}

fn value(values: &[u64], index: usize) -> f64 {
    values.get(index).copied().unwrap_or(0) as f64
}

fn sum(sample: &Sample, bands: &[usize]) -> f64 {
    bands.iter().map(|band| value(&sample.bytes, *band)).sum()
}

impl<'a> Stack<'a> {
    pub fn new(timeline: &'a Timeline, span: f64) -> Stack<'a> {
        let known = timeline.samples.iter().filter(|sample| sample.at.is_finite() && sample.at <= span);
        let mut samples: Vec<(f64, &Sample)> = known.map(|sample| (sample.at, sample)).collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Of what came before the start only the last is still there.
        let before = samples.iter().filter(|(at, _)| *at < 0.0).count();
        samples.drain(..before.saturating_sub(1));
        if let Some((at, _)) = samples.first_mut() {
            *at = at.max(0.0);
        }
        Stack { timeline, samples }
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The most that these bands held together, in bytes.
    pub fn most(&self, bands: &[usize]) -> f64 {
        self.samples.iter().map(|(_, sample)| sum(sample, bands)).fold(0.0, f64::max)
    }

    pub fn most_of_line(&self, line: usize) -> f64 {
        self.samples.iter().map(|(_, sample)| value(&sample.lines, line)).fold(0.0, f64::max)
    }

    pub fn most_of_lines(&self) -> f64 {
        (0..self.timeline.lines.len()).map(|line| self.most_of_line(line)).fold(0.0, f64::max)
    }

    /// The line of `height` where the samples are chosen by `weight`.
    fn outline(
        &self,
        plot: &Plot,
        weight: impl Fn(&Sample) -> f64,
        height: impl Fn(&Sample) -> f64,
    ) -> Vec<Place> {
        let points: Vec<(f64, f64)> =
            self.samples.iter().map(|(at, sample)| (plot.x(*at), weight(sample))).collect();
        let steps = self.timeline.steps;
        let kept: Vec<Place> =
            thinned(&points, steps).iter().map(|(x, i)| (*x, plot.y(height(self.samples[*i].1)))).collect();
        corners(&kept, steps, RIGHT)
    }

    /// From the top of the stack down, each to the bottom: bands that touch leave no seam.
    pub fn bands(&self, canvas: &mut Canvas, plot: &Plot, bands: &[usize]) {
        for count in (1..=bands.len()).rev() {
            let (lower, band) = (&bands[..count], bands[count - 1]);
            if self.most(&[band]) > 0.0 {
                let line = self.outline(plot, |s| sum(s, bands), |s| sum(s, lower));
                canvas.area(self.timeline.bands[band].style.class(), &line, plot.bottom);
            }
        }
    }

    pub fn lines(&self, canvas: &mut Canvas, plot: &Plot) {
        for (i, line) in self.timeline.lines.iter().enumerate() {
            let height = |s: &Sample| value(&s.lines, i);
            canvas.polyline(line.style.class(), &self.outline(plot, height, height));
        }
    }
}
