// Instructions and keys: shown at the first visit, and later with the question mark.

import { byId, element } from "./dom.js";

/** Paragraphs of instructions, and keys with their meaning; `note` is a sentence above the keys. */
export function writeHelp(instructions, keys, note = "") {
  byId("instructions").replaceChildren(...instructions.map((words) => element("p", {}, words)));
  if (byId("keys-note")) {
    byId("keys-note").textContent = note;
    byId("keys-note").hidden = !note;
  }
  byId("keys").replaceChildren(
    ...keys.map(([key, words]) =>
      element("div", {}, element("dt", {}, element("kbd", {}, String(key))), element("dd", {}, words)),
    ),
  );
  byId("keys").parentNode.open = window.matchMedia("(hover: hover) and (pointer: fine)").matches;
}

/** Open the help; the promise resolves when it is closed. */
export function openHelp(word = "Go on") {
  const dialog = byId("help");
  byId("help-close").textContent = word;
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
}

/** At the first visit of this person on this device. */
export async function firstHelp(page, nickname) {
  const name = `endoxa:seen:${encodeURIComponent(page)}:${encodeURIComponent(nickname)}`;
  try {
    if (localStorage.getItem(name) !== null) return;
    localStorage.setItem(name, "1");
  } catch {
    // no storage: the instructions are shown again next time
  }
  await openHelp("Start");
}
