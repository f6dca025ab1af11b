//! Every status that can be provoked from outside.

use std::time::{Duration, Instant};

use forebay::kind::ProofKind;
use forebay::wire::await_proof_response::Status as Ended;
use forebay::wire::{
    AwaitProofRequest, AwaitProofResponse, CancelProofRequest, CancelProofResponse, EvictSrsRequest,
    EvictSrsResponse, GpuStatus, PreloadSrsRequest, PreloadSrsResponse, ProveRequest, ProveResponse,
    SubmitProofRequest,
};
use forebay_server::v1::{HeadroomRequest, HeadroomResponse, ReportRequest, ReportResponse};
use tonic::Code;
use tonic_types::StatusExt;

use crate::client::{is_proved, is_refused, Client};
use crate::request;
use crate::server::{folder, Serve, PATIENCE};

const LISTEN: [&str; 1] = ["127.0.0.1:0"];

/// A server of window_post alone.
async fn serve(tables: &str) -> (Serve, Client) {
    let folder = folder("kinds = [\"window_post\"]", tables);
    let serve = Serve::start_in(folder, &LISTEN, &[]);
    let client = Client::dial(&serve.addresses[0]).await;
    (serve, client)
}

fn window() -> SubmitProofRequest {
    request::good(ProofKind::WindowPost)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_call_is_told_by_its_status() {
    let (_serve, client) = serve("").await;
    let nameless = SubmitProofRequest { request_id: String::new(), ..window() };
    is_refused(client.submit(nameless.clone()).await, Code::InvalidArgument, "INVALID_REQUEST");
    is_refused(client.prove(nameless).await, Code::InvalidArgument, "INVALID_REQUEST");
    let empty: Result<ProveResponse, _> = client.call("Prove", ProveRequest { submit: None }).await;
    is_refused(empty, Code::InvalidArgument, "INVALID_REQUEST");
    let spoilt = SubmitProofRequest { vanilla_proofs: vec![vec![1, 2, 3]], ..window() };
    is_refused(client.submit(spoilt).await, Code::InvalidArgument, "INVALID_REQUEST");
    let other = SubmitProofRequest { proof_kind: 4, ..window() };
    is_refused(client.submit(other).await, Code::Unimplemented, "UNSUPPORTED");
    let preload = |circuit_id: &str| PreloadSrsRequest { circuit_id: circuit_id.into() };
    let unknown: Result<PreloadSrsResponse, _> = client.call("PreloadSRS", preload("wpost-3k")).await;
    is_refused(unknown, Code::InvalidArgument, "INVALID_ARGUMENT");
    let missing: Result<PreloadSrsResponse, _> = client.call("PreloadSRS", preload("wpost-32g")).await;
    is_refused(missing, Code::FailedPrecondition, "PARAMETERS_MISSING");
    let evict: Result<EvictSrsResponse, _> =
        client.call("EvictSRS", EvictSrsRequest { circuit_id: "nothing".into() }).await;
    is_refused(evict, Code::InvalidArgument, "INVALID_ARGUMENT");
    let headroom: Result<HeadroomResponse, _> =
        client.ask("Headroom", HeadroomRequest { kind: "porep".into() }).await;
    is_refused(headroom, Code::InvalidArgument, "INVALID_ARGUMENT");
    let job_id = "00000000-99".to_string();
    let gone: Result<AwaitProofResponse, _> =
        client.call("AwaitProof", AwaitProofRequest { job_id: job_id.clone(), timeout_ms: 0 }).await;
    is_refused(gone, Code::NotFound, "NOT_FOUND");
    let gone: Result<CancelProofResponse, _> =
        client.call("CancelProof", CancelProofRequest { job_id: job_id.clone() }).await;
    is_refused(gone, Code::NotFound, "NOT_FOUND");
    let gone: Result<ReportResponse, _> = client.ask("Report", ReportRequest { job_id }).await;
    is_refused(gone, Code::NotFound, "NOT_FOUND");
    // Bytes that are no message of the call: field 1 as a varint.
    let garbage: Result<AwaitProofResponse, _> =
        client.call("AwaitProof", GpuStatus { ordinal: 7, ..GpuStatus::default() }).await;
    is_refused(garbage, Code::InvalidArgument, "INVALID_ARGUMENT");
    is_proved(&client.prove(window()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_engine_says_when_to_try_again() {
    let (_serve, client) = serve("[intake]\nmax_requests = 3").await;
    let kept = window();
    let first = client.submit(kept.clone()).await.unwrap();
    let other = SubmitProofRequest { randomness: vec![1; 32], ..kept };
    is_refused(client.submit(other).await, Code::AlreadyExists, "DUPLICATE_REQUEST");
    let jobs = client.occupy(2).await;
    let busy = is_refused(client.submit(window()).await, Code::ResourceExhausted, "BUSY");
    let delay = busy.get_details_retry_info().and_then(|info| info.retry_delay).expect("a delay");
    assert!(delay >= Duration::from_secs(1), "{delay:?}");
    let cancel = CancelProofRequest { job_id: jobs[1].clone() };
    let cancelled: CancelProofResponse = client.call("CancelProof", cancel).await.unwrap();
    assert!(cancelled.was_running);
    assert_eq!(client.wait(&jobs[1]).await.status(), Ended::Cancelled);
    is_proved(&client.wait(&first.job_id).await);
    is_proved(&client.wait(&jobs[0]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_ends_the_call_and_not_the_job() {
    let (serve, client) = serve("").await;
    let jobs = client.occupy(3).await;
    let wait = AwaitProofRequest { job_id: jobs[2].clone(), timeout_ms: 0 };
    let path = "/cuzk.v1.ProvingEngine/AwaitProof";
    let over: Result<AwaitProofResponse, _> = Client::within(&serve.addresses[0], path, "50m", wait).await;
    is_refused(over, Code::DeadlineExceeded, "TIMEOUT");
    for job in jobs {
        is_proved(&client.wait(&job).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_too_long_get_a_status_and_the_connection_goes_on() {
    let (_serve, client) = serve("[serve]\nreceive_bytes = \"2MiB\"").await;
    let long = |bytes: usize| SubmitProofRequest { vanilla_proofs: vec![vec![7; bytes]], ..window() };
    is_refused(client.submit(long(257 << 20)).await, Code::InvalidArgument, "INVALID_REQUEST");
    is_refused(client.prove(long(3 << 20)).await, Code::FailedPrecondition, "BUDGET_EXCEEDED");
    let name: Result<AwaitProofResponse, _> =
        client.call("AwaitProof", AwaitProofRequest { job_id: "x".repeat(100 << 10), timeout_ms: 0 }).await;
    is_refused(name, Code::InvalidArgument, "INVALID_REQUEST");
    // Longer than the windows of HTTP/2, and read whole: it is the engine that refuses it.
    let whole =
        is_refused(client.submit(long((2 << 20) - 9000)).await, Code::InvalidArgument, "INVALID_REQUEST");
    assert!(!whole.message().contains("at most"), "{whole:?}");
    is_proved(&client.prove(window()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_callers_left_is_cancelled_unless_somebody_comes_back() {
    let (_serve, client) = serve("[serve]\norphan_seconds = 1").await;
    let busy = client.occupy(12).await;
    let requests = [window(), window()];
    let mut jobs = Vec::new();
    for request in &requests {
        let (caller, asked) = (client.clone(), request.clone());
        let call = tokio::spawn(async move { caller.prove(asked).await });
        jobs.push(client.job_of(&request.request_id).await);
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    let back = tokio::spawn({
        let (client, request) = (client.clone(), requests[1].clone());
        async move { client.prove(request).await }
    });
    let left = client.wait(&jobs[0]);
    let started = Instant::now();
    // The one who looks keeps it too: it waits until it is not looked at.
    assert!(tokio::time::timeout(Duration::from_millis(100), left).await.is_err());
    let until = started + PATIENCE;
    while client.report(&jobs[0]).await["state"] != "cancelled" {
        assert!(Instant::now() < until && client.report(&jobs[0]).await["state"] != "completed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(client.wait(&jobs[0]).await.status(), Ended::Cancelled);
    let proved = back.await.unwrap().unwrap();
    is_proved(&proved);
    assert_eq!(proved.job_id, jobs[1]);
    for job in busy {
        is_proved(&client.wait(&job).await);
    }
}
