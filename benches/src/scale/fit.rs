//! Laws through measured points.

/// A law y = slope·x, or y = base + slope·x, and how far the points are from it.
pub struct Fit {
    base: f64,
    slope: f64,
    /// The largest relative distance of a point.
    pub error: f64,
}

impl Fit {
    /// Least squares of the relative distances, through the origin.
    pub fn proportional(points: &[(f64, f64)]) -> Fit {
        // Minimises Σ (slope·x/y − 1)².
        let ratio = |(x, y): &(f64, f64)| x / y;
        let sum: f64 = points.iter().map(ratio).sum();
        let squares: f64 = points.iter().map(|point| ratio(point).powi(2)).sum();
        Fit { base: 0.0, slope: sum / squares, error: 0.0 }.measured(points)
    }

    /// Least squares.
    pub fn linear(points: &[(f64, f64)]) -> Fit {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let shared: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope = shared / spread;
        Fit { base: y - slope * x, slope, error: 0.0 }.measured(points)
    }

    /// The law at x.
    pub fn at(&self, x: f64) -> f64 {
        self.base + self.slope * x
    }

    fn measured(self, points: &[(f64, f64)]) -> Fit {
        let distance = |(x, y): &(f64, f64)| (self.at(*x) / y - 1.0).abs();
        let error = points.iter().map(distance).fold(0.0, f64::max);
        Fit { error, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Fit;

    #[test]
    fn exact_laws_are_found() {
        let line = Fit::linear(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]);
        assert!((line.at(10.0) - 23.0).abs() < 1e-9 && line.error < 1e-9);
        let proportional = Fit::proportional(&[(1.0, 3.0), (7.0, 21.0)]);
        assert!((proportional.at(10.0) - 30.0).abs() < 1e-9 && proportional.error < 1e-9);
    }

    #[test]
    fn the_error_is_that_of_the_farthest_point() {
        assert!((Fit::proportional(&[(1.0, 1.0), (1.0, 1.0), (1.0, 2.0)]).error - 0.444).abs() < 0.01);
    }
}
