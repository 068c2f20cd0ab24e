// The judging page: one task after another without a reload. Answers go to the queue and the next task is shown at once;
// only practice waits, because its feedback comes from the server.

import { AnswerQueue, keptAnswers } from "./answer-queue.js";
import { Clock } from "./clock.js";
import { byId, count, element, typing, write } from "./dom.js";
import { Drafts } from "./drafts.js";
import { enlarged, exhibit, preload } from "./exhibit.js";
import { fileScreen } from "./file.js";
import { rankScreen } from "./rank.js";
import { rateScreen, spoken } from "./rate.js";
import { Trouble, connect, uuid } from "./server.js";

const SCREENS = { rate: rateScreen, file: fileScreen, rank: rankScreen };
const TOAST = 8_000; // milliseconds; undo stays possible afterwards
const UNDO_PATIENCE = 8_000;

class Desk {
  constructor(name) {
    this.name = name;
    this.server = connect(name);
    this.upcoming = []; // tasks fetched ahead
    this.done = new Set(); // ids answered here, which the server may not know yet
    this.acts = 0; // answers and undos so far: a list of tasks asked for before the last one may be stale
    this.turn = 0; // what is on the stage; whoever waited checks that it still is
    this.current = null;
    this.screen = null;
    this.method = "pointer"; // of the last input
    this.decidedBy = null; // of the last act that changed an answer
    this.savedOnce = false;
    this.listen();
  }

  // Beginning -------------------------------------------------------------------------------------------------------

  async open() {
    const turn = this.wait("Opening the study…");
    try {
      const me = await this.server.get("/me");
      if (!SCREENS[me.study?.screen?.kind]) throw new Trouble("answer", "This page does not know the study's kind of screen.");
      this.study = me.study;
      this.progress = me.progress;
      this.begin(me.rater.nickname);
    } catch (trouble) {
      this.complain(trouble, () => this.open(), turn);
    }
  }

  async begin(nickname) {
    this.queue = new AnswerQueue(this.name, nickname, (answer) => this.send(answer), () => this.queueChanged());
    this.drafts = new Drafts(this.name, nickname);
    for (const answer of this.queue.pending()) this.done.add(answer.task);
    this.queue.pump();
    byId("instructions").replaceChildren(...this.study.instructions.map((words) => element("p", {}, words)));
    this.listKeys();
    this.paintProgress();
    byId("skip").hidden = !this.study.skip;
    byId("comment-box").hidden = !this.study.comments;
    if (this.study.state === "closed") return this.closed();
    const seen = `endoxa:seen:${encodeURIComponent(this.name)}:${encodeURIComponent(nickname)}`;
    if (!remembered(seen)) await this.help("Start");
    remember(seen);
    this.advance();
  }

  // Tasks -----------------------------------------------------------------------------------------------------------

  /** Show the next task, fetching it if need be; at the end, say thank you. */
  async advance(said = "") {
    if (this.upcoming.length) return this.show(this.upcoming.shift(), { said });
    const turn = this.wait("Fetching the next task…");
    try {
      while (!(await this.fill()) && !this.upcoming.length) {
        this.wait("Saving your last answers…", turn); // an empty list says nothing while answers are under way
        await this.queue.drained();
      }
    } catch (trouble) {
      return this.complain(trouble, () => this.advance(), turn);
    }
    if (turn !== this.turn) return;
    if (this.upcoming.length) this.show(this.upcoming.shift());
    else if (this.progress.finished) this.finish();
    else this.notice("Nothing to judge at the moment", ["Others may be busy with the tasks that are left."],
      button("Look again", "retry", () => this.advance()));
  }

  /** Fetch the tasks ahead; true where the list is certain to be the whole truth. */
  async fill() {
    const { acts } = this;
    const settled = !this.queue.pending().length;
    const body = await this.server.get("/tasks?count=3");
    if (!Array.isArray(body?.tasks)) throw new Trouble("answer", "The server's list of tasks could not be understood.");
    // With nothing under way the server's list is the truth; otherwise it may hold tasks answered a moment ago.
    const sure = settled && acts === this.acts;
    if (sure) this.done.clear();
    const known = new Set([this.current?.id, ...(sure ? [] : this.upcoming.map((task) => task.id)), ...this.done]);
    const fresh = body.tasks.filter((task) => !known.has(task.id));
    this.upcoming = sure ? fresh : [...this.upcoming, ...fresh];
    if (sure) this.takeProgress(body.progress);
    this.images = this.upcoming.flatMap((task) => preload(task, this.cardWidth(task)));
    return sure;
  }

  /** Pixels that an item gets across, near enough to choose between the small and the large image. */
  cardWidth(task) {
    const page = Math.min(window.innerWidth, 1200);
    return task.items.length > 1 && window.innerWidth >= 720 ? page / 2 : page;
  }

  show(task, { undone = false, said = "" } = {}) {
    this.turn += 1;
    this.current = task;
    this.decidedBy = null;
    const draft = this.drafts.of(task.id);
    const previous = Array.isArray(task.previous) ? task.previous : task.previous?.responses;
    this.screen = SCREENS[this.study.screen.kind]({
      task, study: this.study, earlier: draft?.responses ?? previous ?? [], width: this.cardWidth(task),
      decided: (event) => this.decided(event), looked: () => this.event("enlarge"), announce: (words) => this.announce(words),
    });
    this.again = undone || Boolean(previous); // a task judged before is sent by Next, even where one grade sends at once
    byId("comment").value = draft?.comment ?? task.previous?.comment ?? "";
    byId("comment-box").open = Boolean(byId("comment").value);
    byId("practice").hidden = !task.practice;
    byId("feedback").hidden = true;
    this.showQuery(task.query);
    byId("stage").replaceChildren(this.screen.node);
    byId("stage").dataset.task = task.id;
    this.furniture("task");
    this.paintNext();
    this.paintProgress();
    this.shownAt = Date.now();
    this.clock = new Clock(this.shownAt, draft ?? {});
    if (document.hidden || byId("paused").open) this.clock.stop(this.shownAt);
    window.scrollTo({ top: 0, behavior: "instant" });
    this.screen.focus();
    if (this.queue.state === "idle") this.say(this.savedOnce ? "Saved" : "");
    this.announce(undone ? "undone; your earlier answer is shown" : `${said} next: ${this.place()}`.trim());
    // While an answer is under way the list is asked for when it has arrived, see queueChanged; failing, advance() asks.
    if (!this.upcoming.length || (this.upcoming.length < 2 && this.queue.state === "idle")) this.fill().catch(() => {});
  }

  place() {
    const { done, total, practice } = this.standing();
    return practice ? `practice, ${practice} to go` : `${Math.min(done + 1, total)} of ${total}`;
  }

  showQuery(query) {
    const box = byId("query");
    box.hidden = !query;
    if (!query) return box.replaceChildren();
    const enlarge = () => {
      enlarged(query, "Query");
      this.event("enlarge");
    };
    box.replaceChildren(element("h2", {}, "Query"), exhibit(query, { name: "the query", width: 240, enlarge }));
  }

  // Answers ---------------------------------------------------------------------------------------------------------

  /** An answer on the screen has changed. */
  decided(event) {
    // The second tap of a double tap was meant for the task before.
    if (event?.detail > 1 && Date.now() - this.shownAt < 400) return this.show(this.current);
    this.decidedBy = this.method;
    this.keepDraft();
    this.paintNext();
    if (this.screen.atOnce && !this.again) this.submit();
  }

  keepDraft() {
    if (!this.current) return;
    const { active, away } = this.clock.read(Date.now());
    this.drafts.keep(this.current.id, { responses: this.screen.responses(), comment: byId("comment").value, active, away });
  }

  submit() {
    if (!this.current || byId("stage").inert) return;
    const missing = this.screen.missing();
    if (missing) {
      this.screen.focus();
      document.activeElement.scrollIntoView({ block: "nearest" });
      return this.say(`Not yet: ${missing}.`);
    }
    this.put("answer", this.screen.responses());
  }

  skip() {
    if (this.current && this.study.skip && !byId("stage").inert) this.put("skip", []);
  }

  async put(kind, responses) {
    const task = this.current;
    const { active, away } = this.clock.read(Date.now());
    const comment = byId("comment").value.trim();
    const { screen } = this;
    this.acts += 1;
    this.undoKey = null;
    this.current = null;
    this.done.add(task.id);
    this.drafts.drop(task.id);
    const saved = this.queue.add({
      key: uuid(), task: task.id, kind, responses, comment: comment || null, active_seconds: active, away_seconds: away,
      screen: `${window.innerWidth}x${window.innerHeight}@${Math.round(100 * window.devicePixelRatio) / 100}`,
      method: this.decidedBy ?? this.method, shown: task.items.map((item) => item.id),
      practice: task.practice, // ours, for the progress bar; not sent
    });
    if (!task.practice) {
      const said = kind === "skip" ? "Skipped." : toastText(screen, task);
      this.toast(said);
      return this.advance(said);
    }
    const { turn } = this;
    byId("stage").inert = true;
    this.furniture("waiting");
    const body = await saved;
    if (turn !== this.turn) return;
    if (body?.feedback?.length) this.showFeedback(task, screen, body.feedback);
    else this.advance();
  }

  async send({ practice: _, ...answer }) {
    const body = await this.server.post("/answers", answer);
    if (!body?.progress) throw new Trouble("answer", "The server's reply to an answer could not be understood.");
    this.savedOnce = true;
    this.takeProgress(body.progress);
    return body;
  }

  showFeedback(task, screen, feedback) {
    const lines = feedback.map((one) => {
      const index = task.items.findIndex((item) => item.id === one.item);
      const which = task.items.length > 1 ? `Result ${index + 1}: ` : "";
      const expected = this.study.screen.kind === "rate" ? spoken(this.study.screen.grades, one.expected)
        : one.expected_label || String(one.expected);
      return element("li", { class: one.right ? "right" : "other" },
        element("strong", {}, one.right ? "✓ Like most: " : "≠ Unlike most: "),
        `${which}most people say ${expected}; you said ${screen.said(one.item)}.`);
    });
    byId("feedback-list").replaceChildren(...lines);
    byId("feedback").hidden = false;
    this.furniture("feedback");
    this.announce(lines.map((line) => line.textContent).join(" "));
    byId("continue").focus({ preventScroll: true });
  }

  async undo() {
    if (this.undoing || !this.queue) return;
    this.undoing = true;
    this.hideToast();
    this.keepDraft();
    byId("stage").inert = true;
    try {
      if (this.queue.pending().length) {
        this.say("Undo waits until your answers are saved…");
        if (!(await Promise.race([this.queue.drained().then(() => true), sleep(UNDO_PATIENCE)]))) {
          return this.say("Nothing was undone: your last answers are not saved yet.");
        }
      }
      this.undoKey ??= uuid(); // the same key if the first attempt gets lost on the way
      const body = await this.server.post("/undo", { key: this.undoKey });
      this.undoKey = null;
      this.acts += 1;
      this.done.delete(body.task.id);
      this.drafts.drop(body.task.id);
      this.upcoming = [this.current, ...this.upcoming].filter((task) => task && task.id !== body.task.id);
      this.takeProgress(body.progress);
      this.show(body.task, { undone: true });
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      if (trouble.kind === "session") this.complain(trouble, () => this.open(), this.turn);
      else this.say(trouble.status === 409 ? trouble.message || "There is nothing to undo." : `Nothing was undone. ${trouble.message}`);
    } finally {
      this.undoing = false;
      byId("stage").inert = !byId("feedback").hidden;
    }
  }

  // What is on the page ---------------------------------------------------------------------------------------------

  /** Which of the buttons make sense: "task", "waiting", "feedback", "end" or "none". */
  furniture(state) {
    document.body.dataset.state = state;
    byId("stage").inert = state === "waiting" || state === "feedback";
    byId("actions").hidden = state === "none";
    byId("next").hidden = state !== "task";
    byId("skip").hidden = state !== "task" || !this.study?.skip;
    byId("pause").hidden = state === "none" || state === "end";
    byId("comment-box").hidden = state !== "task" || !this.study?.comments;
    if (state !== "feedback") byId("feedback").hidden = true;
    if (state === "end" || state === "none") {
      byId("query").hidden = true;
      byId("practice").hidden = true;
    }
  }

  paintNext() {
    const missing = this.screen.missing();
    byId("next").hidden = this.screen.atOnce && !this.again;
    byId("next").classList.toggle("ready", !missing);
    write(byId("missing"), byId("next").hidden || !missing ? "" : missing);
  }

  takeProgress(progress) {
    if (progress) this.progress = progress;
    this.paintProgress();
  }

  /** Progress as the judge knows it: what the server counted and what is on its way. */
  standing() {
    const pending = this.queue?.pending() ?? [];
    const practised = pending.filter((answer) => answer.practice).length;
    return {
      total: this.progress.total, done: Math.min(this.progress.total, this.progress.done + pending.length - practised),
      practice: this.current && !this.current.practice ? 0 : Math.max(0, this.progress.practice_left - practised),
    };
  }

  paintProgress() {
    if (!this.progress) return;
    const { done, total, practice } = this.standing();
    byId("bar").max = Math.max(1, total);
    byId("bar").value = done;
    write(byId("progress"), practice ? `${practice} to go` : `${done} of ${total}`);
  }

  queueChanged() {
    const unsaved = this.queue.pending().length;
    const { state, trouble } = this.queue;
    clearTimeout(this.slow);
    byId("status-actions").hidden = state !== "refused";
    document.body.dataset.queue = state;
    if (state === "saving") this.slow = setTimeout(() => this.say("Saving…"), 400); // quick ones need no word
    else if (state === "waiting") this.say(`${count(unsaved, "answer")} not saved yet, retrying`);
    else if (state === "refused") this.say(`${count(unsaved, "answer")} not saved. ${trouble.message}`);
    else if (state === "session") this.complain(trouble, () => this.open(), this.turn);
    else if (this.savedOnce) this.say("Saved");
    this.paintProgress();
    if (state === "idle" && !unsaved && this.current && this.upcoming.length < 2) this.fill().catch(() => {});
  }

  say(words) {
    write(byId("status"), words);
  }

  announce(words) {
    write(byId("announce"), words);
  }

  /** What was just sent, beside the button that takes it back. It covers nothing, so the next grade is never under it. */
  toast(words) {
    clearTimeout(this.toastTimer);
    byId("toast").textContent = words;
    byId("toast").hidden = false;
    byId("undo").classList.add("fresh");
    this.toastTimer = setTimeout(() => this.hideToast(), TOAST);
  }

  hideToast() {
    clearTimeout(this.toastTimer);
    byId("toast").hidden = true;
    byId("undo").classList.remove("fresh");
  }

  /** A quiet word in place of a task. It is written late, so that a quick server does not make the page flicker. */
  wait(words, turn = (this.turn += 1)) {
    this.current = null;
    this.screen = null;
    byId("stage").inert = true;
    setTimeout(() => {
      if (turn !== this.turn || this.current) return;
      this.furniture("waiting");
      byId("query").hidden = true;
      byId("stage").replaceChildren(element("p", { class: "waiting" }, words));
    }, 250);
    return turn;
  }

  notice(title, paragraphs, ...buttons) {
    this.turn += 1;
    this.current = null;
    this.screen = null;
    this.furniture("none");
    const heading = element("h2", { tabindex: "-1" }, title);
    byId("stage").replaceChildren(element("section", { class: "notice card", id: "notice" }, heading,
      paragraphs.filter(Boolean).map((words) => element("p", {}, words)), element("p", { class: "row" }, buttons)));
    heading.focus();
  }

  complain(trouble, again, turn) {
    if (turn !== this.turn) return;
    if (!(trouble instanceof Trouble)) throw trouble;
    this.current && this.keepDraft();
    const unsaved = this.queue?.pending().length ?? keptAnswers(this.name);
    const kept = unsaved ? `${count(unsaved, "answer")} not sent yet ${unsaved === 1 ? "is" : "are"} kept on this device and will be sent.` : "";
    const retry = button("Try again", "retry", () => {
      if (this.queue?.state === "session") return location.reload();
      this.queue?.retry();
      again();
    });
    if (trouble.kind === "session") {
      return this.notice("Please open your link again",
        ["This browser is not signed in to the study. The personal link you were given opens it where you left off.", kept], retry);
    }
    if (trouble.kind !== "network") return this.notice("Something went wrong", [trouble.message, kept], retry);
    this.notice("No connection at the moment", [`${trouble.message} The page tries again by itself.`, kept], retry);
    const mine = this.turn;
    setTimeout(() => mine === this.turn && again(), 5_000);
  }

  closed() {
    this.notice("This study is closed", ["No more answers are wanted. Thank you for yours."]);
  }

  finish() {
    this.turn += 1;
    this.furniture("end");
    const heading = element("h2", { tabindex: "-1" }, "Thank you!");
    byId("stage").inert = false;
    byId("stage").replaceChildren(element("section", { class: "notice card", id: "finished" }, heading,
      element("p", {}, `You have judged everything: ${this.progress.done} of ${this.progress.total}. All answers are saved.`),
      element("p", {}, "If your last answer was a slip, you can still undo it. Otherwise you may close this page.")));
    this.paintProgress();
    heading.focus();
    this.announce("finished");
  }

  // Pause, help, leave ----------------------------------------------------------------------------------------------

  pause() {
    if (byId("paused").open || byId("pause").hidden) return;
    this.clock?.stop(Date.now());
    this.event("pause");
    write(byId("leave-note"), "");
    byId("paused").showModal();
  }

  resumed() {
    this.event("resume");
    if (!document.hidden) this.clock?.start(Date.now());
  }

  async leave() {
    if (this.queue?.pending().length) {
      this.queue.retry();
      return write(byId("leave-note"), `${count(this.queue.pending().length, "answer")} not saved yet: please wait a moment and try again.`);
    }
    this.current && this.keepDraft();
    try {
      await this.server.post("/leave", {});
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      if (trouble.kind !== "session") return write(byId("leave-note"), `Not signed out. ${trouble.message}`);
    }
    this.left = true;
    byId("paused").close();
    this.notice("See you", ["Everything is saved. Your personal link opens the study again where you left off.", "You may close this page."]);
  }

  /** The instructions and the keys; resolves when closed. */
  help(word = "Back to judging") {
    const dialog = byId("help");
    byId("help-close").textContent = word;
    if (!dialog.open) dialog.showModal();
    return new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  }

  listKeys() {
    const { kind, grades, per_task: items } = this.study.screen;
    const keys = {
      rate: [...(grades ?? []).map((grade) => [grade.key, spoken(grades, grade.value)]), ["u", "undecided"],
        ...(items > 1 ? [["← →", "other result"]] : []), ["Space", "enlarge"]],
      file: [["letters", "narrow the list"], ["↓ ↑", "walk through the list"], ["Enter", "choose, then send"],
        ["Esc", "leave the field, for the keys below"], ["u", "undecided"], ["/", "back to the field"], ["Space", "enlarge"]],
      rank: [["↑ ↓", "other item"], ["Space", "on ⠿: grab, drop; on an item: enlarge"], ["↑ ↓", "move a grabbed item"],
        ["1–5", "relevance 0 to 1"]],
    }[kind];
    const all = [...keys, ["Enter", "next"], ["z", "undo (also Backspace)"], ...(this.study.skip ? [["s", "skip"]] : []),
      ["p", "pause"], ["?", "this help"]];
    byId("keys").parentNode.open = window.matchMedia("(hover: hover) and (pointer: fine)").matches;
    byId("keys").replaceChildren(...all.map(([key, words]) => element("div", {},
      element("dt", {}, element("kbd", {}, String(key))), element("dd", {}, words))));
  }

  // Listening -------------------------------------------------------------------------------------------------------

  event(kind) {
    if (!this.left) this.server.tell("/events", { kind });
  }

  listen() {
    const on = (id, act) => byId(id).addEventListener("click", act);
    on("next", () => this.submit());
    on("skip", (event) => event.detail < 2 && this.skip()); // a double click skips one task, not two
    on("undo", () => this.undo());
    on("pause", () => this.pause());
    on("resume", () => byId("paused").close());
    on("leave", () => this.leave());
    on("help-open", () => this.help());
    on("help-close", () => byId("help").close());
    on("continue", () => byId("feedback").hidden || this.advance());
    on("save-again", () => this.queue.retry());
    on("save-never", () => {
      const answer = this.queue.discard();
      if (answer) this.done.delete(answer.task);
      this.acts += 1;
    });
    byId("paused").addEventListener("close", () => this.resumed());
    byId("comment").addEventListener("input", () => this.keepDraft());
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => {
      this.method = event.pointerType === "touch" ? "touch" : "pointer";
    }, true);
    for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "scroll", "touchmove"]) {
      document.addEventListener(kind, () => this.clock?.touch(Date.now()), { capture: true, passive: true });
    }
    document.addEventListener("visibilitychange", () => {
      const { hidden } = document;
      if (hidden) this.clock?.stop(Date.now());
      else if (!byId("paused").open) this.clock?.start(Date.now());
      this.event(hidden ? "hidden" : "visible");
      if (hidden) this.keepDraft();
    });
    window.addEventListener("beforeunload", (event) => {
      // Signed out, staying would not save them; they are kept and the link sends them.
      if (this.queue?.pending().length && this.queue.state !== "session") event.preventDefault();
    });
  }

  key(event) {
    this.method = "key";
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    if (this.act(event)) event.preventDefault();
  }

  /** True where the key was meant for us. */
  act(event) {
    const { target, key } = event;
    if (!this.queue) return false;
    const ready = this.screen && this.current && !byId("stage").inert;
    // The filter of file-it is a field of the screen itself, which knows what its keys mean.
    if (typing(target)) {
      if (!ready || target.id !== "filter") return false;
      return this.screen.key(event) || (key === "Enter" && (this.submit(), true));
    }
    if (ready && byId("stage").contains(target) && this.screen.key(event)) return true;
    const native = target.closest("button, a, summary, input, select");
    if (key === "Enter") return !native && ready && (this.submit(), true);
    if (native && key === " ") return false;
    if (ready && !byId("stage").contains(target) && this.screen.key(event)) return true;
    if (event.repeat) return false;
    const act = {
      z: () => this.undo(), Backspace: () => this.undo(), s: () => this.skip(), p: () => this.pause(), "?": () => this.help(),
    }[key.length === 1 ? key.toLowerCase() : key];
    act?.();
    return Boolean(act);
  }
}

function toastText(screen, task) {
  return screen.atOnce ? `You said ${screen.said(task.items[0].id)}.` : "Sent.";
}

const button = (words, id, act) => element("button", { type: "button", class: "main", id, onclick: act }, words);

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds, false));

function remembered(name) {
  try {
    return localStorage.getItem(name) !== null;
  } catch {
    return false;
  }
}

function remember(name) {
  try {
    localStorage.setItem(name, "1");
  } catch {
    // no storage: the instructions are shown again next time
  }
}

new Desk(document.body.dataset.study).open();
