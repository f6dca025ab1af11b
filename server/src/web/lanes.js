// Swimlanes: a chip for each partition, in the lane of its stage.

import { KINDS, count, element, kindOf } from "./words.js";

const LANES = [
  { title: "waiting", letters: ".", totals: ["waiting"] },
  { title: "synthesising", letters: "s", totals: ["synthesis"] },
  { title: "queued for a slot", letters: "q", totals: ["queued"] },
  { title: "proving", letters: "p", totals: ["proving"] },
  { title: "finishing", letters: "vf", totals: ["proved", "finishing", "freeing"] },
];

/// Chips of one lane; more are only counted.
const MOST = 1200;

export class Lanes {
  constructor(root) {
    this.lanes = LANES.map((lane) => {
      const row = element("div", undefined, "lane");
      const head = element("div");
      const words = element("p");
      head.append(element("h3", lane.title), words);
      const chips = element("div", undefined, "chips");
      chips.tabIndex = 0;
      chips.setAttribute("role", "group");
      row.append(head, chips);
      root.append(row);
      return { ...lane, words, chips };
    });
  }

  show(status) {
    for (const lane of this.lanes) {
      const found = [];
      const kinds = new Map();
      for (const job of status.jobs) {
        const stages = job.stages ?? "";
        for (let partition = 0; partition < stages.length; partition += 1) {
          if (!lane.letters.includes(stages[partition])) continue;
          kinds.set(job.kind, (kinds.get(job.kind) ?? 0) + 1);
          if (found.length < MOST) found.push({ job, partition });
        }
      }
      const partitions = status.partitions ?? {};
      const total = lane.totals.reduce((sum, name) => sum + (partitions[name] ?? 0), 0);
      this.words(lane, kinds, total, found.length);
      fill(lane.chips, found);
    }
  }

  words(lane, kinds, total, shown) {
    const parts = KINDS.filter((kind) => kinds.has(kind.name)).map(
      (kind) => `${count(kinds.get(kind.name))} ${kind.title}`,
    );
    const more = total > shown ? ` (${count(total - shown)} not shown)` : "";
    const text = total === 0 && shown === 0 ? "none" : `${count(Math.max(total, shown))}${more}`;
    lane.words.textContent = parts.length > 0 ? `${text}: ${parts.join(", ")}` : text;
    lane.chips.setAttribute("aria-label", `${lane.title}: ${parts.join(", ") || "none"}`);
  }
}

/// Changes only what differs.
function fill(root, found) {
  while (root.childElementCount > found.length) root.lastElementChild.remove();
  if (root.childElementCount < found.length) {
    const fresh = document.createDocumentFragment();
    for (let i = root.childElementCount; i < found.length; i += 1) fresh.append(element("span"));
    root.append(fresh);
  }
  let chip = root.firstElementChild;
  for (const { job, partition } of found) {
    const kind = kindOf(job.kind);
    if (chip.className !== kind.name) {
      chip.className = kind.name;
      chip.textContent = kind.letter;
    }
    const title = `${job.request_id}, partition ${partition}`;
    if (chip.title !== title) chip.title = title;
    chip = chip.nextElementSibling;
  }
}
