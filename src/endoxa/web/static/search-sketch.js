// The sketch: colours on a canvas of 256 × 256. What is left unpainted does not matter, and shows as chequers.

import { element, write } from "./dom.js";
import { pictureOf } from "./search-grid.js";
import { Trouble } from "./server.js";

const SIDE = 256;
const CELLS = 8; // of the grid for the keyboard
const CELL = SIDE / CELLS;
const STEPS = 50; // of undo
const WAIT = 250; // milliseconds after a stroke before the results follow
const BRUSHES = { small: 8, medium: 20, large: 44 };
const TOOLS = { brush: "Brush", ellipse: "Ellipse", rectangle: "Rectangle", eraser: "Eraser" };
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR";

const HUES = {
  red: 0,
  orange: 25,
  yellow: 48,
  lime: 85,
  green: 135,
  teal: 175,
  sky: 203,
  blue: 228,
  violet: 275,
  pink: 328,
};
// Saturation and lightness of the hues, and the grey that stands beside them with its lightness.
const TONES = {
  pale: [65, 80, "white", 100],
  bright: [85, 50, "light grey", 72],
  muted: [32, 52, "dark grey", 38],
  dark: [60, 24, "black", 4],
};

/** 44 swatches: name and colour; a row for each tone. */
const SWATCHES = [
  ...Object.entries(TONES).flatMap(([tone, [saturation, light, grey, greyness]]) => [
    ...Object.entries(HUES).map(([hue, angle]) => [`${tone} ${hue}`, hex(angle, saturation, light)]),
    [grey, hex(0, 0, greyness)],
  ]),
];

function hex(angle, saturation, light) {
  const a = (saturation * Math.min(light, 100 - light)) / 10_000;
  const part = (n) => {
    const k = (n + angle / 30) % 12;
    return Math.round(255 * (light / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return `#${[part(0), part(8), part(4)].map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** The pixels, with undo. */
class Board {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.ink = canvas.getContext("2d", { willReadFrequently: true });
    this.ink.lineCap = this.ink.lineJoin = "round";
    this.earlier = [];
    this.changed = changed;
  }

  get pixels() {
    return this.ink.getImageData(0, 0, SIDE, SIDE);
  }

  get empty() {
    return !this.pixels.data.some((value, at) => at % 4 === 3 && value > 0);
  }

  /** Remember how it is, before it changes. */
  keep() {
    this.earlier.push(this.pixels);
    if (this.earlier.length > STEPS) this.earlier.shift();
  }

  undo() {
    const pixels = this.earlier.pop();
    if (!pixels) return false;
    this.ink.putImageData(pixels, 0, 0);
    this.changed();
    return true;
  }

  clear() {
    this.keep();
    this.ink.clearRect(0, 0, SIDE, SIDE);
    this.changed();
  }

  fill(column, row, colour) {
    this.keep();
    this.ink.globalCompositeOperation = "source-over";
    if (colour) {
      this.ink.fillStyle = colour;
      this.ink.fillRect(CELL * column, CELL * row, CELL, CELL);
    } else this.ink.clearRect(CELL * column, CELL * row, CELL, CELL);
    this.changed();
  }

  /** One stroke or shape from a point to another; `before` restores what a shape drew on the way. */
  draw(tool, { colour, width }, from, to, before) {
    const { ink } = this;
    ink.globalCompositeOperation = tool === "eraser" ? "destination-out" : "source-over";
    ink.fillStyle = ink.strokeStyle = colour;
    ink.lineWidth = width;
    ink.beginPath();
    if (tool === "ellipse" || tool === "rectangle") {
      ink.putImageData(before, 0, 0);
      const [x, y] = [Math.min(from.x, to.x), Math.min(from.y, to.y)];
      const [w, h] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
      if (tool === "rectangle") ink.rect(x, y, w, h);
      else ink.ellipse(x + w / 2, y + h / 2, w / 2, h / 2, 0, 0, 2 * Math.PI);
      ink.fill();
    } else {
      ink.moveTo(from.x, from.y);
      ink.lineTo(to.x, to.y);
      ink.stroke();
    }
    ink.globalCompositeOperation = "source-over";
  }

  /** A pixel is painted or not: edges are hard, so that nothing faint is left of what was erased. */
  harden() {
    const { pixels } = this;
    for (let at = 3; at < pixels.data.length; at += 4) pixels.data[at] = pixels.data[at] >= 128 ? 255 : 0;
    this.ink.putImageData(pixels, 0, 0);
  }

  /** The PNG in base64. */
  png() {
    return this.canvas.toDataURL("image/png").split(",")[1];
  }
}

export async function sketchView(desk) {
  const canvas = element("canvas", { width: SIDE, height: SIDE, class: "board", "aria-hidden": "true" });
  const pen = { tool: "brush", colour: SWATCHES[11][1], width: BRUSHES.medium };
  const live = element("ul", { class: "thumbs live", "aria-label": "Pictures like the sketch" });
  const note = element("p", { class: "note", role: "status" }, "Paint, and pictures like it appear here.");
  let timer = 0;
  let asked = 0;
  let left = false;

  const changed = () => {
    clearTimeout(timer);
    undo.disabled = !board.earlier.length;
    if (!left) timer = setTimeout(look, WAIT);
  };
  const board = new Board(canvas, changed);
  if (desk.sketch) board.ink.putImageData(desk.sketch, 0, 0);

  /** The results of the sketch as it is; of several requests the newest counts. */
  async function look() {
    const mine = (asked += 1);
    desk.sketch = board.pixels;
    if (board.empty) {
      live.replaceChildren();
      return write(note, "Paint, and pictures like it appear here.");
    }
    try {
      const { id } = await desk.need();
      const { tiles } = await desk.server.post(`/searches/${id}/preview`, { sketch: board.png(), size: 12 });
      if (mine !== asked || left) return undefined;
      live.replaceChildren(...tiles.map((tile) => thumb(desk, tile)));
      return write(note, `${tiles.length} pictures most like the sketch.`);
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      return mine === asked && write(note, trouble.message);
    }
  }

  const search = () => {
    if (board.empty) return desk.say("The canvas is empty. Paint something first.");
    desk.sketch = board.pixels;
    return desk.ask("sketch", { png: board.png() });
  };

  const undo = element(
    "button",
    { type: "button", id: "sketch-undo", disabled: true, onclick: () => board.undo() },
    "Undo",
  );
  painting(canvas, board, pen);
  const keyboard = cellGrid(desk, board, pen);
  const node = element(
    "div",
    { class: "sketch" },
    element("h2", {}, "Sketch"),
    element(
      "div",
      { class: "sketch-board" },
      element("div", { class: "easel" }, canvas, keyboard.node),
      element(
        "p",
        { class: "note", id: "easel-note" },
        "Chequers mean “does not matter”.",
        element(
          "span",
          { class: "keys" },
          " Without a pointer: Tab to the canvas, arrows move, letters choose a colour, Enter paints, Delete erases.",
        ),
      ),
    ),
    element(
      "div",
      { class: "sketch-tools" },
      choice("tool", "Tool", Object.entries(TOOLS), pen.tool, (tool) => (pen.tool = tool)),
      choice(
        "width",
        "Size",
        Object.keys(BRUSHES).map((name) => [name, name]),
        "medium",
        (name) => (pen.width = BRUSHES[name]),
      ),
      palette(pen, keyboard),
      element(
        "p",
        { class: "row" },
        undo,
        element("button", { type: "button", id: "sketch-clear", onclick: () => board.clear() }, "Clear"),
        element(
          "button",
          { type: "button", class: "main", id: "sketch-go", onclick: search },
          "Search with this sketch",
        ),
      ),
    ),
    element("section", { class: "sketch-live", "aria-label": "Live results" }, note, live),
  );
  if (!board.empty) look();
  return {
    node,
    key(event) {
      if (event.key.toLowerCase() === "z" && !keyboard.node.contains(event.target)) return board.undo();
      return keyboard.key(event);
    },
    leave() {
      left = true;
      clearTimeout(timer);
      desk.sketch = board.pixels;
    },
  };
}

function thumb(desk, tile) {
  const name = tile.words || `picture ${tile.place + 1}`;
  return element(
    "li",
    {},
    element(
      "button",
      { type: "button", class: "picture", "aria-label": `Enlarge ${name}`, onclick: () => desk.enlarge(tile) },
      element("img", { src: pictureOf(desk, tile.place), alt: "", decoding: "async" }),
    ),
  );
}

/** Strokes and shapes by pointer. */
function painting(canvas, board, pen) {
  let from = null;
  let before = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: ((event.clientX - box.left) * SIDE) / box.width, y: ((event.clientY - box.top) * SIDE) / box.height };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0 || from) return;
    event.preventDefault();
    canvas.setPointerCapture(event.pointerId);
    board.keep();
    from = at(event);
    before = board.pixels;
    board.draw(pen.tool, pen, from, from, before);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = at(event);
    board.draw(pen.tool, pen, from, to, before);
    if (pen.tool === "brush" || pen.tool === "eraser") from = to;
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(kind, () => {
      if (!from) return;
      from = null;
      board.harden();
      board.changed();
    });
  }
}

/** The same canvas as 8 × 8 cells for the keyboard: one tab stop. */
function cellGrid(desk, board, pen) {
  let active = 0;
  const names = Array.from({ length: CELLS * CELLS }, () => "");
  const label = (at) => `row ${Math.floor(at / CELLS) + 1}, column ${(at % CELLS) + 1}${names[at] && `: ${names[at]}`}`;
  const cells = names.map((_, at) =>
    element("div", { role: "gridcell", class: "easel-cell", tabindex: at ? "-1" : "0", "aria-label": label(at) }),
  );
  const rows = Array.from({ length: CELLS }, (_, row) =>
    element("div", { role: "row" }, cells.slice(CELLS * row, CELLS * (row + 1))),
  );
  const node = element(
    "div",
    { role: "grid", class: "easel-grid", "aria-label": "Canvas", "aria-describedby": "easel-note" },
    rows,
  );
  const go = (to) => {
    cells[active].setAttribute("tabindex", "-1");
    active = to;
    cells[active].setAttribute("tabindex", "0");
    cells[active].focus();
  };
  const paint = (colour) => {
    board.fill(active % CELLS, Math.floor(active / CELLS), colour);
    names[active] = colour ? pen.name || "painted" : "";
    cells[active].setAttribute("aria-label", label(active));
    desk.announce(label(active));
  };
  const self = {
    node,
    choose: () => {},
    key(event) {
      if (!node.contains(event.target)) return false;
      const [row, column] = [Math.floor(active / CELLS), active % CELLS];
      const to = {
        ArrowRight: column < CELLS - 1 ? active + 1 : active,
        ArrowLeft: column > 0 ? active - 1 : active,
        ArrowDown: row < CELLS - 1 ? active + CELLS : active,
        ArrowUp: row > 0 ? active - CELLS : active,
      }[event.key];
      if (to !== undefined) return go(to), true;
      if (event.key === "Enter" || event.key === " ") return paint(pen.colour), true;
      if (event.key === "Delete" || event.key === "Backspace") return paint(null), true;
      const swatch = event.key.length === 1 ? LETTERS.indexOf(event.key) : -1;
      if (swatch < 0) return false;
      self.choose(swatch);
      desk.announce(SWATCHES[swatch][0]);
      return true;
    },
  };
  return self;
}

function choice(id, title, options, chosen, change) {
  return element(
    "fieldset",
    { class: "choice-set" },
    element("legend", {}, title),
    options.map(([value, words]) =>
      element(
        "label",
        {},
        element("input", { type: "radio", name: id, value, checked: value === chosen, onchange: () => change(value) }),
        element("span", {}, words),
      ),
    ),
  );
}

/** 44 swatches, then a free colour. */
function palette(pen, keyboard) {
  const inputs = SWATCHES.map(([name, colour], at) => {
    const take = () => {
      pen.colour = colour;
      pen.name = name;
    };
    const input = element("input", {
      type: "radio",
      name: "swatch",
      value: colour,
      "aria-label": `${name}, key ${LETTERS[at]}`,
      title: `${name} (${LETTERS[at]})`,
      checked: colour === pen.colour,
      onchange: take,
    });
    input.style.backgroundColor = colour; // by the object model, which the policy of the page allows
    if (input.checked) take();
    return input;
  });
  keyboard.choose = (at) => {
    inputs[at].checked = true;
    inputs[at].dispatchEvent(new Event("change"));
  };
  const free = element("input", {
    type: "color",
    id: "free-colour",
    value: pen.colour,
    oninput: (event) => {
      pen.colour = event.target.value;
      pen.name = event.target.value;
      for (const input of inputs) input.checked = false;
    },
  });
  return [
    element("fieldset", { class: "palette" }, element("legend", {}, "Colour"), inputs),
    element("p", { class: "row free" }, element("label", { for: "free-colour" }, "Another colour"), free),
  ];
}
