//! Builds C programs against the header and runs them on `libforebay.so`: plain, under AddressSanitizer and under
//! valgrind. Each is compiled as strictly as a host may.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use forebay::kind::ProofKind;
use forebay_sector::Kind;
use prost::Message;
use support::{cache, library, request};

const STRICT: [&str; 6] = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GNU_SOURCE"];
const TEST_PROGRAM: [&str; 7] = [
    "tests/c/abi.c",
    "tests/c/arguments.c",
    "tests/c/engine.c",
    "tests/c/host.c",
    "tests/c/jobs.c",
    "tests/c/process.c",
    "tests/c/texts.c",
];

/// What a real host would have: a configuration file with parameters behind it, and a request file.
struct Fixture {
    config: PathBuf,
    request: PathBuf,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The window PoSt of a real sector: the smallest of the four circuits.
fn fixture() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| {
        cache::need_keys(&[ProofKind::WindowPost]);
        let config = folder().join("abi.toml");
        std::fs::write(&config, cache::config("1GiB")).expect("writing the configuration");
        let request = folder().join("window-post.request");
        std::fs::write(&request, request::good(ProofKind::WindowPost).encode_to_vec())
            .expect("writing the request");
        Fixture { config, request }
    })
}

/// Compiles C sources, strictly, into a program of this name.
fn compile(name: &str, sources: &[&str], more: &[&str]) -> PathBuf {
    let program = folder().join(name);
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.current_dir(root()).args(STRICT).args(["-g", "-O1", "-Iinclude", "-pthread"]).args(more);
    expect_success(&cc.args(sources).arg("-o").arg(&program).arg("-ldl").output().expect("a C compiler"));
    program
}

fn expect_success(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\nstdout:\n{out}\nstderr:\n{err}", output.status);
    out
}

fn test_program(name: &str, more: &[&str]) -> PathBuf {
    compile(name, &TEST_PROGRAM, more)
}

#[test]
fn a_c_host_gets_answers_and_proofs() {
    let fixture = fixture();
    let mut run = Command::new(test_program("abi", &[]));
    run.arg(library::path()).arg(&fixture.config).arg(&fixture.request);
    assert!(expect_success(&run.output().expect("the program")).contains("proofs included"));
}

#[test]
fn address_sanitizer_finds_nothing() {
    let fixture = fixture();
    let mut run = Command::new(test_program("abi-asan", &["-fsanitize=address", "-fno-omit-frame-pointer"]));
    run.env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0");
    run.arg(library::path()).arg(&fixture.config).arg(&fixture.request);
    assert!(expect_success(&run.output().expect("the program")).contains("proofs included"));
}

#[test]
fn valgrind_finds_nothing() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    let fixture = fixture();
    let program = test_program("abi-valgrind", &[]);
    let mut run = Command::new("valgrind");
    run.args(["--error-exitcode=9", "--quiet", "--leak-check=full"]);
    run.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
    // Without a request: proving is tens of times slower there, and the other two runs prove.
    run.arg(program).arg(library::path()).arg(&fixture.config);
    assert!(expect_success(&run.output().expect("the program")).contains("every check holds"));
}

#[test]
fn copies_budgets_and_handles_after_dlclose() {
    let fixture = fixture();
    let program = compile("copies", &["tests/c/copies.c", "tests/c/host.c"], &[]);
    let copy = folder().join("a-copy-of-libforebay.so");
    std::fs::copy(library::path(), &copy).expect("copying the library");
    let mut run = Command::new(program);
    run.arg(library::path()).arg(&copy).arg(&fixture.config).arg(&fixture.request);
    let printed = expect_success(&run.output().expect("the program"));
    std::fs::remove_file(copy).expect("removing the copy");
    assert!(printed.contains("every check holds"));
}

#[test]
fn a_log_callback_that_throws_loses_its_event_and_nothing_else() {
    let program = folder().join("throws");
    let mut cxx = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    cxx.current_dir(root()).args([
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-g",
        "-pthread",
    ]);
    cxx.args(["-Iinclude", "tests/c/throws.cpp", "-o"]).arg(&program).arg("-ldl");
    expect_success(&cxx.output().expect("a C++ compiler"));
    let mut run = Command::new(program);
    assert!(expect_success(&run.arg(library::path()).output().expect("it")).contains("every check holds"));
}

#[test]
fn the_example_proves_a_request() {
    let fixture = fixture();
    let program = compile("prove", &["examples/prove.c"], &[]);
    let proof = folder().join("example.proof");
    let mut run = Command::new(&program);
    run.arg("--library").arg(library::path()).arg("--config").arg(&fixture.config);
    let printed =
        expect_success(&run.arg("--out").arg(&proof).arg(&fixture.request).output().expect("it runs"));
    let bytes = std::fs::read(&proof).expect("the proof");
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(printed.lines().next(), Some(hex.as_str()));
    assert!(cache::sector().verify(Kind::WindowPost, &bytes).expect("Filecoin's verifier"));
}

#[test]
fn the_example_says_what_is_wrong() {
    let program = compile("prove-wrong", &["examples/prove.c"], &[]);
    let usage = Command::new(&program).output().expect("it runs");
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("usage:"));
    let mut run = Command::new(&program);
    let config = folder().join("unknown-key.toml");
    std::fs::write(&config, "thread = 2\n").expect("writing a configuration");
    run.arg("--library").arg(library::path()).arg("--config").arg(&config).arg(&config);
    let refused = run.output().expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("invalid_config") && said.contains("threads"), "{said}");
}

#[test]
fn the_header_is_cxx_too() {
    let mut cxx = Command::new(std::env::var_os("CXX").unwrap_or_else(|| "c++".into()));
    cxx.current_dir(root()).args([
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-fsyntax-only",
    ]);
    expect_success(&cxx.args(["-x", "c++", "include/forebay.h"]).output().expect("a C++ compiler"));
}
