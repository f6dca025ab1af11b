//! `forebay plan`: what a machine would do, simulated.

mod advice;
mod answer;
mod args;
mod json;
mod plot;
mod policy;
mod published;
mod question;
mod range;
mod sweep;
mod table;
mod timeline;
mod words;

use std::io::{self, Write};
use std::path::Path;

pub use args::{Args, PLANNING};

use self::answer::Plan;
use self::published::Published;
use self::sweep::Sweep;
use crate::failure::{system, Failure, Result};

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    if args.measure.wanted() {
        return args.measure.run();
    }
    if args.published {
        return compare(args);
    }
    let range = args.range()?;
    let question = args.question(range.as_ref())?;
    if let Some(range) = &range {
        let sweep = Sweep::run(&question, range)?;
        if let Some(path) = &args.plot {
            write(path, &plot::svg(&sweep))?;
        }
        return print(&if args.json { sweep.json()? } else { sweep.text() });
    }
    let plan = Plan::make(question, args.timeline.is_some())?;
    if let Some(path) = &args.timeline {
        write(path, &timeline::svg(&plan))?;
    }
    print(&if args.json { json::text(&plan)? } else { table::text(&plan) })
}

fn compare(args: &Args) -> Result<()> {
    let published = Published::compare()?;
    print(&if args.json { published.json()? } else { published.text() })?;
    match published.off() {
        0 => Ok(()),
        off => Err(Failure::Unsound(format!("the simulator is too far off {off} tested runs"))),
    }
}

fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads has had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(system("writing the plan")),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(system(format!("writing {}", path.display())))
}
