//! `forebay serve`: the engine behind gRPC, for a miner that does not load the library.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use forebay::engine::{Config, Engine};
use forebay::units::Bytes;
use forebay::Error;
use forebay_server::{Address, Options, Server, Stop};
use sd_notify::NotifyState;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::watch;

use crate::configured;
use crate::failure::{system, Result};

/// The engine's calls that may block at once; more wait their turn.
const BLOCKING_CALLS: usize = 64;

/// A line for whoever started the server. They may be gone: then nobody reads it, and the server goes on.
macro_rules! say {
    ($($line:tt)*) => {
        let _ = writeln!(std::io::stderr(), "forebay: {}", format_args!($($line)*));
    };
}

/// Serves cuzk.v1 over gRPC until it is told to stop.
///
/// SIGTERM or SIGINT drains: nothing new is taken, what was accepted is finished. A second one cancels the rest.
#[derive(clap::Args)]
pub struct Args {
    /// Where to listen: HOST:PORT or unix:///PATH; may be repeated [default: 127.0.0.1:9820]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<Address>,
    #[command(flatten)]
    configured: configured::Args,
    /// The server's certificate, in PEM: TCP is TLS then.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Clients need a certificate of this authority.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_client_ca: Option<PathBuf>,
    /// Let other machines connect without TLS.
    #[arg(long)]
    insecure: bool,
    /// Stop, as at SIGTERM, when standard input ends, and serve.orphan_seconds later as at a second one: for a parent
    /// process that must not leave a server behind.
    #[arg(long)]
    while_stdin: bool,
    /// Print a configuration with every key, its meaning and a value, and exit.
    #[arg(long)]
    print_config: bool,
}

impl Args {
    fn configuration(&self) -> Result<(Config, Options)> {
        let (config, mut options) = self.configured.read()?;
        if !self.listen.is_empty() {
            options.listen = self.listen.clone();
        }
        if let Some(tls) =
            Options::tls(self.tls_certificate.clone(), self.tls_key.clone(), self.tls_client_ca.clone())?
        {
            options.tls = Some(tls);
        }
        options.insecure |= self.insecure;
        options.check()?;
        Ok((config, options))
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    if args.print_config {
        println!("{}\n{}", Config::example(), Options::example().trim_end());
        return Ok(());
    }
    let (config, options) = args.configuration()?;
    if options.insecure && options.tls.is_none() {
        tracing::warn!("--insecure: other machines may connect without TLS");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_CALLS)
        .thread_name("forebay-serve")
        .build()
        .map_err(system("starting the server's threads"))?;
    runtime.block_on(serve(config, options, args.while_stdin))
}

async fn serve(config: Config, options: Options, while_stdin: bool) -> Result<()> {
    let (stop, stopping) = watch::channel(Stop::No);
    // Before the engine starts, so that a signal meanwhile is not lost.
    on_signals(stop.clone()).map_err(system("listening for signals"))?;
    let journal = config.journal_file.clone();
    let engine = tokio::task::spawn_blocking(move || Engine::open(config))
        .await
        .map_err(|e| Error::internal(format!("opening the engine ended in a panic: {e}")))??;
    let server = Server::bind(engine.clone(), &options).await?;
    greet(&engine, server.addresses(), journal);
    if while_stdin {
        on_end_of_input(stop, options.orphan);
    }
    let told = tokio::spawn(tell_the_manager(stopping.clone(), engine));
    let served = server.run(stopping).await;
    told.abort();
    served?;
    say!("every accepted request is answered; good-bye");
    Ok(())
}

/// One line a fact, for whoever started it.
fn greet(engine: &Engine, addresses: &[Address], journal: Option<PathBuf>) {
    let status = engine.status();
    for address in addresses {
        say!("serving cuzk.v1 on {address}");
    }
    let kinds: Vec<_> = status.queues.iter().map(|queue| queue.kind).collect();
    say!(
        "version {}, kernels {}, memory limit {}, kinds {}",
        status.library,
        status.kernels,
        Bytes(status.memory.limit),
        kinds.join(" "),
    );
    if let Some(file) = journal.filter(|file| !file.as_os_str().is_empty()) {
        say!("finished proofs are kept in {}", file.display());
    }
}

fn on_signals(stop: watch::Sender<Stop>) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                Some(()) = terminate.recv() => {}
                Some(()) = interrupt.recv() => {}
            }
            stop.send_modify(|now| *now = next(*now));
        }
    });
    Ok(())
}

/// What the next signal means.
fn next(now: Stop) -> Stop {
    match now {
        Stop::No => {
            say!("stopping: accepted requests are finished first; a second signal cancels them");
            Stop::Drain
        }
        _ => Stop::Abort,
    }
}

/// Whoever holds the other end has ended, so nobody is left to take the answers: what runs has the time of jobs whose
/// callers went away.
fn on_end_of_input(stop: watch::Sender<Stop>, orphan: Duration) {
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut buffer = [0; 256];
        while matches!(input.read(&mut buffer), Ok(1..)) {}
        stop.send_modify(|now| {
            if *now == Stop::No {
                *now = Stop::Drain;
            }
        });
        std::thread::sleep(orphan);
        stop.send_replace(Stop::Abort);
    });
}

/// Tells systemd that the server is ready, alive and stopping; does nothing elsewhere.
async fn tell_the_manager(mut stopping: watch::Receiver<Stop>, engine: Arc<Engine>) {
    let notify = |states: &[NotifyState]| {
        if let Err(e) = sd_notify::notify(states) {
            tracing::debug!("systemd cannot be told: {e}");
        }
    };
    notify(&[NotifyState::Ready]);
    let alive = sd_notify::watchdog_enabled().map(|every| every / 2);
    let mut beat = tokio::time::interval(alive.unwrap_or(Duration::from_secs(30)));
    loop {
        tokio::select! {
            _ = beat.tick() => {
                let status = engine.status();
                let waiting: u32 = status.queues.iter().map(|queue| queue.pending + queue.in_progress).sum();
                let text = format!("{waiting} requests unfinished, {} proved", status.totals.completed);
                notify(&[NotifyState::Watchdog, NotifyState::Status(&text)]);
            }
            changed = stopping.changed() => {
                if changed.is_err() {
                    return;
                }
                notify(&[NotifyState::Stopping]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    fn configuration(arguments: &[&str]) -> Result<(Config, Options)> {
        let all = std::iter::once("serve").chain(arguments.iter().copied());
        Cli::try_parse_from(all).expect("arguments").args.configuration()
    }

    #[test]
    fn the_printed_configuration_can_be_used() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = format!("{}\n{}", Config::example(), Options::example());
        std::fs::write(file.path(), text).unwrap();
        let (config, options) = configuration(&["--config", file.path().to_str().unwrap()]).ok().unwrap();
        assert_eq!(config.threads, 2);
        assert!(options.tls.is_some());
    }

    #[test]
    fn arguments_take_precedence_and_the_journal_is_on() {
        let arguments =
            ["--cache", "/c", "--memory-limit", "3GiB", "--listen", "unix:///s", "--listen", "[::1]:1"];
        let (config, options) = configuration(&arguments).ok().unwrap();
        assert_eq!(config.memory_limit, Some(Bytes::gib(3)));
        assert_eq!(config.journal_file, Some(PathBuf::from("/c/proofs.journal")));
        assert_eq!(options.listen.len(), 2);
        assert!(configuration(&["--listen", "0.0.0.0:1"]).is_err());
        assert!(configuration(&["--listen", "0.0.0.0:1", "--insecure"]).is_ok());
    }
}
