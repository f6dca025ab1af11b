//! Engine calls that may block, on threads for blocking work; of each purpose a bounded number at once, so that none
//! holds up another.

use std::sync::Arc;

use forebay::engine::Engine;
use forebay::Error;
use tokio::sync::Semaphore;
use tonic::Status;

use crate::status;

/// What a call is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose {
    /// Requests are checked and decoded.
    Submit,
    /// Circuits are loaded and evicted.
    Load,
    /// Status and figures.
    Look,
    /// The metrics.
    Scrape,
}

/// The engine, called from tasks.
#[derive(Clone)]
pub struct Work {
    pub engine: Arc<Engine>,
    submit: Arc<Semaphore>,
    load: Arc<Semaphore>,
    look: Arc<Semaphore>,
    scrape: Arc<Semaphore>,
}

impl Work {
    pub fn new(engine: Arc<Engine>) -> Work {
        let places = |n| Arc::new(Semaphore::new(n));
        Work { engine, submit: places(16), load: places(4), look: places(4), scrape: places(1) }
    }

    /// Runs a call when there is a place for it. The call ends, and has its place, also when its caller goes away.
    pub async fn run<T: Send + 'static>(
        &self,
        purpose: Purpose,
        call: impl FnOnce(&Engine) -> forebay::Result<T> + Send + 'static,
    ) -> Result<T, Status> {
        let places = match purpose {
            Purpose::Submit => &self.submit,
            Purpose::Load => &self.load,
            Purpose::Look => &self.look,
            Purpose::Scrape => &self.scrape,
        };
        let place = places.clone().acquire_owned().await.map_err(broken)?;
        let engine = self.engine.clone();
        let ran = tokio::task::spawn_blocking(move || {
            let _place = place;
            call(&engine)
        });
        ran.await.map_err(broken)?.map_err(|e| status::of(&e))
    }
}

/// A call that ended in a panic.
pub fn broken(e: impl std::fmt::Display) -> Status {
    status::of(&Error::internal(format!("a call to the engine: {e}")))
}
