//! Command line of forebay.

mod columns;
mod configured;
mod demo;
mod doctor;
mod failure;
mod ground;
mod library;
mod logging;
mod measure;
mod params;
mod plan;
mod progress;
mod prove;
mod serve;
mod setup;
mod top;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a proof did not verify or a check failed; 2 wrong usage; \
10 + N an error with code N (forebay_code in include/forebay.h), such as 20 for missing parameters. \
Errors are one line on standard error: `forebay: CODE: MESSAGE`.";

/// Groth16 proofs for Filecoin storage miners, inside a fixed memory budget.
#[derive(Parser)]
#[command(name = "forebay", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    logging: logging::Args,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Prove(prove::Args),
    Serve(serve::Args),
    Params(params::Args),
    Plan(Box<plan::Args>),
    Verify(verify::Args),
    Doctor(doctor::Args),
    Top(top::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Command::Demo(args) = &cli.command {
        // Filecoin's crates read their settings once: this comes before any other thread and any use of them.
        args.use_parameter_folder();
    }
    if let Command::Plan(args) = &cli.command {
        if args.measure.wanted() {
            args.measure.use_parameter_folder();
        }
    }
    if let Command::Verify(args) = &cli.command {
        args.use_parameter_folder();
    }
    let result = logging::start(&cli.logging).and_then(|()| match &cli.command {
        Command::Demo(args) => demo::run(args),
        Command::Prove(args) => prove::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Params(args) => params::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Top(args) => top::run(args),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
