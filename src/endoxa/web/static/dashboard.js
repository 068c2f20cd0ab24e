// The organiser's dashboard: fetches the status every three seconds and updates only what has changed, so that focus,
// selection and scroll positions are kept.

import { bar, columns, dot, interval, number, scaleMarks } from "./charts.js";
import { byId, count, element, write } from "./dom.js";
import { Trouble, connect } from "./server.js";

const EVERY = 3_000; // milliseconds
const FADE = 8_000; // milliseconds that a confirmation stays

const server = connect(document.body.dataset.study);
const drawn = new Map(); // id -> the data it was drawn from
let latest = null;

// Pieces --------------------------------------------------------------------------------------------------------------

/** Draw into the node with this id, but only if its data have changed. */
function redraw(id, data, draw) {
  const now = JSON.stringify(data ?? null);
  if (drawn.get(id) === now) return;
  drawn.set(id, now);
  byId(id).replaceChildren(...[draw(data)].flat().filter(Boolean));
}

/** Update the rows of a table by key: existing rows stay, new ones are added, old ones removed. */
function fillTable(id, rows, key, cells) {
  const body = byId(id).tBodies[0];
  const old = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  rows.forEach((data, index) => {
    const name = String(key(data));
    const line = old.get(name) ?? element("tr", { "data-key": name });
    old.delete(name);
    cells(data).forEach((content, column) => {
      const head = byId(id).tHead.rows[0].cells[column];
      const cell =
        line.cells[column] ??
        line.appendChild(
          element(column ? "td" : "th", { class: head.className || null, scope: column ? null : "row" }),
        );
      if (typeof content === "function") {
        const node = content(cell.firstElementChild);
        if (node !== cell.firstElementChild) cell.replaceChildren(...(node ? [node] : []));
      } else write(cell, content);
    });
    if (body.rows[index] !== line) body.insertBefore(line, body.rows[index] ?? null);
  });
  for (const line of old.values()) line.remove();
}

const time = (iso) => {
  const date = new Date(iso);
  return iso && !isNaN(date) ? date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "–";
};
const hour = (iso) =>
  new Date(iso).toLocaleString([], { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const nothing = (words = "Not enough answers yet.") => element("p", { class: "note" }, words);
const share = (value) => (value === null || value === undefined ? "–" : `${number(100 * value, 0)} %`);

// Sections ------------------------------------------------------------------------------------------------------------

/** The answer first: whether judges agree, if that is in doubt; which of the two best systems is better; how far it is. */
function lead({ progress: { done, planned, raters }, agreement: agreed, verdict: found }) {
  const far = `${done} of ${count(planned, "assignment")} ${planned === 1 ? "is" : "are"} done, by ${count(raters, "judge")}.`;
  const said = found ? [...found.leads, ...found.pairs.slice(0, 1).map((pair) => pair.sentence)] : [];
  if (found?.leads.length) return [...said, far].join(" ");
  if (!agreed || !Number.isFinite(agreed.alpha)) {
    return [...said, far, "Agreement appears once two judges have judged the same items."].join(" ");
  }
  const words =
    agreed.alpha >= 0.8
      ? "Judges agree well"
      : agreed.alpha >= 0.667
        ? "Judges agree enough for tentative conclusions"
        : "Judges agree too little to rely on single answers";
  return [...said, far, `${words} (α = ${number(agreed.alpha)}).`].join(" ");
}

function progress(data) {
  byId("bar").max = Math.max(1, data.planned);
  byId("bar").value = data.done;
  for (const [id, value] of [
    ["done", data.done],
    ["planned", data.planned],
    ["raters-count", data.raters],
    ["answers", data.answers],
    ["undecided", data.undecided],
    ["skipped", data.skipped],
  ])
    write(byId(id), String(value ?? "–"));
  redraw("hours-chart", data.per_hour, (hours) =>
    hours.length
      ? [
          columns(hours.map((one) => one.answers)),
          element(
            "p",
            { class: "note" },
            `${hour(hours[0].hour)} to ${hour(hours.at(-1).hour)}; most in an hour: ${Math.max(...hours.map((one) => one.answers))}.`,
          ),
        ]
      : nothing("No answers yet."),
  );
  fillTable(
    "hours",
    data.per_hour,
    (one) => one.hour,
    (one) => [hour(one.hour), String(one.answers)],
  );
}

function agreement(data) {
  if (!data) return nothing();
  const level = data.level ? `, ${data.level}` : "";
  return [
    element("p", { class: "big" }, "α = ", element("b", {}, number(data.alpha)), ` (${interval(data.lo, data.hi)})`),
    dot({ value: data.alpha, lo: data.lo, hi: data.hi }, [0, 1]),
    scaleMarks([0, 1], 1),
    element(
      "p",
      { class: "note" },
      `Krippendorff's alpha${level}, over ${count(data.units ?? 0, "item")} judged by two or more judges. 1 is full agreement, 0 is chance.`,
    ),
    data.alpha < 0 &&
      element("p", { class: "note" }, "Below 0, judges agree less than by chance; the axis begins at 0."),
    data.note && element("p", { class: "note" }, data.note),
  ];
}

function verdict(data) {
  if (!data) return nothing();
  const words = (texts, kind) => texts.filter(Boolean).map((text) => element("p", { class: kind }, text));
  if (!data.systems.length) return words(data.notes, "note");
  return [
    data.leads.length ? element("p", {}, element("b", {}, data.leads[0]), ` ${data.leads.slice(1).join(" ")}`) : [],
    element(
      "ul",
      { class: "bars" },
      data.systems.map((one) =>
        element(
          "li",
          {},
          element("span", { class: "name" }, one.system),
          dot({ value: one.mean, lo: null, hi: null }, data.scale),
          element(
            "span",
            { class: "figure" },
            Number.isFinite(one.mean)
              ? `${number(one.mean)}, ${count(one.pairs, "pair")}`
              : "no rated pair",
          ),
        ),
      ),
    ),
    scaleMarks(data.scale, 1),
    element(
      "ul",
      { class: "pairs" },
      data.pairs.map((pair) =>
        element("li", { class: pair.decided ? "decided" : "open" }, `${pair.decided ? "✓" : "…"} ${pair.sentence}`),
      ),
    ),
    words([data.estimand, ...data.notes], "note"),
  ].flat();
}

function uniformity(data) {
  if (!data) return nothing();
  const even = 1 / Math.max(1, data.shares.length);
  const most = Math.max(even, ...data.shares.map((one) => one.share ?? 0));
  return [
    element(
      "ul",
      { class: "bars" },
      data.shares.map((one) =>
        element(
          "li",
          {},
          element(
            "span",
            { class: "name" },
            one.label && one.label !== String(one.grade) ? `${one.grade} ${one.label}` : String(one.grade),
          ),
          bar(one.share, even, most),
          element("span", { class: "figure" }, `${share(one.share)}, ${count(one.count, "answer")}`),
        ),
      ),
    ),
    element(
      "p",
      { class: "note" },
      `The line marks the even share, ${share(even)}. Deviation from even use: ${number(data.deviation, 3)}, ` +
        `${share(data.normalised)} of the largest possible.`,
    ),
    data.by_round?.length > 1 &&
      element(
        "p",
        { class: "note" },
        `By round: ${data.by_round.map((one) => `${one.round}: ${number(one.deviation, 3)} (${count(one.answers, "answer")})`).join("; ")}.`,
      ),
  ];
}

const flags = (list) => (list.length ? `⚠ ${list.join("; ")}` : "none");

function raters(list) {
  fillTable(
    "raters",
    list,
    (one) => one.nickname,
    (one) => [
      one.nickname,
      flags(one.flags),
      String(one.answers),
      number(one.median_seconds, 1),
      one.gold_asked ? `${one.gold_right} of ${one.gold_asked}` : "–",
      number(one.correlation),
      one.drift === null || one.drift === undefined
        ? "–"
        : `${number(one.drift)} (${interval(one.drift_lo, one.drift_hi)})`,
      time(one.last),
    ],
  );
}

function invitations(list) {
  fillTable(
    "invitations",
    list,
    (one) => one.id,
    (one) => [
      one.role,
      one.nickname || "–",
      one.state,
      String(one.answers),
      time(one.expires),
      (old) => {
        if (one.state === "withdrawn" || one.state === "expired") return null;
        if (old) return old;
        const said = element("span", { class: "told", role: "status" });
        const button = element(
          "button",
          {
            type: "button",
            "data-withdraw": one.id,
            "aria-label": `Withdraw the link of ${one.nickname || `this ${one.role}`}`,
            onclick: () => withdraw(one, said),
          },
          "Withdraw",
        );
        return element("span", { class: "row" }, button, said);
      },
    ],
  );
}

function submissions(list) {
  fillTable(
    "submissions",
    list,
    (one) => one.id,
    (one) => [
      one.system,
      one.participant,
      String(one.lines),
      String(Array.isArray(one.warnings) ? one.warnings.length : (one.warnings ?? 0)),
      one.accepted ? "accepted" : "refused",
      time(one.at),
    ],
  );
}

function switches({ study, results_open: open }) {
  const running = study.state === "open";
  byId("state-switch").disabled = byId("results-switch").disabled = false; // their direction is known now
  write(byId("state"), study.state);
  byId("state").className = `badge ${study.state}`;
  write(byId("state-switch"), running ? "Close the study" : "Open the study again");
  write(
    byId("state-note"),
    running ? "A closed study keeps all answers and accepts no more." : "The study accepts no answers at the moment.",
  );
  write(byId("results-switch"), open ? "Hide the results" : "Open the results");
  write(byId("results-note"), open ? "Participants see their results." : "Participants do not see results yet.");
}

function draw(status) {
  latest = status;
  write(byId("at"), `as of ${new Date(status.at).toLocaleTimeString()}`);
  write(byId("title"), status.study.title);
  write(byId("lead"), lead(status));
  byId("notes").hidden = !status.notes.length;
  redraw("notes", status.notes, (notes) => notes.map((words) => element("li", {}, words)));
  progress(status.progress);
  redraw("agreement", status.agreement, agreement);
  redraw("verdict", status.verdict, verdict);
  redraw("uniformity", status.uniformity, uniformity);
  raters(status.raters);
  invitations(status.invitations);
  submissions(status.submissions);
  switches(status);
}

// Asking and acting ---------------------------------------------------------------------------------------------------

let timer = 0;

async function poll() {
  clearTimeout(timer);
  if (document.hidden) return; // visibilitychange resumes it
  try {
    draw(await server.get("/status"));
    write(byId("trouble"), "");
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    write(
      byId("trouble"),
      trouble.kind === "session" ? "Signed out: open your organiser link again." : `${trouble.message} Trying again…`,
    );
  }
  clearTimeout(timer);
  timer = setTimeout(poll, EVERY);
}

let fading = 0;

/** Say something beside the button it concerns. What was said elsewhere goes; a confirmation goes after a while. */
function tell(node, words, lasting = false) {
  clearTimeout(fading);
  for (const other of document.querySelectorAll(".told")) write(other, other === node ? words : "");
  if (!lasting) fading = setTimeout(() => write(node, ""), FADE);
}

/** Perform an act on the server, show its outcome in the node, and fetch the status again. */
async function act(path, body, node, words = "") {
  try {
    const reply = await server.post(path, body);
    tell(node, words);
    return reply ?? true;
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    tell(node, trouble.message, true);
    return null;
  } finally {
    poll();
  }
}

async function withdraw(invitation, said) {
  const whom = invitation.nickname || `a ${invitation.role}`;
  if (!window.confirm(`Withdraw the link of ${whom}? It will stop working; its answers are kept.`)) return;
  const path = `/invitations/${encodeURIComponent(invitation.id)}/withdraw`;
  const done = await act(path, {}, said);
  if (done && byId("invite-made").dataset.link === String(invitation.id)) byId("invite-made").hidden = true;
}

byId("invite").addEventListener("submit", async (event) => {
  event.preventDefault();
  const made = await act(
    "/invitations",
    {
      role: byId("invite-role").value,
      nickname: byId("invite-nickname").value.trim() || null,
      days: Number(byId("invite-days").value),
    },
    byId("invite-said"),
    "A new link is ready to copy.",
  );
  if (!made) return;
  byId("invite-made").hidden = false;
  byId("invite-made").dataset.link = made.id;
  byId("invite-url").value = new URL(made.url, location.href).href;
  byId("invite-url").select();
  byId("invite-nickname").value = "";
});

byId("invite-copy").addEventListener("click", async () => {
  byId("invite-url").select();
  try {
    await navigator.clipboard.writeText(byId("invite-url").value);
    tell(byId("copy-said"), "Copied.");
  } catch {
    // Without https, scripts have no clipboard; the link is selected instead.
    tell(byId("copy-said"), "Selected: press Ctrl+C, or hold and choose Copy.");
  }
});

byId("state-switch").addEventListener("click", () => {
  act("/state", { state: latest.study.state === "open" ? "closed" : "open" }, byId("state-said"));
});

byId("results-switch").addEventListener("click", () => {
  act("/results", { open: !latest.results_open }, byId("results-said"));
});

byId("edit").addEventListener("submit", (event) => {
  event.preventDefault();
  const texts = Object.fromEntries(
    ["title", "question", "instructions"].map((name) => [name, byId(`edit-${name}`).value.trim()]),
  );
  act("/edit", texts, byId("edit-said"), "Saved.");
});

byId("delete").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await server.post("/delete", { name: byId("delete-name").value.trim() });
    clearTimeout(timer);
    location.assign("/dashboard");
  } catch (trouble) {
    if (!(trouble instanceof Trouble)) throw trouble;
    tell(byId("delete-said"), trouble.message, true);
  }
});

document.addEventListener("visibilitychange", poll);
poll();
