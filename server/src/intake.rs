//! What is received: how long a message may be, how many bytes of requests may be on their way in, deadlines.
//!
//! A request is counted from its first bytes until the engine has taken or refused it. One that finds no room waits
//! while HTTP/2 holds its sender back; only so many may wait, others are answered with `busy`.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{ready, Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use forebay::engine::MAX_MESSAGE;
use forebay::{units, Code, Error};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tower::Service;

use crate::status;

/// The longest message of a call that carries no proof request.
const MAX_SMALL: u32 = 64 << 10;
/// `ProveRequest` around a request of the longest size.
const MAX_LARGE: u32 = MAX_MESSAGE.0 as u32 + 16;
/// Requests up to this size have room of their own, so that no winning_post waits for the upload of a long one.
const SHORT: u32 = 1 << 20;
/// That room, in [`UNIT`]s.
const SHORT_UNITS: usize = 16 << 10;
/// Bytes are counted in these.
const UNIT: u32 = 1 << 10;
/// Requests that may wait for room.
const WAITING: usize = 16;
/// How long a message may stand still on its way in.
const STALL: Duration = Duration::from_secs(30);
/// Bytes a second that a message comes with at least.
const SLOWEST: u64 = 64 << 10;
/// gRPC's header of a message: a flag and its length.
const HEADER: usize = 5;

/// Room for the requests that are received.
pub struct Room {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    long_units: usize,
    /// For each of the two.
    waiting: [AtomicUsize; 2],
}

/// What a request holds until the engine has it.
#[derive(Clone, Default)]
pub struct Hold(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Hold {
    /// Gives the room back.
    pub fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn keep(&self, permit: OwnedSemaphorePermit) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
    }
}

impl Room {
    /// Room for this many bytes of requests above [`SHORT`].
    pub fn new(bytes: units::Bytes) -> Arc<Room> {
        // One unit more: for what Prove wraps around a request.
        let units = (bytes.0 / u64::from(UNIT) + 1).min(Semaphore::MAX_PERMITS as u64) as usize;
        Arc::new(Room {
            short: Arc::new(Semaphore::new(SHORT_UNITS)),
            long: Arc::new(Semaphore::new(units)),
            long_units: units,
            waiting: Default::default(),
        })
    }

    /// Bytes that are held now.
    #[cfg(test)]
    pub fn held(&self) -> u64 {
        let free = self.short.available_permits() + self.long.available_permits();
        (SHORT_UNITS + self.long_units - free) as u64 * u64::from(UNIT)
    }

    async fn enter(self: Arc<Room>, len: u32) -> Result<OwnedSemaphorePermit, Error> {
        let units = len.div_ceil(UNIT).max(1);
        let room = if len <= SHORT { &self.short } else { &self.long };
        if len > SHORT && units as usize > self.long_units {
            return Err(Error::new(
                Code::BudgetExceeded,
                format!(
                    "the request has {len} bytes, all that are received may have {} KiB; raise serve.receive_bytes",
                    self.long_units
                ),
            ));
        }
        if let Ok(permit) = room.clone().try_acquire_many_owned(units) {
            return Ok(permit);
        }
        let _place = Place::take(&self.waiting[usize::from(len > SHORT)])?;
        let closed = |_: AcquireError| Error::internal("the server's room is closed");
        room.clone().acquire_many_owned(units).await.map_err(closed)
    }
}

/// A place among those who wait.
struct Place<'a>(&'a AtomicUsize);

impl Place<'_> {
    fn take(waiting: &AtomicUsize) -> Result<Place<'_>, Error> {
        let place = Place(waiting);
        if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING {
            let why = format!("{WAITING} requests wait to be received (serve.receive_bytes)");
            return Err(Error::busy(why, Duration::from_secs(1)));
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What follows a call's one message would be read, too, and nothing would bound it.
fn more() -> Error {
    Error::new(Code::InvalidRequest, "the call has more than one message; expected one")
}

type Entering = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, Error>> + Send>>;

enum State {
    /// The message's length is not known yet; what came so far.
    Header(Vec<u8>),
    /// The message waits for room, with the frame that told its length and what will then be left to come.
    Entering(Entering, Bytes, u64),
    /// What comes is passed on: so many bytes of the message are left.
    Open(u64),
    Failed,
}

/// A request's body, passed on when there is room for its message.
pub struct Received<B> {
    body: B,
    state: State,
    room: Option<(Arc<Room>, Hold)>,
    stalled: Pin<Box<Sleep>>,
    /// When the whole message must be here.
    until: Option<Instant>,
}

impl<B> Received<B> {
    fn new(body: B, room: Option<(Arc<Room>, Hold)>) -> Self {
        let stalled = Box::pin(tokio::time::sleep(STALL));
        Received { body, state: State::Header(Vec::new()), room, stalled, until: None }
    }

    /// Looks at the header of the message: how much of it is left to come and, where it needs room, what enters.
    fn announced(&self, bytes: &[u8]) -> Result<(u64, Option<Entering>), Error> {
        let len = bytes.iter().skip(1).take(4).fold(0, |len, byte| len << 8 | u32::from(*byte));
        let most = if self.room.is_some() { MAX_LARGE } else { MAX_SMALL };
        if len > most {
            let text = format!("the call's message has {len} bytes; at most {most} are read");
            return Err(Error::new(Code::InvalidRequest, text));
        }
        let left = (u64::from(len) + HEADER as u64).checked_sub(bytes.len() as u64).ok_or_else(more)?;
        Ok((left, self.room.as_ref().map(|(room, _)| Box::pin(room.clone().enter(len)) as Entering)))
    }

    /// The message is let in: what is left of it has a time that a slow line keeps.
    fn open(&mut self, left: u64) {
        self.until = Some(Instant::now() + STALL + Duration::from_secs(left / SLOWEST));
        self.state = State::Open(left);
        self.moved();
    }

    fn moved(&mut self) {
        let next = Instant::now() + STALL;
        self.stalled.as_mut().reset(self.until.map_or(next, |until| until.min(next)));
    }

    fn fail<T>(&mut self, error: &Error) -> Poll<Option<Result<T, Status>>> {
        self.state = State::Failed;
        Poll::Ready(Some(Err(status::of(error))))
    }
}

impl<B> Body for Received<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<tonic::codegen::StdError>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            match &mut this.state {
                State::Failed => return Poll::Ready(None),
                State::Entering(entering, first, left) => {
                    let left = *left;
                    let permit = match ready!(entering.as_mut().poll(cx)) {
                        Ok(permit) => permit,
                        Err(error) => return this.fail(&error),
                    };
                    let first = std::mem::take(first);
                    if let Some((_, hold)) = &this.room {
                        hold.keep(permit);
                    }
                    this.open(left);
                    return Poll::Ready(Some(Ok(Frame::data(first))));
                }
                State::Header(_) | State::Open(_) => {
                    let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
                        ready!(this.stalled.as_mut().poll(cx));
                        let text =
                            format!("the message stood still for {} s, or took too long", STALL.as_secs());
                        return this.fail(&Error::new(Code::Timeout, text));
                    };
                    this.moved();
                    let frame = match frame {
                        None => return Poll::Ready(None),
                        Some(Err(e)) => return Poll::Ready(Some(Err(Status::from_error(e.into())))),
                        Some(Ok(frame)) => frame,
                    };
                    if let State::Open(left) = &mut this.state {
                        let came = frame.data_ref().map_or(0, |data| data.len() as u64);
                        match left.checked_sub(came) {
                            Some(rest) => *left = rest,
                            None => return this.fail(&more()),
                        }
                        return Poll::Ready(Some(Ok(frame)));
                    }
                    let State::Header(before) = &mut this.state else { continue };
                    let data = match frame.into_data() {
                        Ok(data) => data,
                        Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                    };
                    let bytes = match before.is_empty() {
                        true => data,
                        false => [std::mem::take(before).as_slice(), &data].concat().into(),
                    };
                    if bytes.len() < HEADER {
                        *before = bytes.into();
                        continue;
                    }
                    match this.announced(&bytes) {
                        Ok((left, Some(entering))) => this.state = State::Entering(entering, bytes, left),
                        Ok((left, None)) => {
                            this.open(left);
                            return Poll::Ready(Some(Ok(Frame::data(bytes))));
                        }
                        Err(error) => return this.fail(&error),
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.state {
            State::Failed => true,
            State::Open(_) => self.body.is_end_stream(),
            State::Header(_) | State::Entering(..) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// All services, behind the bounds of this module.
#[derive(Clone)]
pub struct Intake<S> {
    pub inner: S,
    pub room: Arc<Room>,
}

/// The calls that carry a proof request.
const LARGE: [&str; 2] = ["/cuzk.v1.ProvingEngine/SubmitProof", "/cuzk.v1.ProvingEngine/Prove"];

type Answer = http::Response<tonic::body::Body>;

impl<S, B> Service<http::Request<B>> for Intake<S>
where
    S: Service<http::Request<tonic::body::Body>, Response = Answer, Error = Infallible>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<tonic::codegen::StdError>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        // Made before the transport's own timer for the same deadline, whose status would be CANCELLED.
        let deadline = deadline(request.headers()).map(tokio::time::sleep);
        let bounded =
            request.uri().path().starts_with("/cuzk.") || request.uri().path().starts_with("/forebay.");
        let answer = if bounded {
            let hold = Hold::default();
            let room = LARGE.contains(&request.uri().path()).then(|| (self.room.clone(), hold.clone()));
            request.extensions_mut().insert(hold);
            self.inner.call(request.map(|body| tonic::body::Body::new(Received::new(body, room))))
        } else {
            self.inner.call(request.map(tonic::body::Body::new))
        };
        Box::pin(async move {
            let Some(deadline) = deadline else { return answer.await };
            tokio::select! {
                biased;
                answer = answer => answer,
                () = deadline => Ok(status::of(&Error::new(Code::Timeout, "the call's deadline is over")).into_http()),
            }
        })
    }
}

/// The caller's deadline: gRPC's `grpc-timeout`, up to eight digits and a unit.
fn deadline(headers: &http::HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let n: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(n * 3600)),
        "M" => Some(Duration::from_secs(n * 60)),
        "S" => Some(Duration::from_secs(n)),
        "m" => Some(Duration::from_millis(n)),
        "u" => Some(Duration::from_micros(n)),
        "n" => Some(Duration::from_nanos(n)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
