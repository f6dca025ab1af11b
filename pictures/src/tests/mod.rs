//! Every picture is well formed, and its texts are whole, within it and apart.

mod random;
mod samples;

use roxmltree::{Document, Node};

use crate::canvas::{Anchor, Canvas};
use crate::text::{width, Size};
use crate::{Level, Sample, Sweep, Timeline};
use samples::{piled_up, requests, sweep, wordy};

/// Left, top, right, bottom.
type Area = [f64; 4];

fn attribute(node: &Node, name: &str) -> f64 {
    let value: f64 = node.attribute(name).unwrap_or_default().parse().expect("a number");
    assert!(value.is_finite(), "{name} of {node:?}");
    value
}

fn text_area(node: &Node) -> Area {
    let size = match node.attribute("class") {
        Some("title") => Size::Title,
        Some("small") => Size::Small,
        Some("body") => Size::Body,
        class => panic!("a text of class {class:?}"),
    };
    let wide = width(node.text().unwrap_or_default(), size);
    let (x, y) = (attribute(node, "x"), attribute(node, "y"));
    let left = match node.attribute("text-anchor") {
        None => x,
        Some("middle") => x - wide / 2.0,
        Some(_) => x - wide,
    };
    [left, y - 0.8 * size.px(), left + wide, y + 0.22 * size.px()]
}

/// The corners of a path as this crate writes it: M, L, H, V absolute, h and v relative.
fn path_area(data: &str) -> Area {
    let mut area = [f64::MAX, f64::MAX, f64::MIN, f64::MIN];
    let (mut x, mut y) = (0.0, 0.0);
    let commands: Vec<(usize, char)> = data.char_indices().filter(|(_, c)| c.is_alphabetic()).collect();
    for (i, (at, command)) in commands.iter().enumerate() {
        let end = commands.get(i + 1).map_or(data.len(), |next| next.0);
        let numbers: Vec<f64> = data[at + 1..end].split(' ').flat_map(str::parse).collect();
        match (command, numbers.as_slice()) {
            ('M' | 'L', [to_x, to_y]) => (x, y) = (*to_x, *to_y),
            ('H', [to]) => x = *to,
            ('V', [to]) => y = *to,
            ('h', [by]) => x += by,
            ('v', [by]) => y += by,
            ('z', []) => continue,
            other => panic!("{other:?} in a path"),
        }
        area = [area[0].min(x), area[1].min(y), area[2].max(x), area[3].max(y)];
    }
    area
}

fn shape_area(node: &Node) -> Option<Area> {
    let at = |name| attribute(node, name);
    match node.tag_name().name() {
        "rect" => Some([at("x"), at("y"), at("x") + at("width"), at("y") + at("height")]),
        "line" => Some([
            at("x1").min(at("x2")),
            at("y1").min(at("y2")),
            at("x1").max(at("x2")),
            at("y1").max(at("y2")),
        ]),
        "path" => Some(path_area(node.attribute("d").expect("a path's data"))),
        _ => None,
    }
}

fn apart(a: &Area, b: &Area) -> bool {
    a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1]
}

/// Fails unless the picture is whole.
fn check(name: &str, svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}\n{svg}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{name}");
    let first: Vec<&str> =
        root.children().filter(Node::is_element).map(|n| n.tag_name().name()).take(2).collect();
    assert_eq!(first, ["title", "desc"], "{name}");
    let view: Vec<f64> =
        root.attribute("viewBox").unwrap_or_default().split(' ').flat_map(str::parse).collect();
    let within = |a: &Area| a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= view[2] && a[3] <= view[3];
    let mut texts: Vec<(Area, String)> = Vec::new();
    let mut squares = Vec::new();
    for node in root.descendants().filter(Node::is_element) {
        if let Some(area) = shape_area(&node) {
            assert!(within(&area), "{name}: {node:?} at {area:?} leaves {view:?}");
            if node.tag_name().name() == "rect" && node.attribute("class") != Some("card") {
                squares.push(area);
            }
        }
        if node.tag_name().name() == "text" {
            let (area, text) = (text_area(&node), node.text().unwrap_or_default().to_owned());
            assert!(within(&area), "{name}: {text:?} at {area:?} leaves {view:?}");
            for (other, known) in &texts {
                assert!(apart(&area, other), "{name}: {text:?} at {area:?} is on {known:?} at {other:?}");
            }
            texts.push((area, text));
        }
    }
    for (area, text) in &texts {
        assert!(squares.iter().all(|square| apart(area, square)), "{name}: {text:?} is on a square");
    }
}

#[test]
fn all_texts_of_every_sample_are_within_the_picture_and_apart() {
    for (name, svg) in samples::all() {
        check(&name, &svg);
        assert!(svg.len() < 200_000, "{name}: {} bytes", svg.len());
    }
}

/// Two texts at these places.
fn two_texts(first: (f64, f64), second: (f64, f64)) -> String {
    let mut canvas = Canvas::new(200.0);
    canvas.text(Size::Body, first, Anchor::Start, "twelve pixels");
    canvas.text(Size::Body, second, Anchor::Start, "high");
    canvas.finish(100.0, "", "")
}

#[test]
fn the_check_lets_texts_below_each_other_pass() {
    check("two", &two_texts((10.0, 20.0), (10.0, 34.0)));
}

#[test]
#[should_panic(expected = "is on")]
fn the_check_sees_texts_on_each_other() {
    check("two", &two_texts((10.0, 20.0), (80.0, 30.0)));
}

#[test]
#[should_panic(expected = "leaves")]
fn the_check_sees_a_text_that_is_cut() {
    check("two", &two_texts((130.0, 20.0), (10.0, 40.0)));
}

#[test]
fn lanes_that_are_not_drawn_are_counted_in_the_picture() {
    assert!(!requests(320, 10.0).svg().contains("not drawn"));
    assert!(requests(3000, 10.0).svg().contains("273 of 3000 requests; 2727 more are not drawn."));
}

fn shape(svg: &str, class: &str) -> Area {
    let document = Document::parse(svg).expect("XML");
    let all = document.descendants().filter(|node| node.attribute("class") == Some(class));
    let area =
        all.filter(|node| node.tag_name().name() != "rect").filter_map(|node| shape_area(&node)).next_back();
    area.unwrap_or_else(|| panic!("nothing of class {class}"))
}

#[test]
fn one_high_sample_of_a_hundred_thousand_reaches_its_height() {
    let mut timeline = requests(2, 10.0);
    timeline.lines.clear();
    timeline.samples = (0..100_000)
        .map(|i| Sample {
            at: f64::from(i) * 0.0002,
            bytes: vec![1000, 0, if i == 61_803 { 3000 } else { 500 }, 0],
            lines: Vec::new(),
        })
        .collect();
    timeline.limit = Some(Level { label: "limit".to_owned(), bytes: 4000 });
    for steps in [false, true] {
        timeline.steps = steps;
        let svg = timeline.svg();
        assert_eq!(shape(&svg, "work")[1], shape(&svg, "limit")[1], "steps: {steps}");
        assert!(svg.len() < 60_000, "{} bytes", svg.len());
    }
}

#[test]
fn a_band_ends_where_the_next_one_begins() {
    let mut timeline = piled_up(1);
    timeline.samples = vec![Sample { at: 0.0, bytes: vec![10, 30, 40, 0], lines: Vec::new() }];
    timeline.limit = None;
    let svg = timeline.svg();
    let height = |class| shape(&svg, class)[3] - shape(&svg, class)[1];
    assert!((height("work") - 4.0 * height("srs")).abs() < 0.5, "stacked on the SRS");
    assert!((height("eval") - 8.0 * height("srs")).abs() < 0.5, "stacked on both");
    assert!(!svg.contains("class=\"limit\""), "a limit that there is not");
}

#[test]
fn a_value_that_is_none_leaves_a_gap_in_its_line() {
    let lines = |sweep: &Sweep| sweep.svg().matches("<path class=\"q0\"").count();
    let mut sweep = sweep();
    let whole = lines(&sweep);
    sweep.panels[0].series[0].points[7].1 = f64::NAN;
    assert_eq!(lines(&sweep), whole + 1);
}

#[test]
fn a_shortened_label_is_whole_in_its_tooltip() {
    let svg = wordy().svg();
    let document = Document::parse(&svg).expect("XML");
    let cut =
        document.descendants().filter(|node| node.text().is_some_and(|text| text.starts_with("3 a label")));
    let texts: Vec<String> =
        cut.filter(|node| node.is_element()).flat_map(|n| n.text().map(str::to_owned)).collect();
    assert!(texts.iter().any(|text| text.ends_with('…')), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with("\"quoted\" parts, ")), "{texts:?}");
}

#[test]
fn a_picture_without_anything_says_so() {
    assert!(Timeline::default().svg().contains("nothing to draw"));
}
