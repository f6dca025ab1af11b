use std::collections::VecDeque;

use forebay::units::Bytes as Size;

use super::*;

/// A body of these frames; more never come where `open`.
struct Frames {
    frames: VecDeque<Bytes>,
    open: bool,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.frames.pop_front() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None if self.open => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

/// The beginning of a message that tells this length.
fn message(len: u32, sent: usize) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend(len.to_be_bytes());
    bytes.resize(HEADER + sent, 9);
    bytes
}

async fn frame(body: &mut Received<Frames>) -> Option<Result<Bytes, Status>> {
    let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
    Some(frame.map(|frame| frame.into_data().expect("data")))
}

fn request(room: &Arc<Room>, len: u32) -> (Received<Frames>, Hold) {
    let hold = Hold::default();
    let frames = Frames { frames: [message(len, 100).into()].into(), open: true };
    (Received::new(frames, Some((room.clone(), hold.clone()))), hold)
}

async fn refusal(mut body: Received<Frames>) -> tonic::Code {
    let status = frame(&mut body).await.expect("a frame").expect_err("a refusal");
    assert!(frame(&mut body).await.is_none(), "it goes on");
    status.code()
}

async fn waits(body: &mut Received<Frames>) -> bool {
    tokio::time::timeout(Duration::from_millis(5), frame(body)).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_request_holds_its_bytes_until_the_engine_has_it() {
    let room = Room::new(Size::mib(4));
    let (mut first, hold) = request(&room, 3 << 20);
    assert_eq!(frame(&mut first).await.unwrap().unwrap().len(), HEADER + 100);
    assert_eq!(room.held(), 3 << 20);
    drop(first);
    assert_eq!(room.held(), 3 << 20, "it is received, and not the engine's yet");
    let (mut second, held) = request(&room, 2 << 20);
    assert!(waits(&mut second).await);
    let (mut short, _short) = request(&room, SHORT);
    assert!(!waits(&mut short).await, "a short one passes");
    hold.release();
    assert!(!waits(&mut second).await);
    assert_eq!(room.held(), (2 << 20) + u64::from(SHORT));
    drop((second, held, short, _short));
    assert_eq!(room.held(), 0, "whoever goes away gives its room back");
}

#[tokio::test(start_paused = true)]
async fn a_call_has_one_message() {
    let room = Room::new(Size::mib(4));
    for roomy in [false, true] {
        let mine = || roomy.then(|| (room.clone(), Hold::default()));
        // In a frame of its own, and in that of the first.
        let apart = [message(100, 100).into(), message(1 << 30, 10).into()];
        let mut body = Received::new(Frames { frames: apart.into(), open: false }, mine());
        assert_eq!(frame(&mut body).await.unwrap().unwrap().len(), HEADER + 100);
        assert_eq!(refusal(body).await, tonic::Code::InvalidArgument);
        let together = [[message(100, 100), message(1 << 30, 10)].concat().into()];
        let body = Received::new(Frames { frames: together.into(), open: false }, mine());
        assert_eq!(refusal(body).await, tonic::Code::InvalidArgument);
    }
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait() {
    let room = Room::new(Size::mib(2));
    let (mut first, _hold) = request(&room, 2 << 20);
    assert!(!waits(&mut first).await);
    let mut waiting: Vec<_> = (0..WAITING).map(|_| request(&room, 2 << 20).0).collect();
    for body in &mut waiting {
        assert!(waits(body).await);
    }
    assert_eq!(refusal(request(&room, 2 << 20).0).await, tonic::Code::ResourceExhausted);
    waiting.pop();
    assert!(waits(&mut request(&room, 2 << 20).0).await, "there is a place again");
}

#[tokio::test(start_paused = true)]
async fn what_is_too_long_is_refused_before_it_is_received() {
    let room = Room::new(Size::mib(2));
    for (len, code) in [
        (MAX_LARGE + 1, tonic::Code::InvalidArgument),
        (u32::MAX, tonic::Code::InvalidArgument),
        (MAX_LARGE, tonic::Code::FailedPrecondition),
    ] {
        assert_eq!(refusal(request(&room, len).0).await, code, "{len}");
    }
    let frames = Frames { frames: [message(MAX_SMALL + 1, 1).into()].into(), open: true };
    assert_eq!(refusal(Received::new(frames, None)).await, tonic::Code::InvalidArgument);
    assert_eq!(room.held(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_stands_still_loses_its_room() {
    let room = Room::new(Size::mib(2));
    let (mut still, hold) = request(&room, 500);
    frame(&mut still).await.unwrap().unwrap();
    assert_eq!(refusal(still).await, tonic::Code::DeadlineExceeded);
    drop(hold);
    assert_eq!(room.held(), 0);
}

#[tokio::test]
async fn a_header_may_come_in_pieces_and_nothing_is_lost() {
    let room = Room::new(Size::mib(2));
    let whole = message(4, 4);
    let frames = Frames { frames: whole.chunks(2).map(Bytes::copy_from_slice).collect(), open: false };
    let mut pieces = Received::new(frames, Some((room, Hold::default())));
    let mut got = Vec::new();
    while let Some(part) = frame(&mut pieces).await {
        got.extend(part.unwrap());
    }
    assert_eq!(got, whole);
}

#[test]
fn deadlines_are_read_as_grpc_writes_them() {
    let read = |text: &'static str| {
        let headers = [(http::HeaderName::from_static("grpc-timeout"), text.parse().unwrap())];
        deadline(&headers.into_iter().collect())
    };
    assert_eq!(read("250m"), Some(Duration::from_millis(250)));
    assert_eq!(read("2H"), Some(Duration::from_secs(7200)));
    for bad in ["", "m", "12", "-1S", "123456789S", "1x"] {
        assert_eq!(read(bad), None, "{bad}");
    }
}
