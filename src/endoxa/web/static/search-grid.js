// Pictures as a grid with one tab stop: arrows move, keys mark. The results, the collection and the map are such grids.

import { element } from "./dom.js";
import { expectedScale, markButtons, nearest, paintButtons, sign } from "./search-scale.js";

/** The address of a picture; the digest of the collection makes it safe to keep. */
export const pictureOf = (desk, place, size = "small") =>
  `/pictures/${place}?size=${size}&of=${desk.collection.digest.slice(0, 12)}`;

/**
 * sections: [{title, note, tiles}], tiles: {place, cell?, slot, expected, stack, missing, words, count?, opens?}; null
 * is an empty cell. Enter on a tile calls `enter(tile)`, a click `click(tile, again, event)`, where `again` says that
 * it was the chosen one already; choosing one calls `chosen(tile)`.
 */
export class Grid {
  constructor(desk, { label, sections, columns, enter, click = () => {}, chosen = () => {}, kind = "" }) {
    Object.assign(this, { desk, columns, enter, click, chosen });
    this.cells = []; // of tiles, in order of reading
    this.rows = []; // the same, by row; null for an empty cell
    this.active = 0;
    this.node = element(
      "div",
      { role: "grid", class: `tiles columns-${columns} ${kind}`, "aria-label": label },
      sections.filter(({ tiles }) => tiles.length).map((section, at) => this.group(section, at)),
    );
    this.node.addEventListener("focusin", (event) => {
      const at = this.cells.findIndex(({ node }) => node.contains(event.target));
      if (at >= 0) this.choose(at);
    });
    this.paint();
    if (this.cells.length) this.choose(0);
  }

  group({ title = "", note = "", tiles }, at) {
    const id = `group-${at}`;
    const heading =
      title &&
      element(
        "div",
        { role: "row", class: "tiles-heading" },
        element(
          "div",
          { role: "gridcell", "aria-colspan": this.columns },
          element("strong", { id }, title),
          note && element("span", { class: "note" }, ` ${note}`),
        ),
      );
    const rows = [];
    for (let from = 0; from < tiles.length; from += this.columns) {
      const cells = tiles.slice(from, from + this.columns).map((tile) => (tile ? this.cell(tile) : null));
      this.rows.push(cells);
      const nodes = cells.map((cell) => cell?.node ?? element("div", { role: "gridcell", class: "no-tile" }));
      rows.push(element("div", { role: "row", class: "tiles-row" }, nodes));
    }
    return element("div", { role: "rowgroup", "aria-labelledby": title ? id : null }, heading, rows);
  }

  cell(tile) {
    const { desk } = this;
    const number = this.cells.length;
    const image = tile.missing ? lost() : element("img", { alt: "", decoding: "async", draggable: "false" });
    if (!tile.missing) {
      image.addEventListener("error", () => image.replaceWith(lost()));
      image.src = pictureOf(desk, tile.place);
    }
    const mark = (grade, event) => {
      event.stopPropagation();
      this.choose(number);
      desk.mark(tile, grade, { stay: true });
    };
    const node = element(
      "div",
      {
        role: "gridcell",
        class: "tile",
        tabindex: "-1",
        "data-place": tile.place,
        onpointerdown: () => (this.before = this.active === number ? number : null), // a press moves the focus first
        onclick: (event) => event.target.closest("button") || this.clicked(number, event),
        ondblclick: () => desk.enlarge(tile),
      },
      element(
        "div",
        { class: "frame" },
        image,
        tile.stack > 0 && element("span", { class: "stack", "aria-hidden": "true" }, `+${tile.stack}`),
        tile.count > 1 && element("span", { class: "stack", "aria-hidden": "true" }, String(tile.count)),
        element("span", { class: "mark", "aria-hidden": "true" }),
      ),
      element(
        "div",
        { class: "under" },
        expectedScale(desk.collection.grades, tile.expected),
        element("div", { class: "mark-strip" }, markButtons(desk.collection.grades, mark, { tab: false })),
      ),
    );
    const cell = { tile, node, number };
    this.cells.push(cell);
    return cell;
  }

  clicked(number, event) {
    this.go(number, { scroll: false });
    this.click(this.cells[number].tile, this.before === number, event);
  }

  /** The tile that keys and the bar of marks act on. */
  get tile() {
    return this.cells[this.active]?.tile ?? null;
  }

  choose(number) {
    this.cells[this.active]?.node.setAttribute("tabindex", "-1");
    this.cells[this.active]?.node.classList.remove("chosen");
    this.active = number;
    this.cells[number].node.setAttribute("tabindex", "0");
    this.cells[number].node.classList.add("chosen");
    this.chosen(this.cells[number].tile);
  }

  go(number, { scroll = true } = {}) {
    this.choose(number);
    const { node } = this.cells[number];
    node.focus({ preventScroll: true });
    if (scroll) node.scrollIntoView({ block: "nearest" });
  }

  focus() {
    if (this.cells.length) this.go(this.active);
  }

  /** The next tile without a mark, from the active one on, then from the beginning. */
  next() {
    const order = [...this.cells.slice(this.active + 1), ...this.cells.slice(0, this.active)];
    const following = order.find(({ tile }) => this.desk.markOf(tile.place) === null);
    if (following) this.go(following.number);
  }

  /** Show the marks again, of all tiles or of one. */
  paint(place = null) {
    for (const { tile, node } of this.cells) {
      if (place !== null && tile.place !== place) continue;
      const grade = this.desk.markOf(tile.place);
      node.classList.toggle("marked", grade !== null);
      node.dataset.mark = grade ?? "";
      node.querySelector(".mark").textContent = this.signOf(tile, grade);
      node.classList.toggle("found", this.desk.isFound(tile.place));
      node.setAttribute("aria-label", this.words(tile, grade));
      paintButtons(node, grade);
    }
  }

  signOf(tile, grade) {
    return [this.desk.isFound(tile.place) && "★", grade !== null && sign(grade)].filter(Boolean).join(" ");
  }

  words(tile, grade) {
    const { grades } = this.desk.collection;
    return [
      tile.words?.length ? tile.words : `picture ${tile.place + 1}`,
      tile.stack > 0 && `with ${tile.stack} nearly the same`,
      tile.count > 1 && `stands for ${tile.count} pictures`,
      tile.missing && "its file is missing",
      this.desk.isFound(tile.place) && "this is it",
      grade !== null && `marked ${grades.find((one) => one.value === grade).label}`,
      tile.expected !== null && tile.expected !== undefined && `expected ${nearest(grades, tile.expected).label}`,
    ]
      .filter(Boolean)
      .join(", ");
  }

  /** Arrows, Home, End and Enter. Returns true if the key was taken. */
  key(event) {
    if (!this.cells.length || !this.node.contains(event.target)) return false;
    if (event.key === "Enter" && !event.repeat) return this.enter(this.tile), true;
    const to = this.moved(event.key);
    if (to === null) return false;
    this.go(to);
    return true;
  }

  moved(key) {
    const last = this.cells.length - 1;
    const simple = { ArrowRight: this.active + 1, ArrowLeft: this.active - 1, Home: 0, End: last }[key];
    if (simple !== undefined) return Math.max(0, Math.min(last, simple));
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (!step) return null;
    const row = this.rows.findIndex((cells) => cells.some((cell) => cell?.number === this.active));
    const column = this.rows[row].findIndex((cell) => cell?.number === this.active);
    for (let at = row + step; at >= 0 && at < this.rows.length; at += step) {
      const cells = this.rows[at].filter(Boolean);
      if (cells.length) return (this.rows[at][column] ?? cells.at(-1)).number;
    }
    return this.active;
  }
}

const lost = () => element("span", { class: "lost" }, "missing");
