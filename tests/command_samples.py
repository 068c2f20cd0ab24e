"""Every command of the command line, and plausible words for each, over small files of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import polars as pl
from command_line import done
from page_samples import pages, reader
from stored_search_samples import stored_search

from endoxa.cli.root import root
from endoxa.examples import collection
from endoxa.tables import Opinions, Run
from endoxa.verbs.compose import compose
from endoxa.verbs.study import studies
from endoxa.verbs.write import write

AFTER = {"pages study": "pages read", "images gallery": "images run"}  # what made the files that a command takes
TEXTS = {f"p{number}": f"we met John Reed at Salem and came to Boston on day {number}" for number in range(4)}
WORDS = ("--workers", 1, "--resamples", 2, "--share", 1, "--components", 8)


def asked(folder: Path, runs: Sequence[Path]) -> tuple[object, ...]:
    """A study of what two systems returned."""
    return (*runs[:2], "--screen", "one-result", "--items", folder / "docs.csv", "--queries", folder / "queries.csv")


def leaves(command: click.Command, before: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command, with the names of its groups."""
    if not isinstance(command, click.Group):
        yield " ".join(before)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None
        yield from leaves(one, (*before, name))


@dataclass(frozen=True)
class World:
    """Files of every kind, small."""

    folder: Path
    qrels: Path
    runs: tuple[Path, ...]
    labels: Path
    scenes: Path
    indexes: Path
    scans: Path
    ocr: tuple[str, ...]
    home: Path
    session: str
    studies: Path

    @property
    def doomed(self) -> str:
        """A study that is still there, and may be deleted."""
        return next((name for name in studies(home=self.studies)["study"] if name.startswith("gone")), "gone")

    def calls(self) -> dict[str, tuple[object, ...]]:
        """What is asked of every command."""
        f, qrels, runs, scenes = self.folder, self.qrels, self.runs, self.scenes
        picture = next(scenes.rglob("*.png"))
        kept, own = ("--home", self.indexes), ("--home", self.studies)
        return {
            "eval": (qrels, *runs, "nDCG@10", "AP"),
            "compare": (qrels, *runs, "nDCG@10"),
            "report": (qrels, *runs, "nDCG@10", "--to", f / "report.html"),
            "next": (*runs, "-n", 20),
            "judge": (
                self.labels, "--queries", f / "queries.csv", "--items", f / "docs.csv", "--with",
                "mine=sh -c 'echo $((${#2} % 4))' x {query} {item}", "--to", f / "judged.jsonl", "--most", 20,
            ),
            "backtest": (qrels, *runs, "P@10", "--draws", 2, "--to", f / "backtest.html"),
            "estimate": (*runs, "P@10", "--labels", self.labels),
            "believe": (*runs, "--depth", 10),
            "measure": (qrels, *runs[:2], "AP"),
            "ratings": (f / "ratings.csv", "--to", f / "ratings.html", "--resamples", 40),
            "categories": (f / "filing.csv", f / "tree.csv"),
            "pool": (*runs, "--depth", 10),
            "fuse": (*runs,),
            "check": (qrels, *runs),
            "generality": (qrels, *runs[:2], "--at", 0.5, "--draws", 2, "--page", f / "generality.html"),
            "explain": ("nDCG",),
            "read": (qrels,),
            "write": (qrels, f / "qrels.csv"),
            "demo": ("study", "--to", f / "demo"),
            "images index": (scenes, "-e", "keywords", "-e", "histograms", "--workers", 1, *kept),
            "images run": (scenes, "--sample", 6, "--to", f / "picture-runs", *kept),
            "images search": (scenes, picture, "-e", "histograms", *kept),
            "images gallery": (scenes, *sorted((f / "picture-runs").glob("*.run")), "--to", f / "gallery.html"),
            "images contest": (
                scenes, "-e", "keywords", "-e", "histograms", "-e", "random", "--sample", 6, "--worlds", 20,
                "--workers", 1, "--to", f / "contest.html", "--home", f / "contested",
            ),
            "images compose": (f / "composed", "-n", 2),
            "pages compose": (f / "letters", "-n", 1),
            "pages read": (self.scans, "--to", f / "texts", "-b", "grey", *self.ocr, "--find", "words"),
            "pages study": (self.scans, "--texts", f / "texts", "--to", f / "pages.html"),
            "search list": ("--home", self.home),
            "search replay": (self.session, "--home", self.home),
            "search export": (self.session, "--to", f / "marks.csv", "--home", self.home),
            "search reset": (scenes, "--home", self.home),
            "search neighbours": (scenes, "--index", f / "neighbours"),
            "search contest": (
                scenes, "-l", "kernel", "-l", "none", "--sessions", 2, "--size", 2, "--task", "target", "--people",
                "mixed", "--workers", 1, *kept,
            ),
            "words visual": (
                scenes, "--least", 2, "--most", 0.9, "--components", 8, "--draws", 19, "-s", "grid", "--workers", 1,
                *kept, "--to", f / "visual.html",
            ),
            "words predict": (scenes, "-s", "grid", *WORDS, *kept, "--to", f / "words.html"),
            "words segmenters": (scenes, "-s", "masks", "--regions", "2", *WORDS, *kept),
            "words features": (scenes, "-s", "grid", "--set", "base", "--set", "base,rgs", *WORDS, *kept),
            "words annotate": (
                scenes, picture, "-s", "grid", "-n", 2, "--components", 8, *kept, "--workers", 1, "--to",
                f / "annotated.html",
            ),
            "study new": (f"study{next(COUNT)}", *asked(f, runs), *own),
            "study import": ("asked", f / "ratings.csv", *own),
            "study status": ("asked", *own),
            "study export": ("asked", "--to", f / "answers.csv", *own),
            "study bundle": ("asked", "--to", f / "asked.zip", *own),
            "study list": own,
            "study edit": ("asked", "--question", "Does it help?", *own),
            "study close": ("ended", *own),
            "study delete": (self.doomed, "--confirm", self.doomed, *own),
        }  # fmt: skip


COUNT = itertools.count()
COMMANDS = sorted(leaves(root()))


def world_in(folder: Path) -> World:
    """Write the files."""
    run, opinions = collection(rng=np.random.default_rng(3))
    queries = run.frame["query"].unique().sort()[:12].implode()
    frame = run.frame.filter(pl.col("query").is_in(queries) & (pl.col("rank") <= 30))
    judged = opinions.frame.filter((pl.col("source") == opinions.frame["source"][0]) & pl.col("query").is_in(queries))
    write(Opinions.of(judged), folder / "qrels.txt")
    runs = []
    for system in run.systems[:4]:
        runs.append(folder / f"{system}.run")
        write(Run(frame.filter(pl.col("system") == system), run.ties), runs[-1])
    done("next", *runs, "P@10", "-n", 200, "-o", "csv", "--to", folder / "judge.csv")
    known = {(query, item): grade for query, item, grade in judged.select("query", "item", "grade").iter_rows()}
    judge = pl.read_csv(folder / "judge.csv", schema_overrides={"query": pl.String, "item": pl.String})
    grades = [float(known.get(pair, 0) > 0) for pair in judge.select("query", "item").iter_rows()]
    judge.with_columns(pl.Series("grade", grades)).write_csv(folder / "judge.csv")
    rated = judge.head(40).select("query", "item", pl.Series("grade", grades[:40]) * 3 + 1)
    pl.concat([rated.with_columns(pl.lit(who).alias("source")) for who in ("ana", "ben")]).write_csv(
        folder / "ratings.csv"
    )
    (folder / "filing.csv").write_text("source,item,category\nana,a,owl\nben,a,bird\nana,b,owl\nben,b,owl\n")
    (folder / "tree.csv").write_text("category,parent\nall,\nbird,all\nowl,bird\n")
    scenes = folder / "scenes"
    compose(scenes, 14, seed=3, size=(48, 72), form="png")
    picture_runs = ("--to", folder / "picture-runs", "--home", folder / "indexes")
    for words in (
        ("index", scenes, "-e", "keywords", "-e", "histograms", "--workers", 1, *picture_runs[2:]),
        ("run", scenes, "--sample", 6, *picture_runs),
    ):
        done("images", *words)
    home, session = stored_search(folder, scenes)
    frame.select("item", pl.col("item").alias("text")).unique().write_csv(folder / "docs.csv")
    frame.select("query", pl.col("query").alias("text")).unique().write_csv(folder / "queries.csv")
    for name in ("asked", "ended", "gone", "gone-too"):
        done("study", "new", name, *asked(folder, runs), "--home", folder / "studies")
    done("study", "import", "asked", folder / "ratings.csv", "--home", folder / "studies")
    ocr = [word for name in ("right", "wrong") for word in ("--ocr", reader(folder, name, TEXTS))]
    return World(
        folder, folder / "qrels.txt", tuple(runs), folder / "judge.csv", scenes, folder / "indexes",
        pages(folder / "scans", TEXTS), tuple(ocr), Path(home), session, folder / "studies",
    )  # fmt: skip
