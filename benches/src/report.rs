//! Rows of a measurement and the goals they must meet.

use serde::Serialize;

/// What a row's value must satisfy.
#[derive(Clone, Copy)]
pub enum Goal {
    /// The value itself is at most this.
    AtMost(f64),
    /// The value itself is at least this.
    AtLeast(f64),
    /// The ratio against the peer is at least this.
    RatioAtLeast(f64),
    /// The ratio against the peer is at most this.
    RatioAtMost(f64),
    /// A goal that does not hold here, and why: shown, not judged.
    Unjudged(&'static str),
    /// The ratio against the peer is 1, give or take this share.
    Within(f64),
    /// Shown for its own sake.
    None,
}

/// One measured figure.
#[derive(Serialize)]
pub struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    /// The peer's figure in the same unit, where there is one.
    against: Option<f64>,
    peer: Option<String>,
    /// Peer over ours for times (how many times faster), ours over peer for sizes and rates.
    ratio: Option<f64>,
    goal: Option<String>,
    met: Option<bool>,
}

impl Row {
    fn new(name: &str, value: f64, unit: &'static str) -> Row {
        Row {
            name: name.to_owned(),
            value,
            unit,
            against: None,
            peer: None,
            ratio: None,
            goal: None,
            met: None,
        }
    }

    fn beside(mut self, peer: (&str, f64), ratio: f64) -> Row {
        (self.peer, self.against, self.ratio) = (Some(peer.0.to_owned()), Some(peer.1), Some(ratio));
        self
    }
}

/// The rows of one run.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Report {
    /// A sentence that belongs to the figures: what a peer is, what was left out.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A figure of ours alone.
    pub fn value(&mut self, name: &str, value: f64, unit: &'static str, goal: Goal) {
        self.push(Row::new(name, value, unit), goal);
    }

    /// Our seconds beside a peer's; the ratio is how many times faster ours is.
    pub fn faster(&mut self, name: &str, ours: f64, peer: (&str, f64), goal: Goal) {
        self.quicker(name, ours, "s", peer, goal);
    }

    /// Our time beside a peer's, in this unit; the ratio is how many times faster ours is.
    pub fn quicker(&mut self, name: &str, ours: f64, unit: &'static str, peer: (&str, f64), goal: Goal) {
        self.push(Row::new(name, ours, unit).beside(peer, peer.1 / ours), goal);
    }

    /// Our size beside a peer's; the ratio is ours over theirs.
    pub fn smaller(&mut self, name: &str, ours: f64, peer: (&str, f64), goal: Goal) {
        self.push(Row::new(name, ours, "bytes").beside(peer, ours / peer.1), goal);
    }

    /// Our rate beside a peer's, in this unit; the ratio is ours over theirs.
    pub fn more(&mut self, name: &str, ours: f64, unit: &'static str, peer: (&str, f64), goal: Goal) {
        self.push(Row::new(name, ours, unit).beside(peer, ours / peer.1), goal);
    }

    /// A projected figure beside a real one; the ratio is the projected over the real.
    pub fn near(&mut self, name: &str, ours: f64, unit: &'static str, peer: (&str, f64), share: f64) {
        self.more(name, ours, unit, peer, Goal::Within(share));
    }

    fn push(&mut self, mut row: Row, goal: Goal) {
        (row.goal, row.met) = match goal {
            Goal::AtMost(limit) => (Some(format!("<= {}", figure(limit))), Some(row.value <= limit)),
            Goal::AtLeast(limit) => (Some(format!(">= {}", figure(limit))), Some(row.value >= limit)),
            Goal::RatioAtLeast(limit) => (Some(format!(">= {limit}x")), row.ratio.map(|r| r >= limit)),
            Goal::RatioAtMost(limit) => (Some(format!("<= {limit}x")), row.ratio.map(|r| r <= limit)),
            Goal::Within(share) => {
                let near = |ratio: f64| (ratio - 1.0).abs() <= share;
                (Some(format!("+- {:.0} %", share * 100.0)), row.ratio.map(near))
            }
            Goal::Unjudged(reason) => (Some(reason.to_owned()), None),
            Goal::None => (None, None),
        };
        // One figure beside several peers is told once.
        if self.rows.last().is_none_or(|last| last.name != row.name) {
            eprintln!("  {}: {} {}", row.name, figure(row.value), row.unit);
        }
        self.rows.push(row);
    }

    /// True where every goal is met.
    pub fn met(&self) -> bool {
        self.rows.iter().all(|row| row.met != Some(false))
    }

    /// Prints the rows: a table, or one JSON object a row.
    pub fn print(&self, json: bool) -> serde_json::Result<()> {
        if json {
            for row in &self.rows {
                println!("{}", serde_json::to_string(row)?);
            }
            self.notes.iter().for_each(|note| eprintln!("{note}"));
            return Ok(());
        }
        println!(
            "{:<44} {:>14} {:<6} {:>14} {:<22} {:>8} {:>12} met",
            "name", "value", "unit", "against", "peer", "ratio", "goal"
        );
        for row in &self.rows {
            println!(
                "{:<44} {:>14} {:<6} {:>14} {:<22} {:>8} {:>12} {}",
                row.name,
                figure(row.value),
                row.unit,
                row.against.map(figure).unwrap_or_default(),
                row.peer.as_deref().unwrap_or(""),
                row.ratio.map(|r| format!("{r:.3}")).unwrap_or_default(),
                row.goal.as_deref().unwrap_or(""),
                match row.met {
                    Some(true) => "yes",
                    Some(false) => "NO",
                    None => "",
                }
            );
        }
        self.notes.iter().for_each(|note| println!("{note}"));
        Ok(())
    }
}

fn figure(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}")
    }
}
