// Instructions and keys: shown at the first visit, and later with the question mark.

import { byId, element } from "./dom.js";
/** The instructions, the keys of the study kind, and the keys that every kind has. */
export function writeHelp({ instructions, skip }, own) {
  const keys = [
    ...own,
    ["Enter", "next"],
    ["z", "undo (also Backspace)"],
    ...(skip ? [["s", "skip"]] : []),
    ["p", "pause"],
    ["?", "this help"],
  ];
  byId("instructions").replaceChildren(...instructions.map((words) => element("p", {}, words)));
  byId("keys").replaceChildren(
    ...keys.map(([key, words]) =>
      element("div", {}, element("dt", {}, element("kbd", {}, String(key))), element("dd", {}, words)),
    ),
  );
  byId("keys").parentNode.open = window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}

/** Open the help; the promise resolves when it is closed. */
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
