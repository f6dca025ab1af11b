//! Bounds the bytes of requests that are received but not the engine's yet.
//!
//! A small request passes with many others, so that winning_post never waits behind sealing's uploads. One that turns
//! out large waits in a line of bounded length for one of the few places for large ones; flow control holds its sender
//! until then. The place is given back when the engine has taken or refused the request.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{ready, Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use forebay::Error;
use http::Request;
use http_body::{Body, Frame};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tonic::Status;

use crate::status;

/// Calls whose message is a request.
const PATHS: [&str; 2] = ["/cuzk.v1.ProvingEngine/SubmitProof", "/cuzk.v1.ProvingEngine/Prove"];

/// Bytes up to which a request is small.
const SMALL: u64 = 1 << 20;
/// Small requests that are received at once.
const SMALL_AT_ONCE: usize = 256;
/// Requests that wait to become large ones, with their first bytes.
const LINE: usize = 256;

/// The places.
#[derive(Clone)]
pub struct Uploads {
    small: Arc<Semaphore>,
    line: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

/// One request's place, from its first byte until this is dropped.
#[derive(Clone, Default)]
pub struct Place(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Place {
    fn take(&self, permit: OwnedSemaphorePermit) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
    }
}

impl Uploads {
    /// So many large requests at once.
    pub fn new(large_at_once: usize) -> Uploads {
        Uploads {
            small: Arc::new(Semaphore::new(SMALL_AT_ONCE)),
            line: Arc::new(Semaphore::new(LINE)),
            large: Arc::new(Semaphore::new(large_at_once.max(1))),
        }
    }

    /// Puts a request's body under the bound, and its place into its extensions.
    pub fn bound(&self, request: Request<tonic::body::Body>) -> Request<tonic::body::Body> {
        if !PATHS.contains(&request.uri().path()) {
            return request;
        }
        let (mut head, body) = request.into_parts();
        let place = Place::default();
        head.extensions.insert(place.clone());
        let bounded = Bounded { body, uploads: self.clone(), place, received: 0, state: State::Waiting(acquire(&self.small)) };
        Request::from_parts(head, tonic::body::Body::new(bounded))
    }
}

fn full() -> Error {
    Error::busy(format!("{LINE} large requests wait to be received"), Duration::from_secs(1))
}

type Acquire = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send>>;

fn acquire(semaphore: &Arc<Semaphore>) -> Acquire {
    Box::pin(semaphore.clone().acquire_owned())
}

enum State {
    /// For a place.
    Waiting(Acquire),
    Small,
    Large,
}

struct Bounded {
    body: tonic::body::Body,
    uploads: Uploads,
    place: Place,
    received: u64,
    state: State,
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let State::Waiting(waiting) = &mut this.state {
            let permit = ready!(waiting.as_mut().poll(context))
                .map_err(|_| Status::unavailable("the server is closing"))?;
            this.place.take(permit);
            this.state = if this.received > SMALL { State::Large } else { State::Small };
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref)) {
            this.received += data.map_or(0, |data| data.remaining() as u64);
            if this.received > SMALL && matches!(this.state, State::Small) {
                let Ok(waiting) = this.uploads.line.clone().try_acquire_owned() else {
                    return Poll::Ready(Some(Err(status::of(&full()))));
                };
                this.place.take(waiting);
                this.state = State::Waiting(acquire(&this.uploads.large));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::SizeHint;
    use std::collections::VecDeque;
    use std::task::Waker;

    /// A body of frames that are there already.
    struct Frames(VecDeque<Bytes>);

    impl Body for Frames {
        type Data = Bytes;
        type Error = Status;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.pop_front().map(|data| Ok(Frame::data(data))))
        }
        fn size_hint(&self) -> SizeHint {
            SizeHint::default()
        }
    }

    fn upload(uploads: &Uploads, path: &str, frames: usize) -> Request<tonic::body::Body> {
        let frames = (0..frames).map(|_| Bytes::from(vec![0; 1 << 20])).collect();
        let request = Request::builder().uri(path).body(tonic::body::Body::new(Frames(frames))).unwrap();
        uploads.bound(request)
    }

    /// Frames that can be read without waiting, and whether the body ended.
    fn read(request: &mut Request<tonic::body::Body>) -> (usize, bool) {
        let mut context = Context::from_waker(Waker::noop());
        let mut count = 0;
        loop {
            match Pin::new(request.body_mut()).poll_frame(&mut context) {
                Poll::Ready(Some(frame)) => {
                    frame.unwrap();
                    count += 1;
                }
                Poll::Ready(None) => return (count, true),
                Poll::Pending => return (count, false),
            }
        }
    }

    #[test]
    fn a_large_request_waits_for_the_place_of_another_and_small_ones_pass() {
        let uploads = Uploads::new(1);
        let mut first = upload(&uploads, PATHS[0], 8);
        let mut second = upload(&uploads, PATHS[1], 8);
        assert_eq!(read(&mut first), (8, true));
        assert_eq!(read(&mut second), (2, false), "it stops beyond 1 MiB");
        assert_eq!(read(&mut upload(&uploads, PATHS[0], 1)), (1, true), "small ones are not held up");
        drop(first);
        assert_eq!(read(&mut second), (6, true));
    }

    #[test]
    fn the_line_of_large_requests_is_bounded_and_holds_up_no_small_one() {
        let uploads = Uploads::new(1);
        let mut requests: Vec<_> = (0..=LINE).map(|_| upload(&uploads, PATHS[0], 3)).collect();
        assert_eq!(read(&mut requests[0]), (3, true));
        assert!(requests[1..].iter_mut().all(|request| read(request) == (2, false)));
        assert_eq!(read(&mut upload(&uploads, PATHS[0], 1)), (1, true));
        let mut refused = upload(&uploads, PATHS[0], 3);
        let mut context = Context::from_waker(Waker::noop());
        let mut frames = std::iter::from_fn(|| match Pin::new(refused.body_mut()).poll_frame(&mut context) {
            Poll::Ready(frame) => frame,
            Poll::Pending => None,
        });
        let status = frames.find_map(|frame| frame.err()).expect("a refusal");
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    }

    #[test]
    fn a_place_is_kept_until_its_holder_is_dropped() {
        let uploads = Uploads::new(1);
        let mut request = upload(&uploads, PATHS[0], 8);
        assert_eq!(read(&mut request), (8, true));
        let place = request.extensions().get::<Place>().cloned();
        drop(request);
        assert_eq!(uploads.large.available_permits(), 0);
        drop(place);
        assert_eq!(uploads.large.available_permits(), 1);
        assert_eq!(uploads.small.available_permits(), SMALL_AT_ONCE);
    }

    #[test]
    fn other_calls_are_left_alone() {
        let uploads = Uploads::new(1);
        let mut request = upload(&uploads, "/cuzk.v1.ProvingEngine/AwaitProof", 8);
        assert!(request.extensions().get::<Place>().is_none());
        assert_eq!(read(&mut request), (8, true));
    }
}
