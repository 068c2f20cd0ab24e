// The kind `file`: one category for the item. Typing narrows the list; arrows walk through it.

import { element } from "./dom.js";
import { enlarged, exhibit } from "./exhibit.js";

const MOST = 200; // rows shown; longer lists need the filter

const plain = (text) =>
  text
    .normalize("NFD")
    .replace(/\p{Diacritic}/gu, "")
    .toLowerCase();

/** Every category with the path of labels above it, from the depths of the list. */
function withPaths(categories) {
  const above = [];
  return categories.map((category) => {
    above.length = category.depth;
    const path = above.filter(Boolean).join(" › ");
    above[category.depth] = category.label;
    return { ...category, path, sought: plain(`${path} ${category.label}`) };
  });
}

export const keys = () => [
  ["letters", "narrow the list"],
  ["↓ ↑", "walk through the list"],
  ["Enter", "choose, then send"],
  ["Esc", "leave the field, for the keys below"],
  ["u", "undecided"],
  ["/", "back to the field"],
  ["Space", "enlarge"],
];

export const wanted = ({ categories }, { expected }) =>
  categories?.find((category) => category.name === expected)?.label ?? expected;

export function screen({ task, study, earlier, width, decided, looked, announce }) {
  const categories = withPaths(study.categories ?? []);
  const item = task.items[0];
  let answered = earlier.length > 0;
  let chosen = earlier[0]?.category ?? null; // null is undecided, once answered

  const label = (name) => categories.find((category) => category.name === name)?.label ?? name;
  const enlarge = () => {
    if (item.missing) return;
    enlarged(item, "Item");
    looked();
  };

  const filter = element("input", {
    type: "search",
    id: "filter",
    autocomplete: "off",
    spellcheck: "false",
    "aria-controls": "categories",
    placeholder: "Type to narrow the list",
    oninput: () => draw(true),
  });
  const list = element("ul", { id: "categories" });
  const many = element("p", { class: "note" });
  const choice = element("p", { class: "choice", id: "choice" });
  const undecided = element(
    "button",
    {
      type: "button",
      class: "undecided",
      "data-category": "",
      "aria-pressed": "false",
      onclick: (event) => choose(null, event),
    },
    "Undecided",
    element("kbd", { "aria-hidden": "true" }, "u"),
  );

  function draw(speak) {
    const words = plain(filter.value).split(/\s+/).filter(Boolean);
    const found = categories.filter((category) => words.every((word) => category.sought.includes(word)));
    list.replaceChildren(
      ...found.slice(0, MOST).map((category) =>
        element(
          "li",
          {},
          element(
            "button",
            {
              type: "button",
              "data-category": category.name,
              "aria-pressed": "false",
              class: `${words.length ? "" : `depth-${Math.min(category.depth, 6)}`} ${category.leaf ? "" : "inner"}`,
              onclick: (event) => choose(category.name, event),
            },
            words.length && category.path ? element("small", {}, `${category.path} › `) : null,
            category.label,
          ),
        ),
      ),
    );
    many.textContent =
      found.length > MOST
        ? `${found.length - MOST} more: type to narrow the list.`
        : found.length
          ? ""
          : "No category matches.";
    if (speak) announce(found.length === 1 ? `1 category: ${found[0].label}` : `${found.length} categories`);
    paint();
  }

  function paint() {
    for (const button of node.querySelectorAll("button[data-category]")) {
      const name = button.dataset.category || null;
      button.setAttribute("aria-pressed", String(answered && name === chosen));
    }
    choice.textContent = answered ? `Chosen: ${chosen === null ? "undecided" : label(chosen)}` : "";
  }

  function choose(name, event) {
    answered = true;
    chosen = name;
    paint();
    announce(`chosen: ${name === null ? "undecided" : label(name)}`);
    decided(event);
    if (!event.detail) document.getElementById("next").focus(); // by key: Enter now sends
  }

  const visible = () => [...list.querySelectorAll("button")];
  const node = element(
    "div",
    { class: "file" },
    element(
      "section",
      { class: "card", tabindex: "-1", "data-item": item.id, "aria-label": "Item" },
      element("h2", { class: "unseen" }, "Item"),
      exhibit(item, { name: "this item", width, enlarge }),
    ),
    element(
      "section",
      { class: "card chooser", "aria-label": "Categories" },
      element("h2", { class: "unseen" }, "Categories"),
      element("label", { for: "filter" }, "Find a category"),
      filter,
      list,
      many,
      undecided,
      choice,
    ),
  );
  draw(false);

  return {
    node,
    atOnce: false,
    responses: () => (answered ? [{ item: item.id, grade: null, category: chosen, rank: null, relevance: null }] : []),
    missing: () => (answered ? null : "choose a category"),
    said: () => (chosen === null ? "undecided" : label(chosen)),
    focus() {
      // With a real keyboard, typing can start immediately; on a phone, the keyboard would cover the item.
      if (window.matchMedia("(hover: hover) and (pointer: fine)").matches) filter.focus({ preventScroll: true });
      else node.firstChild.focus({ preventScroll: true });
    },
    key(event) {
      const buttons = visible();
      const at = buttons.indexOf(event.target);
      if (event.target === filter) {
        if (event.key === "Escape" && !filter.value) node.firstChild.focus();
        else if (event.key === "Enter" && filter.value && buttons.length) buttons[0].click();
        else if (event.key === "ArrowDown") buttons[0]?.focus();
        else return false;
        return true;
      }
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step && at + step < 0) filter.focus();
      else if (step && (at >= 0 || event.target === node.firstChild))
        buttons[Math.min(buttons.length - 1, at + step)]?.focus();
      else if (event.key === "Home" && at >= 0) buttons[0].focus();
      else if (event.key === "End" && at >= 0) buttons.at(-1).focus();
      else if (event.key === "/") filter.focus();
      else if (event.key.toLowerCase() === "u") undecided.click();
      else if (event.key === " " && !event.target.closest("button, summary, a")) enlarge();
      else return false;
      return true;
    },
  };
}
