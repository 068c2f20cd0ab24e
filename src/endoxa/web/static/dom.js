// Build elements without markup: whatever comes from the server becomes text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** element("button", {type: "button", onclick: act}, "Send"): null or false attributes and children are left out. */
export function element(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** The same for SVG; only attributes, so that the content security policy has nothing to forbid. */
export function shape(name, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Write only what differs: a live region speaks, and a selection is lost, at every write. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** 1 answer, 2 answers. */
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** Keys belong to the field while one types in it. */
export const typing = (target) =>
  target.isContentEditable ||
  /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
  (target.tagName === "INPUT" && !/^(radio|checkbox|button|submit)$/.test(target.type));
