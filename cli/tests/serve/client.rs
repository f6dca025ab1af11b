//! A plain gRPC client.

use std::time::{Duration, Instant};

use forebay::kind::ProofKind;
use forebay::wire::await_proof_response::Status as Ended;
use forebay::wire::{
    AwaitProofRequest, AwaitProofResponse, ProveRequest, ProveResponse, SubmitProofRequest,
    SubmitProofResponse,
};
use forebay_server::v1::{ReportRequest, ReportResponse, StatusRequest, StatusResponse};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use serde_json::Value;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt;

use crate::request;
use crate::server::PATIENCE;

/// The longest message that the tests receive.
const MAX: usize = 256 << 20;

#[derive(Clone)]
pub struct Client(pub Channel);

impl Client {
    /// A connection to an address as the server tells it.
    pub async fn dial(address: &str) -> Client {
        let target = if address.starts_with("unix:") { address.into() } else { format!("http://{address}") };
        let endpoint = Endpoint::from_shared(target).expect("an address");
        Client(endpoint.connect().await.expect("a connection"))
    }

    /// A call of `cuzk.v1.ProvingEngine`.
    pub async fn call<Q, A>(&self, method: &str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.request(&format!("/cuzk.v1.ProvingEngine/{method}"), Request::new(message)).await
    }

    /// A call of `forebay.v1.Engine`.
    pub async fn ask<Q, A>(&self, method: &str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.request(&format!("/forebay.v1.Engine/{method}"), Request::new(message)).await
    }

    pub async fn request<Q, A>(&self, path: &str, request: Request<Q>) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let mut grpc = tonic::client::Grpc::new(self.0.clone())
            .max_decoding_message_size(MAX)
            .max_encoding_message_size(usize::MAX);
        grpc.ready().await.map_err(|e| Status::unavailable(e.to_string()))?;
        let path: PathAndQuery = path.parse().expect("a path");
        grpc.unary(request, path, ProstCodec::default()).await.map(tonic::Response::into_inner)
    }

    /// One call with a `grpc-timeout` that only the server knows of: a channel would end the call itself.
    pub async fn within<Q, A>(address: &str, path: &str, timeout: &str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("HTTP/2");
        tokio::spawn(connection);
        let service = tower::service_fn(move |request| {
            let mut sender = sender.clone();
            async move { sender.send_request(request).await }
        });
        let origin = format!("http://{address}").parse().expect("an address");
        let mut grpc = tonic::client::Grpc::with_origin(service, origin);
        let mut request = Request::new(message);
        request.metadata_mut().insert("grpc-timeout", timeout.parse().expect("a header"));
        let path: PathAndQuery = path.parse().expect("a path");
        grpc.unary(request, path, ProstCodec::default()).await.map(tonic::Response::into_inner)
    }

    pub async fn submit(&self, request: SubmitProofRequest) -> Result<SubmitProofResponse, Status> {
        self.call("SubmitProof", request).await
    }

    pub async fn wait(&self, job_id: &str) -> AwaitProofResponse {
        let request = AwaitProofRequest { job_id: job_id.into(), timeout_ms: PATIENCE.as_millis() as u64 };
        self.call("AwaitProof", request).await.expect("an answer")
    }

    pub async fn prove(&self, request: SubmitProofRequest) -> Result<AwaitProofResponse, Status> {
        let proved: ProveResponse = self.call("Prove", ProveRequest { submit: Some(request) }).await?;
        Ok(proved.result.expect("a result"))
    }

    /// The engine's status document.
    pub async fn status(&self) -> Value {
        let status: StatusResponse = self.ask("Status", StatusRequest {}).await.expect("a status");
        serde_json::from_str(&status.json).expect("JSON")
    }

    pub async fn report(&self, job_id: &str) -> Value {
        let report: ReportResponse =
            self.ask("Report", ReportRequest { job_id: job_id.into() }).await.expect("a report");
        serde_json::from_str(&report.json).expect("JSON")
    }

    /// The job of a request, once the engine has it.
    pub async fn job_of(&self, request_id: &str) -> String {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let status = self.status().await;
            let jobs = status["jobs"].as_array().expect("jobs");
            if let Some(job) = jobs.iter().find(|job| job["request_id"] == request_id) {
                return job["job_id"].as_str().expect("a name").into();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{request_id} is not there");
    }

    /// Requests that keep the engine at work for a while; their jobs.
    pub async fn occupy(&self, requests: usize) -> Vec<String> {
        let mut jobs = Vec::new();
        for _ in 0..requests {
            let submitted = self.submit(request::good(ProofKind::WindowPost)).await.expect("a job");
            jobs.push(submitted.job_id);
        }
        jobs
    }
}

/// An answer with a proof of one partition.
pub fn is_proved(answer: &AwaitProofResponse) {
    assert_eq!(answer.status(), Ended::Completed, "{}", answer.error_message);
    assert_eq!(answer.proof.len(), 192);
}

/// A refusal with this status, and the reason in its details.
pub fn is_refused<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, reason: &str) -> Status {
    let status = result.expect_err(reason);
    assert_eq!(status.code(), code, "{status:?}");
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("no details: {status:?}"));
    assert_eq!((info.reason.as_str(), info.domain.as_str()), (reason, "forebay"));
    assert!(info.metadata["code"].parse::<u32>().is_ok());
    status
}
