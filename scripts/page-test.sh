#!/usr/bin/env bash
# The status page in headless Chromium: against a real server amid a mixed load, and with a thousand partitions.
#
#   scripts/page-test.sh CACHE [PICTURES]
#
# CACHE as for scripts/mixed-run.sh; screenshots go to PICTURES (default: target/page-pictures). Installs Chromium (Debian's)
# and, under target/, what tests/page/package.json names.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1 pictures=$(realpath -m "${2:-target/page-pictures}")
if ! command -v chromium >/dev/null || ! command -v npm >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq chromium nodejs npm fonts-dejavu-core >/dev/null
fi
tools=$PWD/target/page-tools
mkdir -p "$tools" "$pictures"
cp tests/page/*.mjs tests/page/package.json "$tools/"
[ -d "$tools/node_modules/axe-core" ] || (cd "$tools" && npm install --silent --no-audit --no-fund --ignore-scripts)

node "$tools/crowd.mjs" "$PWD/server/src/web" "$pictures"
scripts/mixed-run.sh "$cache" 40 node "$tools/live.mjs" "$pictures"
