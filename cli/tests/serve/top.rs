//! `forebay top` on a terminal, and without one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

use forebay::kind::ProofKind;

use crate::client::Client;
use crate::request;
use crate::server::{Serve, PATIENCE};

/// How long a key may take on a loaded machine; shorter than the client's patience with a server.
const AT_ONCE: Duration = Duration::from_secs(3);
const LEAVES_SCREEN: &str = "\u{1b}[?1049l";

/// `forebay top` on a terminal of 80x24, which `script` makes.
struct Top {
    child: Child,
    keys: ChildStdin,
    pieces: Receiver<String>,
    drawn: String,
}

impl Top {
    fn start(address: &str) -> Top {
        let binary = env!("CARGO_BIN_EXE_forebay");
        let line = format!("stty rows 24 cols 80; echo at $$; exec '{binary}' top --connect '{address}'");
        let mut child = Command::new("script")
            .args(["-qfec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script, of util-linux");
        let (sender, pieces) = channel();
        let mut stdout = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(String::from_utf8_lossy(&buffer[..length]).into_owned()).is_err() {
                    return;
                }
            }
        });
        let keys = child.stdin.take().expect("a pipe");
        Top { child, keys, pieces, drawn: String::new() }
    }

    /// Waits until this was drawn, from now on.
    fn shows(&mut self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.drawn.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(piece) = self.pieces.recv_timeout(left) else {
                panic!("it never shows {text:?}:\n{:?}", self.drawn);
            };
            self.drawn += &piece;
        }
    }

    fn press(&mut self, key: &str) {
        self.drawn.clear();
        self.keys.write_all(key.as_bytes()).unwrap();
    }

    /// It ends at once and well, and leaves the terminal as it was.
    fn ends(mut self) {
        let begun = Instant::now();
        self.shows(LEAVES_SCREEN);
        assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
        assert!(self.child.wait().unwrap().success());
    }

    fn process(&mut self) -> String {
        self.shows("at ");
        self.shows("\n");
        let after = self.drawn.split_once("at ").unwrap().1;
        after.chars().take_while(char::is_ascii_digit).collect()
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_a_server_that_goes_and_comes_back() {
    let mut first = Serve::start(&["unix://DIR/s"], &[], "");
    let address = first.addresses[0].clone();
    let mut top = Top::start(&address);
    top.shows("window_post");
    top.shows("every request is answered");
    let client = Client::dial(&address).await;
    client.prove(request::good(ProofKind::WindowPost)).await.unwrap();
    top.press("?");
    top.shows("sort by turn, age, time left, kind");
    top.press("?");
    drop(client);
    first.stop();
    top.shows("no word since");
    top.press("p");
    top.shows("go on");
    let folder = std::mem::replace(&mut first.folder, tempfile::tempdir().unwrap());
    let mut second = Serve::start_in(folder, &["unix://DIR/s"], &[]);
    top.press("p");
    top.shows("running");
    top.press("q");
    top.ends();
    second.stop();
}

#[test]
fn a_server_that_hangs_holds_up_neither_keys_nor_signals() {
    let hangs = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = hangs.local_addr().unwrap().to_string();
    let mut top = Top::start(&address);
    top.shows("connecting");
    top.press("q");
    top.ends();
    let mut top = Top::start(&address);
    let process = top.process();
    top.shows("connecting");
    top.drawn.clear();
    assert!(Command::new("kill").args(["-TERM", &process]).status().unwrap().success());
    top.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_as_text_cannot_command_a_terminal() {
    let mut serve = Serve::start(&["unix://DIR/s"], &[], "");
    let client = Client::dial(&serve.addresses[0]).await;
    client.occupy(1).await;
    let mut request = request::good(ProofKind::WindowPost);
    request.request_id = "red\u{1b}[31m\nand more".into();
    client.submit(request).await.unwrap();
    let arguments = ["top", "--once", "--connect", &serve.addresses[0]];
    let run = Command::new(env!("CARGO_BIN_EXE_forebay")).args(arguments).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(text.contains("red\u{fffd}[31m\u{fffd}and more  window_post"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    drop(client);
    serve.signal("TERM");
    serve.signal("TERM");
    serve.ended();
}

#[test]
fn without_a_terminal_the_other_way_is_told() {
    let run = Command::new(env!("CARGO_BIN_EXE_forebay")).arg("top").output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert!(said.contains("--once") && run.stdout.is_empty(), "{said}");
    assert_eq!(run.status.code(), Some(10 + forebay::Code::InvalidArgument as i32), "{said}");
}
