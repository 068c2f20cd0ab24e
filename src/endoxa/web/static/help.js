// Instructions and keys: shown at the first visit, afterwards behind the question mark.

import { byId, element } from "./dom.js";
import { spoken } from "./rate.js";

export function writeHelp(study) {
  byId("instructions").replaceChildren(...study.instructions.map((words) => element("p", {}, words)));
  byId("keys").replaceChildren(
    ...keys(study).map(([key, words]) =>
      element("div", {}, element("dt", {}, element("kbd", {}, String(key))), element("dd", {}, words)),
    ),
  );
  byId("keys").parentNode.open = window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}

function keys({ skip, screen: { kind, grades, per_task: items } }) {
  const own = {
    rate: () => [
      ...grades.map((grade) => [grade.key, spoken(grades, grade.value)]),
      ["u", "undecided"],
      ...(items > 1 ? [["← →", "other result"]] : []),
      ["Space", "enlarge"],
    ],
    file: () => [
      ["letters", "narrow the list"],
      ["↓ ↑", "walk through the list"],
      ["Enter", "choose, then send"],
      ["Esc", "leave the field, for the keys below"],
      ["u", "undecided"],
      ["/", "back to the field"],
      ["Space", "enlarge"],
    ],
    rank: () => [
      ["↑ ↓", "other item"],
      ["Space", "on ⠿: grab, drop; on an item: enlarge"],
      ["↑ ↓", "move a grabbed item"],
      ["1–5", "relevance 0 to 1"],
    ],
  }[kind]();
  return [
    ...own,
    ["Enter", "next"],
    ["z", "undo (also Backspace)"],
    ...(skip ? [["s", "skip"]] : []),
    ["p", "pause"],
    ["?", "this help"],
  ];
}

/** Open it; the promise resolves when it is closed. */
export function openHelp(word = "Back to judging") {
  const dialog = byId("help");
  byId("help-close").textContent = word;
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
}

/** At the first visit of this judge on this device. */
export async function firstHelp(study, nickname) {
  const name = `endoxa:seen:${encodeURIComponent(study)}:${encodeURIComponent(nickname)}`;
  try {
    if (localStorage.getItem(name) !== null) return;
    localStorage.setItem(name, "1");
  } catch {
    // no storage: the instructions are shown again next time
  }
  await openHelp("Start");
}
