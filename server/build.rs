//! Generates the services over the library's own messages, and their descriptors for reflection.

use prost::Message;

type Fallible = Result<(), Box<dyn std::error::Error>>;

const PROTOS: [&str; 2] = ["../proto/cuzk/v1/proving.proto", "../proto/forebay/v1/engine.proto"];

/// Calls that hand their message's bytes to the engine as they came.
const RAW: [&str; 2] = ["cuzk.v1.SubmitProofRequest", "cuzk.v1.ProveRequest"];

fn main() -> Fallible {
    for proto in PROTOS {
        println!("cargo:rerun-if-changed={proto}");
    }
    let descriptors = protox::compile(PROTOS, ["../proto"])?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut build = tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .codec_path("crate::raw::Codec")
        .extern_path(".cuzk.v1", "::forebay::wire");
    for message in RAW {
        build = build.extern_path(format!(".{message}"), "crate::raw::Raw");
    }
    build.compile_fds(descriptors)?;
    Ok(())
}
