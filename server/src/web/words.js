// Numbers and names for people.

export const KINDS = [
  { name: "winning_post", title: "WinningPoSt", letter: "B" },
  { name: "window_post", title: "WindowPoSt", letter: "W" },
  { name: "porep_c2", title: "PoRep C2", letter: "P" },
  { name: "snap_update", title: "SnapDeals", letter: "U" },
];

export const kindOf = (name) => KINDS.find((kind) => kind.name === name) ?? { name, title: name, letter: "?" };

export const CLASSES = [
  { name: "srs", title: "proving keys" },
  { name: "matrices", title: "matrices" },
  { name: "working_set", title: "working sets" },
  { name: "witness", title: "witnesses" },
  { name: "intake", title: "requests" },
];

export const WAITS = {
  turn: "its turn",
  worker: "a synthesis worker",
  ahead: "slots: enough is synthesised",
  memory: "memory",
  door: "a request that waited too long",
  pressure: "the machine is short of memory",
  circuit: "its proving key",
  slot: "a prover slot",
};

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  let value = count ?? 0;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function time(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  const sign = milliseconds < 0 ? "-" : "";
  const seconds = Math.abs(milliseconds) / 1000;
  if (seconds < 10) return `${sign}${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${sign}${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${sign}${hours} h ${minutes % 60} min`;
  return `${sign}${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const count = (number) => (number ?? 0).toLocaleString("en-US");

export function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
