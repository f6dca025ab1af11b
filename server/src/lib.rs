//! forebay's engine as a gRPC server: the miner's `cuzk.v1.ProvingEngine`, `forebay.v1.Engine` for what that lacks,
//! `grpc.health.v1` and reflection.
//!
//! A call takes the same way into the engine as one of the C ABI: the request's bytes go to `Engine::submit` as they
//! came. Waiting takes no thread.

mod config;
mod extra;
mod intake;
mod jobs;
mod listen;
mod proving;
pub mod raw;
mod serve;
mod status;
mod web;
mod work;

pub use config::{Options, Tls, DEFAULT_LISTEN};
pub use listen::Address;
pub use serve::{Server, Stop};
pub use status::{of as status_of, DOMAIN};

/// The messages and the service of `forebay.v1`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    tonic::include_proto!("forebay.v1");
}

#[allow(missing_docs, clippy::all)]
mod cuzk {
    tonic::include_proto!("cuzk.v1");
}

/// Every message and service, for reflection.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
