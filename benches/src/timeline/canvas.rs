//! SVG text, readable on light and dark backgrounds.

use std::fmt::Write;

const STYLE: &str = r##"<style>
.card{fill:#ffffff;stroke:#d0d7de}
text{font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.title{font-size:17px;font-weight:600}
.small{font-size:12px;fill:#59636e}
.grid{stroke:#d9dee4;stroke-width:1}
.axis{stroke:#59636e;stroke-width:1}
.limit{stroke:#c9252d;stroke-width:2;stroke-dasharray:8 5;fill:none}
.promised{stroke:#1f2328;stroke-width:1.6;stroke-dasharray:3 3;fill:none}
.resident{stroke:#8250df;stroke-width:1.8;fill:none}
.c1{fill:#1a7f37}.c2{fill:#e16f24}.c3{fill:#5a9bd8}.c4{fill:#c2468b}
.s0{fill:#d3d9e0}.s1{fill:#1a7f37}.s2{fill:#a6d9b0}.s3{fill:#e16f24}.s4{fill:#f2c27e}
@media (prefers-color-scheme:dark){
.card{fill:#0d1117;stroke:#3d444d}
text{fill:#f0f6fc}
.small{fill:#b1bac4}
.grid{stroke:#2a313a}
.axis{stroke:#9198a1}
.limit{stroke:#ff6b70}
.promised{stroke:#f0f6fc}
.resident{stroke:#c297ff}
.s0{fill:#3d444d}
}
</style>"##;

/// Where a text's anchor is.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG picture in the making. Coordinates are pixels, y downwards.
pub struct Canvas {
    body: String,
    width: f64,
    height: f64,
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Canvas {
        let mut canvas = Canvas { body: String::new(), width, height };
        canvas.push(format_args!(
            r#"<rect class="card" x="0.5" y="0.5" width="{}" height="{}" rx="8"/>"#,
            width - 1.0,
            height - 1.0
        ));
        canvas
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.push(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.push(format_args!(
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        ));
    }

    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), width: f64, height: f64) {
        self.push(format_args!(
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#
        ));
    }

    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points = join(&straightened(points));
        self.push(format_args!(r#"<polyline class="{class}" points="{points}"/>"#));
    }

    /// The area between two lines that have the same x coordinates.
    pub fn band(&mut self, class: &str, lower: &[(f64, f64)], upper: &[(f64, f64)]) {
        let mut points = straightened(lower);
        points.extend(straightened(upper).into_iter().rev());
        let points = join(&points);
        self.push(format_args!(r#"<polygon class="{class}" points="{points}"/>"#));
    }

    pub fn finish(self, description: &str) -> String {
        let Canvas { body, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">\n<title>{description}</title>\n{STYLE}\n{body}</svg>\n"
        )
    }
}

/// Without the points inside level stretches.
fn straightened(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let level = |a: usize, b: usize| (points[a].1 - points[b].1).abs() < 0.05;
    let inside = |i: usize| i > 0 && i + 1 < points.len() && level(i - 1, i) && level(i, i + 1);
    (0..points.len()).filter(|i| !inside(*i)).map(|i| points[i]).collect()
}

fn join(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_stretches_keep_their_ends() {
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 5.0), (4.0, 5.0)];
        assert_eq!(straightened(&points), [(0.0, 1.0), (2.0, 1.0), (3.0, 5.0), (4.0, 5.0)]);
    }

    #[test]
    fn texts_are_escaped() {
        let mut canvas = Canvas::new(10.0, 10.0);
        canvas.text("small", (1.0, 2.0), Anchor::End, "a < b & c");
        assert!(canvas.finish("d").contains("a &lt; b &amp; c"));
    }
}
