//! gnark and gnark-crypto, in a process of their own: see `peers/gnark`.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::process::counts_processor_time;
use crate::Failure;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/gnark");

/// What to do; an op uses the fields that it needs.
#[derive(Serialize, Default)]
pub struct Request<'a> {
    /// `about`, `field`, `msm`, `ntt` or `prove`.
    pub op: &'a str,
    /// Threads that may run.
    pub threads: usize,
    /// Which product.
    pub product: &'a str,
    /// Limbs.
    pub values: &'a [u64],
    /// Limbs.
    pub factors: &'a [u64],
    /// How often to multiply.
    pub rounds: usize,
    /// `G1` or `G2`.
    pub group: &'a str,
    /// A file of points.
    pub points: &'a str,
    /// A file of points in G2, where both are needed.
    pub points_g2: &'a str,
    /// A file of scalars.
    pub scalars: &'a str,
    /// Where transformed scalars go.
    pub out: &'a str,
    /// Private variables that are bits.
    pub bits: u64,
    /// Those that are not.
    pub wide: u64,
}

/// What came of it.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Answer {
    /// Seconds of the work alone: processor time where that is counted.
    pub seconds: f64,
    cores: f64,
    /// Constraints of a circuit that was proved.
    pub constraints: u64,
    /// The result, where it is small.
    pub limbs: Vec<u64>,
    /// A sentence.
    pub text: String,
    error: String,
}

/// The running process.
pub struct Gnark {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Gnark {
    /// Builds and starts it; `None` where there is no Go.
    pub fn start(folder: &Path) -> Result<Option<Gnark>, Failure> {
        let Some(go) = go() else { return Ok(None) };
        let program = folder.join("gnark-peer");
        let built =
            Command::new(&go).args(["build", "-o"]).arg(&program).arg(".").current_dir(SOURCE).output()?;
        if !built.status.success() {
            return Err(format!("building {SOURCE}: {}", String::from_utf8_lossy(&built.stderr)).into());
        }
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let answers = BufReader::new(answers.ok_or("no output of the gnark process")?);
        Ok(Some(Gnark { child, requests, answers }))
    }

    /// Sends a request and waits for its answer.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        let requests = self.requests.as_mut().ok_or("the gnark process was told to end")?;
        serde_json::to_writer(&mut *requests, request)?;
        requests.write_all(b"\n")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let mut answer: Answer =
            serde_json::from_str(&line).map_err(|_| format!("gnark ended while it was at {}", request.op))?;
        if counts_processor_time() {
            answer.seconds = answer.cores;
        }
        match answer.error.is_empty() {
            true => Ok(answer),
            false => Err(format!("gnark, {}: {}", request.op, answer.error).into()),
        }
    }
}

impl Drop for Gnark {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}

/// The `go` command, from the path or where its installer puts it.
fn go() -> Option<PathBuf> {
    let candidates = [PathBuf::from("go"), PathBuf::from("/usr/local/go/bin/go")];
    let runs = |go: &PathBuf| Command::new(go).arg("version").output().is_ok_and(|out| out.status.success());
    candidates.into_iter().find(runs)
}

/// Writes limbs to a file that a request names.
pub fn write_limbs(path: &Path, limbs: impl Iterator<Item = u64>) -> Result<(), Failure> {
    let mut file = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    for limb in limbs {
        file.write_all(&limb.to_le_bytes())?;
    }
    Ok(file.flush()?)
}

/// Reads the limbs of a file that gnark wrote.
pub fn read_limbs(path: &Path) -> Result<Vec<u64>, Failure> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.chunks_exact(8).map(|limb| u64::from_le_bytes(limb.try_into().unwrap_or_default())).collect())
}
