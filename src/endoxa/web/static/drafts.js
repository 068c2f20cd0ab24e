// Drafts of answers in this tab, so that a reload does not lose them. They are only a convenience.

export class Drafts {
  constructor(study, nickname) {
    this.name = `endoxa:drafts:${encodeURIComponent(study)}:${encodeURIComponent(nickname)}`;
    try {
      this.kept = JSON.parse(sessionStorage.getItem(this.name)) ?? {};
    } catch {
      this.kept = {};
    }
  }

  of(task) {
    return this.kept[task] ?? null;
  }

  keep(task, draft) {
    this.kept[task] = draft;
    this.store();
  }

  drop(task) {
    delete this.kept[task];
    this.store();
  }

  store() {
    try {
      sessionStorage.setItem(this.name, JSON.stringify(this.kept));
    } catch {
      // no storage, or it is full: the drafts last as long as the page
    }
  }
}
