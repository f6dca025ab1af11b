//! SVG elements: numbers that are always finite, texts that are always escaped.

use std::fmt::Write;

use crate::style::SHEET;
use crate::text::{shortened, Size};

/// A place, in pixels, y downwards.
pub type Place = (f64, f64);

/// Where a text's anchor is.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Tenths of a pixel: the precision of every coordinate, and never anything but a number.
fn tenths(pixels: f64) -> i64 {
    // The cast takes NaN for 0.
    (pixels * 10.0).round().clamp(-1e9, 1e9) as i64
}

/// A coordinate without needless digits.
fn number(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    if rest == 0 {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{rest}")
    }
}

fn px(pixels: f64) -> String {
    number(tenths(pixels))
}

/// Text as XML may hold it.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// An SVG picture in the making.
pub struct Canvas {
    body: String,
    width: f64,
}

impl Canvas {
    pub fn new(width: f64) -> Canvas {
        Canvas { body: String::new(), width }
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    /// A line of text, which must fit.
    pub fn text(&mut self, size: Size, place: Place, anchor: Anchor, text: &str) {
        self.text_within(size, place, anchor, (text, f64::INFINITY));
    }

    /// A line of text of at most so many pixels: a longer one is shortened, and whole in its tooltip.
    pub fn text_within(&mut self, size: Size, (x, y): Place, anchor: Anchor, (text, room): (&str, f64)) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let shown = shortened(text, size, room);
        let whole = if shown == text { String::new() } else { format!("<title>{}</title>", escaped(text)) };
        self.push(format_args!(
            r#"<text class="{}" x="{}" y="{}"{anchor}>{}{whole}</text>"#,
            size.class(),
            px(x),
            px(y),
            escaped(&shown)
        ));
    }

    pub fn line(&mut self, class: &str, from: Place, to: Place) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            px(from.0),
            px(from.1),
            px(to.0),
            px(to.1)
        ));
    }

    /// A line that stays visible on any colour.
    pub fn line_with_halo(&mut self, class: &str, from: Place, to: Place) {
        self.line("halo", from, to);
        self.line(class, from, to);
    }

    pub fn rect(&mut self, class: &str, (x, y): Place, width: f64, height: f64) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{}" y="{}" width="{}" height="{}"/>"#,
            px(x),
            px(y),
            px(width),
            px(height)
        ));
    }

    /// Many rectangles of one class and one height: x, y, width.
    pub fn rects(&mut self, class: &str, rects: &[(f64, f64, f64)], height: f64) {
        let mut path = String::new();
        for (x, y, width) in rects {
            let (width, height) = (tenths(*width), tenths(height));
            let _ = write!(path, "M{} {}", px(*x), px(*y));
            let _ = write!(path, "h{}v{}h{}z", number(width), number(height), number(-width));
        }
        self.path(class, &path);
    }

    /// A line through all the points.
    pub fn polyline(&mut self, class: &str, points: &[Place]) {
        self.path(class, &trace(points));
    }

    /// A filled shape.
    pub fn polygon(&mut self, class: &str, corners: &[Place]) {
        self.path(class, &format!("{}z", trace(corners)));
    }

    /// The area between the points' line and the level `bottom`.
    pub fn area(&mut self, class: &str, points: &[Place], bottom: f64) {
        if let (Some(first), Some(last)) = (points.first(), points.last()) {
            let mut points = points.to_vec();
            points.push((last.0, bottom));
            points.push((first.0, bottom));
            self.polygon(class, &points);
        }
    }

    fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            self.push(format_args!(r#"<path class="{class}" d="{path}"/>"#));
        }
    }

    /// The picture's text; `title` and `description` are for those who do not see it.
    pub fn finish(self, height: f64, title: &str, description: &str) -> String {
        let (inner_width, inner_height) = (px(self.width - 1.0), px(height.ceil() - 1.0));
        let (width, height) = (px(self.width), px(height.ceil()));
        let (title, description) = (escaped(title), escaped(description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n{SHEET}\n\
             <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{inner_width}\" height=\"{inner_height}\" rx=\"8\"/>\n{body}</svg>\n",
            body = self.body
        )
    }
}

/// Path data through the points, without those inside level stretches.
fn trace(points: &[Place]) -> String {
    let mut path = String::new();
    let mut last = None;
    for (x, y) in straightened(points) {
        let _ = match last {
            None => write!(path, "M{} {}", number(x), number(y)),
            Some((_, before)) if before == y => write!(path, "H{}", number(x)),
            Some((before, _)) if before == x => write!(path, "V{}", number(y)),
            Some(_) => write!(path, "L{} {}", number(x), number(y)),
        };
        last = Some((x, y));
    }
    path
}

fn straightened(points: &[Place]) -> Vec<(i64, i64)> {
    let mut kept: Vec<(i64, i64)> = Vec::new();
    for point in points.iter().map(|(x, y)| (tenths(*x), tenths(*y))) {
        match kept.as_slice() {
            [.., a, b] if a.1 == b.1 && b.1 == point.1 && (a.0 <= b.0) == (b.0 <= point.0) => {
                kept.pop();
                kept.push(point);
            }
            [.., b] if *b == point => {}
            _ => kept.push(point),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_stretches_keep_their_ends() {
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 5.0), (3.0, 9.0)];
        assert_eq!(trace(&points), "M0 1H2L3 5V9");
    }

    #[test]
    fn an_area_closes_at_its_bottom() {
        let mut canvas = Canvas::new(10.0);
        canvas.area("srs", &[(1.0, 2.5), (4.0, 2.5)], 8.0);
        assert!(canvas.finish(10.0, "", "").contains(r#"d="M1 2.5H4V8H1z""#));
    }

    #[test]
    fn texts_are_escaped_and_hold_no_character_that_xml_forbids() {
        let mut canvas = Canvas::new(10.0);
        canvas.text(Size::Small, (1.0, 2.0), Anchor::End, "a < b & c\u{0}\n\"d\"");
        let svg = canvas.finish(5.0, "<t>", "]]>");
        assert!(svg.contains("a &lt; b &amp; c\u{fffd} &quot;d&quot;</text>"), "{svg}");
        assert!(svg.contains("<title>&lt;t&gt;</title>\n<desc>]]&gt;</desc>"));
    }

    #[test]
    fn a_number_that_is_none_is_written_as_one() {
        let all: Vec<String> = [f64::NAN, f64::INFINITY, -0.04, 12.34, -3.0].map(px).to_vec();
        assert_eq!(all[0], "0");
        assert_eq!(all[2..], ["0", "12.3", "-3"]);
        assert!(all[1].parse::<f64>().is_ok_and(f64::is_finite));
    }
}
