// The page of a real server amid a mixed load. FOREBAY_ADDRESS is its address; pictures go to the folder that is named.

import { join } from "node:path";
import { DESKTOP, PHONE, check, finish, launch, open, reached, rules } from "./browser.mjs";

const url = `http://${process.env.FOREBAY_ADDRESS}/`;
const pictures = process.argv[2];

/// What a person sees move.
const look = (page) =>
  page.evaluate(() => {
    const text = (id) => document.getElementById(id).textContent;
    const drawn = document.getElementById("chart").toDataURL();
    return { facts: text("facts"), lanes: text("lanes"), jobs: text("jobs"), recent: text("recent"), drawn };
  });

const browser = await launch();
try {
  const desktop = await open(browser, url, DESKTOP, "light");
  await new Promise((resolve) => setTimeout(resolve, 9000));
  const before = await look(desktop.page);
  const lanes = new Set();
  for (let i = 0; i < 12; i += 1) {
    lanes.add(await desktop.page.$eval("#lanes", (root) => root.innerHTML));
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const after = await look(desktop.page);
  check(lanes.size > 1, `chips move from lane to lane (${lanes.size} pictures of them)`);
  for (const part of ["facts", "recent", "drawn"]) check(before[part] !== after[part], `${part} moves`);
  check(/P/.test(after.lanes), "a PoRep partition has its chip");
  check(/porep-2k/.test(await desktop.page.$eval("#circuits", (table) => table.textContent)), "the key in memory is named");
  await rules(desktop, url, "desktop, light");
  await desktop.page.screenshot({ path: join(pictures, "status-desktop.png"), fullPage: true });

  await desktop.page.focus("body");
  const names = await reached(desktop.page, 20);
  for (const name of ["Skip to the figures", "pause"]) check(names.includes(name), `the keyboard reaches ${name}`);
  check(names.some((name) => /Unfinished requests|Queue by proof kind/.test(name)), `the keyboard reaches tables: ${names}`);
  await desktop.page.focus("#pause");
  await desktop.page.keyboard.press("Enter");
  const still = await look(desktop.page);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  check((await look(desktop.page)).facts === still.facts, "paused, nothing moves");
  await desktop.page.keyboard.press("Enter");

  for (const [name, viewport, scheme] of [
    ["desktop, dark", DESKTOP, "dark"],
    ["phone, light", PHONE, "light"],
    ["phone, dark", PHONE, "dark"],
  ]) {
    const view = await open(browser, url, viewport, scheme);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await rules(view, url, name);
    const file = `status-${name.replace(", ", "-").replace("-light", "")}.png`;
    await view.page.screenshot({ path: join(pictures, file), fullPage: true });
    await view.page.close();
  }
} finally {
  await browser.close();
}
finish();
