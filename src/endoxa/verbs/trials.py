"""Try learners of interactive search on a corpus, with simulated people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from endoxa import __version__
from endoxa.errors import JoinError
from endoxa.images.corpus import Corpus, Progress
from endoxa.io.opening import open_corpus
from endoxa.io.search_features import open_features
from endoxa.io.write import write_page
from endoxa.reports.pages.trials import Held, page
from endoxa.searches.searchers import Marking, People
from endoxa.searches.trials import Competitor, Setting, Task, hold

LEARNERS = ("kernel", "reweighting", "rocchio", "linear-svm", "rbf-svm", "pichunter", "none")
PEOPLE: tuple[People, ...] = ("mixed", "class")
PAGES = 5  # that a corpus must fill: a search shows four, and some pictures must be left


def trials(
    place: str | Path | Corpus,
    learners: Sequence[str] | None = None,
    *,
    tasks: Sequence[Task] = ("target", "kind"),
    people: Sequence[People] | None = None,
    marking: Marking = "all",
    noise: float = 0.1,
    sessions: int = 80,
    size: int = 20,
    home: str | Path | None = None,
    without: Sequence[str] | None = None,
    title: str = "",
    command: str = "",
    to: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Held:
    """Let every learner search with the same simulated people: for one picture, and for pictures of a kind.

    learners  names of learners; `kernel/l1` is one with a fixed metric, `kernel/learnt` learns its prior from the
              sessions before, `kernel/thompson` draws it
    people    mixed: each has hidden weights of category, look, colours, texture and layout; class: thinks in
              categories. None: both, or only mixed if the corpus has no categories
    `to` is a file that the page is written to.
    """
    names = list(learners or LEARNERS)
    for name in names:
        Competitor.of(name)
    settings = [Setting(task, one, marking, noise, sessions, size) for task in tasks for one in people or PEOPLE]
    corpus = open_corpus(place, without=without, progress=progress)
    features = open_features(corpus, home, workers=workers, progress=progress)
    known = dict(corpus.frame.select("item", "category").iter_rows())
    categories = [known.get(item) for item in features.items]
    if len(features) < PAGES * size:
        what = f"the corpus has {len(features):,} pictures, too few for pages of {size}: nothing would be left to find"
        raise JoinError(what, remedy=f"use pages of {max(2, len(features) // PAGES)} or more pictures")
    if people is None and not any(categories):
        settings = [setting for setting in settings if setting.people != "class"]
    found = [hold(features, categories, names, setting, seed=seed, progress=progress) for setting in settings]
    result = Held(
        title or f"{len(names)} learners search {len(features):,} pictures",
        found,
        facts=[f"{len(features):,} pictures", f"{len(names)} learners", f"{sessions} sessions in each trial"],
        provenance={"Endoxa": __version__, "Corpus": corpus.name or corpus.root, "Command": command, "Seed": str(seed)},
    )
    if to is not None:
        write_page(page(result), Path(to))
    return result
