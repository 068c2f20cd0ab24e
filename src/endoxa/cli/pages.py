"""endoxa pages: pipelines that read pages of text, compared without a true text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.cli import output
from endoxa.cli.derived import derived, stages
from endoxa.cli.loudness import is_full
from endoxa.verbs import pages as verbs

if TYPE_CHECKING:
    from endoxa.io.reading import Readings
    from endoxa.verbs.pages import Studied

NAMED = 5  # pages left out that are named; further ones are counted


def print_letters(paths: list[Path], folder: str | Path) -> None:
    """Print how many letters there are, and where."""
    output.say(f"{len(paths):,} letters with their texts are in {folder} (study them: endoxa pages study {folder}).")


def print_texts(found: Readings, folder: str | Path, to: str | Path) -> None:
    """Print how many texts were read, and the pages that were not."""
    counts = [len(own) for own in found.outputs.values()]
    output.say(
        f"{sum(counts):,} texts of {len(counts)} pipelines are in {to}, {found.read:,} of them read now (compare the "
        f"pipelines: endoxa pages study {folder} --texts {to})."
    )
    _print_failures([verbs.described(one) for one in found.failures])


def print_study(studied: Studied, to: str | Path) -> None:
    """Print the answer, a table per measure, tau, the warnings and the address of the page."""
    from endoxa.evaluations.pipelines import F1, MEASURES, PRECISION, TRUTH
    from endoxa.formatting import number
    from endoxa.reports.pages.page_study import answer, pairs, tables

    found = studied.study
    output.say(answer(found))
    for measure, table in tables(found).items():
        output.show([f"\n[bold]{measure.capitalize()}, mean over pages[/bold]"])
        output.show_frame(table)
    for way in found.ways:
        claimed = F1 if way == TRUTH else PRECISION
        for measure in MEASURES if is_full() else (claimed,):
            output.show([f"\n[bold]Pairs, page by page: {measure}, {way}[/bold]"])
            output.show_frame(pairs(found, way, measure))
    for way, measure, tau, lo, hi in found.taus.iter_rows():
        output.tell(f"Kendall's tau, {way} and truth, {measure}: {number(tau, 2)} [{number(lo, 2)}, {number(hi, 2)}]")
    output.tell("")
    _print_failures(studied.reported.failures)
    output.tell(*(f"! {warning}" for warning in found.warnings), f"The page: {Path(to).resolve().as_uri()}")


def _print_failures(failures: Any) -> None:
    output.tell(*(f"! {line}" for line in failures[:NAMED]))
    if len(failures) > NAMED:
        output.tell(f"! and {len(failures) - NAMED:,} more")


NEEDS = {"needs": ("pages",)}
COMMANDS = (
    derived("compose", verbs.compose, print_letters, during=stages(1), **NEEDS),
    derived(
        "read", verbs.read, print_texts, during=stages(1), **NEEDS,
        more="What was read before with the same settings is kept. A page that fails, or takes too long, is named and "
        "left out.",
    ),
    derived("study", verbs.study, print_study, during=stages(2), defaults={"to": "pages.html"}, **NEEDS),
)  # fmt: skip
