//! `forebay top` on a terminal, and without one.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

use forebay::kind::ProofKind;
use tempfile::NamedTempFile;

use crate::client::Client;
use crate::request;
use crate::server::{Serve, PATIENCE};

/// How long a key may take on a loaded machine; shorter than the client's patience with a server.
const AT_ONCE: Duration = Duration::from_secs(3);

/// `forebay top` on a terminal of 80x24, which `script` makes.
struct Top {
    child: Child,
    keys: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    terminal: vt100::Parser,
    /// The number of the command's process.
    process: NamedTempFile,
}

impl Top {
    fn start(address: &str) -> Top {
        let binary = env!("CARGO_BIN_EXE_forebay");
        let top = r#"echo $$ >"$2"; exec "$0" top --connect "$1""#;
        let process = NamedTempFile::new().unwrap();
        let file = process.path().display();
        let line =
            format!("stty rows 24 cols 80; echo before; sh -c '{top}' '{binary}' '{address}' '{file}'; echo status $?");
        let mut child = Command::new("script")
            .args(["-qfc", &line, "/dev/null"])
            .env("TERM", "xterm")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script, of util-linux");
        let (sender, pieces) = channel();
        let mut stdout = child.stdout.take().expect("a pipe");
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        let keys = child.stdin.take().expect("a pipe");
        Top { child, keys, pieces, terminal: vt100::Parser::new(24, 80, 0), process }
    }

    /// Waits until this stands on the screen; how long that took.
    fn shows(&mut self, text: &str) -> Duration {
        let begun = Instant::now();
        while !self.terminal.screen().contents().contains(text) {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            let Ok(piece) = self.pieces.recv_timeout(left) else {
                panic!("it never shows {text:?}:\n{}", self.terminal.screen().contents());
            };
            self.terminal.process(&piece);
        }
        begun.elapsed()
    }

    fn press(&mut self, key: &str) {
        self.keys.write_all(key.as_bytes()).unwrap();
    }

    /// It ends at once and well, and leaves the terminal as it was.
    fn ends(mut self) {
        let took = self.shows("status 0");
        assert!(took < AT_ONCE, "{took:?}");
        let screen = self.terminal.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert!(screen.contents().starts_with("before\nstatus 0"), "{}", screen.contents());
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
    top.shows("every request is answered");
    top.shows("0 proved");
    let client = Client::dial(&address).await;
    client.prove(request::good(ProofKind::WindowPost)).await.unwrap();
    top.shows("1 proved");
    top.press("?");
    top.shows("sort by turn, age, time left, kind");
    top.press("?");
    drop(client);
    first.stop();
    top.shows("no word since");
    top.shows("window_post");
    let folder = std::mem::replace(&mut first.folder, tempfile::tempdir().unwrap());
    let mut second = Serve::start_in(folder, &[&address], &[]);
    top.shows("0 proved");
    top.press("p");
    top.shows("p go on");
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
    top.shows("connecting");
    let process = std::fs::read_to_string(top.process.path()).unwrap();
    assert!(Command::new("kill").args(["-TERM", process.trim()]).status().unwrap().success());
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
