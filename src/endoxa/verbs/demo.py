"""demo: something real to look at, on pictures that are fetched or drawn, or on a generated collection."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa import examples
from endoxa.comparisons.orders import tau
from endoxa.errors import FileError, InstallError
from endoxa.evaluations.evaluation import Evaluation
from endoxa.frozen import dataclass
from endoxa.images.corpus import Corpus
from endoxa.io.write import write_frame
from endoxa.progress import Progress
from endoxa.tables import Run
from endoxa.verbs.report import report
from endoxa.verbs.write import write

MEASURES = ["nDCG@10", "AP", "P@10", "RR"]
FIRST = "nDCG@10"
PHOTOGRAPHS = "stamps"
PATIENCE = 90.0  # seconds for fetching photographs
SCENES = 400  # drawn instead
LETTERS = 12


@dataclass(frozen=True)
class Documents:
    """Six systems and three assessors, evaluated with the judgments and without them."""

    judged: Evaluation
    consensus: Evaluation
    tau: float
    pages: tuple[Path, Path]
    commands: tuple[str, str]


def demo_documents(to: Path, *, seed: int = 1, program: str = "endoxa") -> Documents:
    """Write runs, judgments and two pages: with the judgments, and without them."""
    run, opinions = examples.collection(rng=np.random.default_rng(seed))
    (to / "runs").mkdir(parents=True, exist_ok=True)
    qrels = to / "qrels.txt"
    write(opinions, qrels)
    grades = examples.machine_judge(run, seed=seed).frame.select(
        "judge", "query", "item", "repeat", "grade", pl.lit("0-3").alias("scale")
    )
    write_frame(grades, to / "grades.jsonl")
    paths = []
    for system in run.systems:
        paths.append(str(to / "runs" / f"{system}.run"))
        write(Run(run.frame.filter(pl.col("system") == system)), paths[-1])
    pages = to / "report.html", to / "without-judgments.html"
    title = "Six systems, three assessors: a generated collection"
    commands = (
        f"{program} report {qrels} {to}/runs/*.run {' '.join(MEASURES)} --assessors mean -N {examples.ITEMS} "
        f"--title '{title}' --seed {seed} --to {pages[0]}",
        f"{program} eval {to}/runs/*.run {FIRST} AP --worlds 200 --seed {seed}",
    )
    judged = report(
        paths, str(qrels), MEASURES, title=title, collection=examples.ITEMS, seed=seed, command=commands[0],
        assessors="mean",
    )  # fmt: skip
    without = "The same six systems, without the judgments"
    consensus = report(paths, None, [FIRST, "AP"], title=without, seed=seed, command=commands[1], worlds=200)
    for page, evaluation in zip(pages, (judged, consensus), strict=True):
        write(evaluation, page)
    known, believed = (_means(evaluation, run.systems) for evaluation in (judged, consensus))
    return Documents(judged, consensus, tau(known, believed), pages, commands)


def _means(evaluation: Evaluation, systems: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rows = evaluation.summary.filter(pl.col("measure") == FIRST).select("system", "value")
    means = dict(rows.iter_rows())
    return np.array([means[system] for system in systems])


def demo_study(to: Path, *, seed: int = 1) -> Path:
    """Write what a study is made of."""
    return examples.study(to / "study", rng=np.random.default_rng(seed))


def photographs(
    to: Path, *, seed: int = 1, progress: Progress | None = None, report: Callable[[str], None] | None = None
) -> tuple[str, Corpus]:
    """The photographs of the demo, or drawn scenes if they cannot be fetched; where they are, and the corpus."""
    from endoxa.io.opening import open_corpus
    from endoxa.verbs.compose import compose
    from endoxa.verbs.fetch import fetch

    try:
        return PHOTOGRAPHS, fetch(PHOTOGRAPHS, progress=progress, seconds=PATIENCE)
    except (FileError, InstallError) as error:
        if report is not None:
            why = str(error).splitlines()[0]
            report(f"the photographs could not be fetched ({why}); drawing {SCENES} scenes instead")
        where = str(to / "scenes")
        return where, open_corpus(compose(where, SCENES, seed=seed))


@dataclass(frozen=True)
class Pictures:
    """A contest over pictures, its page, and how to repeat it."""

    contest: Any
    page: Path
    corpus: str
    item: str
    command: str


def demo_pictures(
    to: Path,
    *,
    seed: int = 1,
    program: str = "endoxa",
    progress: Progress | None = None,
    report: Callable[[str], None] | None = None,
) -> Pictures:
    """Hold a contest over photographs, or over drawn scenes if the photographs cannot be fetched."""
    from endoxa.engines import registry
    from endoxa.verbs.contest import contest

    where, corpus = photographs(to, seed=seed, progress=progress, report=report)
    page = to / "pictures.html"
    drawn = " (the photographs could not be fetched)" if where != PHOTOGRAPHS else ""
    what = f"{len(corpus)} {'drawn scenes' if drawn else 'photographs'}{drawn}"
    title = f"{len(registry.available())} systems over {what}"
    command = shlex.join([program, "images", "contest", where, "--seed", str(seed), "--to", str(page)])
    result, _ = contest(corpus, title=title, seed=seed, command=command, to=page, progress=progress)
    return Pictures(result, page, where, corpus.items[0], command)


@dataclass(frozen=True)
class Letters:
    """A study of pipelines that read letters, its page, and how to repeat it."""

    studied: Any
    page: Path
    commands: tuple[str, str]


def demo_pages(to: Path, *, seed: int = 1, program: str = "endoxa", progress: Progress | None = None) -> Letters:
    """Compose letters, read them by three binarisers, and compare these by consensus and by truth."""
    from endoxa.verbs import pages

    folder, page = to / "letters", to / "pages.html"
    commands = (
        shlex.join([program, "pages", "compose", str(folder), "--count", str(LETTERS), "--seed", str(seed)]),
        shlex.join([program, "pages", "study", str(folder), "--seed", str(seed), "--to", str(page)]),
    )
    pages.compose(folder, LETTERS, seed=seed, progress=progress)
    title = f"{len(pages.BINARISERS)} binarisers on {LETTERS} letters"
    studied = pages.study(folder, title=title, command=commands[1], to=page, seed=seed, progress=progress)
    return Letters(studied, page, commands)
