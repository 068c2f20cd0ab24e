// The kind `rank`: the items in order, best first, each with a relevance that may not rise down the list.
// An item moves by its handle (by dragging, or by Space, arrows, Space) or by its two buttons.

import { element } from "./dom.js";
import { enlarged, exhibit } from "./exhibit.js";

const STEPS = [
  { value: 1, sign: "full", word: "fully relevant", key: "4" },
  { value: 0.75, sign: "¾", word: "mostly relevant", key: "3" },
  { value: 0.5, sign: "½", word: "half relevant", key: "2" },
  { value: 0.25, sign: "¼", word: "slightly relevant", key: "1" },
  { value: 0, sign: "0", word: "not relevant", key: "0" },
];
const sign = (value) => STEPS.find((step) => step.value === value)?.sign ?? String(value);

/**
 * The list after giving place `at` the relevance `value`: lower values above are raised, higher ones below lowered.
 * Unset values (undefined) stay unset.
 */
export function withRelevance(relevances, at, value) {
  return relevances.map((other, place) => {
    if (place === at) return value;
    if (other === undefined) return other;
    return place < at ? Math.max(other, value) : Math.min(other, value);
  });
}

/** The relevance of the item at place `at`: its own, or the nearest that keeps the list from rising. */
export function fitted(relevances, at) {
  const own = relevances[at];
  if (own === undefined) return own;
  const known = (part) => part.filter((value) => value !== undefined);
  const least = Math.max(0, ...known(relevances.slice(at + 1)));
  const most = Math.min(1, ...known(relevances.slice(0, at)));
  return Math.min(most, Math.max(least, own));
}

export const keys = () => [
  ["↑ ↓", "other item"],
  ["Space", "on ⠿: grab, drop; on an item: enlarge"],
  ["↑ ↓", "move a grabbed item"],
  ...STEPS.map((step) => [step.key, `${step.word} (stored as ${step.value})`]),
];

export const wanted = (_, { expected }) => `relevance ${sign(Number(expected))}`;

export function screen({ task, earlier, decided, looked, announce }) {
  const before = new Map(earlier.map((response) => [response.item, response]));
  const place = (item) => before.get(item.id)?.rank ?? Infinity;
  let order = [...task.items];
  if (before.size) order.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  const relevance = new Map(earlier.filter((r) => r.relevance !== null).map((r) => [r.item, r.relevance]));
  let touched = before.size > 0;
  let hush = 0; // timer of the note
  let grabbed = null; // {id, from}: the item grabbed by key, and its former place

  const note = element("p", { class: "note said", role: "status" });
  const number = (item) => order.indexOf(item) + 1;
  const enlarge = (item) => {
    if (item.missing) return;
    enlarged(item, `Number ${number(item)}`);
    looked();
  };

  /** A name that stays with the item while its number changes. */
  const called = (item) => item.alt || item.text?.slice(0, 40) || `item ${task.items.indexOf(item) + 1}`;
  const rows = new Map(task.items.map((item) => [item.id, row(item)]));
  const list = element("ol", { class: "ranking", "aria-label": "Items, best first" });
  const node = element(
    "div",
    { class: "rank" },
    element(
      "p",
      { class: "note" },
      "Best first: drag ⠿ or use ↑ ↓. Then say how relevant each is: fully, by quarters, or not at all.",
    ),
    list,
    note,
  );

  function row(item) {
    const id = item.id;
    const button = (kind, text, act) =>
      element("button", { type: "button", class: kind, "data-does": kind, onclick: act }, text);
    const handle = element(
      "button",
      {
        type: "button",
        class: "handle",
        "data-does": "grab",
        "aria-pressed": "false",
        onpointerdown: (event) => drag(item, event),
        onblur: () => grabbed?.id === id && drop(),
        onclick: (event) => event.detail === 0 && toggle(item), // Space, Enter, a screen reader
      },
      "⠿",
    );
    const steps = STEPS.map((step) =>
      element(
        "label",
        {},
        element("input", {
          type: "radio",
          name: `relevance-${id}`,
          value: step.value,
          onchange: (event) => rate(item, step.value, event),
        }),
        element("span", { "aria-hidden": "true" }, step.sign, element("kbd", {}, step.key)),
        element("span", { class: "unseen" }, step.word),
      ),
    );
    return element(
      "li",
      { class: "card", "data-item": id, tabindex: "-1" },
      element("div", { class: "place" }, element("span", { class: "number" }), handle),
      exhibit(item, { name: called(item), width: 160, enlarge: () => enlarge(item) }),
      element(
        "div",
        { class: "shift" },
        button("up", "↑", (event) => shift(item, -1, event)),
        button("down", "↓", (event) => shift(item, 1, event)),
      ),
      element(
        "fieldset",
        { class: "relevance" },
        element("legend", {}, "Relevance", element("span", { class: "unseen" }, ` of ${called(item)}`)),
        element("div", { class: "segments" }, steps),
      ),
    );
  }

  /** Show and announce a change that the page made by itself. */
  function tell(words) {
    clearTimeout(hush);
    note.textContent = words || "";
    if (words) hush = setTimeout(tell, 8_000, "");
  }

  const values = () => order.map((item) => relevance.get(item.id));

  function paint() {
    // Moving a node loses its focus and interrupts a drag, so only rows out of place are moved.
    order.forEach((item, index) => {
      const line = rows.get(item.id);
      if (list.children[index] !== line) list.insertBefore(line, list.children[index] ?? null);
      line.querySelector(".number").textContent = String(index + 1);
      line.setAttribute("aria-label", `Number ${index + 1}: ${called(item)}`);
      for (const [does, words] of [
        ["grab", "Grab"],
        ["up", "Move up"],
        ["down", "Move down"],
      ]) {
        line
          .querySelector(`[data-does="${does}"]`)
          .setAttribute("aria-label", `${words} number ${index + 1}: ${called(item)}`);
      }
      line.querySelector(".up").disabled = index === 0;
      line.querySelector(".down").disabled = index === order.length - 1;
      line.classList.toggle("answered", relevance.has(item.id));
      line.classList.toggle("grabbed", grabbed?.id === item.id);
      line.querySelector(".handle").setAttribute("aria-pressed", String(grabbed?.id === item.id));
      for (const radio of line.querySelectorAll("input"))
        radio.checked = Number(radio.value) === relevance.get(item.id);
    });
  }

  function moved(item, to, focus) {
    const rest = order.filter((other) => other !== item);
    order = [...rest.slice(0, to), item, ...rest.slice(to)];
    touched = true;
    paint();
    focus?.focus();
  }

  /** After a move: adjust the relevance so that it does not rise, announce it, and notify the page. */
  function settled(item, event) {
    const at = order.indexOf(item);
    const fit = fitted(values(), at);
    if (fit !== relevance.get(item.id)) {
      relevance.set(item.id, fit);
      tell(`Now number ${at + 1}; its relevance became ${sign(fit)} to fit between its neighbours.`);
    } else {
      tell("");
      announce(`now number ${at + 1} of ${order.length}`);
    }
    paint();
    decided(event);
  }

  function shift(item, step, event) {
    const to = order.indexOf(item) + step;
    if (to < 0 || to >= order.length) return;
    const line = rows.get(item.id);
    const [wanted, other] = step < 0 ? [".up", ".down"] : [".down", ".up"];
    moved(item, to);
    settled(item, event);
    const button = line.querySelector(wanted);
    (button.disabled ? line.querySelector(other) : button).focus();
  }

  function rate(item, value, event) {
    const at = order.indexOf(item);
    const old = values();
    const next = withRelevance(old, at, value);
    const others = order.filter((_, index) => index !== at && next[index] !== old[index]);
    order.forEach((one, index) => next[index] !== undefined && relevance.set(one.id, next[index]));
    const below = others.some((one) => order.indexOf(one) > at);
    tell(
      others.length &&
        `Number ${others.map(number).join(", ")} ${below ? "lowered" : "raised"} to ${sign(value)}: ` +
          "relevance may not rise down the list.",
    );
    paint();
    decided(event);
  }

  function toggle(item) {
    if (grabbed) return drop();
    grabbed = { id: item.id, from: order.indexOf(item) };
    paint();
    announce(`grabbed, number ${grabbed.from + 1}; arrows move it, Space drops it, Escape puts it back`);
  }

  function drop(event) {
    const item = order.find((one) => one.id === grabbed.id);
    const still = order.indexOf(item) === grabbed.from;
    grabbed = null;
    paint();
    if (still) announce("dropped where it was");
    else settled(item, event);
  }

  function carry(item, step, handle) {
    const to = Math.min(order.length - 1, Math.max(0, order.indexOf(item) + step));
    const held = grabbed;
    grabbed = null; // moving the row blurs the handle, which must not drop it
    moved(item, to, handle);
    grabbed = held;
    paint();
    announce(`number ${to + 1} of ${order.length}`);
  }

  function drag(item, event) {
    if (event.button !== 0) return;
    event.preventDefault(); // no text selection, no focus flicker
    const line = rows.get(item.id);
    const from = order.indexOf(item);
    line.classList.add("dragged");
    const follow = (move) => {
      // The row moves to the place of the pointer among the middles of the other rows.
      const others = order.filter((other) => other !== item).map((other) => rows.get(other.id).getBoundingClientRect());
      const to = others.filter((box) => box.top + box.height / 2 < move.clientY).length;
      if (to !== order.indexOf(item)) moved(item, to);
      const edge = 72;
      if (move.clientY < edge) window.scrollBy(0, -12);
      if (move.clientY > window.innerHeight - edge) window.scrollBy(0, 12);
    };
    const end = (last) => {
      window.removeEventListener("pointermove", follow);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      line.classList.remove("dragged");
      line.querySelector(".handle").focus({ preventScroll: true });
      if (order.indexOf(item) !== from) settled(item, last);
    };
    window.addEventListener("pointermove", follow); // on the window: the row itself moves in the document
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  paint();

  return {
    node,
    atOnce: false,
    responses: () =>
      touched || relevance.size
        ? order.map((item, index) => ({
            item: item.id,
            grade: null,
            category: null,
            rank: index + 1,
            relevance: relevance.get(item.id) ?? null,
          }))
        : [],
    missing() {
      const left = order.filter((item) => !relevance.has(item.id)).length;
      return left ? `${left} of ${order.length} not rated` : null;
    },
    said: (id) => `relevance ${sign(relevance.get(id))}`,
    focus: () =>
      rows.get((order.find((item) => !relevance.has(item.id)) ?? order[0]).id).focus({ preventScroll: true }),
    key(event) {
      const line = event.target.closest("li[data-item]");
      const item = line && order.find((one) => String(one.id) === line.dataset.item);
      if (!item) return false;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (grabbed && step) carry(item, step, event.target);
      else if (grabbed && event.key === "Escape") {
        const { from } = grabbed;
        grabbed = null;
        moved(item, from, line.querySelector(".handle"));
        announce(`put back, number ${from + 1}`);
      } else if (event.target.type === "radio" && event.key.startsWith("Arrow"))
        return false; // the radios' own keys
      else if (step) {
        const to = rows.get(order[Math.min(order.length - 1, Math.max(0, order.indexOf(item) + step))].id);
        const same = event.target.classList.contains("handle") ? to.querySelector(".handle") : to;
        same.focus();
      } else if (/^[0-4]$/.test(event.key)) {
        rate(item, Number(event.key) / 4, event);
        const open = order.find((one) => !relevance.has(one.id));
        (open ? rows.get(open.id) : document.getElementById("next")).focus();
      } else if (event.key === " " && !event.target.closest("button, summary, a, input")) enlarge(item);
      else return false;
      return true;
    },
  };
}
