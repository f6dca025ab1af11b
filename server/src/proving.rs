//! `cuzk.v1.ProvingEngine`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forebay::engine::{Engine, Submitted};
use forebay::kind::{CircuitId, ProofKind};
use forebay::wire::await_proof_response::Status as Answer;
use forebay::wire::{self, srs_status::Tier};
use forebay::{Code, Error};
use tonic::{Request, Response, Status};

use crate::cuzk::proving_engine_server::ProvingEngine;
use crate::jobs::{unfinished, Interest, Jobs};
use crate::raw::{self, Raw};
use crate::status;
use crate::uploads::Place;

type Result<T> = std::result::Result<Response<T>, Status>;

/// The service; clones share the engine.
#[derive(Clone)]
pub struct Proving {
    engine: Arc<Engine>,
    jobs: Jobs,
}

/// Runs a call of the engine that may block.
pub async fn blocking<T: Send + 'static>(
    engine: &Arc<Engine>,
    call: impl FnOnce(&Engine) -> forebay::Result<T> + Send + 'static,
) -> std::result::Result<T, Status> {
    let engine = engine.clone();
    let done = tokio::task::spawn_blocking(move || call(&engine)).await;
    done.map_err(|e| Status::internal(format!("a call ended in a panic: {e}")))?.map_err(|e| status::of(&e))
}

impl Proving {
    pub fn new(engine: Arc<Engine>, grace: Duration) -> Proving {
        Proving { jobs: Jobs::new(engine.clone(), grace), engine }
    }

    /// Hands a request's bytes to the engine. Its place among the uploads is free again afterwards.
    async fn submit(&self, request: Bytes, place: Option<Place>) -> std::result::Result<Submitted, Status> {
        let submitted = blocking(&self.engine, move |engine| engine.submit(&request)).await;
        drop(place);
        submitted
    }
}

#[tonic::async_trait]
impl ProvingEngine for Proving {
    async fn submit_proof(&self, mut request: Request<Raw>) -> Result<wire::SubmitProofResponse> {
        let place = request.extensions_mut().remove::<Place>();
        let Submitted { job_id, queue_position } = self.submit(request.into_inner().0, place).await?;
        self.jobs.keep(&job_id).map_err(|e| status::of(&e))?;
        Ok(Response::new(wire::SubmitProofResponse { job_id, queue_position, assigned_gpu: String::new() }))
    }

    async fn await_proof(
        &self,
        request: Request<wire::AwaitProofRequest>,
    ) -> Result<wire::AwaitProofResponse> {
        let wire::AwaitProofRequest { job_id, timeout_ms } = request.into_inner();
        let timeout = (timeout_ms != 0).then(|| Duration::from_millis(timeout_ms));
        let answer = self.jobs.wait(&job_id, Interest::Look, timeout).await.map_err(|e| status::of(&e))?;
        Ok(Response::new(answer.unwrap_or_else(|| unfinished(&job_id, Answer::Timeout))))
    }

    async fn prove(&self, mut request: Request<Raw>) -> Result<wire::ProveResponse> {
        let place = request.extensions_mut().remove::<Place>();
        let submission = raw::submission(&request.into_inner().0)?;
        let submitted = self.submit(submission, place).await?;
        let answer = self.jobs.wait(&submitted.job_id, Interest::Own, None).await;
        let result = answer.map_err(|e| status::of(&e))?;
        Ok(Response::new(wire::ProveResponse { result }))
    }

    async fn cancel_proof(
        &self,
        request: Request<wire::CancelProofRequest>,
    ) -> Result<wire::CancelProofResponse> {
        let was_running = self.engine.cancel(&request.into_inner().job_id).map_err(|e| status::of(&e))?;
        Ok(Response::new(wire::CancelProofResponse { was_running }))
    }

    async fn get_status(&self, _: Request<wire::GetStatusRequest>) -> Result<wire::GetStatusResponse> {
        let told = blocking(&self.engine, |engine| Ok(engine.status())).await?;
        Ok(Response::new(short(&told)))
    }

    async fn get_metrics(&self, _: Request<wire::GetMetricsRequest>) -> Result<wire::GetMetricsResponse> {
        let prometheus_text = blocking(&self.engine, |engine| Ok(engine.metrics())).await?;
        Ok(Response::new(wire::GetMetricsResponse { prometheus_text }))
    }

    async fn preload_srs(
        &self,
        request: Request<wire::PreloadSrsRequest>,
    ) -> Result<wire::PreloadSrsResponse> {
        let circuit = circuit(&request.into_inner().circuit_id)?;
        let loaded = blocking(&self.engine, move |engine| engine.preload(circuit)).await?;
        Ok(Response::new(wire::PreloadSrsResponse {
            already_loaded: loaded.already_loaded,
            load_time_ms: u64::try_from(loaded.load_time.as_millis()).unwrap_or(u64::MAX),
        }))
    }

    async fn evict_srs(&self, request: Request<wire::EvictSrsRequest>) -> Result<wire::EvictSrsResponse> {
        let circuit = circuit(&request.into_inner().circuit_id)?;
        let evicted = blocking(&self.engine, move |engine| engine.evict(circuit)).await?;
        let (was_loaded, freed_bytes) = (evicted.was_loaded, evicted.freed.0);
        Ok(Response::new(wire::EvictSrsResponse { was_loaded, freed_bytes }))
    }
}

fn circuit(name: &str) -> std::result::Result<CircuitId, Status> {
    let parsed: forebay::Result<CircuitId> = name.parse();
    parsed.map_err(|e| status::of(&Error::new(Code::InvalidArgument, e.message()).at("circuit_id")))
}

/// The miner's status message. Slots on the processor are no GPUs and are left out.
fn short(status: &forebay::engine::Status) -> wire::GetStatusResponse {
    let tier = |state| if state == "resident" { Tier::Hot } else { Tier::Warm };
    wire::GetStatusResponse {
        gpus: Vec::new(),
        loaded_srs: status
            .circuits
            .iter()
            .map(|circuit| wire::SrsStatus {
                circuit_id: circuit.circuit.clone(),
                tier: tier(circuit.state).into(),
                size_bytes: circuit.bytes,
                ref_count: circuit.users,
            })
            .collect(),
        queues: ProofKind::ALL.iter().map(|kind| queue(status, kind.name())).collect(),
        total_proofs_completed: status.totals.completed,
        total_proofs_failed: status.totals.failed,
        uptime_seconds: status.uptime_seconds,
        pinned_memory_bytes: status.cells.iter().map(|cell| cell.mapped).sum(),
        pinned_memory_limit_bytes: status.memory.limit,
    }
}

/// A kind's queue; one that is not enabled has nothing in it.
fn queue(status: &forebay::engine::Status, kind: &str) -> wire::QueueStatus {
    let found = status.queues.iter().find(|queue| queue.kind == kind);
    wire::QueueStatus {
        proof_kind: kind.to_owned(),
        pending: found.map_or(0, |queue| queue.pending),
        in_progress: found.map_or(0, |queue| queue.in_progress),
    }
}
