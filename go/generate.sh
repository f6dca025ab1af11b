#!/usr/bin/env bash
# Makes cuzkpb/ and forebaypb/ from ../proto. With --check: fails where the committed files are not what it makes.
# Needs Go and Python 3; the compiler (grpcio-tools) and the plugins come from their package registries, pinned.
set -euo pipefail
cd "$(dirname "$0")"

module=github.com/forebay/forebay/go
tools=${FOREBAY_GO_TOOLS:-../target/go-tools}
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
[ -x "$tools/venv/bin/python" ] || python3 -m venv "$tools/venv"
"$tools/venv/bin/python" -c 'import grpc_tools' 2>/dev/null || "$tools/venv/bin/pip" install -q grpcio-tools==1.76.0
[ -x "$tools/protoc-gen-go" ] || GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.10
[ -x "$tools/protoc-gen-go-grpc" ] || GOBIN=$tools go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/proto/forebay/wire/cuzk/v1" "$work/proto/forebay/v1" "$work/out"

# A miner that has its own copy of cuzk.v1 must be able to import this module, and the protobuf runtime allows a
# name only once in a process. So the messages are registered under a name of this module; what goes over the wire,
# the names of the calls included, is cuzk.v1.
sed 's/^package cuzk\.v1;/package forebay.wire.cuzk.v1;/' ../proto/cuzk/v1/proving.proto \
    >"$work/proto/forebay/wire/cuzk/v1/proving.proto"
cp ../proto/forebay/v1/engine.proto "$work/proto/forebay/v1/engine.proto"

compile() { # FILE PACKAGE
    PATH=$tools:$PATH "$tools/venv/bin/python" -m grpc_tools.protoc -I "$work/proto" \
        --go_out="$work/out" --go_opt="module=$module,M$1=$module/$2" \
        --go-grpc_out="$work/out" --go-grpc_opt="module=$module,M$1=$module/$2" "$1"
}
compile forebay/wire/cuzk/v1/proving.proto cuzkpb
compile forebay/v1/engine.proto forebaypb
sed -i -e 's|"/forebay\.wire\.cuzk\.v1\.|"/cuzk.v1.|' -e 's|ServiceName: "forebay\.wire\.cuzk\.v1\.|ServiceName: "cuzk.v1.|' \
    "$work/out/cuzkpb/proving_grpc.pb.go"

# What the committed files were made from; a test compares it with the files of today.
sha256sum <../proto/cuzk/v1/proving.proto | cut -d' ' -f1 >"$work/out/cuzkpb/source.sha256"
sha256sum <../proto/forebay/v1/engine.proto | cut -d' ' -f1 >"$work/out/forebaypb/source.sha256"

for package in cuzkpb forebaypb; do
    for file in "$work/out/$package"/*; do
        committed=$package/$(basename "$file")
        if [ "${1:-}" = --check ]; then
            cmp -s "$file" "$committed" || { echo "$committed is stale; run go/generate.sh" >&2; exit 1; }
        else
            cp "$file" "$committed"
        fi
    done
done
