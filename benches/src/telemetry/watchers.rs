//! Who watches: holders of `/events`, readers that hardly read, and scrapers that go away amid the answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::report::{Goal, Report};
use crate::Failure;

/// Holders of `/events` that read everything, and those that read next to nothing.
const HOLDERS: usize = 100;
const SLOW: usize = 10;
/// Each scrapes in turn and goes away amid the answer.
const SCRAPERS: usize = 4;
const BETWEEN_SCRAPES: Duration = Duration::from_secs(1);
const BETWEEN_BYTES: Duration = Duration::from_millis(500);

/// What watchers got.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    events: u64,
    killed: u64,
    slow: u64,
}

#[derive(Default)]
struct Shared {
    events: AtomicU64,
    killed: AtomicU64,
    slow: AtomicU64,
}

/// Watchers at work, on threads of their own.
pub struct Watchers {
    runtime: tokio::runtime::Runtime,
    shared: Arc<Shared>,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.events += other.events;
        self.killed += other.killed;
        self.slow += other.slow;
    }

    pub fn rows(&self, report: &mut Report) {
        let at_least = Goal::AtLeast(1.0);
        let name = format!("snapshots that {HOLDERS} holders of /events got");
        report.value(&name, self.events as f64, "", at_least);
        let name = format!("scrapes that {SCRAPERS} scrapers left");
        report.value(&name, self.killed as f64, "", at_least);
        let name = format!("bytes that {SLOW} slow readers took");
        report.value(&name, self.slow as f64, "", at_least);
    }
}

impl Watchers {
    /// Connects everybody.
    pub fn start(address: &str) -> Result<Watchers, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("watchers")
            .enable_all()
            .build()?;
        let shared = Arc::<Shared>::default();
        let own = || (address.to_owned(), shared.clone());
        for _ in 0..HOLDERS {
            let (address, shared) = own();
            runtime.spawn(async move { hold(&address, &shared).await });
        }
        for _ in 0..SLOW {
            let (address, shared) = own();
            runtime.spawn(async move { crawl(&address, &shared).await });
        }
        for _ in 0..SCRAPERS {
            let (address, shared) = own();
            runtime.spawn(async move {
                loop {
                    if kill(&address).await.is_some() {
                        shared.killed.fetch_add(1, Ordering::Relaxed);
                    }
                    tokio::time::sleep(BETWEEN_SCRAPES).await;
                }
            });
        }
        Ok(Watchers { runtime, shared })
    }

    /// Ends them all; what they got.
    pub fn stop(self) -> Counts {
        self.runtime.shutdown_background();
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Shared { events, killed, slow } = &*self.shared;
        Counts { events: of(events), killed: of(killed), slow: of(slow) }
    }
}

async fn get(address: &str, path: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: forebay\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    Some(stream)
}

async fn hold(address: &str, shared: &Shared) -> Option<()> {
    let mut stream = get(address, "/events").await?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        let events = buffer[..read].windows(13).filter(|part| part == b"event: status").count();
        shared.events.fetch_add(events as u64, Ordering::Relaxed);
    }
}

async fn crawl(address: &str, shared: &Shared) -> Option<()> {
    let mut stream = get(address, "/events").await?;
    loop {
        stream.read_u8().await.ok()?;
        shared.slow.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(BETWEEN_BYTES).await;
    }
}

async fn kill(address: &str) -> Option<()> {
    let mut stream = get(address, "/metrics").await?;
    stream.read_exact(&mut [0; 100]).await.ok().map(|_| ())
}
