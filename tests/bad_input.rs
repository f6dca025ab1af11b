//! What bad input gets, through the C ABI: a typed error that says what was expected and what came; nothing booked
//! afterwards; the next request works. Every malformed part by itself is tested in `src/filecoin/tests`, null and
//! closed handles in `tests/c`.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use forebay::circuit::Matrices;
use forebay::ffi::{FOREBAY_CLOSE_CANCEL, FOREBAY_CLOSE_DRAIN};
use forebay::filecoin::parameter_stem;
use forebay::kind::ProofKind::{self, PorepC2, SnapUpdate, WindowPost, WinningPost};
use forebay::wire::await_proof_response::Status;
use forebay::wire::SubmitProofRequest;
use forebay::Code;
use prost::Message;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::host::{says, Host};
use support::request::good;
use support::{cache, host};

/// An engine that proves window PoSts in little memory.
fn window_host() -> Host {
    cache::need_keys(&[WindowPost]);
    Host::open(&cache::config("256MiB")).expect("an engine")
}

/// The good request of this kind, spoilt, is refused as invalid with these parts in the message.
#[track_caller]
fn refused(host: &Host, kind: ProofKind, parts: &[&str], spoil: impl FnOnce(&mut SubmitProofRequest)) {
    let mut request = good(kind);
    spoil(&mut request);
    host.refuses(&request, Code::InvalidRequest, parts);
}

#[test]
fn empty_truncated_and_random_messages() {
    let host = window_host();
    host.refuses_bytes(&[], Code::InvalidRequest, &["request_id is empty"]);
    let whole = good(WindowPost).encode_to_vec();
    for len in (1..whole.len()).step_by(whole.len() / 60) {
        host.refuses_bytes(&whole[..len], Code::InvalidRequest, &[]);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..60 {
        let mut message = vec![0; rng.gen_range(1..4096)];
        rng.fill(message.as_mut_slice());
        host.refuses_bytes(&message, Code::InvalidRequest, &[]);
    }
    host.still_works();
}

#[test]
fn empty_truncated_and_random_payloads() {
    let host = window_host();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for kind in ProofKind::ALL {
        let payload = |request: &mut SubmitProofRequest, change: &mut dyn FnMut(&mut Vec<u8>)| match kind {
            PorepC2 => change(&mut request.vanilla_proof),
            _ => change(&mut request.vanilla_proofs[0]),
        };
        refused(&host, kind, &[kind.name()], |r| payload(r, &mut |bytes| bytes.clear()));
        refused(&host, kind, &[kind.name()], |r| payload(r, &mut |bytes| bytes.truncate(bytes.len() / 2)));
        refused(&host, kind, &[kind.name()], |r| payload(r, &mut |bytes| rng.fill(bytes.as_mut_slice())));
    }
    host.still_works();
}

#[test]
fn a_message_over_256_mib() {
    let host = window_host();
    let message = vec![0; (256 << 20) + 1];
    host.refuses_bytes(&message, Code::InvalidRequest, &["268435457", "268435456"]);
    host.refuses_bytes(&message[1..], Code::InvalidRequest, &["268435456 bytes", "SubmitProofRequest"]);
    host.still_works();
}

#[test]
fn kinds_that_are_unknown_or_do_not_fit_their_payload() {
    let host = window_host();
    for number in [0, 5, -1] {
        refused(&host, WindowPost, &[&format!("proof_kind is {number}"), "expected"], |r| {
            r.proof_kind = number;
        });
    }
    refused(&host, PorepC2, &["vanilla_proofs is given instead"], |r| {
        r.vanilla_proofs = vec![std::mem::take(&mut r.vanilla_proof)];
    });
    refused(&host, WindowPost, &["vanilla_proof is given instead"], |r| {
        r.vanilla_proof = r.vanilla_proofs.remove(0);
    });
    refused(&host, WinningPost, &["winning_post"], |r| r.vanilla_proofs = good(WindowPost).vanilla_proofs);
    host.still_works();
}

#[test]
fn sizes_proof_types_and_counts_that_do_not_agree() {
    let host = window_host();
    for kind in ProofKind::ALL {
        refused(&host, kind, &["sector_size is 34359738368"], |r| r.sector_size = 32 << 30);
        refused(&host, kind, &["77"], |r| r.registered_proof = 77);
    }
    refused(&host, WindowPost, &["winning_post"], |r| r.registered_proof = 0);
    for kind in [SnapUpdate, WinningPost] {
        refused(&host, kind, &["2 vanilla proofs", "expected 1"], |r| {
            r.vanilla_proofs.push(r.vanilla_proofs[0].clone());
        });
    }
    refused(&host, WindowPost, &["3 vanilla proofs"], |r| {
        r.vanilla_proofs = vec![r.vanilla_proofs[0].clone(); 3];
    });
    host.still_works();
}

#[test]
fn json_base64_and_bincode_that_do_not_decode() {
    let host = window_host();
    refused(&host, PorepC2, &["JSON"], |r| r.vanilla_proof = b"{not json".to_vec());
    let envelope = |r: &mut SubmitProofRequest, phase1: &str| {
        let sector = r.sector_number;
        let json = serde_json::json!({"SectorNum": sector, "Phase1Out": phase1, "SectorSize": 2048});
        r.vanilla_proof = json.to_string().into_bytes();
    };
    refused(&host, PorepC2, &["base64"], |r| envelope(r, "*** not base64 ***"));
    refused(&host, PorepC2, &["JSON"], |r| envelope(r, &STANDARD.encode(b"{\"registered_proof\": 3")));
    for kind in [SnapUpdate, WindowPost, WinningPost] {
        refused(&host, kind, &["bincode"], |r| r.vanilla_proofs[0].push(0));
    }
    host.still_works();
}

#[test]
fn commitments_and_randomness_that_are_none() {
    let host = window_host();
    refused(&host, SnapUpdate, &["comm_r_old is zero"], |r| r.comm_r_old = vec![0; 32]);
    refused(&host, SnapUpdate, &["comm_r_new is not a field element"], |r| r.comm_r_new = vec![0xff; 32]);
    refused(&host, SnapUpdate, &["comm_d_new has 31 bytes", "expected 32"], |r| {
        r.comm_d_new.pop();
    });
    for kind in [WindowPost, WinningPost] {
        refused(&host, kind, &["randomness has 33 bytes", "expected 32"], |r| r.randomness.push(0));
        refused(&host, kind, &["randomness has 0 bytes"], |r| r.randomness.clear());
    }
    host.still_works();
}

/// Folders of one test's own, with or without a copy of the window circuit's key.
struct Place(tempfile::TempDir);

impl Place {
    fn empty() -> Place {
        cache::need_keys(&[WindowPost]);
        let place = Place(tempfile::tempdir().expect("a folder"));
        fs::create_dir(place.parameters()).expect("a folder");
        place
    }

    fn with_key() -> Place {
        let place = Place::empty();
        place.give_key(WindowPost, WindowPost);
        place
    }

    fn parameters(&self) -> PathBuf {
        self.0.path().join("parameters")
    }

    fn cache(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    /// Copies one circuit's key, under another's name if they differ.
    fn give_key(&self, of: ProofKind, as_if_of: ProofKind) {
        for extension in ["params", "vk", "development"] {
            let source = named(&cache::parameters(), of, extension);
            fs::copy(source, named(&self.parameters(), as_if_of, extension)).expect("copying a key");
        }
    }

    fn params(&self) -> PathBuf {
        named(&self.parameters(), WindowPost, "params")
    }

    fn config(&self) -> String {
        cache::config_over(&self.parameters(), &self.cache(), "256MiB")
    }

    fn open(&self) -> Host {
        Host::open(&self.config()).expect("an engine")
    }
}

fn named(folder: &Path, kind: ProofKind, extension: &str) -> PathBuf {
    folder.join(format!("{}.{extension}", parameter_stem(cache::circuit(kind)).expect("a name")))
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").into()
}

/// Flips one bit in the middle.
fn corrupt(path: &Path) {
    let mut bytes = fs::read(path).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(path, bytes).expect("writing it back");
}

#[test]
fn missing_parameters() {
    let place = Place::empty();
    let host = place.open();
    let file = format!("{}.params", parameter_stem(cache::circuit(WindowPost)).expect("a name"));
    let parts = [file.as_str(), &text(&place.parameters())];
    host.refuses(&good(WindowPost), Code::ParametersMissing, &parts);
    place.give_key(WindowPost, WindowPost);
    host.still_works();
}

#[test]
fn truncated_parameters() {
    let place = Place::with_key();
    let host = place.open();
    let whole = fs::metadata(place.params()).expect("the key").len();
    let file = fs::File::options().write(true).open(place.params()).expect("the key");
    file.set_len(whole - 1).expect("truncating");
    let name = text(&place.params());
    host.fails(&good(WindowPost), Code::ParametersInvalid, &[&name, &whole.to_string()]);
    place.give_key(WindowPost, WindowPost);
    host.still_works();
}

#[test]
fn corrupt_parameters() {
    let place = Place::with_key();
    let host = place.open();
    corrupt(&place.params());
    host.fails(&good(WindowPost), Code::ParametersInvalid, &[&text(&place.params())]);
    place.give_key(WindowPost, WindowPost);
    host.still_works();
}

#[test]
fn parameters_of_another_circuit() {
    cache::need_keys(&[WinningPost]);
    let place = Place::empty();
    place.give_key(WinningPost, WindowPost);
    let host = place.open();
    host.fails(&good(WindowPost), Code::ParametersInvalid, &[&text(&place.params())]);
    place.give_key(WindowPost, WindowPost);
    host.still_works();
}

#[test]
fn development_parameters_where_they_are_not_allowed() {
    let place = Place::with_key();
    let config = place.config().replace("allow_development_parameters = true", "");
    let host = Host::open(&config).expect("an engine");
    let parts = [&text(&place.params()), "allow_development_parameters"];
    host.fails(&good(WindowPost), Code::ParametersInvalid, &parts);
    drop(host);
    place.open().still_works();
}

#[test]
fn a_corrupt_matrix_cache_is_rebuilt() {
    let place = Place::with_key();
    place.open().still_works();
    let matrices = named(&place.cache(), WindowPost, "matrices");
    let sound = fs::read(&matrices).expect("cached matrices");
    let measured = Matrices::load(&matrices).expect("sound matrices").wide_hint();
    assert!(measured.is_some(), "the first witness was measured");
    for spoilt in [&sound[..sound.len() / 2], &[0x5a; 4096], &[]] {
        fs::write(&matrices, spoilt).expect("spoiling the cache");
        place.open().still_works();
        Matrices::load(&matrices).expect("rebuilt");
    }
    corrupt(&matrices);
    place.open().still_works();
    Matrices::load(&matrices).expect("rebuilt");
}

#[test]
fn a_corrupt_native_srs_is_refused() {
    let place = Place::with_key();
    place.open().still_works();
    let native = named(&place.cache(), WindowPost, "fsrs");
    corrupt(&native);
    let host = place.open();
    host.fails(&good(WindowPost), Code::ParametersInvalid, &[&text(&native)]);
    fs::remove_file(&native).expect("removing it, as the message says");
    host.still_works();
}

#[test]
fn a_witness_that_does_not_satisfy_the_circuit() {
    cache::need_keys(&[SnapUpdate, WindowPost]);
    let host = Host::open(&cache::config("1GiB")).expect("an engine");
    let mut request = good(SnapUpdate);
    // The payload ends with the last sibling of the last path, its index, the root and the leaf.
    let at = request.vanilla_proofs[0].len() - (8 + 32);
    request.vanilla_proofs[0][at] ^= 1;
    host.fails(&request, Code::Unsatisfied, &["partition 0 of snap-2k", "c_index=9", "does not hold"]);
    host.still_works();
}

#[test]
fn a_budget_too_small_for_the_circuit() {
    cache::need_keys(&[WindowPost]);
    let host = Host::open(&cache::config("40MiB")).expect("an engine");
    host.refuses(&good(WindowPost), Code::BudgetExceeded, &["one partition of wpost-2k", "8.0 MiB", "need"]);
    host.holds_nothing();
}

#[test]
fn one_request_id_with_the_same_and_with_other_content() {
    let host = window_host();
    let before: Vec<_> = (0..3).map(|_| host.submit(&good(WindowPost)).expect("accepted")).collect();
    let request = good(WindowPost);
    let other = SubmitProofRequest { priority: 3, ..request.clone() };
    let job = host.submit(&request).expect("accepted");
    assert_eq!(host.submit(&request).expect("the same job"), job);
    let refusal = host.submit(&other).expect_err("the id is in use");
    says(&refusal, Code::DuplicateRequest, &[&request.request_id, &job]);
    assert_eq!(host.poll(&job).expect("running").status(), Status::Unknown, "the above met it unfinished");

    let proof = host.proves(&job, WindowPost);
    assert_eq!(host.submit(&request).expect("kept"), job);
    assert_eq!(host.answer(&job).proof, proof);
    let again = host.submit(&other).expect("the id is free");
    assert_ne!(again, job);
    host.proves(&again, WindowPost);
    for job in before {
        host.proves(&job, WindowPost);
    }
    host.holds_nothing();
}

#[test]
fn a_wait_that_times_out() {
    let host = window_host();
    let job = host.submit(&good(WindowPost)).expect("accepted");
    let answer = host.wait(&job, Duration::from_millis(1)).expect("a timely answer");
    assert_eq!(
        (answer.status(), answer.job_id.as_str(), answer.proof.len()),
        (Status::Timeout, job.as_str(), 0)
    );
    host.proves(&job, WindowPost);
    says(&host.wait("nobody", host::PATIENCE).expect_err("unknown"), Code::NotFound, &["nobody"]);
    host.holds_nothing();
}

/// Cancels at a dozen moments spread over the time that a job takes.
#[test]
fn cancel_in_each_stage() {
    const MOMENTS: u32 = 12;
    let host = window_host();
    let started = Instant::now();
    host.still_works();
    let whole = started.elapsed();
    let mut stages = BTreeSet::new();
    for moment in 0..MOMENTS {
        let job = host.submit(&good(WindowPost)).expect("accepted");
        std::thread::sleep(whole * moment / MOMENTS);
        let report = host.report(&job).expect("a report");
        let was_running = host.cancel(&job).expect("a known job");
        let answer = host.answer(&job);
        assert!(!host.cancel(&job).expect("a kept job"), "it has ended");
        if answer.status() == Status::Completed {
            host.proves(&job, WindowPost);
        } else {
            assert!(was_running);
            assert_eq!((answer.status(), answer.proof.len()), (Status::Cancelled, 0), "{answer:?}");
            assert!(answer.error_message.starts_with("cancelled: "), "{answer:?}");
            let past = |key: &&str| report[key].as_u64() > Some(0);
            stages.insert(["synthesis_ms", "start_ms", "finish_ms"].into_iter().filter(past).count());
        }
        host.holds_nothing();
    }
    assert!(stages.len() > 1, "cancelled in several stages: {stages:?}");
    host.still_works();
}

#[test]
fn close_with_jobs_in_flight() {
    for (mode, expected) in
        [(FOREBAY_CLOSE_CANCEL, Status::Cancelled), (FOREBAY_CLOSE_DRAIN, Status::Completed)]
    {
        let host = window_host();
        let jobs: Vec<_> = (0..3).map(|_| host.submit(&good(WindowPost)).expect("accepted")).collect();
        let (waiting, waits) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let waiters: Vec<_> = jobs
                .iter()
                .map(|job| {
                    let (host, waiting) = (&host, waiting.clone());
                    scope.spawn(move || {
                        waiting.send(()).expect("the test listens");
                        host.wait(job, host::PATIENCE)
                    })
                })
                .collect();
            waits.iter().take(jobs.len()).for_each(drop);
            // The waiters are about to call; those that come late are told that the handle is closed.
            std::thread::sleep(Duration::from_millis(20));
            host.close(mode).expect("closed");
            for waiter in waiters {
                let answer = waiter.join().expect("no panic").expect("an answer");
                assert_eq!(answer.status(), expected, "{answer:?}");
            }
        });
        says(&host.submit(&good(WindowPost)).expect_err("closed"), Code::Closed, &[]);
        says(&host.close(mode).expect_err("closed"), Code::Closed, &[]);
    }
}
