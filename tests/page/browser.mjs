// What the checks of the status page share: a browser, a page that notes what goes wrong, and the rules of every view.

import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const DESKTOP = { width: 1280, height: 1000 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

let failures = 0;
let passes = 0;

export function check(holds, what) {
  if (holds) passes += 1;
  else failures += 1;
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
}

export function finish() {
  console.log(`${passes} passed, ${failures} failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}

export const launch = () =>
  puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-color-profile=srgb"],
  });

/// A page whose complaints are kept.
export async function open(browser, url, viewport, scheme) {
  const page = await browser.newPage();
  const complaints = [];
  const hosts = new Set();
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()} ${request.failure()?.errorText}`));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`);
  });
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  await page.setViewport(viewport);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.waitForFunction(() => document.getElementById("live").dataset.state === "live", { timeout: 20000 });
  return { page, complaints, hosts };
}

const REGIONS = ["memory", "lanes", "queues", "slots", "circuits", "errors", "jobs", "recent"];

/// What holds of every view, whatever it shows.
export async function rules({ page, complaints, hosts }, url, name) {
  for (const region of REGIONS) {
    const shown = await page.$eval(`#${region}-title`, (title) => title.closest("section").offsetHeight > 30);
    check(shown, `${name}: ${region} is shown`);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(wide <= 0, `${name}: nothing is wider than the window (${wide})`);
  await page.evaluate(AXE);
  const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const serious = found.violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const words = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target).join(" ")}`);
  check(serious.length === 0, `${name}: axe has no serious finding (${found.violations.length} in all) ${words.join("; ")}`);
  check(complaints.length === 0, `${name}: no complaint ${complaints.join("; ")}`);
  const others = [...hosts].filter((host) => host !== new URL(url).host);
  check(others.length === 0, `${name}: no other host is asked ${others.join(" ")}`);
}

/// The names of what the tabulator key reaches, in order.
export async function reached(page, most) {
  const names = [];
  for (let i = 0; i < most; i += 1) {
    await page.keyboard.press("Tab");
    names.push(
      await page.evaluate(() => {
        const at = document.activeElement;
        return at.id || at.getAttribute("aria-label") || at.textContent.trim().slice(0, 30);
      }),
    );
  }
  return names;
}
