//! Published runs beside the simulator's.

use forebay::simulate::published::{compare, Compared, Use, OUT_OF_MEMORY, PROFILE, TOLERANCE};
use forebay::simulate::Profile;
use forebay::Result;
use serde::Serialize;

use super::json::line;
use super::words::{change, number};
use crate::columns::render;

/// Runs that each figure is the mean of.
const SEEDS: u64 = 5;

/// The comparison.
pub struct Published {
    rows: Vec<Compared>,
}

#[derive(Serialize)]
struct Written<'a> {
    profile: &'static str,
    tolerance: f64,
    seeds: u64,
    rows: Vec<WrittenRow<'a>>,
}

#[derive(Serialize)]
struct WrittenRow<'a> {
    #[serde(flatten)]
    compared: &'a Compared,
    seconds_off: Option<f64>,
    peak_off: Option<f64>,
}

impl Published {
    /// Simulates every published run.
    pub fn compare() -> Result<Published> {
        Ok(Published { rows: compare(&Profile::find(PROFILE)?, SEEDS)? })
    }

    /// Tested runs that the simulator is too far from.
    pub fn off(&self) -> usize {
        let tested = self.rows.iter().filter(|row| row.row.used == Use::Tested);
        tested.filter(|row| !row.near()).count()
    }

    pub fn json(&self) -> Result<String> {
        let rows = self.rows.iter().map(|row| WrittenRow {
            compared: row,
            seconds_off: row.seconds_off(),
            peak_off: row.peak_off(),
        });
        line(&Written { profile: PROFILE, tolerance: TOLERANCE, seeds: SEEDS, rows: rows.collect() })
    }

    pub fn text(&self) -> String {
        let head = ["  pw", "gw", "proofs", "s a proof", "here", "off", "peak GiB", "here", "off", "used"];
        let rows = std::iter::once(head.map(String::from).to_vec()).chain(self.rows.iter().map(row));
        let table = render(&rows.collect::<Vec<_>>());
        let mut lines = table.lines();
        let mut text = format!("{}\n", lines.next().unwrap_or_default());
        let mut last = "";
        for (compared, line) in self.rows.iter().zip(lines) {
            let run = compared.row.run;
            if run != last {
                text += &format!("{run}\n");
                last = run;
            }
            text += &format!("{line}{}\n", waited(compared));
        }
        text + &self.explained()
    }

    fn explained(&self) -> String {
        let tested = self.rows.iter().filter(|row| row.row.used == Use::Tested).count();
        format!(
            "\npw: partitions synthesised at once; gw: workers of the GPU; here: the simulator with profile\n\
             {PROFILE}, means over {SEEDS} seeds. fitted: the profile's parameters were fitted to the row;\n\
             tested: nothing was fitted to it; shown: the number of proofs was not published, or no figure\n\
             to compare with. killed: out of memory; the simulator kills at the published peak of that row,\n\
             {OUT_OF_MEMORY:.0} GiB, so that its peak says nothing.\n\
             {} of {tested} tested rows are within {:.0} %.\n",
            tested - self.off(),
            TOLERANCE * 100.0,
        )
    }
}

/// Partitions that waited when it was killed.
fn waited(compared: &Compared) -> String {
    let waiting = compared.row.waiting;
    waiting
        .map_or(String::new(), |waiting| format!("  {waiting} waited (here {})", compared.simulated_waiting))
}

fn row(compared: &Compared) -> Vec<String> {
    let row = &compared.row;
    let optional = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    // Killed: both peaks are where it was killed.
    let peak_off = compared.simulated_seconds.and(compared.peak_off());
    let off = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), change);
    let used = match row.used {
        Use::Fitted => "fitted",
        Use::Tested => "tested",
        Use::Shown => "shown",
    };
    vec![
        format!("  {}", row.workers),
        row.slots.to_string(),
        row.proofs.to_string(),
        optional(row.seconds),
        compared.simulated_seconds.map_or_else(|| "killed".to_owned(), number),
        off(compared.seconds_off()),
        optional(row.peak),
        number(compared.simulated_peak),
        off(peak_off),
        used.to_owned(),
    ]
}
