//! `cuzk.v1.ProvingEngine`.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use forebay::engine::{Engine, Status as Known, Submitted};
use forebay::kind::{CircuitId, ProofKind};
use forebay::prove::Footprint;
use forebay::wire::await_proof_response::Status as Answer;
use forebay::wire::{self, srs_status::Tier};
use forebay::{Code, Error};
use tonic::{Request, Response, Status};

use crate::cuzk::proving_engine_server::ProvingEngine;
use crate::intake::Hold;
use crate::jobs::{unfinished, Jobs};
use crate::raw::{self, Raw};
use crate::status;
use crate::work::{broken, Purpose, Work};

type Result<T> = std::result::Result<Response<T>, Status>;

/// The service; clones share the engine.
#[derive(Clone)]
pub struct Proving {
    work: Work,
    jobs: Jobs,
}

impl Proving {
    pub fn new(work: Work, grace: Duration) -> Proving {
        Proving { jobs: Jobs::new(work.engine.clone(), grace), work }
    }

    /// Hands a request's bytes to the engine, which gives their room back. `then` has the job also where the caller
    /// went away meanwhile: no job is left that nobody knows of.
    async fn submit<T: Send + 'static>(
        &self,
        request: Bytes,
        hold: Option<Hold>,
        then: impl FnOnce(&Jobs, Submitted) -> forebay::Result<T> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let (work, jobs) = (self.work.clone(), self.jobs.clone());
        let submitting = tokio::spawn(async move {
            let submit = move |engine: &Engine| {
                let submitted = engine.submit(&request);
                drop(request);
                if let Some(hold) = hold {
                    hold.release();
                }
                submitted
            };
            let submitted = work.run(Purpose::Submit, submit).await?;
            then(&jobs, submitted).map_err(|e| status::of(&e))
        });
        submitting.await.map_err(broken)?
    }
}

#[tonic::async_trait]
impl ProvingEngine for Proving {
    async fn submit_proof(&self, mut request: Request<Raw>) -> Result<wire::SubmitProofResponse> {
        let hold = request.extensions_mut().remove();
        let kept = |jobs: &Jobs, submitted: Submitted| jobs.keep(&submitted.job_id).map(|()| submitted);
        let Submitted { job_id, queue_position } = self.submit(request.into_inner().0, hold, kept).await?;
        Ok(Response::new(wire::SubmitProofResponse { job_id, queue_position, assigned_gpu: String::new() }))
    }

    async fn await_proof(
        &self,
        request: Request<wire::AwaitProofRequest>,
    ) -> Result<wire::AwaitProofResponse> {
        let wire::AwaitProofRequest { job_id, timeout_ms } = request.into_inner();
        let timeout = (timeout_ms != 0).then(|| Duration::from_millis(timeout_ms));
        let mut caller = self.jobs.call(&job_id).map_err(|e| status::of(&e))?;
        let answer = caller.wait(timeout).await.map_err(|e| status::of(&e))?;
        Ok(Response::new(answer.unwrap_or_else(|| unfinished(&job_id, Answer::Timeout))))
    }

    async fn prove(&self, mut request: Request<Raw>) -> Result<wire::ProveResponse> {
        let hold = request.extensions_mut().remove();
        let submission = raw::submission(&request.into_inner().0).map_err(|e| status::of(&e))?;
        let called = |jobs: &Jobs, submitted: Submitted| jobs.call(&submitted.job_id);
        let mut caller = self.submit(submission, hold, called).await?;
        let result = caller.wait(None).await.map_err(|e| status::of(&e))?;
        Ok(Response::new(wire::ProveResponse { result }))
    }

    async fn cancel_proof(
        &self,
        request: Request<wire::CancelProofRequest>,
    ) -> Result<wire::CancelProofResponse> {
        let was_running =
            self.work.engine.cancel(&request.into_inner().job_id).map_err(|e| status::of(&e))?;
        Ok(Response::new(wire::CancelProofResponse { was_running }))
    }

    async fn get_status(&self, _: Request<wire::GetStatusRequest>) -> Result<wire::GetStatusResponse> {
        let told =
            self.work.run(Purpose::Look, |engine| Ok(short(&engine.status(), engine.available()))).await?;
        Ok(Response::new(told))
    }

    async fn get_metrics(&self, _: Request<wire::GetMetricsRequest>) -> Result<wire::GetMetricsResponse> {
        let prometheus_text = self.work.run(Purpose::Scrape, |engine| Ok(engine.metrics())).await?;
        Ok(Response::new(wire::GetMetricsResponse { prometheus_text }))
    }

    async fn preload_srs(
        &self,
        request: Request<wire::PreloadSrsRequest>,
    ) -> Result<wire::PreloadSrsResponse> {
        let circuit = circuit(&request.into_inner().circuit_id)?;
        let loaded = self.work.run(Purpose::Load, move |engine| engine.preload(circuit)).await?;
        Ok(Response::new(wire::PreloadSrsResponse {
            already_loaded: loaded.already_loaded,
            load_time_ms: u64::try_from(loaded.load_time.as_millis()).unwrap_or(u64::MAX),
        }))
    }

    async fn evict_srs(&self, request: Request<wire::EvictSrsRequest>) -> Result<wire::EvictSrsResponse> {
        let circuit = circuit(&request.into_inner().circuit_id)?;
        let evicted = self.work.run(Purpose::Load, move |engine| engine.evict(circuit)).await?;
        let (was_loaded, freed_bytes) = (evicted.was_loaded, evicted.freed.0);
        Ok(Response::new(wire::EvictSrsResponse { was_loaded, freed_bytes }))
    }
}

fn circuit(name: &str) -> std::result::Result<CircuitId, Status> {
    let parsed: forebay::Result<CircuitId> = name.parse();
    parsed.map_err(|e| status::of(&Error::new(Code::InvalidArgument, e.message()).at("circuit_id")))
}

/// The miner's status message. Slots on the processor are no GPUs and are left out.
fn short(status: &Known, available: Vec<(CircuitId, Option<Footprint>)>) -> wire::GetStatusResponse {
    wire::GetStatusResponse {
        gpus: Vec::new(),
        loaded_srs: circuits(status, available),
        queues: ProofKind::ALL.iter().map(|kind| queue(status, kind.name())).collect(),
        total_proofs_completed: status.totals.completed,
        total_proofs_failed: status.totals.failed,
        uptime_seconds: status.uptime_seconds,
        pinned_memory_bytes: status.cells.iter().map(|cell| cell.mapped).sum(),
        pinned_memory_limit_bytes: status.memory.limit,
    }
}

/// Circuits in memory are hot, those on their way in or out warm, those whose parameters are on disk cold.
fn circuits(status: &Known, available: Vec<(CircuitId, Option<Footprint>)>) -> Vec<wire::SrsStatus> {
    let cold = available.into_iter().map(|(circuit, sizes)| wire::SrsStatus {
        circuit_id: circuit.to_string(),
        tier: Tier::Cold.into(),
        size_bytes: sizes.map_or(0, |sizes| sizes.srs.saturating_add(sizes.matrices).0),
        ref_count: 0,
    });
    let mut all: BTreeMap<_, _> = cold.map(|circuit| (circuit.circuit_id.clone(), circuit)).collect();
    for circuit in &status.circuits {
        let tier = if circuit.state == "resident" { Tier::Hot } else { Tier::Warm };
        let loaded = wire::SrsStatus {
            circuit_id: circuit.circuit.clone(),
            tier: tier.into(),
            size_bytes: circuit.bytes,
            ref_count: circuit.users,
        };
        all.insert(circuit.circuit.clone(), loaded);
    }
    all.into_values().collect()
}

/// A kind's queue; one that is not enabled has nothing in it.
fn queue(status: &Known, kind: &str) -> wire::QueueStatus {
    let found = status.queues.iter().find(|queue| queue.kind == kind);
    wire::QueueStatus {
        proof_kind: kind.to_owned(),
        pending: found.map_or(0, |queue| queue.pending),
        in_progress: found.map_or(0, |queue| queue.in_progress),
    }
}
