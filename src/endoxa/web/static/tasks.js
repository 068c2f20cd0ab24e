// The tasks ahead of a judge: fetched a few at a time, so that the next one and its images are there before it is due.

import { preload } from "./exhibit.js";
import { Trouble } from "./server.js";

export class Tasks {
  /** pending() gives the answers not saved yet. */
  constructor(server, pending) {
    this.server = server;
    this.pending = pending;
    this.ahead = [];
    this.done = new Set(pending().map((answer) => answer.task)); // answered here; the server may not know yet
    this.acts = 0; // answers and undos so far: a list asked for before the last one may be stale
    this.images = []; // held, so that the browser keeps them
  }

  get empty() {
    return !this.ahead.length;
  }

  next() {
    return this.ahead.shift();
  }

  answered(task) {
    this.acts += 1;
    this.done.add(task);
  }

  /** The task is to be judged again; `current`, which it interrupts, comes right after it. */
  undone(task, current) {
    this.forget(task.id);
    this.ahead = [current, ...this.ahead].filter((other) => other && other.id !== task.id);
  }

  forget(task) {
    this.acts += 1;
    this.done.delete(task);
  }

  /** Ask the server for what comes after `current()`; gives its progress where the list is certain, else null. */
  async fill(current) {
    const { acts } = this;
    const settled = !this.pending().length;
    const body = await this.server.get("/tasks?count=3");
    if (!Array.isArray(body?.tasks)) throw new Trouble("answer", "The server's list of tasks could not be understood.");
    // With nothing under way the server's list is the truth; otherwise it may hold tasks answered a moment ago.
    const sure = settled && acts === this.acts;
    if (sure) this.done.clear();
    const known = new Set([current()?.id, ...this.done, ...(sure ? [] : this.ahead.map((task) => task.id))]);
    const fresh = body.tasks.filter((task) => !known.has(task.id));
    this.ahead = sure ? fresh : [...this.ahead, ...fresh];
    this.images = this.ahead.flatMap((task) => preload(task, cardWidth(task)));
    return sure ? body.progress : null;
  }
}

/** Pixels that an item gets across, near enough to choose between the small and the large image. */
export function cardWidth(task) {
  const page = Math.min(window.innerWidth, 1200);
  return task.items.length > 1 && window.innerWidth >= 720 ? page / 2 : page;
}
