// The simpler views: the start, the collection in order, words, and the results.

import { count, element } from "./dom.js";
import { Grid, pictureOf } from "./search-grid.js";

/** Columns of pictures for the width of the window. */
export const columnsFor = (width) => WIDTHS.find(([least]) => width >= least)[1];

const WIDTHS = [
  [1100, 7],
  [860, 5],
  [600, 4],
  [430, 3],
  [0, 2],
];

// ---- start ---------------------------------------------------------------------------------------------------------

const WAYS = [
  ["browse", "Browse", "All pictures, page by page."],
  ["map", "Map", "Similar pictures lie together. Zoom into what you like."],
  ["sketch", "Sketch", "Paint roughly what it looks like."],
  ["picture", "My picture", "Begin with a photograph of your own."],
  ["words", "Words", "Type what is in it."],
  ["results", "Just show me", "A mixed page to begin with."],
];

export async function startView(desk) {
  const { searches } = await desk.server.get("/searches");
  const ways = WAYS.filter(([name]) => desk.has[name] !== false).map(([name, title, words]) =>
    element(
      "li",
      {},
      element(
        "a",
        { class: "way card", href: `#${name}`, onclick: () => begin(desk) },
        element("strong", {}, title),
        element("span", {}, words),
      ),
    ),
  );
  const saved = searches.map((one) =>
    element(
      "li",
      {},
      element(
        "a",
        { class: "saved card", href: `/search/${one.id}#results` },
        one.cover !== null && element("img", { src: pictureOf(desk, one.cover), alt: "" }),
        element(
          "span",
          {},
          element("strong", { dir: "auto" }, one.title),
          element("span", { class: "note" }, describe(one)),
        ),
      ),
    ),
  );
  return {
    node: element(
      "div",
      { class: "start" },
      element("h2", {}, "How do you want to begin?"),
      element("ul", { class: "ways" }, ways),
      desk.link && ownLink(desk.link),
      saved.length > 0 && element("h2", {}, "Your searches"),
      saved.length > 0 && element("ul", { class: "ways saved-list" }, saved),
    ),
  };
}

const ownLink = (link) =>
  element(
    "details",
    { class: "own-link" },
    element("summary", {}, "Your own link"),
    element("label", { for: "own-link" }, "It opens your searches in any browser. Keep it to yourself."),
    element("input", { id: "own-link", readonly: true, value: link, onfocus: (event) => event.target.select() }),
  );

const describe = ({ rounds, marks, found, at }) =>
  [
    count(rounds, "round"),
    count(marks, "mark"),
    found && `${found} found`,
    new Date(1000 * at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
  ]
    .filter(Boolean)
    .join(" · ");

/** From the start, a search of its own begins. */
function begin(desk) {
  if (desk.state) {
    desk.state = null;
    desk.queue = null;
    desk.marks = new Map();
    history.replaceState(null, "", "/search#start");
  }
}

// ---- browse --------------------------------------------------------------------------------------------------------

const ORDERS = { name: "by name", time: "by time of the file", shuffle: "shuffled" };

export async function browseView(desk) {
  const [, order = "name", page = "1"] = location.hash.slice(1).split("/");
  const seed = new Date().getFullYear(); // the same order when one comes back
  const body = await desk.server.get(`/collection/items?order=${order}&seed=${seed}&page=${Number(page) || 1}`);
  const grid = new Grid(desk, {
    label: `Pictures, page ${body.page} of ${body.pages}`,
    sections: [{ tiles: body.tiles }],
    columns: columnsFor(window.innerWidth),
    enter: () => desk.refine(),
    click: (tile, again, event) => event.pointerType === "touch" && again && desk.enlarge(tile),
    chosen: () => desk.paintChosen(),
  });
  const go = (to) => desk.go(`browse/${order}/${to}`);
  const choose = element(
    "select",
    { id: "order", onchange: (event) => desk.go(`browse/${event.target.value}/1`) },
    Object.entries(ORDERS).map(([name, words]) => element("option", { value: name, selected: name === order }, words)),
  );
  const step = (arrow, words, to, there) =>
    element("button", { type: "button", "aria-label": words, disabled: !there, onclick: () => go(to) }, arrow);
  return {
    grid,
    node: element(
      "div",
      {},
      element(
        "div",
        { class: "row view-head" },
        element("h2", {}, "Browse"),
        element("label", { class: "unseen", for: "order" }, "Order"),
        choose,
        element(
          "span",
          { class: "row" },
          step("←", "Earlier page", body.page - 1, body.page > 1),
          element("span", { class: "note" }, `Page ${body.page} of ${body.pages}`),
          step("→", "Later page", body.page + 1, body.page < body.pages),
        ),
      ),
      grid.node,
    ),
    focus: () => grid.focus(),
  };
}

// ---- words ---------------------------------------------------------------------------------------------------------

export async function wordsView(desk) {
  const field = element("input", {
    id: "words",
    type: "search",
    maxlength: "1000",
    value: desk.state?.query.words ?? "",
    autocomplete: "off",
    dir: "auto",
    "aria-describedby": "words-note",
  });
  const submit = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return desk.say("Type at least one word.");
    return desk.ask("words", { text });
  };
  return {
    node: element(
      "form",
      { class: "card words-form", onsubmit: submit },
      element("h2", {}, "Words"),
      element(
        "p",
        { class: "field" },
        element("label", { for: "words" }, "What is in the picture?"),
        field,
        element("span", { class: "note", id: "words-note" }, "They are looked up in the captions of the pictures."),
      ),
      element("button", { class: "main", id: "words-go" }, "Search"),
    ),
    focus: () => field.focus(),
  };
}

// ---- results -------------------------------------------------------------------------------------------------------

const EXPLORING = new Set(["explore", "audit"]);

export async function resultsView(desk) {
  const state = await desk.need();
  const shown = identity(state);
  const best = state.page.tiles.filter((tile) => !EXPLORING.has(tile.slot));
  const exploring = state.page.tiles.filter((tile) => EXPLORING.has(tile.slot));
  const grid = new Grid(desk, {
    label: `Round ${state.page.round}`,
    sections: [
      { tiles: best },
      { title: "Help me understand", note: "Marks on these teach most.", tiles: exploring },
    ],
    columns: columnsFor(window.innerWidth),
    enter: () => desk.refine(),
    click: (tile, again, event) => event.pointerType === "touch" && again && desk.enlarge(tile),
    chosen: () => desk.paintChosen(),
  });
  const notes = state.notes.map((words) => element("p", { class: "said" }, words));
  return {
    grid,
    node: element(
      "div",
      {},
      element("h2", { class: "unseen" }, "Results"),
      banner(desk, state),
      notes,
      state.page.tiles.length ? grid.node : none(desk),
    ),
    focus: () => grid.focus(),
    /** Another page came, by undo or from another tab. */
    changed: (now) => now.page && identity(now) !== shown && !desk.busy && desk.route(),
  };
}

/** What makes a page another page. */
const identity = ({ id, page, query, notes }) =>
  JSON.stringify([id, page.round, page.tiles.map(({ place }) => place), query, notes]);

function banner(desk, state) {
  if (!state.read_only) return null;
  const fork = () => desk.fork(state.number);
  return element(
    "p",
    { class: "said row" },
    "You are looking at a search of somebody else. ",
    state.may_fork && element("button", { type: "button", id: "fork", onclick: fork }, "Go on from it"),
  );
}

const none = (desk) =>
  element(
    "div",
    { class: "notice card" },
    element("h2", {}, "You have seen everything"),
    element("p", {}, "There is no picture left that you have not seen."),
    element(
      "button",
      { type: "button", class: "main", onclick: () => desk.ask("seen", { show: true }) },
      "Show seen pictures again",
    ),
  );
