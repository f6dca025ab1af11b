//! Generates the wire types; builds the C++ core.

type Fallible = Result<(), Box<dyn std::error::Error>>;

fn main() -> Fallible {
    shared_library();
    wire_types()?;
    core()
}

fn core() -> Fallible {
    const BRIDGE: &str = "src/prove/cpu/bridge.rs";
    println!("cargo:rerun-if-changed=cpp");
    println!("cargo:rerun-if-changed={BRIDGE}");
    let blst = std::env::var("DEP_BLST_BINDINGS")?;
    let mut build = cxx_build::bridge(BRIDGE);
    for folder in ["bridge", "kernels", "ntt", "msm", "groth16"] {
        build.files(sources(folder)?);
    }
    let options = |build: &mut cc::Build| {
        build.include("cpp").include(&blst).std("c++17").opt_level(3).warnings(true).extra_warnings(true);
    };
    let mut ifma = cc::Build::new();
    let has_ifma = std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64")
        && IFMA_FLAGS.iter().all(|flag| ifma.is_flag_supported(flag).unwrap_or(false));
    if has_ifma {
        build.define("FOREBAY_HAS_IFMA", None);
    }
    options(&mut build);
    build.compile("forebay_core");
    if has_ifma {
        // After the core, which refers to it. The flags are for these files alone: see cpp/kernels/ifma/vector.h.
        ifma.cpp(true).files(sources("kernels/ifma")?).flags(IFMA_FLAGS).flag("-Wno-psabi");
        options(&mut ifma);
        ifma.compile("forebay_ifma");
    }
    hide_bridge()
}

/// What the eight-lane kernels are compiled for; `ifma_kernels` in cpp/kernels/table.cpp asks for the same.
const IFMA_FLAGS: [&str; 7] = [
    "-mavx512f",
    "-mavx512dq",
    "-mavx512vl",
    "-mavx512bw",
    "-mavx512ifma",
    "-mavx512vbmi2",
    "-mbmi2",
];

/// The C++ files of a folder of cpp/, in a fixed order.
fn sources(folder: &str) -> Result<Vec<std::path::PathBuf>, std::io::Error> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(format!("cpp/{folder}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cpp") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// cxx marks the bridge's functions for C, so rustc would export them from `libforebay.so`. Writes an assembly that
/// makes them hidden, for `src/ffi/hidden.rs`.
fn hide_bridge() -> Fallible {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    let generated =
        std::fs::read_to_string(out.join("cxxbridge/sources/forebay/src/prove/cpu/bridge.rs.cc"))?;
    let words = generated.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
    let symbols: std::collections::BTreeSet<_> =
        words.filter(|word| word.starts_with("forebay$cxxbridge")).collect();
    let lines: String =
        symbols.iter().map(|name| format!("    \".globl {name}\", \".hidden {name}\",\n")).collect();
    std::fs::write(out.join("hidden_symbols.rs"), format!("core::arch::global_asm!(\n{lines});\n"))?;
    Ok(())
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
