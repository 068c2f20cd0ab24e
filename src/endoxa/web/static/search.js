// The page of a search: one search at a time, in one of several views. What a person does becomes an event, which is
// kept on this device until the server has it. The server's answer is the whole search as it stands: the page shows it.

import { AnswerQueue } from "./answer-queue.js";
import { Clock } from "./clock.js";
import { byId, count, element, write } from "./dom.js";
import { enlarged } from "./exhibit.js";
import { firstHelp, writeHelp } from "./help.js";
import { button, notice, troubleWords } from "./notices.js";
import { openCounts, openHistory, openWhy } from "./search-dialogs.js";
import { pictureOf } from "./search-grid.js";
import { listen } from "./search-input.js";
import { mapView } from "./search-map.js";
import { pictureView } from "./search-picture.js";
import { keyed, markButtons, paintButtons } from "./search-scale.js";
import { sketchView } from "./search-sketch.js";
import { browseView, resultsView, startView, wordsView } from "./search-views.js";
import { Trouble, connectTo, uuid } from "./server.js";

const VIEWS = {
  start: startView,
  browse: browseView,
  map: mapView,
  sketch: sketchView,
  picture: pictureView,
  words: wordsView,
  results: resultsView,
};
// The buttons that need a search.
const NEEDING = "why-open history-open counts-open share-open forget over-open explore show-seen".split(" ");
const ELSEWHERE = "This search went on elsewhere, in another tab or browser. This is how it stands now.";
const MARKING = new Set(["browse", "map", "results"]); // the views in which pictures are marked

class Desk {
  constructor() {
    this.server = connectTo("/api");
    this.state = null; // the search as the server last described it; null before it begins
    this.queue = null;
    this.marks = new Map(); // place -> grade, with those that are still on their way
    this.view = null;
    this.turn = 0;
    this.method = "mouse"; // the last way of input
    this.clock = new Clock(Date.now());
    listen(this);
  }

  // Beginning -------------------------------------------------------------------------------------------------------

  async open() {
    try {
      this.collection = await this.server.get("/collection");
      this.furnish();
      const id = location.pathname.split("/")[2];
      if (id) this.adopt(await this.server.get(this.path("", id)));
    } catch (trouble) {
      return this.complain(trouble, () => this.open());
    }
    this.keepLink();
    window.addEventListener("hashchange", () => this.route());
    this.route();
    await firstHelp("search", this.collection.nickname);
    this.view?.focus?.();
  }

  /** The address of a search in the API; a shared search is looked at with the token of its address. */
  path(rest = "", id = this.state.id) {
    const shared = location.pathname.endsWith(id) ? location.search : "";
    return `/searches/${id}${rest}${shared}`;
  }

  furnish() {
    const { grades, words, map, count: pictures } = this.collection;
    const has = { words, map, sketch: this.collection.groups.some(({ name }) => name === "layout") };
    for (const link of byId("ways").querySelectorAll("[data-needs]")) link.hidden = !has[link.dataset.needs];
    this.looks = this.collection.role === "viewer"; // at one search, which somebody shared
    byId("ways").hidden = this.looks;
    this.has = has;
    const mark = (grade) => this.view?.grid?.tile && this.mark(this.view.grid.tile, grade);
    byId("mark-bar").replaceChildren(...markButtons(grades, mark));
    writeHelp(
      [
        `${count(pictures, "picture")} to search in. Begin as you like: browse, or use the map, a sketch or a picture.`,
        "Mark what you see, from highly irrelevant to highly relevant. One mark is enough. Then press Refine.",
        "Dots under the pictures show which of the five marks is expected, where your marks tell the pictures apart.",
        "A few pictures of a page may stand under “Help me understand”: your marks on those teach most.",
      ],
      [
        ...grades.map(({ key, label }) => [key, label]),
        ["0 or u", "clear the mark"],
        ["← ↑ ↓ →", "another picture"],
        ["Space", "enlarge"],
        ["Enter", "refine (on the map: open)"],
        ["z", "undo"],
        ["f", "this is it"],
        ["w", "why this picture"],
        ["h", "history"],
        ["?", "this help"],
      ],
    );
  }

  /** After joining by the common link, the address carries one's own link, by which one comes back. */
  keepLink() {
    const [name, token] = location.hash.slice(1).split("/");
    const where = `endoxa:link:${encodeURIComponent(this.collection.nickname)}`;
    try {
      if (name === "mine" && token) localStorage.setItem(where, `${location.origin}/join/${token}`);
      this.link = localStorage.getItem(where) ?? "";
    } catch {
      this.link = name === "mine" && token ? `${location.origin}/join/${token}` : "";
    }
    if (name === "mine") history.replaceState(null, "", `${location.pathname}#start`);
  }

  /** Make a search the one on this page. */
  adopt(state) {
    if (this.queue && this.state?.id === state.id) return this.take(state);
    this.state = state;
    this.queue = new AnswerQueue(
      `search:${state.id}`,
      this.collection.nickname,
      (event) => this.send(event),
      () => this.queueChanged(),
    );
    this.take(state);
    this.queue.pump();
  }

  /** Pictures on a page of results: as many as fit the screen. */
  get size() {
    return window.innerWidth >= 600 ? 20 : window.innerWidth >= 430 ? 12 : 8;
  }

  /** The search of this page; it begins when first needed. */
  async need() {
    if (this.state) return this.state;
    this.begun ??= this.server.post("/searches", { key: uuid(), size: this.size }).finally(() => (this.begun = null));
    const state = await this.begun;
    if (!this.state) {
      this.adopt(state);
      this.address();
    }
    return this.state;
  }

  address() {
    history.replaceState(null, "", `/search/${this.state.id}${location.hash}`);
    for (const link of byId("ways").querySelectorAll("a")) link.href = `${location.pathname}${link.hash}`;
  }

  /** Leave this search for another, or for none. */
  switchTo(state) {
    this.state = null;
    this.queue = null;
    this.marks = new Map();
    if (state) this.adopt(state);
    history.pushState(null, "", state ? `/search/${state.id}#results` : "/search#start");
    this.route();
  }

  // Views -----------------------------------------------------------------------------------------------------------

  get name() {
    if (this.looks) return "results";
    const [name] = location.hash.slice(1).split("/");
    if (VIEWS[name] && this.has[name] !== false) return name;
    return this.state ? "results" : "start";
  }

  go(name) {
    if (location.hash === `#${name}`) this.route();
    else location.hash = name;
  }

  async route() {
    const turn = (this.turn += 1);
    const { name } = this;
    this.view?.leave?.();
    this.view = null;
    document.body.dataset.view = name;
    for (const link of byId("ways").querySelectorAll("a")) {
      link.href = `${location.pathname}${location.search}${link.hash}`; // views of the search that is open
      const here = link.hash === `#${name}`;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
      if (here) link.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    }
    byId("stage").setAttribute("aria-busy", "true");
    try {
      const view = await VIEWS[name](this, () => turn === this.turn);
      if (turn !== this.turn) return;
      this.view = view;
      byId("stage").replaceChildren(view.node);
    } catch (trouble) {
      if (turn === this.turn) this.complain(trouble, () => this.route());
      return;
    }
    byId("stage").removeAttribute("aria-busy");
    this.paint();
    window.scrollTo({ top: 0, behavior: "instant" });
    if (!document.querySelector("dialog[open]")) this.view.focus?.();
  }

  /** Show what has changed without building the view again. */
  paint() {
    const { state } = this;
    const marking = Boolean(this.view?.grid) && MARKING.has(this.name) && !state?.read_only;
    byId("actions").hidden = !marking;
    byId("undo").disabled = !state?.undo && !this.queue?.pending().length;
    for (const id of NEEDING) byId(id).disabled = !state;
    byId("explore").setAttribute("aria-pressed", String(state?.explore ?? true));
    byId("show-seen").setAttribute("aria-pressed", String(state?.show_seen ?? false));
    this.view?.grid?.paint();
    this.paintChosen();
    this.paintQuery();
  }

  /** The bar at the bottom belongs to the chosen tile. */
  paintChosen() {
    const tile = this.view?.grid?.tile ?? null;
    paintButtons(byId("mark-bar"), tile ? this.markOf(tile.place) : null);
    byId("found").setAttribute("aria-pressed", String(Boolean(tile && this.isFound(tile.place))));
    const marked = this.view?.grid?.cells.filter((cell) => this.markOf(cell.tile.place) !== null).length ?? 0;
    write(byId("missing"), marked ? `${marked} marked` : "");
  }

  /** What the search starts from, each part with a button that removes it. */
  paintQuery() {
    const { state } = this;
    const shown = Boolean(state) && MARKING.has(this.name);
    byId("query-bar").hidden = !shown;
    if (!shown) return;
    const { picture, upload, sketch, words } = state.query;
    const chip = (label, kind, detail, image = null) =>
      element(
        "span",
        { class: "chip" },
        image && element("img", { src: image, alt: "" }),
        label,
        !state.read_only &&
          element(
            "button",
            { type: "button", "aria-label": `Remove: ${label}`, onclick: () => this.ask(kind, detail) },
            "×",
          ),
      );
    const found = state.found.map((place) =>
      element(
        "button",
        { type: "button", class: "chip", onclick: () => this.enlarge({ place }) },
        element("img", { src: pictureOf(this, place), alt: "" }),
        "★ Found",
      ),
    );
    byId("query-bar").replaceChildren(
      ...[
        picture !== null && chip("Like this picture", "picture", {}, pictureOf(this, picture)),
        upload && chip("My picture", "picture", {}, `/api${this.path(`/uploads/${upload}`)}`),
        sketch && chip("Sketch", "sketch", { png: null }),
        words && chip(`Words: ${words}`, "words", { text: "" }),
        ...found,
        this.queryFacts(),
      ].filter(Boolean),
    );
  }

  queryFacts() {
    const { round, seen, left, marks } = this.state;
    const { beside } = this.collection; // pages show one of each stack
    const facts = [`${seen} seen, ${left} to see`, beside && `${count(beside, "near-duplicate")} stacked`, marks.length && count(marks.length, "mark")];
    return element(
      "span",
      { class: "note facts" },
      element("strong", { id: "round" }, `Round ${round}`),
      ` · ${facts.filter(Boolean).join(" · ")}`,
    );
  }

  // Events ----------------------------------------------------------------------------------------------------------

  /** Queue an event; resolves to the search afterwards, or to null if it was not taken. */
  async act(kind, detail = {}) {
    try {
      await this.need();
    } catch (trouble) {
      this.trouble(trouble);
      return null;
    }
    const { active } = this.clock.read(Date.now());
    this.clock = new Clock(Date.now());
    const saved = this.queue.add({ key: uuid(), kind, detail, active_seconds: active, method: this.method });
    this.overlay();
    return saved;
  }

  async send(event) {
    const state = await this.server.post(this.path("/events"), { ...event, after: this.state.number });
    if (!state?.page) throw new Trouble("answer", "The server's answer could not be understood.");
    this.savedOnce = true;
    this.state = state; // shown once the event has left the queue
    return state;
  }

  /** The server's state is the truth; what is still on its way lies over it. */
  take(state) {
    this.state = state;
    this.overlay();
  }

  overlay() {
    this.marks = new Map(this.state.marks.map(({ place, grade }) => [place, grade]));
    for (const { kind, detail } of this.queue.pending()) {
      if (kind !== "mark") continue;
      if (detail.place === undefined) continue;
      if (detail.grade === null) this.marks.delete(detail.place);
      else this.marks.set(detail.place, detail.grade);
    }
    this.view?.changed?.(this.state);
    this.paint();
  }

  markOf(place) {
    return this.marks.get(place) ?? null;
  }

  isFound(place) {
    return this.state?.found.includes(place) ?? false;
  }

  /** Mark a tile, or clear its mark with null. By keys and in the bar the next tile is chosen then. */
  mark(tile, grade, { stay = false } = {}) {
    if (this.state?.read_only) return this.say("This search is for looking at only.");
    if (grade === this.markOf(tile.place)) return stay || this.view?.grid?.next();
    const label = this.collection.grades.find(({ value }) => value === grade)?.label ?? "no mark";
    this.act("mark", { place: tile.place, grade }).catch(() => {});
    if (grade === null) this.marks.delete(tile.place);
    else this.marks.set(tile.place, grade);
    this.paint();
    this.announce(`picture ${tile.place + 1}: ${label}`);
    if (!stay && grade !== null && !byId("enlarge").open) this.view?.grid?.next();
    return undefined;
  }

  /** An event after which the results are shown: refine, a query, a new beginning. */
  async ask(kind, detail = {}) {
    if (this.busy) return null;
    this.busy = true;
    document.body.dataset.busy = "true";
    this.announce(kind === "refine" ? "Refining" : "Searching");
    const state = await this.act(kind, kind === "refine" ? { size: this.size } : detail);
    this.busy = false;
    delete document.body.dataset.busy;
    if (!state) return null;
    this.go("results");
    const shown = count(state.page.tiles.length, "picture");
    this.announce(`Round ${state.round}: ${shown}. ${state.notes.join(" ")}`);
    return state;
  }

  refine() {
    return this.ask("refine");
  }

  async undo() {
    const before = this.state?.page.round;
    const state = await this.act("undo");
    if (!state) return;
    this.announce("Undone");
    this.say("Undone");
    if (this.name === "results" && state.page.round !== before) this.route();
  }

  found() {
    const tile = this.view?.grid?.tile;
    if (!tile) return;
    this.act("found", { place: tile.place }).then((state) => {
      if (state) this.announce(`picture ${tile.place + 1}: this is it`);
    });
  }

  /** A search of one's own that goes on from an event of this one. */
  async fork(number) {
    try {
      const fork = { search: this.state.id, number };
      const shared = location.search; // of a search that is looked at
      this.switchTo(await this.server.post(`/searches${shared}`, { key: uuid(), size: this.size, fork }));
      this.announce("This is a new search. The other one is kept.");
    } catch (trouble) {
      this.trouble(trouble);
    }
  }

  why() {
    const tile = this.view?.grid?.tile;
    if (tile && this.state) openWhy(this, tile);
  }

  history() {
    if (this.state) openHistory(this);
  }

  counts() {
    if (this.state) openCounts(this);
  }

  /** The large view; marks work in it, and arrows go on. */
  enlarge(tile) {
    if (!tile) return;
    const { grades } = this.collection;
    const bar = byId("enlarge-bar");
    const step = (by) => {
      const { grid } = this.view ?? {};
      const at = grid?.cells.findIndex((cell) => cell.tile.place === tile.place) ?? -1;
      const other = at < 0 ? null : grid.cells[at + by];
      if (!other) return;
      grid.choose(other.number);
      this.enlarge(other.tile);
    };
    const mark = (grade) => {
      this.mark(tile, grade);
      paintButtons(bar, this.markOf(tile.place));
    };
    const key = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const grade = keyed(grades, event.key);
      if (by) step(by);
      else if (grade !== undefined && !event.repeat && !event.ctrlKey && !event.metaKey) mark(grade);
      else return false;
      return true;
    };
    bar.replaceChildren(...(this.state?.read_only ? [] : markButtons(grades, mark)));
    paintButtons(bar, this.markOf(tile.place));
    // The name may be written from right to left, or turn what follows; it is isolated.
    const name = [`Picture ${tile.place + 1}`, tile.name && `\u2068${tile.name}\u2069`].filter(Boolean).join(" · ");
    enlarged({ image: pictureOf(this, tile.place, "large"), text: tile.words ?? "", alt: name }, name, key);
  }

  // What is said ----------------------------------------------------------------------------------------------------

  queueChanged() {
    const { state, trouble } = this.queue;
    const unsaved = this.queue.pending().length;
    document.body.dataset.queue = state;
    if (state === "refused") return void this.refused(trouble);
    if (state === "session") return this.complain(trouble, () => location.reload());
    if (state === "waiting") this.say(`${count(unsaved, "act")} not saved yet, retrying`);
    else if (state === "idle" && this.savedOnce) this.say("Saved");
    if (state === "idle") this.overlay();
    return undefined;
  }

  /** The server refuses the oldest event. If another tab went on, its marks are sent again; other acts are dropped. */
  async refused(trouble) {
    const { queue } = this;
    let fresh = null;
    if (trouble.status === 409) fresh = await this.server.get(this.path()).catch(() => null);
    if (queue !== this.queue) return;
    const wentOn = fresh && fresh.number !== this.state.number;
    if (fresh) this.state = fresh;
    const [first] = queue.pending();
    if (wentOn && first?.kind === "mark") queue.retry();
    else queue.discard();
    this.say(wentOn ? ELSEWHERE : trouble.message);
    this.announce(byId("status").textContent);
    if (wentOn && MARKING.has(this.name)) this.route();
    else this.overlay();
  }

  trouble(trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    this.say(trouble.message);
    this.announce(trouble.message);
  }

  complain(trouble, again) {
    if (!(trouble instanceof Trouble)) throw trouble;
    this.turn += 1;
    const { turn } = this;
    this.view = null;
    byId("actions").hidden = true;
    byId("stage").removeAttribute("aria-busy");
    const words = troubleWords(trouble, this.queue?.pending().length ?? 0, "act");
    notice("notice", ...words, button("Try again", "retry", again));
    if (trouble.kind !== "network") return;
    const once = () => turn === this.turn && again();
    window.addEventListener("online", once, { once: true });
    setTimeout(once, 5_000);
  }

  say(words) {
    write(byId("status"), words);
  }

  announce(words) {
    write(byId("announce"), words);
  }
}

new Desk().open();
