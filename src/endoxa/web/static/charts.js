// Small charts: SVG with positions in percent, so that charts stretch while text does not.
// They are hidden from screen readers; the texts and tables beside them have the same content.

import { element, shape } from "./dom.js";

/** As `toFixed`, but a half goes to the even digit, as on the command line: .125 is .12 in both. */
export function fixed(value, digits) {
  const whole = Math.abs(value) * 10 ** digits;
  const half = Number.isInteger(value * 2 ** (digits + 1)) && whole % 1 === 0.5; // no other number is a half exactly
  const even = 2 * Math.round(whole / 2);
  return (half ? (Math.sign(value) * even) / 10 ** digits : value).toFixed(digits);
}

export const number = (value, digits = 2) =>
  value === null || value === undefined || !Number.isFinite(value) ? "–" : fixed(value, digits).replace("-", "−");

export const interval = (lo, hi, digits = 2) => `${number(lo, digits)} to ${number(hi, digits)}`;

const percent = (share) => `${(100 * Math.min(1, Math.max(0, share))).toFixed(2)}%`;

const canvas = (height, kind) => shape("svg", { class: `plot ${kind}`, width: "100%", height, "aria-hidden": "true" });

/** A dot with its interval on the scale [low, high], clipped at the edges. */
export function dot({ value, lo, hi }, [low, high]) {
  const at = (x) => percent((x - low) / (high - low || 1));
  const svg = canvas(28, "dot");
  svg.append(shape("line", { class: "axis", x1: "0%", x2: "100%", y1: 14, y2: 14 }));
  for (const x of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(shape("line", { class: "axis", x1: percent(x), x2: percent(x), y1: 9, y2: 19 }));
  }
  if (Number.isFinite(lo) && Number.isFinite(hi)) {
    svg.append(shape("line", { class: "interval", x1: at(lo), x2: at(hi), y1: 14, y2: 14 }));
  }
  if (Number.isFinite(value)) svg.append(shape("circle", { class: "mean", cx: at(value), cy: 14, r: 6 }));
  return svg;
}

/** The ends and the middle of a scale, under dots. */
export const scaleMarks = ([low, high], digits) =>
  element(
    "p",
    { class: "marks", "aria-hidden": "true" },
    [low, (low + high) / 2, high].map((value) => element("span", {}, number(value, digits))),
  );

/** A horizontal bar for a share, with a line where an even share would end. */
export function bar(share, even, most) {
  const svg = canvas(24, "bar");
  svg.append(shape("rect", { class: "fill", x: 0, y: 4, width: percent((share ?? 0) / most), height: 16, rx: 3 }));
  svg.append(shape("line", { class: "even", x1: percent(even / most), x2: percent(even / most), y1: 0, y2: 24 }));
  return svg;
}

/** Columns over time, oldest left. */
export function columns(values, height = 96) {
  const svg = canvas(height, "columns");
  const most = Math.max(1, ...values);
  const slot = 100 / Math.max(values.length, 12);
  values.forEach((value, index) => {
    const tall = (value / most) * (height - 4);
    svg.append(
      shape("rect", {
        class: "fill",
        x: `${(index * slot).toFixed(2)}%`,
        width: `${(0.8 * slot).toFixed(2)}%`,
        y: height - 2 - tall,
        height: tall,
        rx: 2,
      }),
    );
  });
  svg.append(shape("line", { class: "axis", x1: "0%", x2: "100%", y1: height - 1, y2: height - 1 }));
  return svg;
}

/** A line through points [x, share], with a dashed line at a mark; x begins at 0. */
export function line(points, mark, height = 110) {
  const svg = canvas(height, "line");
  const most = Math.max(10, ...points.map(([x]) => x));
  const at = ([x, share]) => [(x / most) * 100, height - 2 - share * (height - 8)];
  const level = height - 2 - mark * (height - 8);
  svg.append(shape("line", { class: "even", x1: "0%", x2: "100%", y1: level, y2: level }));
  svg.append(shape("line", { class: "axis", x1: "0%", x2: "100%", y1: height - 1, y2: height - 1 }));
  points.forEach((point, index) => {
    const [x, y] = at(point);
    if (index) {
      const [x0, y0] = at(points[index - 1]);
      svg.append(shape("line", { class: "interval", x1: `${x0}%`, x2: `${x}%`, y1: y0, y2: y }));
    }
    svg.append(shape("circle", { class: "mean", cx: `${x}%`, cy: y, r: 3 }));
  });
  return svg;
}
