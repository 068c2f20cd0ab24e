// What is judged: an image, a text, both, or a note that the file is missing.

import { byId, element } from "./dom.js";

const SMALL = 480; // long side of the small images, in pixels

/** The address of an image for a width in CSS pixels. */
export function address(url, width) {
  if (width * window.devicePixelRatio > SMALL) return url;
  return `${url}${url.includes("?") ? "&" : "?"}size=small`;
}

/** A node that shows thing {text, image, alt, missing}; `enlarge` is called when the judge wants to see more. */
export function exhibit(thing, { name, width, enlarge }) {
  const node = element("div", { class: "exhibit" });
  if (thing.missing || (!thing.image && !thing.text)) {
    node.append(element("p", { class: "missing" }, `The file of ${name} is missing. Choose “undecided”, or skip.`));
    return node;
  }
  if (thing.image) node.append(picture(thing, name, width, enlarge));
  if (thing.text) node.append(passage(thing.text, name, enlarge));
  return node;
}

function picture(thing, name, width, enlarge) {
  const label = `Enlarge ${name}${thing.alt && !name.includes(thing.alt) ? `: ${thing.alt}` : ""}`;
  const button = element("button", { type: "button", class: "picture", "aria-label": label, onclick: enlarge });
  const load = () => {
    const image = element("img", { alt: "", decoding: "async", draggable: "false" });
    image.addEventListener("error", () => button.replaceWith(apology));
    image.src = address(thing.image, width);
    button.replaceChildren(image);
  };
  const again = () => {
    apology.replaceWith(button);
    load();
  };
  const apology = element(
    "div",
    { class: "missing" },
    element("p", {}, `The image of ${name} could not be loaded.`),
    element("button", { type: "button", onclick: again }, "Load it again"),
  );
  load();
  return button;
}

function passage(text, name, enlarge) {
  const body = element("div", { class: "text", dir: "auto" }, text);
  const more = element(
    "button",
    { type: "button", class: "quiet more", hidden: true, onclick: enlarge },
    "Read in full",
    element("span", { class: "unseen" }, ` (${name})`),
  );
  // Only a text that is cut off needs a tab stop and a button to read it in full.
  new ResizeObserver(() => {
    const cut = body.scrollHeight > body.clientHeight + 1;
    more.hidden = !cut;
    for (const [attribute, value] of [
      ["tabindex", "0"],
      ["role", "region"],
      ["aria-label", `Text of ${name}`],
    ]) {
      if (cut) body.setAttribute(attribute, value);
      else body.removeAttribute(attribute);
    }
  }).observe(body);
  return element("div", { class: "passage" }, body, more);
}

/**
 * Open the large view. Escape, the button and a click beside the image close it, and the focus returns. `key` may take
 * a key for itself: it returns true if it did.
 */
export function enlarged(thing, name, key = () => false) {
  const dialog = byId("enlarge");
  const close = byId("enlarge-close");
  const content = byId("enlarge-content");
  byId("enlarge-title").textContent = name;
  content.replaceChildren(
    ...(thing.image ? [element("img", { src: thing.image, alt: thing.alt || name })] : []),
    ...(thing.text ? [element("div", { class: "text", dir: "auto" }, thing.text)] : []),
  );
  close.onclick = () => dialog.close();
  dialog.onclick = (event) => {
    if (event.target === dialog || event.target === content || event.target.tagName === "IMG") dialog.close();
  };
  dialog.onkeydown = (event) => {
    if (key(event)) return event.preventDefault();
    if (event.key !== " " || event.target === close) return;
    event.preventDefault();
    dialog.close();
  };
  if (!dialog.open) dialog.showModal();
}

/** Fetch the images of a task before it is shown. */
export function preload(task, width) {
  const things = [task.query, ...task.items].filter((thing) => thing?.image && !thing.missing);
  return things.map((thing) => Object.assign(new Image(), { src: address(thing.image, width) }));
}
