//! Round numbers for an axis, in a unit of the right magnitude.

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, written in MiB, GiB, TiB.
    Bytes,
    /// Seconds, written as milliseconds, seconds, minutes, hours or days.
    Seconds,
    /// Numbers of anything.
    Plain,
}

/// A unit as it is written: its size, its short and its long name.
type Written = (f64, &'static str, &'static str);

const TIMES: [Written; 5] = [
    (0.001, "ms", "milliseconds"),
    (1.0, "s", "seconds"),
    (60.0, "min", "minutes"),
    (3600.0, "h", "hours"),
    (86400.0, "d", "days"),
];
/// From how many seconds on each of them is used.
const TIMES_FROM: [f64; 5] = [0.0, 0.5, 180.0, 10_800.0, 345_600.0];
const SIZES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

impl Unit {
    /// How values up to `most` are written.
    fn written(self, most: f64) -> Written {
        match self {
            Unit::Plain => (1.0, "", ""),
            Unit::Seconds => {
                let usable = TIMES_FROM.iter().filter(|from| most >= **from).count();
                TIMES.get(usable.saturating_sub(1)).copied().unwrap_or(TIMES[0])
            }
            Unit::Bytes => {
                let mut unit = 0;
                let mut size = 1.0;
                // So that the unit before it would need at least five digits' worth.
                while most / size >= 4096.0 && unit + 1 < SIZES.len() {
                    size *= 1024.0;
                    unit += 1;
                }
                (size, SIZES[unit], SIZES[unit])
            }
        }
    }

    fn step(self, at_least: f64) -> f64 {
        match self {
            Unit::Bytes => at_least.log2().ceil().exp2(),
            Unit::Seconds | Unit::Plain => round_step(at_least),
        }
    }
}

/// 1, 2 or 5 times a power of ten, not below `at_least`.
fn round_step(at_least: f64) -> f64 {
    let ten = 10f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|n| n * ten).find(|step| *step >= at_least).unwrap_or(ten * 10.0)
}

/// Most ticks on any axis.
const MOST_TICKS: usize = 40;
/// Numbers from here on are written with an exponent.
const LARGE: f64 = 1e6;

/// The marked values of an axis.
pub struct Ticks {
    /// Value, and its text without the unit.
    pub marks: Vec<(f64, String)>,
    /// The unit's short name.
    pub short: &'static str,
    /// The unit's long name.
    pub long: &'static str,
}

impl Ticks {
    /// Round values within the range, at most about so many intervals apart.
    pub fn new(unit: Unit, (from, to): (f64, f64), intervals: f64) -> Ticks {
        let (size, short, long) = unit.written(to);
        let (low, high) = (from / size, to / size);
        let mut step = unit.step((high - low) / intervals.max(1.0));
        if unit == Unit::Bytes && size == 1.0 {
            step = step.max(1.0);
        }
        if !step.is_normal() {
            return Ticks { marks: vec![(from, written(low, 3))], short, long };
        }
        let decimals = (0..9).find(|d| is_whole(step * 10f64.powi(*d))).unwrap_or(9);
        let first = (low / step - 1e-9).ceil();
        let marks =
            (0..MOST_TICKS).map(|i| (first + i as f64) * step).take_while(|v| *v <= high * (1.0 + 1e-12));
        let marks = marks.map(|v| (v * size, written(v, decimals as usize))).collect();
        Ticks { marks, short, long }
    }

    /// A mark's text with the unit.
    pub fn label(&self, text: &str) -> String {
        format!("{text} {}", self.short).trim_end().to_owned()
    }
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-6 * value.abs() && value.round() != 0.0
}

fn written(value: f64, decimals: usize) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() >= LARGE || decimals > 6 {
        format!("{value:.1e}")
    } else {
        format!("{value:.decimals$}")
    }
}

/// A value in the unit that suits it, with three digits.
pub fn told(unit: Unit, value: f64) -> String {
    let (size, short, _) = unit.written(value);
    let scaled = value / size;
    let decimals = if scaled >= 100.0 || is_whole(scaled) {
        0
    } else if scaled >= 10.0 {
        1
    } else {
        2
    };
    format!("{} {short}", written(scaled, decimals)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

    fn texts(unit: Unit, from: f64, to: f64, intervals: f64) -> Vec<String> {
        let ticks = Ticks::new(unit, (from, to), intervals);
        ticks.marks.iter().map(|(_, text)| ticks.label(text)).collect()
    }

    #[test]
    fn bytes_are_marked_by_powers_of_two_in_a_unit_of_their_magnitude() {
        assert_eq!(texts(Unit::Bytes, 0.0, 1.62 * GIB, 6.0), ["0 MiB", "512 MiB", "1024 MiB", "1536 MiB"]);
        assert_eq!(
            texts(Unit::Bytes, 0.0, 90.0 * GIB, 6.0),
            ["0 GiB", "16 GiB", "32 GiB", "48 GiB", "64 GiB", "80 GiB"]
        );
        assert_eq!(texts(Unit::Bytes, 0.0, 5000.0 * GIB, 4.0), ["0 TiB", "2 TiB", "4 TiB"]);
        assert_eq!(texts(Unit::Bytes, 0.0, 1.0, 6.0), ["0 B", "1 B"]);
    }

    #[test]
    fn times_are_marked_in_a_unit_of_their_magnitude() {
        assert_eq!(texts(Unit::Seconds, 0.0, 57.5, 10.0), ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s"]);
        assert_eq!(
            texts(Unit::Seconds, 0.0, 600.0, 5.0),
            ["0 min", "2 min", "4 min", "6 min", "8 min", "10 min"]
        );
        assert_eq!(
            texts(Unit::Seconds, 0.0, 10_800.0, 6.0),
            ["0 h", "0.5 h", "1.0 h", "1.5 h", "2.0 h", "2.5 h", "3.0 h"]
        );
        assert_eq!(texts(Unit::Seconds, 0.0, 0.2, 2.0), ["0 ms", "100 ms", "200 ms"]);
    }

    #[test]
    fn marks_start_within_the_range() {
        assert_eq!(texts(Unit::Plain, 0.7, 3.2, 3.0), ["1", "2", "3"]);
        assert_eq!(
            texts(Unit::Bytes, 96.0 * GIB, 768.0 * GIB, 6.0).first().map(String::as_str),
            Some("128 GiB")
        );
    }

    #[test]
    fn extreme_ranges_give_few_and_short_marks() {
        for to in [f64::MIN_POSITIVE, 1e-12, 1e15, 1e30] {
            for unit in [Unit::Bytes, Unit::Seconds, Unit::Plain] {
                let texts = texts(unit, 0.0, to, 8.0);
                assert!(texts.len() <= MOST_TICKS && texts.iter().all(|t| t.len() <= 12), "{to}: {texts:?}");
            }
        }
    }

    #[test]
    fn a_value_is_told_with_three_digits() {
        assert_eq!(told(Unit::Bytes, 84.25 * GIB), "84.2 GiB");
        assert_eq!(told(Unit::Bytes, 640.0 * GIB), "640 GiB");
        assert_eq!(told(Unit::Seconds, 57.5), "57.5 s");
        assert_eq!(told(Unit::Plain, 2.71), "2.71");
    }
}
