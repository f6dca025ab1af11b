//! `forebay.v1.Engine`: what the miner's service has no call for.

use forebay::kind::ProofKind;
use forebay::{Code, Error};
use tonic::{Request, Response, Status};

use crate::status;
use crate::v1::engine_server;
use crate::v1::{
    HeadroomRequest, HeadroomResponse, ReportRequest, ReportResponse, StatusRequest, StatusResponse,
};
use crate::work::{Purpose, Work};

/// The service.
#[derive(Clone)]
pub struct Extra(pub Work);

#[tonic::async_trait]
impl engine_server::Engine for Extra {
    async fn headroom(
        &self,
        request: Request<HeadroomRequest>,
    ) -> Result<Response<HeadroomResponse>, Status> {
        let name = request.into_inner().kind;
        let kind: ProofKind = name.parse().map_err(|e: Error| status::of(&e.at("kind")))?;
        let count = self.0.run(Purpose::Look, move |engine| Ok(engine.headroom(kind))).await?;
        Ok(Response::new(HeadroomResponse { count }))
    }

    async fn status(&self, _: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let status = self.0.run(Purpose::Look, |engine| Ok(engine.status())).await?;
        Ok(Response::new(StatusResponse { json: json(&status)? }))
    }

    async fn report(&self, request: Request<ReportRequest>) -> Result<Response<ReportResponse>, Status> {
        let job_id = request.into_inner().job_id;
        let missing = || Error::new(Code::NotFound, format!("no job {job_id:?}"));
        let report = self.0.engine.report(&job_id).ok_or_else(|| status::of(&missing()))?;
        Ok(Response::new(ReportResponse { json: json(&report)? }))
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Status> {
    serde_json::to_string(value).map_err(|e| status::of(&Error::internal(format!("writing JSON: {e}"))))
}
