// A picture of one's own: a file, a drop, a paste or the camera; a rectangle on it says which part counts.

import { element, write } from "./dom.js";
import { Trouble } from "./server.js";

const MOST = 16 * 1024 * 1024; // bytes; the server's limit
const LEAST = 0.02; // of the width or height, below which a rectangle is a slip of the hand
const SIDES = { left: 0, top: 0, right: 100, bottom: 100 };

export async function pictureView(desk) {
  const note = element("p", { class: "note", role: "status" });
  const stage = element("div", { class: "crop-stage", hidden: true });
  const shown = element("img", { alt: "The picture you chose" });
  const box = element("div", { class: "crop-box", hidden: true });
  stage.append(element("div", { class: "crop-frame" }, shown, box));
  let file = null;
  let url = "";
  let crop = null; // [left, top, right, bottom] as shares, or null for the whole

  const take = (given) => {
    if (!given) return;
    if (given.size > MOST) return void write(note, "The file has more than 16 MB. Choose a smaller one.");
    file = given;
    URL.revokeObjectURL(url);
    url = URL.createObjectURL(given);
    shown.src = url;
    stage.hidden = go.hidden = cropping.hidden = false;
    setCrop(null);
    write(note, `${given.name || "The picture"} is ready. Drag on it to choose a part.`);
  };
  shown.addEventListener("error", () => {
    if (file) write(note, "This browser cannot show the picture. The server may still read it.");
  });

  const sides = Object.fromEntries(
    Object.entries(SIDES).map(([side, value]) => [
      side,
      element("input", { type: "number", id: `crop-${side}`, min: "0", max: "100", value, onchange: () => typed() }),
    ]),
  );
  const typed = () => {
    const numbers = Object.values(sides).map((input) => Math.min(100, Math.max(0, Number(input.value))) / 100);
    setCrop(isArea(numbers) ? numbers : null, true);
  };
  const setCrop = (given, keep = false) => {
    crop = given && (given[0] > 0 || given[1] > 0 || given[2] < 1 || given[3] < 1) ? given : null;
    box.hidden = !crop;
    const [left, top, right, bottom] = crop ?? [0, 0, 1, 1];
    for (const [side, value] of Object.entries({ left, top, width: right - left, height: bottom - top })) {
      box.style[side] = `${100 * value}%`;
    }
    if (!keep) {
      const values = { left, top, right, bottom };
      for (const [side, input] of Object.entries(sides)) input.value = String(Math.round(100 * values[side]));
    }
  };
  dragging(stage.firstChild, setCrop);

  const input = (id, words, more) => [
    element("label", { class: "button", for: id }, words),
    element("input", {
      type: "file",
      id,
      accept: "image/*",
      class: "unseen",
      ...more,
      onchange: (event) => take(event.target.files[0]),
    }),
  ];
  const keep = element("input", { type: "checkbox", id: "keep" });
  const search = async () => {
    if (!file || go.disabled) return;
    go.disabled = true;
    write(note, "Sending the picture…");
    try {
      const { id } = await desk.need();
      const { sha } = await desk.server.post(`/searches/${id}/uploads?keep=${keep.checked}`, file);
      await desk.ask("picture", { upload: sha, crop });
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      write(note, trouble.message);
    } finally {
      go.disabled = false;
    }
  };
  const go = element(
    "button",
    { type: "button", class: "main", id: "picture-go", hidden: true, onclick: search },
    "Search with this picture",
  );
  const cropping = element(
    "details",
    { hidden: true },
    element("summary", {}, "Choose a part by numbers"),
    element(
      "div",
      { class: "row" },
      Object.entries(sides).map(([side, field]) =>
        element("span", { class: "field" }, element("label", { for: `crop-${side}` }, `${side}, %`), field),
      ),
    ),
  );
  const node = element(
    "div",
    { class: "picture-view" },
    element("h2", {}, "My picture"),
    element(
      "div",
      { class: "drop card" },
      element("p", {}, "Drop a picture here, paste one, or choose a file."),
      element(
        "p",
        { class: "row" },
        input("file", "Choose a file"),
        input("camera", "Take a photograph", { capture: "environment" }),
      ),
      element(
        "p",
        { class: "note" },
        "It is compared with the collection, without its metadata. Unless you keep it, it is removed when the server stops.",
      ),
      element("label", { class: "switch" }, keep, "Keep my picture with the search"),
    ),
    note,
    stage,
    cropping,
    element("p", {}, go),
  );

  const paste = (event) => {
    const item = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
    if (item) take(item);
  };
  const over = (event) => event.preventDefault();
  const drop = (event) => {
    event.preventDefault();
    take(event.dataTransfer?.files[0]);
  };
  document.addEventListener("paste", paste);
  document.addEventListener("dragover", over);
  document.addEventListener("drop", drop);
  return {
    node,
    leave() {
      document.removeEventListener("paste", paste);
      document.removeEventListener("dragover", over);
      document.removeEventListener("drop", drop);
      URL.revokeObjectURL(url);
    },
  };
}

const isArea = ([left, top, right, bottom]) => right - left >= LEAST && bottom - top >= LEAST;

/** Drag a rectangle; a click takes the whole picture again. */
function dragging(frame, setCrop) {
  let from = null;
  const at = (event) => {
    const { left, top, width, height } = frame.getBoundingClientRect();
    const share = (value) => Math.min(1, Math.max(0, value));
    return [share((event.clientX - left) / width), share((event.clientY - top) / height)];
  };
  const between = ([a, b], [c, d]) => [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];
  frame.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    event.preventDefault();
    frame.setPointerCapture(event.pointerId);
    from = at(event);
  });
  frame.addEventListener("pointermove", (event) => from && setCrop(between(from, at(event))));
  for (const kind of ["pointerup", "pointercancel"]) {
    frame.addEventListener(kind, (event) => {
      if (!from) return;
      const area = between(from, at(event));
      setCrop(isArea(area) ? area : null);
      from = null;
    });
  }
}
