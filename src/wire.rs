//! The `cuzk.v1` messages, generated from `proto/cuzk/v1/proving.proto`.
#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/cuzk.v1.rs"));
