// The time that a judge actively spent on a task.

const IDLE = 60_000; // milliseconds without any input after which attention is no longer assumed
const MOST = 10_000_000; // seconds; the maximum of the server, in case the clock of the device is changed

/**
 * Active time counts only while the page is visible, not paused, and within 60 s of the last input; the rest is away.
 * Time is an argument (milliseconds), so that the clock can be tested without waiting.
 */
export class Clock {
  constructor(now, { active = 0, away = 0 } = {}) {
    this.active = 1000 * active;
    this.away = 1000 * away;
    this.last = now;
    this.input = now;
    this.stopped = false;
  }

  advance(now) {
    const elapsed = Math.max(0, now - this.last); // a clock that was set back must not subtract
    const awake = this.stopped ? 0 : Math.min(elapsed, Math.max(0, this.input + IDLE - this.last));
    this.active += awake;
    this.away += elapsed - awake;
    this.last = now;
  }

  touch(now) {
    this.advance(now);
    this.input = now;
  }

  stop(now) {
    this.advance(now);
    this.stopped = true;
  }

  start(now) {
    this.advance(now);
    this.stopped = false;
    this.input = now;
  }

  /** Seconds, to the millisecond. */
  read(now) {
    this.advance(now);
    const seconds = (milliseconds) => Math.min(MOST, Math.round(milliseconds) / 1000);
    return { active: seconds(this.active), away: seconds(this.away) };
  }
}
