//! `forebay doctor`: looks at this machine before it matters.

mod checks;
mod facts;
mod finding;
mod gpu;

use std::io::{IsTerminal, Write};

use crate::configured;
use crate::failure::{system, Failure, Result};
use facts::Facts;
use finding::{Finding, State};

/// Version of the JSON document; raised when a key changes its meaning or goes away.
const VERSION: u32 = 1;

/// Looks whether this machine can prove: processor, memory, GPUs, parameters, folders, clock.
///
/// Each line is ok, a warning or a problem, with what to do about it. Exit code 1 where there is a problem.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    configured: configured::Args,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let findings = match args.configured.read() {
        Ok((config, _)) => checks::all(&Facts::gather(config)),
        // Nothing else can be judged without a configuration.
        Err(Failure::Error(error)) => vec![Finding::problem(
            "configuration",
            error.to_string(),
            "correct the file; `forebay serve --print-config` prints every key",
        )],
        Err(other) => return Err(other),
    };
    let mut out = std::io::stdout().lock();
    let text = match args.json {
        true => json(&findings),
        false => words(&findings, std::io::stdout().is_terminal()),
    };
    out.write_all(text.as_bytes()).map_err(system("writing to standard output"))?;
    match count(&findings, State::Problem) {
        0 => Ok(()),
        1 => Err(Failure::Unsound("1 problem".into())),
        n => Err(Failure::Unsound(format!("{n} problems"))),
    }
}

fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}

fn json(findings: &[Finding]) -> String {
    let document = serde_json::json!({
        "version": VERSION,
        "library": env!("CARGO_PKG_VERSION"),
        "problems": count(findings, State::Problem),
        "warnings": count(findings, State::Warning),
        "findings": findings,
    });
    format!("{document:#}\n")
}

fn words(findings: &[Finding], colour: bool) -> String {
    let width = findings.iter().map(|finding| finding.check.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let (before, after) = if colour { (finding.state.colour(), "\x1b[0m") } else { ("", "") };
        let state = finding.state.name();
        text += &format!("{before}{state:<7}{after}  {:<width$}  {}\n", finding.check, finding.what);
        if !finding.remedy.is_empty() {
            text += &format!("{:<7}  {:<width$}  -> {}\n", "", "", finding.remedy);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_lines_or_one_object() {
        let findings = [
            Finding::ok("processor", "fast"),
            Finding::warning("clock", "unknown", "start a time service"),
            Finding::problem("cache folder", "full", "make room"),
        ];
        let text = words(&findings, false);
        assert_eq!(
            text,
            "ok       processor     fast\n\
             warning  clock         unknown\n\
             \x20                      -> start a time service\n\
             problem  cache folder  full\n\
             \x20                      -> make room\n"
        );
        let document: serde_json::Value = serde_json::from_str(&json(&findings)).unwrap();
        assert_eq!((&document["problems"], &document["warnings"]), (&1.into(), &1.into()));
        assert_eq!(document["findings"][2]["state"], "problem");
        assert_eq!(document["findings"][0]["remedy"], "");
    }
}
