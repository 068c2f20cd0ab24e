"""Groups of commands, and the options that the commands of a group share."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from endoxa.cli import output
from endoxa.cli.derived import Derived, derived
from endoxa.cli.derived import stages as stages_of
from endoxa.cli.root import Group

if TYPE_CHECKING:
    import polars as pl

    from endoxa.images.corpus import Skipped


class Opening(Group):
    """A group whose first word is one of its commands, or else the corpus that is opened."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read a word that is no command as the corpus."""
        if args and args[0] not in self.members and args[0] not in ctx.help_option_names:
            near = get_close_matches(args[0], self.members, n=1)
            if near and not Path(args[0]).exists():
                ctx.fail(f"there is neither a command nor a folder {args[0]!r}; did you mean {near[0]}?")
            args = [OPEN, *args]
        return list(super().parse_args(ctx, args))


OPEN = "open"
NAMED = 5  # pictures left out that are named; further ones are counted


def pictured(
    name: str, verb: Callable[..., Any], printer: Callable[..., None], *, stages: int = 1, **known: Any
) -> Derived:
    """A command on pictures: says where an index will be kept, and shows the progress of so many stages."""
    usual = {"needs": ("images",), "before": announced, "during": stages_of(stages)}
    return derived(name, verb, printer, **usual | known)


def announced(values: dict[str, Any]) -> None:
    """Say where the index of the corpus will be kept."""
    announce_home(values["place"], values.get("home"))


def announce_home(corpus: str, home: str | None, option: str = "--home") -> None:
    """Say where what is known about the pictures will be kept, the first time that something is kept there."""
    from endoxa.io.opening import CACHE, home_at

    place = Path(corpus)
    if not place.exists():  # a collection, which lies in the cache itself, or nothing
        return
    folder = home_at(place if place.is_dir() else place.parent, home)
    if folder.exists():
        return
    elsewhere = f"; {option} {CACHE} keeps it outside the pictures" if home is None else ""
    output.note(f"what is known about the pictures is kept in {folder}, which you may remove at any time{elsewhere}")


def print_skipped(skipped: tuple[Skipped, ...]) -> None:
    """Name the pictures that were left out, and why."""
    for one in skipped[:NAMED]:
        output.note(f"! {one.name} is left out: {one.why}")
    if len(skipped) > NAMED:
        output.note(f"! and {len(skipped) - NAMED:,} more")


def print_costs(frame: pl.DataFrame) -> None:
    """Print a table of costs in readable units."""
    import polars as pl

    table = frame.select(
        "system", "phase", "items", pl.col("seconds").round(2), (pl.col("bytes") / 1e6).round(2).alias("MB"),
        (1000 * pl.col("median")).round(2).alias("median ms"), (1000 * pl.col("p95")).round(2).alias("p95 ms"),
    )  # fmt: skip
    output.show_frame(table)
