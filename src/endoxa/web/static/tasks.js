// The next tasks of a judge, fetched a few at a time, so that the next one and its images are there in time.

import { preload } from "./exhibit.js";
import { Trouble } from "./server.js";

export class Tasks {
  /** pending() returns the answers that are not saved yet. */
  constructor(server, pending) {
    this.server = server;
    this.pending = pending;
    this.ahead = [];
    this.done = new Set(pending().map((answer) => answer.task)); // answered here; the server may not know yet
    this.acts = 0; // answers and undos so far: a list asked for before the last one may be stale
    this.asked = 0; // lists asked for
    this.heard = 0; // the newest of them that has come
    this.images = []; // referenced, so that the browser keeps them
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

  /** Judge the task again; `current`, which it interrupts, comes right after it. */
  undone(task, current) {
    this.forget(task.id);
    this.ahead = [current, ...this.ahead].filter((other) => other && other.id !== task.id);
  }

  forget(task) {
    this.acts += 1;
    this.done.delete(task);
  }

  /** Fetch the tasks after `current()`; returns the progress if the list is certain to be current, otherwise null. */
  async fill(current) {
    const { acts } = this;
    const number = (this.asked += 1);
    const settled = !this.pending().length;
    const body = await this.server.get("/tasks?count=3");
    if (!Array.isArray(body?.tasks)) throw new Trouble("answer", "The server's list of tasks could not be understood.");
    if (number < this.heard) return null; // older than a list that has come: it may contain what was answered since
    this.heard = number;
    // If no answer is being sent, the server's list is current; otherwise it may contain answered tasks.
    const sure = settled && acts === this.acts;
    if (sure) this.done.clear();
    const known = new Set([current()?.id, ...this.done, ...(sure ? [] : this.ahead.map((task) => task.id))]);
    const fresh = body.tasks.filter((task) => !known.has(task.id));
    this.ahead = sure ? fresh : [...this.ahead, ...fresh];
    this.images = this.ahead.flatMap((task) => preload(task, cardWidth(task)));
    return sure ? body.progress : null;
  }
}

/** The approximate width of an item in pixels, to choose between the small and the large image. */
export function cardWidth(task) {
  const page = Math.min(window.innerWidth, 1200);
  return task.items.length > 1 && window.innerWidth >= 720 ? page / 2 : page;
}
