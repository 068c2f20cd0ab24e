// The map: pictures that stand for their neighbours on a sorted grid; each opens a map of its own.

import { element } from "./dom.js";
import { Grid } from "./search-grid.js";

// Least width of the window, columns, rows.
const SHAPES = [
  [900, 12, 12],
  [600, 8, 8],
  [0, 4, 6],
];
const PINCH = 1.25; // how far two fingers must part

export async function mapView(desk) {
  const [, group = "all", path = ""] = location.hash.slice(1).split("/");
  const [, columns, rows] = SHAPES.find(([least]) => window.innerWidth >= least);
  const query = new URLSearchParams({ group, path, columns, rows });
  const body = await desk.server.get(`/collection/map?${query}`);
  const to = (where) => desk.go(`map/${group}${where ? `/${where}` : ""}`);
  const open = (tile) => {
    if (!tile.opens) return desk.enlarge(tile);
    desk.announce("Opening");
    return to(path ? `${path}.${tile.cell}` : String(tile.cell));
  };
  const up = () => path && to(path.split(".").slice(0, -1).join("."));
  const grid = new Grid(desk, {
    label: path ? `Map, ${path.split(".").length + 1}. level` : "Map",
    ...laidOut(body.tiles, columns),
    kind: "map",
    enter: open,
    // A thumb chooses first, so that it can mark; a second tap opens.
    click: (tile, again, event) => (event.pointerType !== "touch" || again) && tile.opens && open(tile),
    chosen: () => desk.paintChosen(),
  });
  pinching(grid, open, up);
  return {
    grid,
    node: element(
      "div",
      {},
      element(
        "div",
        { class: "row view-head" },
        element("h2", {}, "Map"),
        groups(desk, group),
        crumbs(path, to),
        here(desk, grid),
      ),
      grid.node,
    ),
    focus: () => grid.focus(),
    key: (event) => event.key === "Backspace" && Boolean(up() ?? true),
  };
}

/** Tiles in the order of their cells, on as many columns as they need; a cell without a picture is null. */
function laidOut(tiles, columns) {
  const used = Math.max(2, ...tiles.map(({ cell }) => (cell % columns) + 1));
  const rows = Math.max(0, ...tiles.map(({ cell }) => Math.floor(cell / columns) + 1));
  const cells = Array.from({ length: rows * used }, () => null);
  for (const tile of tiles) cells[Math.floor(tile.cell / columns) * used + (tile.cell % columns)] = tile;
  return { columns: used, sections: [{ tiles: cells }] };
}

function groups(desk, chosen) {
  return [
    element("label", { class: "note", for: "map-group" }, "Sorted by"),
    element(
      "select",
      { id: "map-group", onchange: (event) => desk.go(`map/${event.target.value}`) },
      ["all", ...desk.collection.groups.map(({ name }) => name)].map((name) =>
        element("option", { value: name, selected: name === chosen }, name === "all" ? "everything" : name),
      ),
    ),
  ];
}

function crumbs(path, to) {
  const steps = path ? path.split(".") : [];
  const link = (words, where, current) =>
    element(
      "li",
      {},
      current
        ? element("span", { "aria-current": "page" }, words)
        : element("button", { type: "button", class: "quiet", onclick: () => to(where) }, words),
    );
  return element(
    "nav",
    { "aria-label": "Place in the map" },
    element(
      "ol",
      { class: "crumb-list" },
      link("All", "", !steps.length),
      steps.map((cell, at) =>
        link(`Part ${Number(cell) + 1}`, steps.slice(0, at + 1).join("."), at === steps.length - 1),
      ),
    ),
  );
}

/** The view becomes a page of the search: its marks count, and what is left unmarked is seen. */
function here(desk, grid) {
  const submit = async () => {
    const places = grid.cells.map(({ tile }) => tile.place);
    if (await desk.act("view", { places })) desk.refine();
  };
  return element("button", { type: "button", id: "from-here", onclick: submit }, "Search from here");
}

/** Two fingers that part open the tile between them; two that close go up. */
function pinching(grid, open, up) {
  const fingers = new Map();
  let start = 0;
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  grid.node.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2) start = apart();
  });
  grid.node.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size !== 2 || !start) return;
    const ratio = apart() / start;
    if (ratio < PINCH && ratio > 1 / PINCH) return;
    start = 0;
    if (ratio < 1) return void up();
    const [a, b] = [...fingers.values()];
    const node = document.elementFromPoint((a.x + b.x) / 2, (a.y + b.y) / 2)?.closest(".tile");
    const cell = grid.cells.find((one) => one.node === node);
    if (cell?.tile.opens) open(cell.tile);
  });
  for (const kind of ["pointerup", "pointercancel", "pointerleave"]) {
    grid.node.addEventListener(kind, (event) => fingers.delete(event.pointerId));
  }
}
