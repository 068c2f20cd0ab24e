// The kind `rate`: a grade for each item. Calls decided() after every act that changes an answer.

import { element } from "./dom.js";
import { enlarged, exhibit } from "./exhibit.js";

export function screen({ task, study, earlier, width, decided, looked, announce }) {
  const { grades } = study.screen;
  const answers = new Map(earlier.map((response) => [response.item, response.grade])); // null is undecided
  const single = task.items.length === 1 && study.screen.per_task === 1; // with one of several, the page works as usual
  const names = task.items.map((_, index) => (single ? "this result" : `result ${index + 1}`));
  let active = 0;

  const enlarge = (index) => {
    const thing = task.items[index];
    if (thing.missing) return;
    enlarged(thing, single ? "Result" : `Result ${index + 1}`);
    looked();
  };

  const cards = task.items.map((item, index) => {
    const choose = (grade) => (event) => {
      activate(index);
      decide(index, grade, event.detail > 0 ? "near" : "stay", event);
    };
    const state = element("span", { class: "state" });
    const heading = element("h2", { class: single ? "unseen" : "" }, single ? "Result" : `Result ${index + 1}`);
    return element(
      "section",
      {
        class: "card",
        tabindex: "-1",
        "data-item": item.id,
        "aria-label": single ? "Result" : `Result ${index + 1} of ${task.items.length}`,
        onfocusin: () => activate(index),
        onpointerdown: () => activate(index),
      },
      element("header", {}, heading, state),
      exhibit(item, { name: names[index], width, enlarge: () => enlarge(index) }),
      gradeButtons(grades, names[index], choose),
    );
  });

  function activate(index) {
    active = index;
    cards.forEach((card, other) => card.classList.toggle("active", !single && other === index));
  }

  function paint(index) {
    const item = task.items[index].id;
    const said = answers.has(item) ? spoken(grades, answers.get(item)) : "";
    cards[index].classList.toggle("answered", answers.has(item));
    cards[index].querySelector(".state").textContent = single ? "" : said && `✓ ${said}`;
    for (const button of cards[index].querySelectorAll("button[data-grade]")) {
      const value = button.dataset.grade === "undecided" ? null : Number(button.dataset.grade);
      button.setAttribute("aria-pressed", String(answers.has(item) && answers.get(item) === value));
    }
  }

  const open = () => task.items.findIndex((item) => !answers.has(item.id));

  /** move: "on" takes the focus to the next card without an answer, "near" only scrolls to it, "stay" neither. */
  function decide(index, grade, move, event) {
    answers.set(task.items[index].id, grade);
    paint(index);
    if (!single) announce(`${names[index]}: ${spoken(grades, grade)}`);
    decided(event);
    if (single || move === "stay") return;
    const following = task.items.findIndex((item, other) => other > index && !answers.has(item.id));
    const target = following >= 0 ? following : open();
    if (target < 0) document.getElementById("next").focus({ preventScroll: move === "near" });
    else go(target, move === "on");
  }

  function go(index, focus) {
    activate(index);
    if (focus) cards[index].focus({ preventScroll: true });
    cards[index].scrollIntoView({ block: "nearest" });
  }

  for (const index of cards.keys()) paint(index);
  activate(Math.max(0, open()));

  return {
    node: element("div", { class: `rate cards-${single ? 1 : "many"}` }, cards),
    atOnce: single,
    responses: () =>
      task.items
        .filter((item) => answers.has(item.id))
        .map((item) => ({ item: item.id, grade: answers.get(item.id), category: null, rank: null, relevance: null })),
    missing() {
      const left = task.items.filter((item) => !answers.has(item.id)).length;
      return left ? `${left} of ${task.items.length} without a grade` : null;
    },
    focus() {
      activate(Math.max(0, open()));
      cards[active].focus({ preventScroll: true });
    },
    said: (item) => spoken(grades, answers.get(item)),
    key(event) {
      const grade = keyed(grades, event.key);
      if (grade !== undefined) {
        if (!event.repeat) decide(active, grade, "on", event); // a key held down must not judge the next task
        return true;
      }
      if (event.key === " " && !event.target.closest("button, summary, a")) {
        enlarge(active);
        return true;
      }
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || single || event.target.closest(".text[tabindex]")) return false;
      go(Math.min(cards.length - 1, Math.max(0, active + step)), true);
      return true;
    },
  };
}

export const keys = ({ screen: { grades, per_task: items } }) => [
  ...grades.map((grade) => [grade.key, stored(grades, grade)]),
  ["u", "undecided"],
  ...(items > 1 ? [["← →", "other result"]] : []),
  ["Space", "enlarge"],
];

export const keysNote = ({ screen: { grades } }) =>
  grades.every((grade) => grade.key === String(grade.value)) ? "A number key stores that number as the grade." : "";

export const wanted = (study, known) => spoken(study.screen.grades, Number(known.expected));

/** The grade that a key stands for, null for undecided, undefined for none. */
function keyed(grades, key) {
  const grade = grades.find((one) => String(one.key).toLowerCase() === key.toLowerCase());
  if (grade) return grade.value;
  return key.toLowerCase() === "u" ? null : undefined;
}

const bare = (grade) => !grade.label || grade.label === String(grade.value);

/** A grade in a sentence: its label if every grade has one, otherwise the number with its label, if any. */
function spoken(grades, value) {
  if (value === null || value === undefined) return "undecided";
  const grade = grades.find((one) => one.value === value);
  if (!grade || bare(grade)) return String(value);
  return grades.some(bare) ? `${value} (${grade.label})` : grade.label;
}

/** A grade in the list of keys: its label, and the number that is stored where the key is another. */
const stored = (grades, grade) =>
  grade.key === String(grade.value)
    ? bare(grade)
      ? `grade ${grade.value}`
      : grade.label
    : `${spoken(grades, grade.value)} (stored as ${grade.value})`;

/** Buttons with labels if every grade has one; otherwise numbers in a row with labels at the ends. */
function gradeButtons(grades, name, choose) {
  const words = !grades.some(bare);
  const buttons = grades.map((grade) =>
    element(
      "button",
      {
        type: "button",
        "data-grade": grade.value,
        "aria-pressed": "false",
        onclick: choose(grade.value),
        "aria-label": words || bare(grade) ? null : `${grade.value}, ${grade.label}`,
      },
      words ? grade.label : String(grade.value),
      words && element("kbd", { "aria-hidden": "true" }, grade.key),
    ),
  );
  const undecided = element(
    "button",
    {
      type: "button",
      class: "undecided",
      "data-grade": "undecided",
      "aria-pressed": "false",
      onclick: choose(null),
    },
    "Undecided",
    element("kbd", { "aria-hidden": "true" }, "u"),
  );
  const ends =
    !words &&
    element(
      "p",
      { class: "ends", "aria-hidden": "true" },
      [grades[0], grades.at(-1)].map((grade) =>
        element("span", {}, bare(grade) ? "" : `${grade.value} = ${grade.label}`),
      ),
    );
  return element(
    "div",
    { class: "grades", role: "group", "aria-label": `Grade of ${name}` },
    element("div", { class: `scale ${words ? "words" : "numbers"} n${grades.length}` }, buttons),
    ends,
    undecided,
  );
}
