"""Groups of commands, and the options that the commands of a group share."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import output
from endoxa.cli.root import Group
from endoxa.declared import argument, option
from endoxa.errors import CallError

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

Where = Annotated[
    str,
    argument(
        "A folder of pictures, a manifest (CSV, JSONL, Parquet: path, words, category …), or stamps, clipart, "
        "symbols or emoji, which are fetched from Debian's packages when first used.",
        "CORPUS",
    ),
]
Engines = Annotated[
    list[str] | None,
    option("A system; may be repeated. Default: all that suit the corpus.", "--engine", "-e", metavar="NAME"),
]
Home = Annotated[
    str | None,
    option("Folder of the indexes. Default: .endoxa in the corpus; cache: outside it.", "--home", metavar="DIR|cache"),
]
Without = Annotated[
    list[str] | None,
    option("Leave out categories with this part in their path; may be repeated.", "--without", metavar="PART"),
]
Workers = Annotated[int | None, option("Number of processes. Default: one per core.", "--workers", least=1)]
Settings = Annotated[
    list[str] | None, option("A setting of an engine: rwmm.components=200.", "--set", metavar="ENGINE.SETTING=VALUE")
]
Vectors = Annotated[
    list[str] | None,
    option("A further system: vectors of your own (.parquet, .npz, .npy).", "--vectors", metavar="NAME=FILE"),
]


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


def settings_of(options: list[str] | None) -> dict[str, dict[str, Any]]:
    """`rwmm.components=200` as {"rwmm": {"components": 200}}; values are read as JSON where possible."""
    import json

    settings: dict[str, dict[str, Any]] = {}
    for text in options or []:
        left, equals, value = text.partition("=")
        engine, dot, name = left.partition(".")
        if not (equals and dot and engine and name):
            raise CallError(f"--set {text!r}: expected ENGINE.SETTING=VALUE, like rwmm.components=200")
        try:
            plain = json.loads(value)
        except ValueError:
            plain = value
        settings.setdefault(engine, {})[name.replace("-", "_")] = tuple(plain) if isinstance(plain, list) else plain
    return settings


def vectors_of(options: list[str] | None) -> dict[str, str]:
    """`clip=vectors.npz` as {"clip": "vectors.npz"}."""
    files = {}
    for text in options or []:
        name, equals, path = text.partition("=")
        if not (equals and name and path):
            raise CallError(f"--vectors {text!r}: expected NAME=FILE, like clip=vectors.npz")
        files[name] = path
    return files


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
