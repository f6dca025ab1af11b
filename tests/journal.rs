//! Proofs that outlive the process that made them: a host that loads the library, killed with SIGKILL.

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use forebay::kind::ProofKind;
use prost::Message;
use support::{cache, library, request};

struct Host {
    program: PathBuf,
    folder: tempfile::TempDir,
}

/// A running host; killed where a test leaves it.
struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Host {
    fn new(name: &str) -> Host {
        cache::need_keys(&[ProofKind::WindowPost]);
        let folder = tempfile::tempdir().expect("a folder");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.current_dir(env!("CARGO_MANIFEST_DIR"));
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-Iinclude", "-pthread"]);
        cc.args(["tests/c/journal.c", "tests/c/host.c", "-o"]).arg(&program).arg("-ldl");
        assert!(cc.status().expect("a C compiler").success());
        let host = Host { program, folder };
        let journal = format!("{}[journal]\nfile = {:?}\n", cache::config("1GiB"), host.journal());
        std::fs::write(host.config(), journal).expect("the configuration");
        let bytes = request::good(ProofKind::WindowPost).encode_to_vec();
        std::fs::write(host.folder.path().join("request"), bytes).expect("the request");
        host
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("proofs.journal")
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("forebay.toml")
    }

    fn start(&self, request_id: &str) -> Running {
        let mut run = Command::new(&self.program);
        run.arg(library::path()).arg(self.config()).arg(self.folder.path().join("request")).arg(request_id);
        let mut child = run.stdout(Stdio::piped()).spawn().expect("the host");
        let lines = BufReader::new(child.stdout.take().expect("its output"));
        Running { child, lines }
    }
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("its output");
        assert!(!line.is_empty(), "the host ended: {:?}", self.child.wait());
        line.trim_end().to_owned()
    }

    /// Where the answer is from, and its bytes.
    fn answer(&mut self) -> (String, String) {
        let line = self.line();
        let (from, bytes) = line.split_once(' ').expect("two words");
        (from.into(), bytes.into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // On Linux this is SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_retry_after_a_kill_has_the_same_answer_at_once() {
    let host = Host::new("journal-durable");
    let mut first = host.start("a");
    let (from, made) = first.answer();
    assert_eq!((from.as_str(), first.line().as_str()), ("made", "durable"));
    drop(first);
    for _ in 0..2 {
        let mut again = host.start("a");
        let (from, kept) = again.answer();
        assert_eq!((from.as_str(), &kept), ("kept", &made));
    }
    let mut other = host.start("b");
    assert_eq!(other.answer().0, "made", "another request is another job");
}

#[test]
fn a_kill_at_any_moment_leaves_a_journal_that_works() {
    let host = Host::new("journal-torn");
    for round in 0..4 {
        // Killed at once after the answer, while the journal is written or just before.
        let id = format!("torn {round}");
        assert_eq!(host.start(&id).answer().0, "made");
        let (from, first) = host.start(&id).answer();
        assert!(from == "made" || from == "kept");
        assert!(!first.is_empty());
    }
    let mut last = host.start("last");
    assert_eq!(last.answer().0, "made");
    assert_eq!(last.line(), "durable");
    drop(last);
    assert_eq!(host.start("last").answer().0, "kept");
    assert!(!host.folder.path().join("proofs.journal.unreadable").exists());
}
