// Buttons, keys, and the input events by which the clock recognises activity.

import { byId, typing } from "./dom.js";
import { openHelp } from "./help.js";

/** Connect the buttons, keys and input events of the page to the desk. */
export function listen(desk) {
  const on = (id, does) => byId(id).addEventListener("click", does);
  on("next", () => desk.submit());
  on("skip", (event) => event.detail < 2 && desk.skip()); // a double click skips one task, not two
  on("undo", () => desk.undo());
  on("pause", () => desk.pause());
  on("resume", () => byId("paused").close());
  on("leave", () => desk.leave());
  on("help-open", () => openHelp("Back to judging"));
  on("help-close", () => byId("help").close());
  on("continue", () => byId("feedback").hidden || desk.advance());
  on("save-again", () => desk.queue.retry());
  on("save-never", () => {
    const answer = desk.queue.discard();
    if (answer) desk.tasks.forget(answer.task);
  });
  byId("paused").addEventListener("close", () => desk.resumed());
  byId("comment").addEventListener("input", () => desk.keepDraft());
  document.addEventListener("keydown", (event) => key(desk, event));
  document.addEventListener(
    "pointerdown",
    (event) => {
      desk.method = event.pointerType === "touch" ? "touch" : "pointer";
    },
    true,
  );
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchmove"]) {
    document.addEventListener(kind, () => desk.clock?.touch(Date.now()), { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    const { hidden } = document;
    if (hidden) desk.clock?.stop(Date.now());
    else if (!byId("paused").open) desk.clock?.start(Date.now());
    desk.event(hidden ? "hidden" : "visible");
    if (hidden) desk.keepDraft();
  });
  window.addEventListener("beforeunload", (event) => {
    // After signing out, staying would not save the answers; they are kept, and the link sends them.
    if (desk.queue?.pending().length && desk.queue.state !== "session") event.preventDefault();
  });
}

function key(desk, event) {
  desk.method = "key";
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  if (act(desk, event)) event.preventDefault();
}

/** Returns true if the key was handled. */
function act(desk, event) {
  const { target, key } = event;
  if (!desk.queue) return false;
  const ready = desk.screen && desk.current && !byId("stage").inert;
  // A field on the stage belongs to the screen, which handles its keys.
  if (typing(target)) {
    if (!ready || !byId("stage").contains(target)) return false;
    return desk.screen.key(event) || (key === "Enter" && (desk.submit(), true));
  }
  if (ready && byId("stage").contains(target) && desk.screen.key(event)) return true;
  const native = target.closest("button, a, summary, input, select");
  if (key === "Enter") return !native && ready && (desk.submit(), true);
  if (native && key === " ") return false;
  if (ready && !byId("stage").contains(target) && desk.screen.key(event)) return true;
  if (event.repeat) return false;
  const command = {
    z: () => desk.undo(),
    Backspace: () => desk.undo(),
    s: () => desk.skip(),
    p: () => desk.pause(),
    "?": () => openHelp("Back to judging"),
  }[key.length === 1 ? key.toLowerCase() : key];
  command?.();
  return Boolean(command);
}
