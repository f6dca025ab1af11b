// Memory over the last minutes: promised bytes stacked by class, the limit and what is resident as lines.

import { CLASSES, bytes, time } from "./words.js";

const SPAN = 600_000;
/// A server that has just begun fills the picture too.
const LEAST = 60_000;
const MARGIN = { left: 62, right: 10, top: 10, bottom: 22 };

export class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.samples = [];
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  replace(samples) {
    this.samples = samples.slice();
    this.draw();
  }

  add(sample) {
    this.samples.push(sample);
    const oldest = sample.t - SPAN;
    while (this.samples.length > 0 && this.samples[0].t < oldest) this.samples.shift();
  }

  draw() {
    const { canvas, samples } = this;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (width === 0 || height === 0) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    const end = samples.length > 0 ? samples[samples.length - 1].t : Date.now();
    const most = Math.max(1, ...samples.map((sample) => Math.max(sample.reserved, sample.resident)));
    // A limit far above everything would leave nothing to see of the rest: it is named at the edge then.
    const limit = samples.length > 0 ? samples[samples.length - 1].limit : 0;
    const near = limit <= most * 4;
    const top = (near ? Math.max(limit, most) : most) * 1.08;
    const span = Math.min(SPAN, Math.max(LEAST, samples.length > 0 ? end - samples[0].t : 0));
    const plot = {
      x: (t) => MARGIN.left + ((t - end + span) / span) * (width - MARGIN.left - MARGIN.right),
      y: (value) => height - MARGIN.bottom - (value / top) * (height - MARGIN.top - MARGIN.bottom),
    };
    this.axes(context, plot, { width, height, top, span, color });
    this.areas(context, plot, color);
    this.line(context, plot, (sample) => sample.resident, color("resident"), []);
    if (near) {
      this.line(context, plot, (sample) => sample.limit, color("limit"), [7, 5]);
    } else {
      context.fillStyle = color("limit");
      context.textAlign = "right";
      context.fillText(`limit ${bytes(limit)}, above this picture`, width - MARGIN.right, MARGIN.top + 8);
    }
  }

  axes(context, plot, { width, height, top, span, color }) {
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.lineWidth = 1;
    for (let step = 0; step <= 4; step += 1) {
      const value = (top * step) / 4;
      const y = Math.round(plot.y(value)) + 0.5;
      context.strokeStyle = color("line");
      context.beginPath();
      context.moveTo(MARGIN.left, y);
      context.lineTo(width - MARGIN.right, y);
      context.stroke();
      context.fillStyle = color("soft");
      context.fillText(bytes(value), MARGIN.left - 6, y);
    }
    context.textAlign = "left";
    context.fillText(`${time(span)} ago`, MARGIN.left, height - 8);
    context.textAlign = "right";
    context.fillText("now", width - MARGIN.right, height - 8);
  }

  areas(context, plot, color) {
    const { samples } = this;
    if (samples.length < 2) return;
    const below = samples.map(() => 0);
    for (const { name } of CLASSES) {
      context.beginPath();
      samples.forEach((sample, i) => context.lineTo(plot.x(sample.t), plot.y(below[i] + sample.classes[name])));
      for (let i = samples.length - 1; i >= 0; i -= 1) {
        context.lineTo(plot.x(samples[i].t), plot.y(below[i]));
        below[i] += samples[i].classes[name];
      }
      context.closePath();
      context.fillStyle = color(name);
      context.fill();
    }
  }

  line(context, plot, value, stroke, dashes) {
    context.beginPath();
    for (const sample of this.samples) context.lineTo(plot.x(sample.t), plot.y(value(sample)));
    context.strokeStyle = stroke;
    context.lineWidth = 2;
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  }
}
