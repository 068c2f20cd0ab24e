"""demo: something real to look at, on a collection that is generated here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from endoxa import examples
from endoxa.comparisons.orders import tau
from endoxa.evaluations.evaluation import Evaluation
from endoxa.tables import Run
from endoxa.verbs.report import report
from endoxa.verbs.write import write

MEASURES = ["nDCG@10", "AP", "P@10", "RR"]
FIRST = "nDCG@10"


@dataclass(frozen=True)
class Documents:
    """Six systems and three assessors, evaluated with the judgments and without them."""

    judged: Evaluation
    consensus: Evaluation
    tau: float
    pages: tuple[Path, Path]
    commands: tuple[str, str]


def demo_documents(to: Path, *, seed: int = 1, program: str = "endoxa") -> Documents:
    """Write runs, judgments and two pages: with the judgments, and with the judgments put away."""
    run, opinions = examples.collection(rng=np.random.default_rng(seed))
    (to / "runs").mkdir(parents=True, exist_ok=True)
    qrels = to / "qrels.txt"
    write(opinions, qrels)
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


def demo_study(to: Path, *, seed: int = 1) -> Path | None:
    """Write what a study is made of; None where Pillow is not installed."""
    try:
        return examples.study(to / "study", rng=np.random.default_rng(seed))
    except ModuleNotFoundError:
        return None
