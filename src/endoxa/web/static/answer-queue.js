// Answers on their way to the server. They are stored in localStorage before they are sent, and removed only when the
// server has confirmed them, so that a reload or a lost connection loses nothing. Each answer has a key, which makes
// sending it twice safe.

const WAITS = [1, 2, 4, 8, 15, 30]; // seconds between attempts

/** Number of unsaved answers for a study on this device, by any judge: for messages before the judge is known. */
export function keptAnswers(study) {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(storageName(study, "")))
      .reduce((sum, name) => sum + JSON.parse(localStorage.getItem(name)).length, 0);
  } catch {
    return 0;
  }
}

const storageName = (study, nickname) => `endoxa:answers:${encodeURIComponent(study)}:${encodeURIComponent(nickname)}`;

export class AnswerQueue {
  /**
   * send(answer) returns the server's body or throws a Trouble; changed() is called at every change of state.
   * state: "idle", "saving", "waiting" (will try again by itself), "session" or "refused" (somebody must act).
   */
  constructor(study, nickname, send, changed) {
    this.name = storageName(study, nickname);
    this.send = send;
    this.changed = changed;
    this.state = "idle";
    this.trouble = null;
    this.memory = null; // the list itself, in browsers without storage
    this.failures = 0;
    this.timer = 0;
    this.waiting = new Map(); // key -> resolve of the promise of the server's body
    this.emptied = []; // resolves of drained()
    window.addEventListener("online", () => this.retry());
    window.addEventListener("storage", (event) => event.key === this.name && this.pump());
  }

  /** The unsaved answers, oldest first. Read again each time, because another tab may have sent some. */
  pending() {
    if (this.memory) return this.memory;
    try {
      return JSON.parse(localStorage.getItem(this.name)) ?? [];
    } catch {
      return [];
    }
  }

  keep(answers) {
    try {
      if (answers.length) localStorage.setItem(this.name, JSON.stringify(answers));
      else localStorage.removeItem(this.name);
      this.memory = null;
    } catch {
      this.memory = answers;
    }
  }

  /** Add an answer; resolves to the server's body, or to null if another tab saved it or it was discarded. */
  add(answer) {
    this.keep([...this.pending(), answer]);
    const saved = new Promise((resolve) => this.waiting.set(answer.key, resolve));
    this.pump();
    return saved;
  }

  /** Resolves once nothing is left to save. */
  drained() {
    if (!this.pending().length) return Promise.resolve();
    this.retry();
    return new Promise((resolve) => this.emptied.push(resolve));
  }

  /** Try again immediately. */
  retry() {
    clearTimeout(this.timer);
    if (this.state !== "saving") this.state = "idle";
    this.pump();
  }

  /** Discard the oldest answer, which the server refuses; returns it. */
  discard() {
    const [first, ...rest] = this.pending();
    this.keep(rest);
    this.retry();
    return first ?? null;
  }

  async pump() {
    if (this.state !== "idle" && this.pending().length) return void this.changed();
    clearTimeout(this.timer);
    for (let answer = this.pending()[0]; answer; answer = this.pending()[0]) {
      this.become("saving");
      try {
        const body = await this.send(answer);
        this.failures = 0;
        this.keep(this.pending().filter((other) => other.key !== answer.key));
        this.settle(answer.key, body);
      } catch (trouble) {
        return this.fail(trouble);
      }
    }
    this.become("idle");
    for (const key of [...this.waiting.keys()]) this.settle(key, null);
    for (const resolve of this.emptied.splice(0)) resolve();
  }

  fail(trouble) {
    if (trouble.kind !== "network") return this.become(trouble.kind === "session" ? "session" : "refused", trouble);
    const wait = WAITS[Math.min(this.failures, WAITS.length - 1)];
    this.failures += 1;
    this.timer = setTimeout(() => this.retry(), 1000 * wait);
    this.become("waiting", trouble);
  }

  settle(key, body) {
    this.waiting.get(key)?.(body);
    this.waiting.delete(key);
  }

  become(state, trouble = null) {
    this.state = state;
    this.trouble = trouble;
    this.changed();
  }
}
