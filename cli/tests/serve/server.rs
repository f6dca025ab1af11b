//! A server of its own for each test.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::{Duration, Instant};

use forebay::kind::ProofKind;
use tempfile::TempDir;

use crate::cache;

/// What a server of the tests has as `memory.limit`.
pub const LIMIT: &str = "1GiB";

/// How long anything may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running `forebay serve`; killed in the end where it has not ended.
pub struct Serve {
    child: Child,
    lines: Receiver<String>,
    /// What it said so far.
    pub said: Vec<String>,
    /// Where it listens, in the order of its arguments.
    pub addresses: Vec<String>,
    pub folder: TempDir,
}

/// A folder, with a configuration over the shared keys and a journal of its own.
pub fn folder(root: &str, tables: &str) -> TempDir {
    cache::need_keys(&[ProofKind::WindowPost]);
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("proofs.journal");
    let config = format!("{root}\n{}\n[journal]\nfile = {journal:?}\n{tables}\n", cache::config(LIMIT));
    std::fs::write(folder.path().join("forebay.toml"), config).expect("a configuration");
    folder
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.arg("serve").arg("--config").arg(folder.join("forebay.toml")).args(arguments);
    command
}

/// What a server that cannot start says.
pub fn refused(arguments: &[&str]) -> Output {
    command(folder("", "").path(), arguments).stdin(Stdio::null()).output().expect("a process")
}

impl Serve {
    /// A server with these arguments; `listen` addresses may have `DIR` for its folder.
    pub fn start(listen: &[&str], arguments: &[&str], tables: &str) -> Serve {
        Serve::start_in(folder("", tables), listen, arguments)
    }

    pub fn start_in(folder: TempDir, listen: &[&str], arguments: &[&str]) -> Serve {
        let dir = folder.path().to_str().expect("a name in UTF-8").to_owned();
        let listen: Vec<_> = listen.iter().map(|address| address.replace("DIR", &dir)).collect();
        let mut all: Vec<&str> = listen.iter().flat_map(|address| ["--listen", address]).collect();
        all.extend(arguments);
        let mut command = command(folder.path(), &all);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
        });
        let mut serve = Serve { child, lines, said: Vec::new(), addresses: Vec::new(), folder };
        for _ in &listen {
            let line = serve.hear("serving cuzk.v1 on ");
            serve.addresses.push(line.rsplit(' ').next().expect("an address").to_owned());
        }
        serve
    }

    /// Waits for a line with this text.
    pub fn hear(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("it never said {text:?}:\n{}", self.said.join("\n"));
            };
            self.said.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("a pipe")
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                self.said.extend(self.lines.iter());
                return status;
            }
            assert!(Instant::now() < until, "it does not end:\n{}", self.said.join("\n"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGTERM, and a good end.
    pub fn stop(&mut self) {
        self.signal("TERM");
        let status = self.ended();
        assert!(status.success(), "{status}:\n{}", self.said.join("\n"));
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.said.extend(self.lines.try_iter());
            eprintln!("the server said:\n{}", self.said.join("\n"));
        }
    }
}
