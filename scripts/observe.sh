#!/usr/bin/env bash
# Metrics, alert rules and dashboard, with a real Prometheus that scrapes `forebay serve` amid a mixed load.
#
#   scripts/observe.sh CACHE
#
# CACHE as for scripts/mixed-run.sh. Installs Debian's Prometheus; it runs here only as long as this does.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$1
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
    # Its service is not wanted: this asks that none is started while packages are installed.
    policy=/usr/sbin/policy-rc.d ours=
    [ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" && ours=yes; }
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends prometheus >/dev/null
    [ -z "$ours" ] || rm -f "$policy"
fi
promtool check rules dashboards/rules.yml
promtool test rules dashboards/rules_test.yml
# Little memory, so that circuits leave to make room.
FOREBAY_MIXED_LIMIT=1450MiB scripts/mixed-run.sh "$cache" 45 python3 tests/observe/observe.py
