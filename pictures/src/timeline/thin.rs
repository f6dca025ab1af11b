//! At most two points a pixel, however many samples there are.

/// Of points (x in pixels, ascending; height) those worth drawing: x and the point's index. A pixel with several
/// points shows the highest. Where `steps` is true each point holds until the next one: after the pixel, its last
/// point does, unless the next pixel has points of its own.
pub fn thinned(points: &[(f64, f64)], steps: bool) -> Vec<(f64, usize)> {
    let Some(end) = points.last() else { return Vec::new() };
    let mut kept = Vec::new();
    let mut start = 0;
    while let Some((x, _)) = points.get(start) {
        let pixel = x.floor();
        let next = points.iter().skip(start).take_while(|point| point.0.floor() == pixel).count() + start;
        let highest = (start..next).max_by(|a, b| points[*a].1.total_cmp(&points[*b].1)).unwrap_or(start);
        if steps {
            kept.push((*x, highest));
            let goes_on = points.get(next).is_some_and(|point| point.0 < pixel + 2.0);
            if highest + 1 < next && !goes_on {
                kept.push(((pixel + 1.0).min(end.0), next - 1));
            }
        } else {
            kept.push((points[highest].0, highest));
        }
        start = next.max(start + 1);
    }
    if kept.last().is_some_and(|(_, index)| index + 1 < points.len()) {
        kept.push((end.0, points.len() - 1));
    }
    kept
}

/// The corners of the line through the points; `end` is how far the last of them holds where `steps` is true.
pub fn corners(points: &[(f64, f64)], steps: bool, end: f64) -> Vec<(f64, f64)> {
    if !steps {
        return points.to_vec();
    }
    let until = points.iter().skip(1).map(|point| point.0).chain([end]);
    points.iter().zip(until).flat_map(|((x, y), until)| [(*x, *y), (until.max(*x), *y)]).collect()
}

/// Steps of one lane in pixels: those of a pixel or more as they are, and of shorter ones the stage that fills most
/// of each pixel.
#[derive(Default)]
pub struct Merged {
    pub wide: Vec<(usize, f64, f64)>,
    pub narrow: Vec<(usize, f64, f64)>,
}

impl Merged {
    /// From stage, from, to; in order.
    pub fn new(steps: &[(usize, f64, f64)], stages: usize) -> Merged {
        let mut merged = Merged::default();
        let mut filled = vec![0.0; stages];
        let mut pixel = f64::NEG_INFINITY;
        for (stage, from, to) in steps {
            if to - from >= 1.0 {
                merged.wide.push((*stage, *from, *to));
                continue;
            }
            let here = ((from + to) / 2.0).floor();
            if here != pixel {
                merged.close(pixel, &mut filled);
                pixel = here;
            }
            if let Some(length) = filled.get_mut(*stage) {
                *length += to - from;
            }
        }
        merged.close(pixel, &mut filled);
        merged
    }

    fn close(&mut self, pixel: f64, filled: &mut [f64]) {
        let longest = filled.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        let Some((stage, length)) = longest else { return };
        if *length > 0.0 {
            match self.narrow.last_mut() {
                Some((last, _, to)) if *last == stage && *to == pixel => *to = pixel + 1.0,
                _ => self.narrow.push((stage, pixel, pixel + 1.0)),
            }
        }
        filled.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_keeps_its_highest_point_and_the_ends_stay() {
        let points: Vec<(f64, f64)> =
            (0..=1000).map(|i| (f64::from(i) / 100.0, f64::from(i % 50 == 49) * 9.0 + 1.0)).collect();
        let kept = thinned(&points, false);
        assert!(kept.len() <= 12, "{}", kept.len());
        assert!(kept[..10].iter().all(|(_, index)| points[*index].1 == 10.0));
        assert_eq!(kept.last(), Some(&(10.0, 1000)));
    }

    #[test]
    fn a_step_that_ends_within_its_pixel_holds_to_the_pixels_end_and_not_longer() {
        let kept = thinned(&[(0.0, 1.0), (5.2, 7.0), (5.4, 2.0), (9.0, 3.0)], true);
        assert_eq!(kept, [(0.0, 0), (5.2, 1), (6.0, 2), (9.0, 3)]);
    }

    #[test]
    fn pixels_full_of_steps_show_their_highest_and_nothing_between() {
        let points: Vec<(f64, f64)> =
            (0..1000).map(|i| (f64::from(i) / 100.0, if i % 7 == 0 { 9.0 } else { 1.0 })).collect();
        let kept = thinned(&points, true);
        assert!(kept[..kept.len() - 1].iter().all(|(_, index)| points[*index].1 == 9.0), "{kept:?}");
    }

    #[test]
    fn steps_turn_at_right_angles_and_hold_to_the_end() {
        let line = corners(&[(0.0, 1.0), (2.0, 4.0)], true, 5.0);
        assert_eq!(line, [(0.0, 1.0), (2.0, 1.0), (2.0, 4.0), (5.0, 4.0)]);
    }

    #[test]
    fn short_steps_of_a_pixel_become_its_longest_stage() {
        let steps: Vec<(usize, f64, f64)> =
            (0..40).map(|i| (i % 2, i as f64 / 10.0, (i + 1) as f64 / 10.0)).chain([(2, 4.0, 8.0)]).collect();
        let mut uneven = steps.clone();
        uneven[1].0 = 0;
        let merged = Merged::new(&uneven, 3);
        assert_eq!(merged.wide, [(2, 4.0, 8.0)]);
        assert_eq!(merged.narrow.first().map(|step| step.0), Some(0));
        assert_eq!(merged.narrow.last().map(|step| step.2), Some(4.0));
        assert!(merged.narrow.len() <= 4, "{:?}", merged.narrow);
    }
}
