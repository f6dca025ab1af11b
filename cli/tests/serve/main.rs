//! `forebay serve`: the real binary, driven over gRPC by clients that know only the field tables.

#[path = "../../../tests/support/cache.rs"]
#[allow(dead_code)]
mod cache;
mod calls;
mod client;
mod ending;
mod errors;
mod load;
mod open;
#[path = "../../../tests/support/request.rs"]
mod request;
mod server;
mod top;
mod web;
