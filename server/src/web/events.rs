//! `/events`: the history of memory, then every snapshot, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::{watch, OwnedSemaphorePermit, Semaphore};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::StreamExt;

use super::monitor::Snapshot;
use super::Views;

/// Clients at once; each has a connection and one snapshot on its way.
const CLIENTS: usize = 256;
/// So that a connection through a proxy stays open.
const ALIVE: Duration = Duration::from_secs(15);

/// Who may still come.
pub struct Clients(Arc<Semaphore>);

impl Default for Clients {
    fn default() -> Clients {
        Clients(Arc::new(Semaphore::new(CLIENTS)))
    }
}

/// Streams until the client goes or the engine is closed.
pub async fn stream(State(views): State<Views>) -> Response {
    let Ok(place) = views.clients.0.clone().try_acquire_owned() else {
        let text = format!("{CLIENTS} clients watch already; ask /status now and then\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let newest = views.monitor.watch();
    let history = match views.monitor.history() {
        Ok(history) => Event::default().event("history").data(history),
        Err(error) => return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    };
    let first = tokio_stream::once(Ok::<_, Infallible>(history));
    let events = first.chain(snapshots(newest, place));
    Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
}

fn snapshots(
    newest: watch::Receiver<Snapshot>,
    place: OwnedSemaphorePermit,
) -> impl tokio_stream::Stream<Item = Result<Event, Infallible>> {
    WatchStream::new(newest).take_while(|snapshot| snapshot.state != "closed").map(move |snapshot| {
        // Held as long as the stream is.
        let _ = &place;
        Ok(Event::default().event("status").data(&*snapshot.json))
    })
}
