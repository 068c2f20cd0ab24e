// The judging page: one task after another without a reload. Answers go to a queue, and the next task appears at once;
// only practice waits, because its feedback comes from the server.
//
// What differs by study kind is in a module of its own, whose address is in the page (data-module). It exports
//   screen(options)         one task: {node, atOnce, responses(), missing(), key(event), focus(), said(item)}
//   keys(study)             its keys with their meaning, for the help; keysNote(study): a sentence above them
//   wanted(study, known)    a known answer in words, for the feedback after practice

import { AnswerQueue, keptAnswers } from "./answer-queue.js";
import { Clock } from "./clock.js";
import { byId, count, element, write } from "./dom.js";
import { Drafts } from "./drafts.js";
import { enlarged, exhibit } from "./exhibit.js";
import { writeFeedback } from "./feedback.js";
import { firstHelp, writeHelp } from "./help.js";
import { listen } from "./input.js";
import { FINISHED, LEFT, button, notice, troubleWords } from "./notices.js";
import { Trouble, connect, uuid } from "./server.js";
import { Tasks, cardWidth } from "./tasks.js";

const SAVED = 4_000; // milliseconds that the confirmation stays
const TOAST = 8_000; // milliseconds; undo stays possible afterwards
const UNDO_PATIENCE = 8_000;

class Desk {
  constructor(name) {
    this.name = name;
    this.server = connect(name);
    this.turn = 0; // number of what is on the stage; code that waited checks that it has not changed
    this.current = null;
    this.screen = null;
    this.method = "pointer"; // the last way of input
    this.decidedBy = null; // the way of input of the last change of an answer
    this.savedOnce = false;
    listen(this);
  }

  // Beginning -------------------------------------------------------------------------------------------------------

  async open() {
    const turn = this.wait("Opening the study…");
    try {
      const [me, kind] = await Promise.all([this.server.get("/me"), load(document.body.dataset.module)]);
      this.kind = kind;
      this.study = me.study;
      this.progress = me.progress;
      this.begin(me.rater.nickname);
    } catch (trouble) {
      this.complain(trouble, () => this.open(), turn);
    }
  }

  async begin(nickname) {
    this.queue = new AnswerQueue(
      this.name,
      nickname,
      (answer) => this.send(answer),
      () => this.queueChanged(),
    );
    this.drafts = new Drafts(this.name, nickname);
    this.tasks = new Tasks(this.server, () => this.queue.pending());
    this.queue.pump();
    const { question, instructions } = this.study;
    const further = instructions.filter((words) => words !== question); // the question stands above them
    writeHelp(further, [...this.kind.keys(this.study), ...keys(this.study)], this.kind.keysNote?.(this.study));
    this.paintProgress();
    byId("skip").hidden = !this.study.skip;
    byId("comment-box").hidden = !this.study.comments;
    if (this.study.state === "closed") return this.closed();
    await firstHelp(this.name, nickname);
    this.advance();
  }

  // Tasks -----------------------------------------------------------------------------------------------------------

  /** Show the next task, and fetch it if necessary; at the end, thank the judge. */
  async advance(said = "") {
    if (!this.tasks.empty) return this.show(this.tasks.next(), { said });
    const turn = this.wait("Fetching the next task…");
    try {
      while (!(await this.fill()) && this.tasks.empty) {
        this.wait("Saving your last answers…", turn); // an empty list is not final while answers are being sent
        await this.queue.drained();
      }
    } catch (trouble) {
      return this.complain(trouble, () => this.advance(), turn);
    }
    if (turn !== this.turn) return;
    if (!this.tasks.empty) this.show(this.tasks.next());
    else if (this.progress.finished) this.finish();
    else
      this.notice(
        "Nothing to judge at the moment",
        ["Other judges are working on the remaining tasks."],
        button("Look again", "retry", () => this.advance()),
      );
  }

  /** Fetch the next tasks; returns true if the list is certain to be current. */
  async fill() {
    const progress = await this.tasks.fill(() => this.current);
    if (progress) this.takeProgress(progress);
    return Boolean(progress);
  }

  show(task, { undone = false, said = "" } = {}) {
    this.turn += 1;
    this.current = task;
    this.decidedBy = null;
    const draft = this.drafts.of(task.id);
    const previous = (task.previous ?? []).filter((response) => response.item !== null); // a skip has no responses
    this.screen = this.kind.screen({
      task,
      study: this.study,
      earlier: draft?.responses ?? previous,
      width: cardWidth(task),
      decided: (event) => this.decided(event),
      looked: () => this.event("enlarge"),
      announce: (words) => this.announce(words),
    });
    this.again = previous.length > 0; // judged before: Next sends it, even on screens where a grade sends immediately
    byId("comment").value = draft?.comment ?? task.previous?.[0]?.comment ?? "";
    byId("comment-box").open = Boolean(byId("comment").value);
    byId("practice").hidden = !task.practice;
    byId("feedback").hidden = true;
    byId("asked").hidden = false;
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
    this.announce(undone ? "undone; your earlier answer is shown" : `${said} next: ${this.place()}`.trim());
    // While an answer is being sent, queueChanged fetches the list afterwards; otherwise advance() does.
    if (this.tasks.empty || (this.tasks.ahead.length < 2 && this.queue.state === "idle")) this.fill().catch(() => {});
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
    // The second tap of a double tap belongs to the previous task.
    if (event?.detail > 1 && Date.now() - this.shownAt < 400) return this.show(this.current);
    this.decidedBy = this.method;
    this.keepDraft();
    this.paintNext();
    if (this.screen.atOnce && !this.again) this.submit();
  }

  keepDraft() {
    if (!this.current) return;
    const { active, away } = this.clock.read(Date.now());
    this.drafts.keep(this.current.id, {
      responses: this.screen.responses(),
      comment: byId("comment").value,
      active,
      away,
    });
  }

  submit() {
    if (!this.current || byId("stage").inert) return;
    const missing = this.screen.missing();
    if (missing) {
      this.screen.focus();
      document.activeElement.scrollIntoView({ block: "nearest" });
      return this.urge(`Not yet: ${missing}.`);
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
    this.undoKey = null;
    this.current = null;
    this.tasks.answered(task.id);
    this.drafts.drop(task.id);
    const saved = this.queue.add({
      key: uuid(),
      task: task.id,
      kind,
      responses,
      comment: comment || null,
      active_seconds: active,
      away_seconds: away,
      screen: `${window.innerWidth}x${window.innerHeight}@${Math.round(100 * window.devicePixelRatio) / 100}`,
      method: this.decidedBy ?? this.method,
      shown: task.items.map((item) => item.id),
      practice: task.practice, // only for the progress bar; not sent
    });
    if (!task.practice) {
      const said = kind === "skip" ? "Skipped." : toastText(screen, task);
      this.toast(said, true);
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
    document.dispatchEvent(new Event("endoxa:saved"));
    return body;
  }

  showFeedback(task, screen, feedback) {
    const words = writeFeedback(task, screen, feedback, (known) => this.kind.wanted(this.study, known));
    if (!words) return this.advance();
    this.furniture("feedback");
    byId("feedback").hidden = false;
    this.announce(words);
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
        this.toast("Undo waits until your answers are saved…");
        if (!(await Promise.race([this.queue.drained().then(() => true), sleep(UNDO_PATIENCE)]))) {
          return this.toast("Nothing was undone: your last answers are not saved yet.");
        }
      }
      this.undoKey ??= uuid(); // the same key if the first attempt is lost
      const body = await this.server.post("/undo", { key: this.undoKey });
      this.undoKey = null;
      this.drafts.drop(body.task.id);
      this.tasks.undone(body.task, this.current);
      this.takeProgress(body.progress);
      document.dispatchEvent(new Event("endoxa:saved"));
      this.show(body.task, { undone: true });
    } catch (trouble) {
      if (!(trouble instanceof Trouble)) throw trouble;
      if (trouble.kind === "session") this.complain(trouble, () => this.open(), this.turn);
      else
        this.toast(
          trouble.status === 409
            ? trouble.message || "There is nothing to undo."
            : `Nothing was undone. ${trouble.message}`,
        );
    } finally {
      this.undoing = false;
      byId("stage").inert = !byId("feedback").hidden;
    }
  }

  // What is on the page ---------------------------------------------------------------------------------------------

  /** Show the buttons of a state: "task", "waiting", "feedback", "end" or "none". */
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
      byId("asked").hidden = true;
      byId("practice").hidden = true;
    }
  }

  paintNext() {
    const missing = this.screen.missing();
    byId("next").hidden = this.screen.atOnce && !this.again;
    byId("next").classList.toggle("ready", !missing);
    byId("missing").classList.remove("urgent");
    write(byId("missing"), byId("next").hidden || !missing ? "" : missing);
  }

  /** Say beside Next why it does nothing yet. */
  urge(words) {
    this.hideToast();
    byId("missing").classList.add("urgent");
    write(byId("missing"), words);
    this.announce(words);
  }

  takeProgress(progress) {
    if (progress) this.progress = progress;
    this.paintProgress();
  }

  /** Progress as the judge sees it: the server's count and the answers that are not saved yet. */
  standing() {
    const pending = this.queue?.pending() ?? [];
    const practised = pending.filter((answer) => answer.practice).length;
    return {
      total: this.progress.total,
      done: Math.min(this.progress.total, this.progress.done + pending.length - practised),
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
    if (state === "saving")
      this.slow = setTimeout(() => this.say("Saving…"), 400); // no message if it is quick
    else if (state === "waiting") this.say(`${count(unsaved, "answer")} not saved yet, retrying`);
    else if (state === "refused") this.say(`${count(unsaved, "answer")} not saved. ${trouble.message}`);
    else if (state === "session") this.complain(trouble, () => this.open(), this.turn);
    else if (this.savedOnce) this.say("Saved", SAVED);
    this.paintProgress();
    if (state === "idle" && !unsaved && this.current && this.tasks.ahead.length < 2) this.fill().catch(() => {});
  }

  /** The state of saving; a confirmation goes after some milliseconds, so that it never belongs to an older answer. */
  say(words, milliseconds = 0) {
    clearTimeout(this.fading);
    write(byId("status"), words);
    if (milliseconds) this.fading = setTimeout(() => this.say(""), milliseconds);
  }

  announce(words) {
    write(byId("announce"), words);
  }

  /** A message about the last answer or its undo, beside the Undo button. It covers nothing that can be clicked. */
  toast(words, fresh = false) {
    clearTimeout(this.toastTimer);
    write(byId("toast"), words);
    byId("undo").classList.toggle("fresh", fresh);
    this.toastTimer = setTimeout(() => this.hideToast(), TOAST);
  }

  hideToast() {
    clearTimeout(this.toastTimer);
    write(byId("toast"), "");
    byId("undo").classList.remove("fresh");
  }

  /** A message in place of a task. It appears after a delay, so that the page does not flicker with a fast server. */
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
    delete byId("stage").dataset.task;
    notice("notice", title, paragraphs, ...buttons);
  }

  complain(trouble, again, turn) {
    if (turn !== this.turn) return;
    if (!(trouble instanceof Trouble)) throw trouble;
    this.current && this.keepDraft();
    const retry = button("Try again", "retry", () => {
      if (this.queue?.state === "session") return location.reload();
      this.queue?.retry();
      again();
    });
    this.notice(...troubleWords(trouble, this.queue?.pending().length ?? keptAnswers(this.name)), retry);
    if (trouble.kind !== "network") return;
    const mine = this.turn;
    const once = () => mine === this.turn && again();
    window.addEventListener("online", once, { once: true });
    setTimeout(once, 5_000);
  }

  closed() {
    this.notice("This study is closed", ["It accepts no more answers. Thank you for yours."]);
  }

  finish() {
    this.turn += 1;
    this.furniture("end");
    byId("stage").inert = false;
    const { done, total } = this.progress;
    notice("finished", "Thank you!", [
      byId("verdict")
        ? `No further pair is asked: the question is settled, or every pair is judged. Your ${count(done, "answer")} are saved.`
        : `You have judged everything: ${done} of ${total}. All answers are saved.`,
      FINISHED,
    ]);
    this.paintProgress();
    this.announce("finished");
  }

  // Pause, leave ----------------------------------------------------------------------------------------------------

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
      return write(
        byId("leave-note"),
        `${count(this.queue.pending().length, "answer")} not saved yet: please wait a moment and try again.`,
      );
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
    this.notice("Goodbye", LEFT);
  }

  /** Record an event; it does not matter if it is lost. */
  event(kind) {
    if (!this.left) this.server.tell("/events", { kind });
  }
}

let failures = 0;

/** The module of the study's kind. A browser remembers a failed import, so another attempt needs another address. */
async function load(address) {
  try {
    return await import(failures ? `${address}?${failures}` : address);
  } catch {
    failures += 1;
    throw new Trouble("network", "A part of this page could not be loaded.");
  }
}

/** The keys that every kind of study has. */
const keys = ({ skip }) => [
  ["Enter", "next"],
  ["z", "undo (also Backspace)"],
  ...(skip ? [["s", "skip"]] : []),
  ["p", "pause"],
  ["?", "this help"],
];

function toastText(screen, task) {
  return screen.atOnce ? `You said ${screen.said(task.items[0].id)}.` : "Done.";
}

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds, false));

new Desk(document.body.dataset.study).open();
