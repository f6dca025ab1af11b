//! `/events`: the history of memory, then every snapshot, as server-sent events. Each snapshot is written once, for all
//! who watch.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{header, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tokio::sync::{watch, OwnedSemaphorePermit, Semaphore};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::StreamExt;

use super::monitor::Snapshot;
use super::Views;

/// Clients at once; each has a connection and one snapshot on its way.
const CLIENTS: usize = 256;

/// Who may still come.
pub struct Clients(Arc<Semaphore>);

impl Default for Clients {
    fn default() -> Clients {
        Clients(Arc::new(Semaphore::new(CLIENTS)))
    }
}

/// An event of one line of data.
pub fn event(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// Streams until the client goes or the engine is closed.
pub async fn stream(State(views): State<Views>) -> Response {
    let Ok(place) = views.clients.0.clone().try_acquire_owned() else {
        let text = format!("{CLIENTS} clients watch already; ask /status now and then\n");
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let newest = views.monitor.watch();
    let history = match views.monitor.history() {
        Ok(history) => event("history", &history),
        Err(error) => return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    };
    let events = tokio_stream::once(Ok::<_, Infallible>(history)).chain(snapshots(newest, place));
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
}

fn snapshots(
    newest: watch::Receiver<Snapshot>,
    place: OwnedSemaphorePermit,
) -> impl tokio_stream::Stream<Item = Result<Bytes, Infallible>> {
    WatchStream::new(newest).take_while(|snapshot| snapshot.state != "closed").map(move |snapshot| {
        // Held as long as the stream is.
        let _ = &place;
        Ok(snapshot.event)
    })
}
