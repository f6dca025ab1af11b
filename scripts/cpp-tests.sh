#!/usr/bin/env bash
# Builds the C++ core with its unit tests (cpp/tests), without Rust, and runs them.
#
#   scripts/cpp-tests.sh [native|asan|ubsan|sanitizers|aarch64|emulated-cpu] [arguments of the tests]
#
#   native        on this machine (the default); also checks that no kernel compiled for a special instruction
#                 set exports a symbol that the linker may pick for other processors
#   asan, ubsan   with AddressSanitizer or UndefinedBehaviorSanitizer, sanitizers: with both; the first fault
#                 ends the run
#   aarch64       cross-compiled, under qemu-user
#   emulated-cpu  the native program's kernel tests on an emulated processor with AVX-512 IFMA: Bochs boots a
#                 Debian kernel whose first process they are
#
# Needs Debian or Ubuntu where tools are missing (it installs them), and cargo, which knows where blst's sources
# are, or their folder in BLST_DIR. FOREBAY_TEST_KERNELS names the only kernel set to test.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-native}
shift || true
out=$PWD/target/cpp-tests/$mode

# need TOOL:PACKAGE...: installs what is missing; a tool with a slash is a file.
need() {
    local missing=() tool
    for tool in "$@"; do
        case ${tool%%:*} in
            /*) [ -e "${tool%%:*}" ] || missing+=("${tool##*:}") ;;
            *) command -v "${tool%%:*}" >/dev/null || missing+=("${tool##*:}") ;;
        esac
    done
    ((${#missing[@]})) || return 0
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

blst_folder() {
    if [ -n "${BLST_DIR:-}" ]; then
        echo "$BLST_DIR"
        return
    fi
    cargo metadata --format-version 1 --locked | python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
found = [p["manifest_path"] for p in packages if p["name"] == "blst"]
print(os.path.join(os.path.dirname(found[0]), "blst"))'
}

# build FOLDER VARIABLE=VALUE...
build() {
    mkdir -p "$1/include"
    # Alone in a folder, as a cross-compiler must not see the other headers beside it.
    ln -sfn /usr/include/doctest "$1/include/doctest"
    make -C cpp -f tests/Makefile -j"$(nproc)" --no-print-directory --silent OUT="$1" BLST="$(blst_folder)" "${@:2}"
}

# build.rs has the one list.
ifma_flags=$(grep -o '"-m[a-z0-9]*"' build.rs | tr -d '"' | tr '\n' ' ')

build_native() {
    build "$1" CXX=g++ CC=gcc LINK=-static IFMA_FLAGS="$ifma_flags"
}

# A weak symbol may be kept from any object that has it, for all of them.
no_weak_symbols() {
    local objects=("$1"/kernels/ifma/*.o)
    [ -e "${objects[0]}" ] || return 0
    if nm --print-file-name --demangle --defined-only "${objects[@]}" | grep -E ' [WVu] '; then
        echo "kernels of a special instruction set export these weak symbols: make them static or always inline" >&2
        return 1
    fi
}

need g++:g++ make:make nm:binutils python3:python3 /usr/include/doctest/doctest.h:doctest-dev
case $mode in
    native)
        build_native "$out"
        no_weak_symbols "$out"
        "$out/unit-tests" "$@"
        ;;
    asan | ubsan | sanitizers)
        address=address undefined=undefined,float-cast-overflow
        case $mode in
            asan) sanitizers=$address ;;
            ubsan) sanitizers=$undefined ;;
            *) sanitizers=$address,$undefined ;;
        esac
        build "$out" CXX=g++ CC=gcc IFMA_FLAGS="$ifma_flags" \
            FLAGS="-fsanitize=$sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
        FOREBAY_TEST_QUICK=1 ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 \
            "$out/unit-tests" "$@"
        ;;
    aarch64)
        need aarch64-linux-gnu-g++:g++-aarch64-linux-gnu qemu-aarch64:qemu-user
        build "$out" CXX=aarch64-linux-gnu-g++ CC=aarch64-linux-gnu-gcc LINK=-static
        FOREBAY_TEST_QUICK=1 qemu-aarch64 "$out/unit-tests" "$@"
        ;;
    emulated-cpu)
        build_native "${out%/*}/native"
        # The rest takes minutes there.
        (($#)) || set -- --no-colors \
            "--test-case=*madd52*,*exception*,*extremes*,*running sums*,*by turns*,*equal elements*,*products and sums*"
        scripts/emulated-cpu.sh "${out%/*}/native/unit-tests" "$@"
        ;;
    *)
        echo "usage: $0 [native|asan|ubsan|sanitizers|aarch64|emulated-cpu] [arguments of the tests]" >&2
        exit 2
        ;;
esac
