// The status page: keeps up with /events and shows every snapshot.

import { Chart } from "./chart.js";
import { Lanes } from "./lanes.js";
import { CLASSES, KINDS, WAITS, bytes, count, element, kindOf, time } from "./words.js";

const STALE = 4000;
const at = (id) => document.getElementById(id);
const chart = new Chart(at("chart"));
const lanes = new Lanes(at("lanes"));
let paused = false;
let heard = 0;
let newest = null;

legend();
follow();
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").setAttribute("aria-pressed", String(paused));
  at("pause").textContent = paused ? "Go on" : "Pause";
  if (!paused && newest) show(newest);
});
setInterval(liveness, 1000);

function follow() {
  const events = new EventSource("/events");
  events.addEventListener("history", (event) => chart.replace(JSON.parse(event.data).samples));
  events.addEventListener("status", (event) => receive(JSON.parse(event.data)));
  events.addEventListener("error", async () => {
    liveness();
    // Too many watch, or something between here and there swallows streams.
    if (events.readyState === EventSource.CLOSED) {
      await poll();
      setTimeout(follow, 3000);
    }
  });
}

async function poll() {
  try {
    const answer = await fetch("/status", { cache: "no-store" });
    if (answer.ok) receive(await answer.json());
  } catch {
    liveness();
  }
}

function receive(status) {
  // Before the engine's first snapshot there is nothing to show.
  if (!status.memory) return;
  heard = Date.now();
  newest = status;
  chart.add(sample(status));
  liveness();
  if (!paused) show(status);
}

function sample(status) {
  const classes = Object.fromEntries(CLASSES.map(({ name }) => [name, 0]));
  for (const cell of status.cells) classes[cell.class] += cell.reserved;
  const { limit, reserved } = status.memory;
  return { t: Date.now(), limit, reserved, resident: status.process.resident, classes };
}

function liveness() {
  const age = Date.now() - heard;
  const state = heard === 0 ? "connecting" : age > STALE ? "lost" : "live";
  const live = at("live");
  if (live.dataset.state !== state) live.dataset.state = state;
  const words = { connecting: "connecting", live: paused ? "live, paused here" : "live" };
  const text = words[state] ?? `no word since ${new Date(heard).toLocaleTimeString()}`;
  const shown = live.querySelector("b");
  if (shown.textContent !== text) shown.textContent = text;
}

function legend() {
  for (const { name, title } of CLASSES) {
    const box = element("i");
    box.style.background = `var(--${name})`;
    const item = element("li");
    item.append(box, title);
    at("legend").append(item);
  }
  for (const [line, title] of [["dashed", "limit"], ["solid", "resident, the whole process"]]) {
    const item = element("li");
    item.append(element("i", undefined, line), title);
    at("legend").append(item);
  }
  for (const { name, title, letter } of KINDS) {
    const item = element("li");
    item.append(element("span", letter, `chip ${name}`), title);
    at("kinds").append(item);
  }
}

function show(status) {
  const { memory, process, totals } = status;
  at("facts").textContent =
    `${status.state} · version ${status.library} · kernels ${status.kernels} · up ${time(status.uptime_seconds * 1000)}`;
  document.title = `forebay: ${bytes(memory.reserved)} of ${bytes(memory.limit)}`;
  const group = memory.group ? ` (control group ${memory.group})` : "";
  at("memory-words").textContent =
    `${bytes(memory.reserved)} promised of ${bytes(memory.limit)}, at most ${bytes(memory.peak)} so far. ` +
    `Resident ${bytes(process.resident)}, of it ${bytes(process.unbooked)} outside large buffers. ` +
    `The machine leaves ${bytes(memory.left)}${group}; memory pressure ${memory.pressure.toFixed(1)} %` +
    `${memory.pressed ? ": sealing is slowed" : ""}.`;
  tiles(status, totals);
  chart.draw();
  lanes.show(status);
  cells(status.cells);
  queues(status.queues);
  slots(status);
  circuits(status.circuits);
  errors(status.recent);
  jobs(status.jobs);
  recent(status.recent);
}

function tiles(status, totals) {
  const unfinished = status.queues.reduce((sum, queue) => sum + queue.pending + queue.in_progress, 0);
  const tile = (title, value, bad = false) => {
    const item = element("li", undefined, bad ? "bad" : "");
    item.append(element("b", value), title);
    return item;
  };
  at("tiles").replaceChildren(
    tile("unfinished", count(unfinished)),
    tile("proved", count(totals.completed)),
    tile("failed", count(totals.failed), totals.failed > 0),
    tile("cancelled", count(totals.cancelled)),
    tile("refused", count(totals.refused)),
    tile("overruns", count(status.memory.overruns), status.memory.overruns > 0),
    tile("not verified", count(totals.verification_failures), totals.verification_failures > 0),
    tile("panics", count(totals.panics), totals.panics > 0),
  );
}

/// A table of columns [title, value of a row, class]; words where it has no rows.
function table(id, columns, rows, none) {
  const head = element("tr");
  for (const [title, , kind] of columns) {
    const cell = element("th", title, kind === "number" || typeof kind === "function" ? "number" : "");
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr");
    for (const [, value, kind] of columns) {
      const text = value(row);
      const cell = element("td", text, typeof kind === "function" ? kind(row) : kind);
      if (kind === "name") cell.title = text;
      line.append(cell);
    }
    body.append(line);
  }
  if (rows.length === 0) {
    const cell = element("td", none);
    cell.colSpan = columns.length;
    const line = element("tr");
    line.append(cell);
    body.append(line);
  }
  const top = element("thead");
  top.append(head);
  at(id).replaceChildren(top, body);
}

function cells(rows) {
  table(
    "cells",
    [
      ["class", (cell) => cell.class],
      ["stage", (cell) => cell.stage],
      ["promised", (cell) => bytes(cell.reserved), "number"],
      ["buffers", (cell) => count(cell.buffers), "number"],
      ["their bytes", (cell) => bytes(cell.mapped), "number"],
    ],
    rows,
    "nothing is promised",
  );
}

const deadline = (left) => (left === null || left === undefined ? "no limit" : left < 0 ? `late by ${time(-left)}` : time(left));
const late = (left) => (left !== null && left !== undefined && left < 0 ? "number late" : "number");

function queues(rows) {
  table(
    "queues",
    [
      ["kind", (queue) => kindOf(queue.kind).title],
      ["waiting", (queue) => count(queue.pending), "number"],
      ["in progress", (queue) => count(queue.in_progress), "number"],
      ["room for", (queue) => count(queue.headroom), "number"],
      [
        "next deadline",
        (queue) => (queue.pending + queue.in_progress === 0 ? "" : deadline(queue.next_deadline_ms)),
        (queue) => late(queue.next_deadline_ms),
      ],
    ],
    rows,
    "no kind is enabled",
  );
}

function slots({ slots: rows, jobs: known }) {
  const names = new Map(known.map((job) => [job.job_id, job]));
  const work = (slot) => {
    const job = names.get(slot.job_id);
    if (!slot.job_id) return "free";
    return job ? `${kindOf(job.kind).title} ${job.request_id}, partition ${slot.partition}` : slot.job_id;
  };
  const columns = [
    ["slot", (slot) => slot.name],
    ["works on", work, "name"],
    ["promised", (slot) => bytes(slot.reserved), "number"],
  ];
  if (rows.some((slot) => slot.device_reserved > 0)) {
    columns.push(["on the device", (slot) => bytes(slot.device_reserved), "number"]);
  }
  table("slots", columns, rows, "there is no slot");
}

function circuits(rows) {
  table(
    "circuits",
    [
      ["circuit", (circuit) => circuit.circuit],
      ["state", (circuit) => (circuit.pinned ? `${circuit.state}, pinned` : circuit.state)],
      ["promised", (circuit) => bytes(circuit.bytes), "number"],
      ["used by", (circuit) => count(circuit.users), "number"],
    ],
    rows,
    "no proving key is in memory; the next request brings its own",
  );
}

function errors(ended) {
  const failed = ended.filter((job) => job.error && job.state === "failed").slice(0, 8);
  const list = at("errors");
  list.className = failed.length === 0 ? "none" : "";
  const items = failed.map((job) => element("li", `${kindOf(job.kind).title} ${job.request_id}: ${job.error}`));
  list.replaceChildren(...(items.length > 0 ? items : [element("li", "none among the requests that ended last")]));
}

function jobs(rows) {
  table(
    "jobs",
    [
      ["request", (job) => job.request_id, "name"],
      ["kind", (job) => kindOf(job.kind).title],
      ["circuit", (job) => job.circuit],
      ["waits for", (job) => WAITS[job.waits_for] ?? job.waits_for],
      ["proved", (job) => `${count(job.partitions_done)} of ${count(job.partitions)}`, "number"],
      ["since", (job) => time(job.total_ms), "number"],
      ["time left", (job) => deadline(job.deadline_ms), (job) => late(job.deadline_ms)],
    ],
    rows,
    "every request is answered",
  );
}

function recent(rows) {
  table(
    "recent",
    [
      ["request", (job) => job.request_id, "name"],
      ["kind", (job) => kindOf(job.kind).title],
      ["ended as", (job) => (job.from_journal ? "completed, kept before a restart" : job.state)],
      ["waited", (job) => time(job.queue_wait_ms), "number"],
      ["synthesis", (job) => time(job.synthesis_ms), "number"],
      ["proving", (job) => time(job.start_ms), "number"],
      ["finishing", (job) => time(job.finish_ms + job.verify_ms), "number"],
      ["in all", (job) => time(job.total_ms), "number"],
      ["device", (job) => job.device],
    ],
    rows,
    "no request has ended yet",
  );
}
