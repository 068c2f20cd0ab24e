// Dialogs of a search: why a picture is here, what counts, the history, starting over, sharing.

import { byId, count, element, shape, write } from "./dom.js";
import { pictureOf } from "./search-grid.js";
import { nearest } from "./search-scale.js";
import { uuid } from "./server.js";

const NAMES = { look: "Look", colours: "Colours", texture: "Texture", layout: "Layout" };
const nameOf = (group) => NAMES[group] ?? group;

async function ask(desk, path) {
  try {
    return await desk.server.get(desk.path(path));
  } catch (trouble) {
    desk.trouble(trouble);
    return null;
  }
}

// ---- why -----------------------------------------------------------------------------------------------------------

export async function openWhy(desk, tile) {
  const why = await ask(desk, `/why/${tile.place}`);
  if (!why) return;
  const parts = [
    ["Before any mark", why.base],
    ...Object.entries(why.groups).map(([group, value]) => [nameOf(group), value]),
    ...(why.hint ? [["Sketch or words", why.hint]] : []),
  ];
  const whole = parts.reduce((sum, [, value]) => sum + value, 0);
  const figures = rounded([...parts.map(([, value]) => value)], whole);
  const { grades } = desk.collection;
  const clipped = Math.abs(whole - why.expected) > 1e-6;
  byId("why-content").replaceChildren(
    element("img", { class: "why-picture", src: pictureOf(desk, tile.place), alt: `Picture ${tile.place + 1}` }),
    element(
      "p",
      {},
      "Expected mark: ",
      element("strong", {}, `${signed(why.expected)} (${nearest(grades, why.expected).label})`),
    ),
    element(
      "ul",
      { class: "why-bars" },
      parts.map(([name, value], at) => bar(name, value, figures[at])),
      element(
        "li",
        { class: "whole" },
        element("span", { class: "name" }, "Together"),
        element("span"),
        element("span", { class: "figure" }, signed(whole)),
      ),
    ),
    ...[
      clipped && element("p", { class: "note" }, "Marks end at −2 and +2, so the expected mark does too."),
      examples(desk, "Pictures that pull it up", why.examples.filter(({ value }) => value > 0)),
      examples(desk, "Pictures that pull it down", why.examples.filter(({ value }) => value < 0)),
    ].filter(Boolean),
  );
  byId("why").showModal();
}

/** Numbers with two digits whose sum is the sum with two digits: the largest takes what rounding leaves. */
function rounded(values, whole) {
  const cents = values.map((value) => Math.round(100 * value));
  const largest = values.reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);
  cents[largest] += Math.round(100 * whole) - cents.reduce((sum, value) => sum + value, 0);
  return cents.map((value) => value / 100);
}

const signed = (value) => {
  const figure = Math.abs(value).toFixed(2);
  return Number(figure) === 0 ? "0.00" : `${value < 0 ? "−" : "+"}${figure}`;
};

/** A bar from the middle: to the right it pulls up, to the left down. */
function bar(name, value, figure) {
  const width = Math.min(100, 25 * Math.abs(value)); // 100 on either side is four marks
  return element(
    "li",
    { "data-value": value },
    element("span", { class: "name" }, name),
    shape(
      "svg",
      { viewBox: "0 0 200 12", preserveAspectRatio: "none", class: "why-bar", "aria-hidden": "true" },
      shape("rect", {
        x: value < 0 ? 100 - width : 100,
        y: 1,
        width: Math.max(1, width),
        height: 10,
        class: value < 0 ? "down" : "up",
      }),
      shape("line", { x1: 100, x2: 100, y1: 0, y2: 12, class: "axis" }),
    ),
    element("span", { class: "figure" }, signed(figure)),
  );
}

function examples(desk, title, found) {
  if (!found.length) return null;
  return element(
    "section",
    {},
    element("h3", {}, title),
    element(
      "ul",
      { class: "thumbs" },
      found.slice(0, 3).map(({ place, value, upload }) =>
        element(
          "li",
          {},
          element("img", {
            src: place === null ? `/api${desk.path(`/uploads/${upload}`)}` : pictureOf(desk, place),
            alt: place === null ? "My picture" : `Picture ${place + 1}`,
          }),
          element("span", { class: "figure" }, signed(value)),
        ),
      ),
    ),
  );
}

// ---- what counts ---------------------------------------------------------------------------------------------------

export function openCounts(desk) {
  paintCounts(desk);
  write(byId("counts-note"), "");
  byId("counts").showModal();
}

function paintCounts(desk) {
  const { groups } = desk.state;
  byId("counts-content").replaceChildren(
    ...groups.map(({ name, weight, metric, setting }) => {
      const fixed = typeof setting === "number";
      const id = `pin-${name}`;
      const change = async (value) => {
        const state = await desk.act("pin", { group: name, setting: value });
        write(byId("counts-note"), state ? `${nameOf(name)}: ${spoken(value)}.` : byId("status").textContent);
        paintCounts(desk);
        byId(id).focus();
      };
      const chosen = (event) => {
        const { value } = event.target;
        change(value === "fixed" ? Math.min(1, Math.max(0.05, Math.round(20 * (weight ?? 0.25)) / 20)) : value);
      };
      const option = (value, words, on) => element("option", { value, selected: on }, words);
      return element(
        "div",
        { class: "count-row" },
        element("label", { for: id }, nameOf(name)),
        element(
          "span",
          { class: "note" },
          weight === null ? "" : `weight ${weight.toFixed(2)}${metric ? `, compared by ${metric}` : ""}`,
        ),
        shape(
          "svg",
          { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "why-bar", "aria-hidden": "true" },
          shape("rect", { x: 0, y: 0, width: 100 * (weight ?? 0), height: 8, class: "up" }),
        ),
        element(
          "select",
          { id, onchange: chosen },
          option("auto", "automatic", setting === "auto"),
          option("off", "off", setting === "off"),
          option("fixed", "fixed", fixed),
        ),
        fixed &&
          element("input", {
            type: "range",
            min: "0.05",
            max: "1",
            step: "0.05",
            value: setting,
            "aria-label": `Weight of ${nameOf(name)}`,
            onchange: (event) => change(Number(event.target.value)),
          }),
      );
    }),
  );
}

const spoken = (setting) => ({ auto: "automatic", off: "off" })[setting] ?? `fixed at ${setting}`;

// ---- history -------------------------------------------------------------------------------------------------------

export function openHistory(desk) {
  const { rounds } = desk.state;
  byId("round-content").replaceChildren();
  byId("rounds").replaceChildren(
    ...rounds.map(({ round, shown, marked, number }) =>
      element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            "data-round": round,
            onclick: (event) => openRound(desk, round, number, event.currentTarget),
          },
          element("strong", {}, `Round ${round}`),
          element("span", { class: "note" }, `${shown} shown, ${marked} marked`),
        ),
      ),
    ),
  );
  if (!rounds.length) byId("rounds").replaceChildren(element("li", { class: "note" }, "Nothing was shown yet."));
  byId("history").showModal();
}

async function openRound(desk, round, number, pressed) {
  const page = await ask(desk, `/rounds/${round}`);
  if (!page) return;
  for (const other of byId("rounds").querySelectorAll("button")) {
    other.setAttribute("aria-pressed", String(other === pressed));
  }
  const { grades } = desk.collection;
  const words = (mark) => grades.find(({ value }) => value === mark)?.label ?? "no mark";
  const fork = async () => {
    byId("history").close();
    await desk.fork(number);
  };
  byId("round-content").replaceChildren(
    element(
      "ul",
      { class: "thumbs" },
      page.tiles.map(({ place, mark }) =>
        element(
          "li",
          {},
          element("img", { src: pictureOf(desk, place), alt: `Picture ${place + 1}` }),
          element("span", { class: "note" }, mark === null ? "" : words(mark)),
        ),
      ),
    ),
    element("p", {}, element("button", { type: "button", id: "go-on", onclick: fork }, "Go on from here")),
  );
  desk.announce(`Round ${round}: ${count(page.tiles.length, "picture")}`);
}

// ---- starting over, sharing ----------------------------------------------------------------------------------------

export function openOver(desk) {
  const over = (keep) => async () => {
    byId("over").close();
    await desk.ask("restart", { keep });
  };
  byId("over-empty").onclick = over(false);
  byId("over-keep").onclick = over(true);
  byId("over").showModal();
}

export function openShare(desk) {
  byId("share-made").hidden = true;
  const share = (fork) => async () => {
    try {
      const { url } = await desk.server.post(desk.path("/links"), { fork });
      byId("share-made").hidden = false;
      byId("share-url").value = url;
      byId("share-url").select();
    } catch (trouble) {
      desk.trouble(trouble);
    }
  };
  byId("share-view").onclick = share(false);
  byId("share-fork").onclick = share(true);
  byId("share").showModal();
}
