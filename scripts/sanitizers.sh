#!/usr/bin/env bash
# The C ABI's hosts against an instrumented libforebay.so, and the interpreter Miri on the rooms without C++.
#   scripts/sanitizers.sh address [CACHE]   AddressSanitizer and LeakSanitizer
#   scripts/sanitizers.sh miri              Miri, where its component is installed
# CACHE: the folder of `forebay demo --cache CACHE --requests CACHE/requests`, for real proofs; without it none are made.
set -euo pipefail
cd "$(dirname "$0")/.."

target=x86_64-unknown-linux-gnu
out=$PWD/target/sanitizers
libasan=$(cc -print-file-name=libasan.so)

# Instrumented: every Rust crate of the library, its C++ core, the C files of its dependencies. Not instrumented: Rust's
# standard library, which comes compiled, and assembly (blst). The runtime is that of the C compiler: the library refers
# to it, and whoever loads it brings it along.
build() {
    RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" \
        CFLAGS="-fsanitize=address -fno-omit-frame-pointer" CXXFLAGS="-fsanitize=address -fno-omit-frame-pointer" \
        CARGO_TARGET_DIR=$out CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        cargo build --release --lib --target "$target"
    library=$out/$target/release/libforebay.so
    nm -D "$library" | grep -q __asan_report_load8 || { echo "libforebay.so is not instrumented"; exit 1; }
}

host() { # NAME SOURCES...
    local name=$1
    shift
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address -fno-omit-frame-pointer -Iinclude -pthread "$@" -o "$out/$name" -ldl
}

address() {
    local cache=${1:-} library
    mkdir -p "$out"
    build
    host abi tests/c/{abi,arguments,engine,host,jobs,process,texts}.c
    host copies tests/c/{copies,host}.c
    "${CXX:-c++}" -std=c++17 -g -fsanitize=address -Iinclude tests/c/throws.cpp -o "$out/throws" -pthread -ldl
    export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=0
    # An overflow that the sanitizer must find, so that a run that finds nothing says something.
    "$out/throws" "$library"
    if [ -z "$cache" ]; then
        printf 'threads = 2\n[memory]\nlimit = "1GiB"\n' >"$out/forebay.toml"
        "$out/abi" "$library" "$out/forebay.toml"
        echo "address: clean; no cache was named, so nothing was proved"
        return
    fi
    cat >"$out/forebay.toml" <<END
threads = 2
synthesis_workers = 1
allow_development_parameters = true
[memory]
limit = "1GiB"
[parameters]
directories = ["$cache/development-parameters"]
[cache]
directory = "$cache"
END
    local request=$cache/requests/window_post.request
    "$out/abi" "$library" "$out/forebay.toml" "$request"
    cp "$library" "$out/a-copy-of-libforebay.so"
    "$out/copies" "$library" "$out/a-copy-of-libforebay.so" "$out/forebay.toml" "$request"
    rm "$out/a-copy-of-libforebay.so"
    if [ -f go/go.mod ] && command -v go >/dev/null; then
        (cd go && FOREBAY_LIBRARY=$library FOREBAY_TEST_CACHE=$cache LD_PRELOAD=$libasan \
            ASAN_OPTIONS=detect_leaks=0 go test -asan -count=1 -run "${GO_TESTS:-.}" ./...)
    fi
    echo "address: clean"
}

# Pure rooms, and the C ABI's objects, guards and handles. Left out: what calls the kernel or C++.
miri() {
    local toolchain=${MIRI_TOOLCHAIN:-nightly}
    if ! cargo "+$toolchain" miri --version >/dev/null 2>&1; then
        echo "miri: skipped: no component miri (rustup component add miri --toolchain $toolchain)"
        return
    fi
    PROPTEST_CASES=8 MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance" CARGO_TARGET_DIR=$PWD/target/miri \
        cargo "+$toolchain" miri test --lib -- \
        ffi::guard ffi::registry ffi::buffer ffi::error units:: kind:: error:: memory::ledger schedule::tests::order schedule::tests::headroom
}

case "${1:-}" in
address) address "${2:-}" ;;
miri) miri ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
