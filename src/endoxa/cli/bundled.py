"""endoxa eval with a bundle in the place of judgments: what it says of a system, and how much of it people saw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show

if TYPE_CHECKING:
    from endoxa.benchmark import Benchmark
    from endoxa.tables import Run

HEADINGS = {
    "opinions": "By what people said of every pair",
    "sample": "Estimated from the pairs that were drawn",
    "labels": "By where people filed the items",
    "categories": "By where people filed the items",
    "answers": "Against each subject's own order",
}


@dataclass(frozen=True)
class Bundled:
    """The options of `eval` that matter where a bundle is given."""

    ties: str = "trec"
    lenient: bool = False
    name_from: str = "tag"
    worlds: int = 400
    confidence: float = 0.95
    collection: int | None = None
    seed: int = 0

    def evaluate(self, inputs: o.Inputs, other: list[str], *, form: str, to: str | None) -> None:
        """Score, and print. `other` are options that were given and say nothing here: better said than ignored."""
        if other:
            raise typer.BadParameter(f"{', '.join(other)}: not for a bundle, which says itself how it is read")
        if self.ties not in {"trec", "input"}:
            raise typer.BadParameter(f"with a bundle --ties is trec or input, not {self.ties!r}")
        if not inputs.runs:
            raise typer.BadParameter("no run was given; name a file with 6 columns, or say --run FILE")
        import numpy as np

        from endoxa.benchmark import score
        from endoxa.io.bundles import read_bundle

        assert inputs.bundle is not None
        with show.busy("scoring against the bundle"):
            bundle = read_bundle(inputs.bundle, check_files=False)
            made = score(
                bundle, self.run(inputs.runs), inputs.measures or None, confidence=self.confidence,
                worlds=self.worlds, collection=self.collection, rng=np.random.default_rng(self.seed),
            )  # fmt: skip
        show_benchmark(made, self.confidence, form=form, to=to)

    def run(self, paths: list[str]) -> Run:
        """All runs as one table."""
        from endoxa.io.read import joined, read
        from endoxa.io.sources import Source

        how: dict[str, Any] = {"kind": "run", "ties": self.ties, "lenient": self.lenient}
        if self.name_from == "tag":
            made: Run = read(paths, **how)
            return made
        return joined([read(path, name=Source(Path(path), path).stem, **how) for path in paths], paths)


def show_benchmark(made: Benchmark, confidence: float, *, form: str, to: str | None) -> None:
    """Print or write a benchmark in the form asked for; beside a file the sentences go to stderr."""
    from endoxa.io.write import replacing
    from endoxa.reports.text import render
    from endoxa.reports.text import summary_table as text_table

    remarks = [
        *made.sentences(),
        *(made.notes),
        f"intervals: {confidence:.0%}, where the judgments bear one",
        f"bundle {made.name}: {made.task}; licence: {made.licence or 'none given: ask the makers'}",
    ]
    if form == "table":
        _print(made, remarks)
        return
    if form == "parquet":
        assert to is not None
        with replacing(Path(to)) as unfinished:
            made.frame.write_parquet(unfinished)
        show.note(f"wrote {to}")
    elif form in {"latex", "markdown"}:
        parts = made.frame.partition_by("by", maintain_order=True)
        show.emit("\n".join(text_table(part, form) for part in parts), to)  # type: ignore[arg-type]
    else:
        coverage = made.coverage.drop("effective")
        frame = made.frame.join(coverage, on=["system", "by"], how="left", suffix="_share", maintain_order="left")
        show.emit(render(frame, form), to)  # type: ignore[arg-type]
    for line in remarks:
        show.note(line)


def _print(made: Benchmark, remarks: list[str]) -> None:
    console = show.console()
    sentences = len(made.sentences())
    print("\n".join(map(show.wrapped, remarks[:sentences])))
    for part in made.frame.partition_by("by", maintain_order=True):
        console.print(f"\n[bold]{HEADINGS[part['by'][0]]}[/bold]")
        console.print(show.summary_table(part, width=console.width))
    print("\n" + "\n".join(map(show.wrapped, remarks[sentences:])))
