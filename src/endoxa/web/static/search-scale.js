// The five marks: buttons that give them, and the expected mark as a place on the same scale.

import { element } from "./dom.js";

const SIGNS = { [-2]: "−−", [-1]: "−", 0: "±", 1: "+", 2: "++" };

/** Five buttons; `mark` gets the grade, or null if the pressed one is pressed again. */
export function markButtons(grades, mark, { tab = true } = {}) {
  return grades.map((grade) =>
    element(
      "button",
      {
        type: "button",
        class: "mark-button",
        "data-grade": grade.value,
        "aria-pressed": "false",
        "aria-label": grade.label,
        title: grade.label,
        tabindex: tab ? null : "-1",
        onclick: (event) => {
          const pressed = event.currentTarget.getAttribute("aria-pressed") === "true";
          mark(pressed ? null : grade.value, event);
        },
      },
      element("span", { class: "sign", "aria-hidden": "true" }, SIGNS[grade.value]),
      element("span", { class: "word", "aria-hidden": "true" }, grade.label),
    ),
  );
}

/** Show which of the buttons in a node is pressed. */
export function paintButtons(node, grade) {
  for (const button of node.querySelectorAll("button[data-grade]")) {
    button.setAttribute("aria-pressed", String(grade !== null && Number(button.dataset.grade) === grade));
  }
}

/** The grade nearest to an expected mark. */
export const nearest = (grades, expected) =>
  grades.reduce((best, grade) => (Math.abs(grade.value - expected) < Math.abs(best.value - expected) ? grade : best));

/** Five dots, the nearest to the expected mark filled; its words are in the label of the tile. */
export function expectedScale(grades, expected) {
  if (expected === null || expected === undefined) return element("span", { class: "expected", "aria-hidden": "true" });
  const near = nearest(grades, expected);
  return element(
    "span",
    { class: "expected", "aria-hidden": "true", title: `expected: ${near.label}` },
    grades.map((grade) =>
      grade === near ? element("i", { class: "here" }, SIGNS[grade.value]) : element("i"),
    ),
  );
}

export const sign = (grade) => SIGNS[grade];

/** The grade that a key stands for, null to clear, undefined for none. */
export function keyed(grades, key) {
  const grade = grades.find((one) => one.key === key);
  if (grade) return grade.value;
  return key === "0" || key.toLowerCase() === "u" ? null : undefined;
}
