//! `forebay top`: a running `forebay serve`, live in a terminal.

mod connection;
mod model;
mod plain;
mod screen;
mod view;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use forebay::{Code, Error};
use forebay_server::Address;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch;

use crate::failure::{system, Result};
use connection::Connection;
use model::Status;
use screen::Screen;

/// Between two looks at the keyboard.
const KEYS: Duration = Duration::from_millis(50);
/// A snapshot that is older than this and the interval is said to be.
const PATIENCE: Duration = Duration::from_secs(3);

/// Shows a running `forebay serve`: memory by class, partitions by stage, slots, circuits, queue, requests.
///
/// Keys: q ends, arrows and page keys scroll, s sorts, p pauses, ? helps.
#[derive(clap::Args)]
pub struct Args {
    /// The server: HOST:PORT or unix:///PATH
    #[arg(long, value_name = "ADDRESS", default_value = forebay_server::DEFAULT_LISTEN)]
    connect: Address,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
    /// Print one snapshot as text and exit.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    tls: connection::Tls,
}

/// What is shown, and since when.
#[derive(Clone)]
pub struct Seen {
    pub status: Option<Status>,
    pub at: Instant,
    /// Why there is nothing newer.
    pub error: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let interval = Duration::try_from_secs_f64(args.interval).ok().filter(|every| *every >= KEYS);
    let interval = interval.ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("--interval {}: expected 0.05 s or more", args.interval))
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(system("starting the client"))?;
    let mut connection = Connection::new(&args.connect, &args.tls)?;
    if args.once {
        let status = runtime.block_on(connection.status())?;
        let text = plain::plain(&status);
        return std::io::stdout().write_all(text.as_bytes()).map_err(system("writing to standard output"));
    }
    if !std::io::stdout().is_terminal() {
        let text = "standard output is no terminal; --once prints a snapshot as text";
        return Err(Error::new(Code::InvalidArgument, text).into());
    }
    let guard = runtime.enter();
    let terminate = signal(SignalKind::terminate()).map_err(system("listening for signals"))?;
    drop(guard);
    // Restores the terminal also where the program panics.
    let terminal = ratatui::try_init().map_err(system("taking the terminal"))?;
    let ended = runtime.block_on(live(terminal, connection, interval, terminate));
    ratatui::restore();
    // Nobody waits for a name server that does not answer.
    runtime.shutdown_background();
    ended
}

/// Asks again and again until nobody wants to know. Beside the keyboard, which a server that hangs must not hold up.
async fn ask(mut connection: Connection, interval: Duration, news: watch::Sender<Seen>) {
    while !news.is_closed() {
        match connection.status().await {
            Ok(status) => {
                news.send_replace(Seen { status: Some(status), at: Instant::now(), error: None });
            }
            Err(error) => news.send_modify(|seen| seen.error = Some(error.message().to_owned())),
        }
        tokio::time::sleep(interval).await;
    }
}

async fn live(
    mut terminal: ratatui::DefaultTerminal,
    connection: Connection,
    interval: Duration,
    mut terminate: Signal,
) -> Result<()> {
    let mut screen = Screen { patience: interval + PATIENCE, ..Screen::default() };
    let mut shown = Seen { status: None, at: Instant::now(), error: None };
    let (tell, mut news) = watch::channel(shown.clone());
    tokio::spawn(ask(connection, interval, tell));
    loop {
        if !screen.paused && news.has_changed().unwrap_or(false) {
            shown = news.borrow_and_update().clone();
        }
        terminal.draw(|frame| view::draw(frame, &shown, &mut screen)).map_err(system("drawing"))?;
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            () = tokio::time::sleep(KEYS) => {}
        }
        while event::poll(Duration::ZERO).map_err(system("reading the keyboard"))? {
            match event::read().map_err(system("reading the keyboard"))? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if ends(key) {
                        return Ok(());
                    }
                    screen.press(key.code);
                }
                _ => {}
            }
        }
    }
}

fn ends(key: KeyEvent) -> bool {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}
