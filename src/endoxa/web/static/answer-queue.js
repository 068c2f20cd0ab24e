// Answers on their way to the server. They are written to localStorage before anything is sent and leave it only when
// the server has said yes, so a reload, a dead battery or a tunnel loses nothing. Each keeps its key, so sending twice
// is safe.

const WAITS = [1, 2, 4, 8, 15, 30]; // seconds between attempts

/** Entries kept for a study on this device, whoever judged: for the message shown when even the name is out of reach. */
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
   * send(answer) gives the server's body or throws a Trouble; changed() is called at every change of state.
   * state: "idle", "saving", "waiting" (will try again by itself), "session" or "refused" (somebody must act).
   */
  constructor(study, nickname, send, changed) {
    this.name = storageName(study, nickname);
    this.send = send;
    this.changed = changed;
    this.state = "idle";
    this.trouble = null;
    this.memory = null; // the list itself, on browsers that keep no storage
    this.failures = 0;
    this.timer = 0;
    this.waiting = new Map(); // key -> resolve, for those who want the server's body
    this.emptied = []; // resolves of drained()
    window.addEventListener("online", () => this.retry());
    window.addEventListener("storage", (event) => event.key === this.name && this.pump());
  }

  /** The answers not saved yet, oldest first. Read anew each time: another tab may have sent some. */
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

  /** Add an answer; the promise gives the server's body, or null where another tab saved it or it was discarded. */
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

  /** Try at once, whatever went wrong before. */
  retry() {
    clearTimeout(this.timer);
    if (this.state !== "saving") this.state = "idle";
    this.pump();
  }

  /** Give up the oldest answer (the server will not have it); gives that answer. */
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
