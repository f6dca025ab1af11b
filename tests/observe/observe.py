"""What holds of a scrape, of every stored sample, of the dashboard and of the rules. FOREBAY_ADDRESS is the server's."""

import json
import os
import re
import subprocess
import sys
import time

from prometheus import ROOT, Prometheus, get

TARGET = os.environ["FOREBAY_ADDRESS"]
# Samples are gathered for so long, in seconds.
WATCH = 40
SCRAPES = 200

# What each stage of partitions gains and loses by; as in docs/metrics.md.
FLOWS = {
    "synthesis": (["synthesis_started"], ["synthesis_done", "synthesis_failed"]),
    "queued": (["synthesis_done", "not_verified"], ["proving_started", "withdrawn"]),
    "proving": (["proving_started"], ["evaluation_freed", "proving_failed"]),
    "proved": (["evaluation_freed"], ["finish_started", "proof_withdrawn"]),
    "finishing": (["finish_started"], ["finish_done", "finish_failed", "not_verified"]),
    "freeing": (
        ["synthesis_failed", "withdrawn", "proving_failed", "proof_withdrawn", "finish_done", "finish_failed"],
        ["dealloc_done"],
    ),
}
KINDS = ["porep_c2", "snap_update", "window_post", "winning_post"]

# Metrics that a good run on a machine without a GPU has no samples of.
WITHOUT_SAMPLES = {"forebay_device_memory_bytes", "forebay_device_reserved_bytes"}
# Alerts that this load may raise: it is meant to fill the engine.
EXPECTED_ALERTS = {"ForebayRefusing"}

results = []


def check(holds, what):
    results.append(holds)
    print("ok  " if holds else "FAIL", what, flush=True)


def parse(text):
    """Samples of a scrape: {name: {labels: value}}."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#") or not line:
            continue
        head, value = line.rsplit(" ", 1)
        name, _, labels = head.partition("{")
        key = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)))
        found.setdefault(name, {})[key] = float(value)
    return found


def disagreements(events, partitions, claims):
    """Where events, gauges and claims of one moment disagree."""
    wrong = []
    for kind in KINDS:

        def event(*names):
            return sum(events.get((("event", name), ("proof_kind", kind)), 0) for name in names)

        for stage, (comes, goes) in FLOWS.items():
            there = partitions[(("proof_kind", kind), ("stage", stage))]
            if event(*comes) - event(*goes) != there:
                wrong.append(f"{kind} {stage}: {event(*comes)} in, {event(*goes)} out, {there} there")
        held = claims[(("class", "witness"), ("proof_kind", kind))]
        if event("synthesis_started") - event("dealloc_done") != held:
            wrong.append(f"{kind}: claims of witnesses {held}")
    return wrong


def moments_agree(moments):
    """Checks (events, partitions, claims) of many moments; how many had work in them."""
    wrong = [text for moment in moments for text in disagreements(*moment)]
    busy = sum(1 for _, partitions, _ in moments if any(partitions.values()))
    return wrong, busy


PARTS = ["forebay_partition_events_total", "forebay_partitions", "forebay_claims"]


def direct_scrapes():
    moments, buffers, slowest = [], 0, 0.0
    for _ in range(SCRAPES):
        begun = time.monotonic()
        scrape = parse(get(f"http://{TARGET}/metrics"))
        slowest = max(slowest, time.monotonic() - begun)
        moments.append(tuple(scrape[part] for part in PARTS))
        for labels, there in scrape["forebay_memory_buffers"].items():
            entered = scrape["forebay_memory_buffers_entered_total"][labels]
            buffers += entered - scrape["forebay_memory_buffers_left_total"][labels] != there
    wrong, busy = moments_agree(moments)
    check(not wrong, f"events, gauges and claims agree in {SCRAPES} scrapes, {busy} of them amid work {wrong[:3]}")
    check(busy > SCRAPES / 2, "there was work in most of them")
    check(buffers == 0, "buffers are what entered less what left")
    print(f"     the slowest took {1000 * slowest:.0f} ms, on a machine that proves")


def stored_samples(prometheus):
    stored = [prometheus.samples(part) for part in PARTS]
    times = sorted(set(stored[0]) & set(stored[1]) & set(stored[2]))
    wrong, busy = moments_agree([tuple(part[at] for part in stored) for at in times])
    check(len(times) >= WATCH * 0.6, f"Prometheus scraped about every second ({len(times)} scrapes)")
    check(not wrong, f"events, gauges and claims agree in each of them, {busy} amid work {wrong[:3]}")


def linted():
    text = get(f"http://{TARGET}/metrics")
    ran = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
    said = (ran.stdout + ran.stderr).strip()
    check(ran.returncode == 0 and not said, f"promtool check metrics has nothing to say {said}")
    return parse(text)


def catalogue():
    text = (ROOT / "docs" / "metrics.md").read_text()
    return re.findall(r"^\| `(forebay_\w+)` \| (\w+) ", text, re.M)


def expressions():
    for panel in json.loads((ROOT / "dashboards" / "forebay.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            yield panel, target["expr"]


def dashboard(prometheus, scrape):
    metrics = catalogue()
    text = " ".join(expression for _, expression in expressions())
    unused = [name for name, _ in metrics if name not in text]
    check(not unused, f"the dashboard shows each of {len(metrics)} metrics {unused}")
    part = lambda name, kind: name + "_count" if kind == "histogram" else name
    absent = [name for name, kind in metrics if part(name, kind) not in scrape]
    check(set(absent) <= WITHOUT_SAMPLES, f"a scrape has every metric but those of GPUs {absent}")
    asked, empty = 0, []
    for panel, expression in expressions():
        for variable, value in [("$__rate_interval", "30s"), ("$instance", ".*"), ("$device", ".*")]:
            expression = expression.replace(variable, value)
        asked += 1
        if not prometheus.query(expression) and not any(name in expression for name in WITHOUT_SAMPLES):
            empty.append(f"{panel['title']}: {expression}")
    check(not empty, f"each of {asked} queries of the dashboard has data {empty}")
    panels = [panel for panel, _ in expressions()]
    bare = {p["title"] for p in panels if not p.get("description") or not p["fieldConfig"]["defaults"].get("unit")}
    check(not bare, f"every panel has a description and a unit {bare}")


def rules(prometheus):
    groups = prometheus.ask("rules")["groups"]
    every = [rule for group in groups for rule in group["rules"]]
    ill = [rule["name"] for rule in every if rule["health"] != "ok"]
    check(len(every) > 20 and not ill, f"{len(every)} rules are evaluated {ill}")
    firing = {a["labels"]["alertname"] for a in prometheus.ask("alerts")["alerts"] if a["state"] == "firing"}
    check(firing <= EXPECTED_ALERTS, f"no alert that should not fires ({', '.join(sorted(firing)) or 'none'})")
    imbalances = prometheus.query("forebay:partitions:imbalance")
    check(len(imbalances) == 24, f"the imbalance is recorded for each kind and stage ({len(imbalances)})")
    runbook = (ROOT / "docs" / "operating.md").read_text().lower()
    alerts = [rule["name"] for rule in every if rule["type"] == "alerting"]
    missing = [name for name in alerts if f"### {name.lower()}" not in runbook]
    check(not missing, f"the runbook has each of {len(alerts)} alerts {missing}")


def main():
    with Prometheus(TARGET) as prometheus:
        begun = time.monotonic()
        time.sleep(5)
        direct_scrapes()
        time.sleep(max(0, WATCH - (time.monotonic() - begun)))
        scrape = linted()
        stored_samples(prometheus)
        dashboard(prometheus, scrape)
        rules(prometheus)
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


main()
