#!/usr/bin/env bash
# Counts the instructions of the eight-lane kernels as compiled: 52-bit multiply-adds, other vector
# instructions, shuffles, loads and stores, scalar ones. Needs g++ and objdump, not the processor.
# Usage: scripts/ifma-instructions.sh [least instructions a function must have to be shown, by default 100]
set -euo pipefail
cd "$(dirname "$0")/.."

least=${1:-100}
blst=$(cargo metadata --format-version 1 --offline 2>/dev/null |
    python3 -c 'import json,sys,os; print(next(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "blst"))')
flags=$(grep -o '"-m[a-z0-9]*"' build.rs | tr -d '"' | tr '\n' ' ')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '%8s %8s %8s %8s %8s %8s  %s\n' all ifma vector shuffle ld/st scalar function
for source in cpp/kernels/ifma/*.cpp; do
    # shellcheck disable=SC2086
    c++ -std=c++17 -O3 $flags -Wno-psabi -Icpp -I"$blst/blst/bindings" -c "$source" -o "$work/kernel.o"
    objdump -d --no-show-raw-insn -C "$work/kernel.o"
done | awk -v least="$least" '
    function show() {
        if (all >= least) printf "%8d %8d %8d %8d %8d %8d  %s\n", all, ifma, vector, shuffle, moves, all - ifma - vector - shuffle - moves, name
    }
    /^[0-9a-f]+ <.*>:$/ {
        show()
        name = $0; sub(/^[0-9a-f]+ </, "", name); sub(/>:$/, "", name)
        gsub(/\(anonymous namespace\)::|forebay::ifma::|forebay::/, "", name); name = substr(name, 1, 90)
        all = ifma = vector = shuffle = moves = 0
        next
    }
    /^ +[0-9a-f]+:/ {
        all++
        if ($2 ~ /madd52/) ifma++
        else if ($2 ~ /^vmovdq/) moves++
        else if ($2 ~ /^v(perm|punpck|shuf|insert|extract|valign)/) shuffle++
        else if ($0 ~ /%[xyz]mm/) vector++
    }
    END { show() }
' | sort -k7,7 -s
