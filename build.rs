//! Generates the wire types; builds the C++ core.

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn main() -> Fallible {
    wire_types()
}

fn wire_types() -> Fallible {
    const PROTO: &str = "proto/cuzk/v1/proving.proto";
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    prost_build::Config::new().compile_fds(descriptors)?;
    Ok(())
}
