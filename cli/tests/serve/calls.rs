//! Every call, over a unix socket and over TCP.

use std::os::unix::fs::PermissionsExt;

use forebay::kind::ProofKind;
use forebay::wire::{
    srs_status::Tier, AwaitProofRequest, CancelProofRequest, CancelProofResponse, EvictSrsRequest,
    EvictSrsResponse, GetMetricsRequest, GetMetricsResponse, GetStatusRequest, GetStatusResponse,
    PreloadSrsRequest, PreloadSrsResponse,
};
use forebay_server::v1::{HeadroomRequest, HeadroomResponse};
use tokio_stream::StreamExt;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::ServerReflectionRequest;

use crate::client::{is_proved, Client};
use crate::server::Serve;
use crate::{cache, request};

const CIRCUIT: &str = "wpost-2k";

fn circuit(status: &GetStatusResponse) -> (Tier, u64) {
    let found = status.loaded_srs.iter().find(|srs| srs.circuit_id == CIRCUIT).expect("the circuit");
    (found.tier(), found.size_bytes)
}

async fn status(client: &Client) -> GetStatusResponse {
    client.call("GetStatus", GetStatusRequest {}).await.unwrap()
}

async fn circuits_come_and_go(client: &Client) {
    assert_eq!(circuit(&status(client).await).0, Tier::Cold);
    let preload = || PreloadSrsRequest { circuit_id: CIRCUIT.into() };
    let loaded: PreloadSrsResponse = client.call("PreloadSRS", preload()).await.unwrap();
    assert!(!loaded.already_loaded);
    let again: PreloadSrsResponse = client.call("PreloadSRS", preload()).await.unwrap();
    assert!(again.already_loaded);
    let (tier, bytes) = circuit(&status(client).await);
    assert!(tier == Tier::Hot && bytes > 1 << 20, "{tier:?} {bytes}");
    let evict = EvictSrsRequest { circuit_id: CIRCUIT.into() };
    let evicted: EvictSrsResponse = client.call("EvictSRS", evict).await.unwrap();
    assert!(evicted.was_loaded && evicted.freed_bytes == bytes, "{evicted:?} {bytes}");
    assert_eq!(circuit(&status(client).await).0, Tier::Cold);
}

async fn requests_are_proved(client: &Client) {
    let request = request::good(ProofKind::WindowPost);
    let submitted = client.submit(request.clone()).await.unwrap();
    let answer = client.wait(&submitted.job_id).await;
    is_proved(&answer);
    assert!(cache::sector().verify(forebay_sector::Kind::WindowPost, &answer.proof).unwrap());
    let again = client.prove(request).await.unwrap();
    assert_eq!(
        (again.job_id, again.proof),
        (answer.job_id, answer.proof),
        "the same request is the same job"
    );
    is_proved(&client.prove(request::good(ProofKind::WindowPost)).await.unwrap());
    let cancel = CancelProofRequest { job_id: submitted.job_id.clone() };
    let cancelled: CancelProofResponse = client.call("CancelProof", cancel).await.unwrap();
    assert!(!cancelled.was_running);
    let report = client.report(&submitted.job_id).await;
    assert_eq!((&report["state"], &report["kind"]), (&"completed".into(), &"window_post".into()));
}

async fn figures_are_told(client: &Client) {
    let status = status(client).await;
    let kinds: Vec<_> = status.queues.iter().map(|queue| queue.proof_kind.as_str()).collect();
    assert_eq!(kinds, ProofKind::ALL.map(ProofKind::name));
    assert!(status.gpus.is_empty(), "a processor is no GPU");
    assert_eq!((status.total_proofs_completed, status.total_proofs_failed), (2, 0));
    let limit = client.status().await["memory"]["limit"].as_u64().unwrap();
    assert_eq!(status.pinned_memory_limit_bytes, limit);
    assert!(status.pinned_memory_bytes > 0 && status.pinned_memory_bytes < limit);
    let metrics: GetMetricsResponse = client.call("GetMetrics", GetMetricsRequest {}).await.unwrap();
    assert!(metrics.prometheus_text.contains("forebay_memory_reserved_bytes{"));
    let headroom: HeadroomResponse =
        client.ask("Headroom", HeadroomRequest { kind: "window_post".into() }).await.unwrap();
    assert!(headroom.count > 0);
}

async fn is_serving(client: &Client, service: &str) -> bool {
    let request = tonic::Request::new(HealthCheckRequest { service: service.into() });
    let answer: HealthCheckResponse = client.request("/grpc.health.v1.Health/Check", request).await.unwrap();
    answer.status == 1
}

async fn services_are_listed(client: &Client) {
    let mut reflection = ServerReflectionClient::new(client.0.clone());
    let mut ask = async |question| {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
        let mut answers =
            reflection.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
        answers.next().await.unwrap().unwrap().message_response.unwrap()
    };
    let MessageResponse::ListServicesResponse(list) = ask(MessageRequest::ListServices(String::new())).await
    else {
        panic!("no list");
    };
    let names: Vec<_> = list.service.into_iter().map(|service| service.name).collect();
    for name in ["cuzk.v1.ProvingEngine", "forebay.v1.Engine", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|listed| listed == name), "{names:?}");
    }
    let symbol = MessageRequest::FileContainingSymbol("cuzk.v1.SubmitProofRequest".into());
    let MessageResponse::FileDescriptorResponse(files) = ask(symbol).await else { panic!("no file") };
    let text = String::from_utf8_lossy(&files.file_descriptor_proto[0]).into_owned();
    assert!(text.contains("vanilla_proofs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_is_answered_over_a_unix_socket_and_tcp() {
    let mut serve = Serve::start(&["unix://DIR/serve.sock", "127.0.0.1:0"], &[], "");
    let line = serve.hear("memory limit");
    assert!(line.contains("kernels ") && line.contains("window_post"), "{line}");
    let socket = serve.path("serve.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let (unix, tcp) = (Client::dial(&serve.addresses[0]).await, Client::dial(&serve.addresses[1]).await);
    circuits_come_and_go(&tcp).await;
    requests_are_proved(&unix).await;
    figures_are_told(&unix).await;
    services_are_listed(&tcp).await;
    for service in ["", "cuzk.v1.ProvingEngine", "forebay.v1.Engine"] {
        assert!(is_serving(&tcp, service).await, "{service:?}");
    }
    let long = AwaitProofRequest { job_id: unix.occupy(1).await.remove(0), timeout_ms: 1 };
    let answer: forebay::wire::AwaitProofResponse = tcp.call("AwaitProof", long).await.unwrap();
    assert_eq!(answer.status(), forebay::wire::await_proof_response::Status::Timeout);
    is_proved(&unix.wait(&answer.job_id).await);
    drop((unix, tcp));
    serve.stop();
    assert!(!socket.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_is_there_again_after_a_restart() {
    let mut first = Serve::start(&["unix://DIR/s"], &[], "");
    let request = request::good(ProofKind::WindowPost);
    let client = Client::dial(&first.addresses[0]).await;
    let proof = client.prove(request.clone()).await.unwrap().proof;
    drop(client);
    first.stop();
    let folder = std::mem::replace(&mut first.folder, tempfile::tempdir().unwrap());
    let second = Serve::start_in(folder, &["unix://DIR/s"], &[]);
    let client = Client::dial(&second.addresses[0]).await;
    assert_eq!(client.prove(request).await.unwrap().proof, proof);
    assert_eq!(client.status().await["totals"]["proofs"], 0, "it was made again");
}
