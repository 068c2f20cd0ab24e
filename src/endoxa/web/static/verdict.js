// The verdict beside the tasks of a study that decides between systems: it is fetched after every saved answer.

import { bar, fixed, line, number } from "./charts.js";
import { byId, count, element, write } from "./dom.js";
import { connect } from "./server.js";

const SHOWN = 8; // bars; the rest is one line
const LATER = 600; // milliseconds to wait, so that answers in quick succession are one request

const server = connect(document.body.dataset.study);
let waiting = null;
let asking = false;
let again = false;

const probability = (p) => (p > 0.995 && p < 1 ? ">.99" : p < 0.005 && p > 0 ? "<.01" : fixed(p, 2).replace(/^0\./, "."));

function bars(systems) {
  const rows = systems.slice(0, SHOWN).map(({ system, p_best: p }) =>
    element(
      "div",
      { class: "verdict-row" },
      element("span", { class: "name", title: system }, system),
      bar(p, 0, 1),
      element("span", { class: "share" }, probability(p)),
    ),
  );
  const rest = systems.slice(SHOWN);
  const sum = rest.reduce((total, { p_best: p }) => total + p, 0);
  if (rest.length) {
    rows.push(element("p", { class: "note" }, `${count(rest.length, "other system")}: ${probability(sum)} together`));
  }
  return rows;
}

function matrix({ shown, better }) {
  const short = (at) => String.fromCharCode(65 + at);
  return element(
    "table",
    { class: "matrix" },
    element("caption", {}, "Probability that the row is better than the column"),
    element(
      "thead",
      {},
      element("tr", {}, element("td"), shown.map((name, at) => element("th", { scope: "col", title: name }, short(at)))),
    ),
    element(
      "tbody",
      {},
      shown.map((name, at) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, `${short(at)} ${name}`),
          better[at].map((p, other) =>
            element(
              "td",
              { class: at === other ? "self" : p >= 0.95 ? "sure" : p <= 0.05 ? "lost" : "" },
              at === other ? "" : probability(p),
            ),
          ),
        ),
      ),
    ),
  );
}

function more({ settled, forecast, labels, decided, pairs, judges, disputed, guarantee }) {
  const parts = [`${count(labels, "label")} by ${count(judges, "judge")}; ${decided} of ${count(pairs, "pair")} decided by the model.`];
  if (disputed) parts.push(`Judges disagree on ${count(disputed, "pair")}.`);
  if (guarantee) {
    if (!settled) parts.push("How many more labels the guarantee needs is not estimated.");
  } else if (!settled && forecast) {
    parts.push(`${forecast[0].toUpperCase()}${forecast.slice(1)}.`);
  }
  return parts.join(" ");
}

function paint(verdict) {
  byId("verdict").dataset.labels = verdict.labels;
  byId("verdict").dataset.settled = verdict.settled;
  write(byId("verdict-sentence"), verdict.sentence);
  write(byId("verdict-more"), more(verdict));
  byId("verdict-bars").replaceChildren(...bars(verdict.systems));
  byId("verdict-matrix").replaceChildren(matrix(verdict));
  const last = verdict.history.at(-1);
  byId("verdict-course").replaceChildren(
    line(
      verdict.history.map(({ labels, chance }) => [labels, chance]),
      verdict.until,
    ),
    element(
      "p",
      { class: "note" },
      last
        ? `Probability of the leading answer, label by label; the line at ${number(verdict.until)} is where ${verdict.guarantee ? "it would be settled by the model" : "it is settled"}.`
        : "The course appears with the first labels.",
    ),
  );
}

async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const verdict = await server.get("/verdict");
    paint(verdict);
    if (!verdict.complete) soon(); // its history is still being computed
  } catch (trouble) {
    write(byId("verdict-more"), `The verdict could not be computed: ${trouble.message}`);
  } finally {
    asking = false;
    if (again) {
      again = false;
      refresh();
    }
  }
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(refresh, LATER);
}

document.addEventListener("endoxa:saved", soon);
refresh();
