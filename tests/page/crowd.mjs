// The page with a thousand partitions, and with an engine that goes away: its real files, served with statuses made here.

import { createServer } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, check, finish, launch, open, rules } from "./browser.mjs";

const [files, pictures] = process.argv.slice(2);
const TYPES = { html: "text/html", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const KINDS = ["porep_c2", "snap_update", "window_post", "winning_post"];
const STAGES = ".sqpvfd";
/// An update of a thousand partitions may take so long, in milliseconds.
const UPDATE = 50;

let step = 0;
const clients = new Set();

function status() {
  step += 1;
  const jobs = Array.from({ length: 100 }, (_, i) => ({
    job_id: `j${i}`,
    request_id: i % 7 === 0 ? `<b>sector-${i}</b>` : `sector-${i}`,
    kind: KINDS[i % 4],
    circuit: "porep-32g",
    state: "running",
    waits_for: i % 3 === 0 ? "memory" : "",
    partitions: 10,
    partitions_done: i % 10,
    stages: Array.from({ length: 10 }, (_, p) => STAGES[(i * 3 + p + step) % STAGES.length]).join(""),
    deadline_ms: i % 5 === 0 ? 1000 * (i - 20) : null,
    total_ms: 1000 * (i + step),
    error: "",
  }));
  const letters = jobs.map((job) => job.stages).join("");
  const of = (letter) => [...letters].filter((found) => found === letter).length;
  const GiB = 2 ** 30;
  return {
    version: 1, library: "0.1.0", kernels: "ifma", state: "running", uptime_seconds: 86400 + step,
    memory: { limit: 256 * GiB, reserved: (180 + (step % 9)) * GiB, peak: 200 * GiB, overruns: 0, ceiling: 256 * GiB,
      left: 60 * GiB, group: "/sys/fs/cgroup/miner.slice", pressure: 3.2, pressed: false },
    process: { resident: 190 * GiB, anonymous: 150 * GiB, unbooked: GiB, file: 40 * GiB, peak: 201 * GiB },
    cells: [
      { class: "srs", stage: "shared", reserved: 47 * GiB, buffers: 5, mapped: 47 * GiB },
      { class: "matrices", stage: "shared", reserved: GiB, buffers: 3, mapped: GiB },
      { class: "working_set", stage: "proving", reserved: 90 * GiB, buffers: 12, mapped: 88 * GiB },
      { class: "witness", stage: "queued", reserved: (40 + (step % 9)) * GiB, buffers: 400, mapped: 40 * GiB },
      { class: "intake", stage: "waiting", reserved: 2 * GiB, buffers: 100, mapped: 2 * GiB },
    ],
    queues: KINDS.map((kind) => ({ kind, pending: 25, in_progress: 3, headroom: 4, next_deadline_ms: kind === "winning_post" ? -1500 : null })),
    circuits: [{ circuit: "porep-32g", state: "resident", bytes: 48 * GiB, users: 40, pinned: true }],
    slots: [{ name: "cpu", reserved: 40 * GiB, device_reserved: 0, job_id: "j1", partition: 3 }],
    partitions: { waiting: of("."), synthesis: of("s"), queued: of("q"), proving: of("p"), proved: of("v"), finishing: of("f"), freeing: 0 },
    jobs,
    recent: [{ ...jobs[0], state: "failed", error: "partition 3 of porep-32g: <script>alert(1)</script> did not verify", device: "cpu",
      queue_wait_ms: 1, synthesis_ms: 1, start_ms: 1, finish_ms: 1, verify_ms: 1 }],
    totals: { accepted: 5, refused: 1, completed: 3, failed: 1, cancelled: 0, proofs: 30, verification_failures: 1, panics: 0 },
  };
}

const server = createServer((request, response) => {
  const path = request.url === "/" ? "/index.html" : request.url;
  const file = join(files, path);
  if (path === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: history\ndata: ${JSON.stringify({ interval_ms: 1000, samples: [] })}\n\n`);
    clients.add(response);
    request.on("close", () => clients.delete(response));
  } else if (existsSync(file)) {
    const type = TYPES[path.split(".").pop()];
    response.writeHead(200, { "content-type": type, "content-security-policy": "default-src 'self'" });
    response.end(readFileSync(file));
  } else {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${server.address().port}/`;
const beat = setInterval(() => {
  const data = `event: status\ndata: ${JSON.stringify(status())}\n\n`;
  for (const client of clients) client.write(data);
}, 500);

const browser = await launch();
try {
  for (const [name, viewport, scheme] of [["crowd", DESKTOP, "light"], ["crowd-phone", PHONE, "dark"]]) {
    const view = await open(browser, url, viewport, scheme);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const chips = await view.page.$$eval(".chips span", (found) => found.length);
    check(chips > 800, `${name}: a thousand partitions have chips, but those done (${chips})`);
    const long = await view.page.evaluate(
      () =>
        new Promise((resolve) => {
          const seen = [];
          new PerformanceObserver((list) => seen.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
          setTimeout(() => resolve(seen), 6000);
        }),
    );
    // Long tasks are those above 50 ms.
    check(long.filter((took) => took > UPDATE).length <= 1, `${name}: updates take less than ${UPDATE} ms (${long.map(Math.round)})`);
    const text = await view.page.$eval("#errors", (list) => list.textContent);
    check(text.includes("<script>alert(1)</script>"), `${name}: text of requests stays text`);
    check((await view.page.$$("main b script, #jobs b, #errors script")).length === 0, `${name}: and makes no elements`);
    await rules(view, url, name);
    await view.page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
    if (name === "crowd") {
      clearInterval(beat);
      await view.page.waitForFunction(() => document.getElementById("live").dataset.state === "lost", { timeout: 15000 });
      check(true, "a silent engine is said to be silent");
      const more = setInterval(() => {
        for (const client of clients) client.write(`event: status\ndata: ${JSON.stringify(status())}\n\n`);
      }, 500);
      await view.page.waitForFunction(() => document.getElementById("live").dataset.state === "live", { timeout: 15000 });
      check(true, "and to live again");
      more.unref();
    }
    await view.page.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  clearInterval(beat);
}
finish();
process.exit();
