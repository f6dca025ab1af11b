//! Log lines on standard error; those of the loaded library among them.

use std::io::IsTerminal;

use forebay::{Code, Error};
use tracing_subscriber::EnvFilter;

use crate::failure::Result;

#[derive(clap::Args)]
pub struct Args {
    /// More log lines: -v information, -vv debugging, -vvv everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Filter of the log lines, such as `info` or `forebay=debug,libforebay=trace`; takes precedence over -v and FOREBAY_LOG.
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    /// How log lines are written.
    #[arg(long, global = true, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: Format,
}

/// How log lines are written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The filter of log lines, where --log does not give it.
const VARIABLE: &str = "FOREBAY_LOG";

/// Colours are unwanted: <https://no-color.org>.
fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Starts logging to standard error.
pub fn start(args: &Args) -> Result<()> {
    let variable = std::env::var(VARIABLE).ok().filter(|filter| !filter.is_empty());
    let filter = match (args.log.as_ref().or(variable.as_ref().filter(|_| args.verbose == 0)), args.verbose) {
        (Some(filter), _) => filter.as_str(),
        (None, 0) => "warn,bellperson=error",
        (None, 1) => "info",
        (None, 2) => "debug",
        (None, _) => "trace",
    };
    let filter = EnvFilter::try_new(filter).map_err(|e| {
        Error::new(
            Code::InvalidArgument,
            format!("--log or {VARIABLE} {filter:?} is not a filter such as `info`: {e}"),
        )
    })?;
    let lines = tracing_subscriber::fmt()
        // Told on standard error, which may be what is broken: that would be a panic in the thread that logs.
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !no_color());
    match args.log_format {
        Format::Text => lines.init(),
        Format::Json => lines.json().flatten_event(true).with_ansi(false).init(),
    }
    Ok(())
}
