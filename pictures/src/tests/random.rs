//! Whatever comes in, a whole picture comes out.

use proptest::collection::vec;
use proptest::num::f64::ANY;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::check;
use crate::{
    Axis, Band, BandStyle, Lane, Level, Line, LineStyle, Panel, Sample, Series, Stage, StageStyle, Sweep,
    Timeline, Unit,
};

/// Mostly usual numbers, but also all others.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.0..1000.0f64, 1 => 0.0..1e18f64, 1 => ANY]
}

fn bytes() -> impl Strategy<Value = Vec<u64>> {
    vec(prop_oneof![0..1u64 << 40, any::<u64>()], 0..5)
}

fn bands() -> impl Strategy<Value = Vec<Band>> {
    let style = select(vec![BandStyle::Srs, BandStyle::Other, BandStyle::Evaluations]);
    vec((any::<String>(), style).prop_map(|(label, style)| Band { label, style }), 0..5)
}

fn stages() -> impl Strategy<Value = Vec<Stage>> {
    let style = select(vec![StageStyle::Slot, StageStyle::WaitsEvaluated]);
    vec((any::<String>(), style).prop_map(|(label, style)| Stage { label, style }), 0..6)
}

fn lanes() -> impl Strategy<Value = Vec<Lane>> {
    let steps = vec((0..7usize, number(), number()), 0..9);
    vec((any::<String>(), steps).prop_map(|(label, steps)| Lane { label, steps }), 0..40)
}

prop_compose! {
    fn timeline()(
        texts in [any::<String>(), any::<String>(), any::<String>()],
        span in number(),
        steps in any::<bool>(),
        limit in option::of((any::<String>(), any::<u64>())),
        bands in bands(),
        lines in vec(any::<String>(), 0..3),
        samples in vec((number(), bytes(), bytes()), 0..60),
        magnified in vec(0..6usize, 0..4),
        stages in stages(),
        lanes in lanes(),
        copies in select(vec![1usize, 1, 1, 30]),
    ) -> Timeline {
        let [title, since, noun] = texts;
        let lanes: Vec<Lane> = lanes.iter().cycle().take(lanes.len() * copies).cloned().collect();
        Timeline {
            title, since, noun, span, steps, bands, magnified, stages, lanes,
            limit: limit.map(|(label, bytes)| Level { label, bytes }),
            lines: lines.into_iter().map(|label| Line { label, style: LineStyle::Resident }).collect(),
            samples: samples.into_iter().map(|(at, bytes, lines)| Sample { at, bytes, lines }).collect(),
        }
    }
}

fn axis() -> impl Strategy<Value = Axis> {
    let unit = select(vec![Unit::Bytes, Unit::Seconds, Unit::Plain]);
    (any::<String>(), unit).prop_map(|(label, unit)| Axis { label, unit })
}

fn series() -> impl Strategy<Value = Series> {
    (any::<String>(), any::<usize>(), vec((number(), number()), 0..80))
        .prop_map(|(label, style, points)| Series { label, style, points })
}

fn panel() -> impl Strategy<Value = Panel> {
    (axis(), vec(series(), 0..4), option::of(any::<String>())).prop_map(|(y, series, diagonal)| Panel {
        y,
        series,
        diagonal,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_timeline_becomes_a_whole_picture(timeline in timeline()) {
        check("random", &timeline.svg());
    }

    #[test]
    fn any_sweep_becomes_a_whole_picture(
        title in any::<String>(),
        x in axis(),
        panels in vec(panel(), 0..4),
    ) {
        check("random", &Sweep { title, x, panels }.svg());
    }
}
