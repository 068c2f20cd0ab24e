// Buttons, keys, and the input by which the clock of a search recognises activity.

import { byId, typing } from "./dom.js";
import { openHelp } from "./help.js";
import { openOver, openShare } from "./search-dialogs.js";
import { keyed } from "./search-scale.js";

/** Connect the buttons, keys and input events of the page to the desk. */
export function listen(desk) {
  const on = (id, does) =>
    byId(id).addEventListener("click", () => {
      byId("more").open = false;
      does();
    });
  on("undo", () => desk.undo());
  on("enlarge-open", () => desk.enlarge(desk.view?.grid?.tile));
  on("why-open", () => desk.why());
  on("found", () => desk.found());
  on("like", () => desk.view?.grid?.tile && desk.ask("picture", { place: desk.view.grid.tile.place }));
  on("history-open", () => desk.history());
  on("counts-open", () => desk.counts());
  on("share-open", () => openShare(desk));
  on("forget", () => desk.ask("forget"));
  on("over-open", () => openOver(desk));
  on("explore", () => desk.ask("explore", { on: !desk.state.explore }));
  on("show-seen", () => desk.ask("seen", { show: !desk.state.show_seen }));
  on("refine", () => desk.refine());
  on("help-open", () => openHelp());
  on("help-close", () => byId("help").close());
  for (const close of document.querySelectorAll("dialog [data-close]")) {
    close.addEventListener("click", () => close.closest("dialog").close());
  }
  document.addEventListener("keydown", (event) => key(desk, event));
  document.addEventListener(
    "pointerdown",
    (event) => {
      desk.method = event.pointerType === "touch" ? "touch" : "mouse";
      if (!event.target.closest("#more")) byId("more").open = false;
    },
    true,
  );
  for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchmove"]) {
    document.addEventListener(kind, () => desk.clock.touch(Date.now()), { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) desk.clock.stop(Date.now());
    else desk.clock.start(Date.now());
  });
  window.addEventListener("beforeunload", (event) => {
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
  if (!desk.view || typing(target)) return false;
  if (key === "Escape" && byId("more").open) {
    byId("more").open = false;
    byId("more").firstElementChild.focus();
    return true;
  }
  if (desk.view.key?.(event)) return true;
  const { grid } = desk.view;
  if (!grid) return key === "?" && (openHelp(), true);
  if (grid.key(event)) return true;
  const native = target.closest("button, a, summary, input, select");
  const inGrid = grid.node.contains(target);
  if (key === " " && (inGrid || !native)) return desk.enlarge(grid.tile), true;
  if (key === "Enter") return !native && (desk.refine(), true);
  if (event.repeat) return false;
  const grade = keyed(desk.collection.grades, key);
  if (grade !== undefined) return grid.tile && (desk.mark(grid.tile, grade), true);
  const command = {
    z: () => desk.undo(),
    f: () => desk.found(),
    w: () => desk.why(),
    h: () => desk.history(),
    "?": () => openHelp(),
  }[key.toLowerCase()];
  command?.();
  return Boolean(command);
}
