#!/usr/bin/env bash
# A `forebay serve` under a mixed load of all four kinds, for so many seconds: for what has to be looked at amid one.
#
#   scripts/mixed-run.sh CACHE SECONDS COMMAND...
#
# CACHE is the folder of `forebay demo --cache CACHE --requests CACHE/requests`. COMMAND runs while the load does, with the
# server's address in FOREBAY_ADDRESS; its status is this script's, unless the load lost a request. Needs Go and the
# release build of the command line.
set -euo pipefail
cache=$(realpath "$1") seconds=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
state=$(mktemp -d)
server='' load=''
finish() {
    [ -z "$load" ] || kill "$load" 2>/dev/null || true
    [ -z "$server" ] || { kill "$server" 2>/dev/null && sleep 0.2 && kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; } || true
    rm -rf "$state"
}
trap finish EXIT

(cd "$root/go" && go build -o "$state/forebay-load" ./cmd/forebay-load)
cat >"$state/config.toml" <<CONFIG
allow_development_parameters = true
[parameters]
directories = ["$cache/development-parameters"]
[journal]
file = "$state/proofs.journal"
[timeouts]
winning_post = 120
window_post = 1800
CONFIG
"$root/target/release/forebay" serve --cache "$cache" --config "$state/config.toml" --listen 127.0.0.1:0 \
    ${FOREBAY_MIXED_LIMIT:+--memory-limit "$FOREBAY_MIXED_LIMIT"} 2>"$state/log" &
server=$!
for _ in $(seq 100); do
    address=$(sed -n 's/.*serving cuzk.v1 on //p' "$state/log")
    [ -z "$address" ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
[ -n "$address" ] || { cat "$state/log"; exit 1; }

"$state/forebay-load" --dial "$address" --seconds "$seconds" --cancel 0.1 \
    --clients "${FOREBAY_MIXED_CLIENTS:-winning_post=1,window_post=2,snap_update=1,porep_c2=1}" "$cache/requests" &
load=$!
rc=0
FOREBAY_ADDRESS=$address "$@" || rc=$?
wait "$load" || rc=1
load=''
exit "$rc"
