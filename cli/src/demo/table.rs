//! The demonstration's output.

use std::io::{self, Write};
use std::path::Path;

use forebay::units::Bytes;

use super::facts::Facts;
use crate::columns::render;
use crate::failure::{system, Result};

const HEAD: [&str; 12] = [
    "kind",
    "constraints",
    "queued",
    "working set",
    "peak RSS",
    "load s",
    "synthesis s",
    "start s",
    "finish s",
    "verify s",
    "total s",
    "verified",
];

/// One JSON object on a line of its own.
pub fn print_json(facts: &Facts) -> Result<()> {
    let line =
        serde_json::to_string(facts).map_err(|e| forebay::Error::internal(format!("writing JSON: {e}")))?;
    writeln!(io::stdout(), "{line}").map_err(system("writing the result"))
}

/// The table, and where the cache is.
pub fn print(all: &[Facts], cache: &Path) -> Result<()> {
    let head = HEAD.map(String::from).to_vec();
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    let mut text = render(&rows);
    text += "queued: the compact witness of a partition that waits for the prover. working set: the prover's buffers ";
    text +=
        "beyond SRS and matrices.\npeak RSS: of this process, mapped parameter files included. verified: by filecoin-proofs-api, after the library's own verification.\n";
    text += &format!("cache: {}\n", cache.display());
    io::stdout().write_all(text.as_bytes()).map_err(system("writing the table"))
}

fn row(facts: &Facts) -> Vec<String> {
    let seconds = |ms: u64| format!("{:.2}", ms as f64 / 1000.0);
    let bytes = |n: u64| Bytes(n).to_string();
    vec![
        facts.kind.clone(),
        grouped(facts.constraints),
        bytes(facts.witness_bytes),
        bytes(facts.working_set_bytes),
        bytes(facts.peak_rss_bytes),
        seconds(facts.srs_load_ms),
        seconds(facts.synthesis_ms),
        seconds(facts.start_ms),
        seconds(facts.finish_ms),
        seconds(facts.verify_ms),
        seconds(facts.total_ms),
        if facts.verified { "yes" } else { "NO" }.into(),
    ]
}

/// 2687921 as 2,687,921.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (2_687_921, "2,687,921")] {
            assert_eq!(grouped(number), text);
        }
    }
}
