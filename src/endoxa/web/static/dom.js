// Build elements without markup: whatever comes from the server becomes text, never HTML.

const SVG = "http://www.w3.org/2000/svg";

/** element("button", {type: "button", onclick: act}, "Send"): null or false attributes and children are left out. */
export function element(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** The same for SVG; it sets attributes only, which the content security policy allows. */
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

/** Write a text only if it differs: every write makes a live region speak and loses the selection. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** 1 answer, 2 answers. */
export const count = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** Whether the target is a field for text; keys belong to the field then. */
export const typing = (target) =>
  target.isContentEditable ||
  /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
  (target.tagName === "INPUT" && !/^(radio|checkbox|button|submit)$/.test(target.type));
