//! What the integration tests share: development keys and a real sector, kept between runs, and a host that drives
//! `libforebay.so` through its table.
#![allow(dead_code)]

pub mod cache;
pub mod host;
#[path = "../library/mod.rs"]
pub mod library;
pub mod request;
