//! Generates the wire types; builds the C++ core.

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn main() -> Fallible {
    shared_library();
    wire_types()
}

/// How `libforebay.so` is linked. A version script of our own is out: rustc passes one, and GNU ld takes no second.
fn shared_library() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let arguments = [
        // rustc's script exports what any crate marks for C; this leaves only what the root crate exports.
        "-Wl,--exclude-libs,ALL",
        // Another copy in the process never answers for ours.
        "-Wl,-Bsymbolic",
        "-Wl,-soname,libforebay.so",
        // Threads and thread-local destructors run code of the library: dlclose must not unmap it.
        "-Wl,-z,nodelete",
    ];
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
}

fn wire_types() -> Fallible {
    const PROTO: &str = "proto/cuzk/v1/proving.proto";
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["proto"])?;
    prost_build::Config::new().compile_fds(descriptors)?;
    Ok(())
}
