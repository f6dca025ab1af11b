//! What a person, a browser and a monitoring system ask over plain HTTP, at the addresses that gRPC has: the status
//! page, `/metrics`, `/status`, `/events`, `/healthz`, `/readyz`. Everything only looks.

mod assets;
mod events;
mod monitor;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{header, HeaderName, HeaderValue, Method, StatusCode, Version};
use axum::middleware::{from_fn, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::Router;

use crate::work::{Purpose, Work};
pub use monitor::Monitor;

/// An engine whose last snapshot is older does not answer.
const STALE: Duration = Duration::from_secs(10);

/// The format of [`forebay::engine::Engine::metrics`].
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
];

/// What the pages are made from.
#[derive(Clone)]
struct Views {
    work: Work,
    monitor: Arc<Monitor>,
    clients: Arc<events::Clients>,
}

/// The pages' routes beside those of gRPC.
pub fn beside(grpc: Router, work: Work, monitor: Arc<Monitor>) -> Router {
    let views = Views { work, monitor, clients: Arc::default() };
    let mut pages = Router::new()
        .route("/metrics", get(metrics))
        .route("/status", get(status))
        .route("/events", get(events::stream))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready));
    for (path, kind, text) in assets::ALL {
        let file = move || async move { ([(header::CONTENT_TYPE, kind)], text) };
        pages = pages.route(path, get(file));
    }
    let pages = pages.layer(from_fn(with_headers)).with_state(views);
    grpc.layer(from_fn(only_grpc)).merge(pages)
}

async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Calls are gRPC's or nobody's: a browser cannot be led to send one from another site's page, since their content type
/// is none that it sends unasked.
async fn only_grpc(request: Request, next: Next) -> Response {
    let kind = request.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let called = kind.is_some_and(|kind| kind.starts_with(b"application/grpc"));
    if !called {
        let text = match *request.method() {
            Method::GET | Method::HEAD => {
                "nothing is here; / is the status page, /metrics, /status and /events are for programs\n"
            }
            _ => "calls are gRPC: content type application/grpc\n",
        };
        return (StatusCode::NOT_FOUND, text).into_response();
    }
    if request.version() < Version::HTTP_2 {
        return (StatusCode::HTTP_VERSION_NOT_SUPPORTED, "gRPC needs HTTP/2\n").into_response();
    }
    next.run(request).await
}

async fn metrics(State(views): State<Views>) -> Response {
    match views.work.run(Purpose::Scrape, |engine| Ok(engine.metrics())).await {
        Ok(text) => ([(header::CONTENT_TYPE, PROMETHEUS)], text).into_response(),
        Err(status) => failed(&status),
    }
}

async fn status(State(views): State<Views>) -> Response {
    let json = views.work.run(Purpose::Look, |engine| monitor::document(&engine.status())).await;
    match json {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(status) => failed(&status),
    }
}

fn failed(status: &tonic::Status) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("{}\n", status.message())).into_response()
}

/// The engine answers.
async fn healthy(State(views): State<Views>) -> Response {
    let now = views.monitor.now();
    if now.state == "closed" {
        return (StatusCode::SERVICE_UNAVAILABLE, "the engine is closed\n").into_response();
    }
    match now.at.elapsed() {
        age if age > STALE => {
            let text = format!("the engine has not answered for {} s\n", age.as_secs());
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
        _ => "ok\n".into_response(),
    }
}

/// The engine answers and takes requests.
async fn ready(State(views): State<Views>) -> Response {
    let state = views.monitor.now().state;
    if state != "running" {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("the engine is {state}\n")).into_response();
    }
    healthy(State(views)).await
}
