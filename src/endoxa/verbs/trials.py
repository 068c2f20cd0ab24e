"""Try learners of interactive search on a corpus, with simulated people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from endoxa.declared import option
from endoxa.errors import JoinError
from endoxa.verbs.parameters import Home, PathLike, Place, Seed, Without, Workers, provenance_of

if TYPE_CHECKING:
    from endoxa.images.corpus import Progress
    from endoxa.reports.pages.trials import Held
    from endoxa.searches.searchers import Marking, People
    from endoxa.searches.trials import Task
else:
    Marking = People = Task = str  # their modules are slow to load

LEARNERS = ("kernel", "reweighting", "rocchio", "linear-svm", "rbf-svm", "pichunter", "none")
PEOPLE: tuple[People, ...] = ("mixed", "class")
SIZES: dict[Task, tuple[int, ...]] = {"target": (20, 10), "kind": (20,)}  # of a page
PAGES = 5  # that a corpus must fill: a search shows four, and some pictures must be left


def trials(
    place: Place,
    learners: Annotated[
        Sequence[str] | None,
        option(
            "A learner, kernel/METRIC, kernel/learnt or kernel/thompson; may be repeated. Default: seven of them.",
            "--learner", "-l", metavar="NAME",
        ),
    ] = None,
    *,
    tasks: Annotated[
        Sequence[Task] | None, option("One picture, or a kind. Default: both.", "--task", metavar="target|kind")
    ] = None,
    people: Annotated[
        Sequence[People] | None,
        option("Who searches. Default: both if there are categories.", metavar="mixed|class"),
    ] = None,
    marking: Annotated[
        Marking, option("Which pictures of a page are marked.", "--marks", metavar="all|likes|five")
    ] = "all",
    noise: Annotated[float, option("Share of marks that are one level off.", least=0, most=1)] = 0.1,
    sessions: Annotated[int, option("Number of sessions in each trial.", least=2)] = 80,
    size: Annotated[
        int | Sequence[int] | None,
        option("Pictures on a page; may be repeated. Default: 20, and in target search 10 too.", metavar="N", least=2),
    ] = None,
    without: Without = None,
    home: Home = None,
    workers: Workers = None,
    to: Annotated[PathLike | None, option("Write a page with figures.", metavar="PAGE.html")] = None,
    seed: Seed = 0,
    title: str = "",
    command: str = "",
    progress: Progress | None = None,
) -> Held:  # fmt: skip
    """Let learners search with simulated people, and say which finds pictures sooner.

    learners  names of learners; `kernel/l1` is one with a fixed metric, `kernel/learnt` learns its prior from the
              sessions before, `kernel/thompson` draws it
    tasks     target: one picture; kind: pictures of a kind. None: both
    people    mixed: each has hidden weights of category, look, colours, texture and layout; class: thinks in
              categories. None: both, or only mixed if the corpus has no categories
    size      pictures on a page, or several sizes. None: 20, and in target search 10 too, since with pages of 20 a
              target that the first page lacks costs 40 pictures at least, whatever is learnt
    All learners meet the same people.

    Examples:
        endoxa search contest stamps --without symbols --without cartoon --to trials.html
        endoxa search contest photos -l kernel -l rbf-svm -l none --task target --sessions 200 --size 10
    """
    from endoxa.io.opening import open_corpus
    from endoxa.io.search_features import open_features
    from endoxa.io.write import write_page
    from endoxa.reports.pages.trials import Held, page
    from endoxa.searches.trials import Competitor, Setting, hold

    names = list(learners or LEARNERS)
    for name in names:
        Competitor.of(name)
    sizes = (size,) if isinstance(size, int) else tuple(dict.fromkeys(size or ()))
    each = [(task, one) for task in tasks or ("target", "kind") for one in people or PEOPLE]
    settings = [
        Setting(task, one, marking, noise, sessions, page_size)
        for task, one in each
        for page_size in sizes or SIZES.get(task, (20,))
    ]
    corpus = open_corpus(place, without=without, progress=progress)
    features = open_features(corpus, home, workers=workers, progress=progress)
    known = dict(corpus.frame.select("item", "category").iter_rows())
    categories = [known.get(item) for item in features.items]
    largest = max(setting.size for setting in settings)
    if len(features) < PAGES * largest:
        what = (
            f"the corpus has {len(features):,} pictures, too few for pages of {largest}: nothing would be left to find"
        )
        raise JoinError(what, remedy=f"use pages of {max(2, len(features) // PAGES)} or more pictures")
    if people is None and not any(categories):
        settings = [setting for setting in settings if setting.people != "class"]
    found = [hold(features, categories, names, setting, seed=seed, progress=progress) for setting in settings]
    result = Held(
        title or f"{len(names)} learners search {len(features):,} pictures",
        found,
        facts=[f"{len(features):,} pictures", f"{len(names)} learners", f"{sessions} sessions in each trial"],
        provenance=provenance_of(corpus, command, seed),
    )
    if to is not None:
        write_page(page(result), Path(to))
    return result
