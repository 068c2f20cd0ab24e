"""Parameters that several verbs share, and what wraps their signatures. Quick to load, because help needs it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from endoxa import __version__
from endoxa.declared import MEASURES, REFERENCE, RUN, argument, option
from endoxa.errors import CallError
from endoxa.evaluations.settings import REGISTRY, Settings

if TYPE_CHECKING:
    from endoxa.engines.searching import Searcher
    from endoxa.images.corpus import Corpus
else:
    Corpus = Searcher = Path  # their modules are slow to load, and help needs only that it is a place

PathLike = str | Path
F = TypeVar("F", bound=Callable[..., Any])
Report = Callable[[Any], None]  # gets what a lenient reader skipped

Runs = Annotated[Any, RUN]
Against = Annotated[Any, REFERENCE]
Relied = Annotated[Any, REFERENCE._replace(hidden=True)]  # given among the files
Named = Annotated[Any, MEASURES._replace(hidden=True)]
Measures = Annotated[Any, MEASURES]
Labelled = Annotated[
    Any,
    option(
        "A few judged pairs beside runs or a belief; several rounds and judges may be given.", "--labels",
        metavar="FILE", panel="Input", many=True,
    ),
]  # fmt: skip
Machines = Annotated[
    Any,
    option(
        "Grades of a machine judge (LLM) beside runs; several may be given. With labels, its weight is learned.",
        "--judge", metavar="FILE", panel="Input", many=True,
    ),
]  # fmt: skip
Tree = Annotated[Any, option("The categories of labels.", "--taxonomy", metavar="FILE", hidden=True)]
Title = Annotated[str, option("Heading of the page.")]
Workers = Annotated[int | None, option("Number of processes. Default: one per core.", least=1)]
Seed = Annotated[int, option(REGISTRY["seed"].help)]
Confidence = Annotated[float, option(REGISTRY["confidence"].help, metavar="SHARE")]
Worlds = Annotated[int, option(REGISTRY["worlds"].help, least=2)]
On = Annotated[str | None, option(REGISTRY["on"].help, metavar="ADDRESS")]
Lenient = Annotated[bool, option(REGISTRY["lenient"].help)]
Page = Annotated[Any, option("The page to write.", metavar="PAGE.html")]


# ---- what verbs on pictures share ---------------------------------------------------------------------


def provenance_of(corpus: Corpus, command: str, seed: int) -> dict[str, str]:
    """What made a result of a corpus, for its page."""
    return {"Endoxa": __version__, "Corpus": corpus.label, "Command": command, "Seed": str(seed)}


def listed(text: str) -> list[str]:
    """Names with commas between, as they are typed."""
    return [part.strip() for part in text.split(",") if part.strip()]


def named_paths(flag: str, form: str) -> Callable[[list[str]], dict[str, str]]:
    """What reads `clip=vectors.npz`, typed once or more, as {"clip": "vectors.npz"}."""

    def paths(texts: list[str]) -> dict[str, str]:
        found = {}
        for text in texts:
            name, equals, path = text.partition("=")
            if not (equals and name and path):
                raise CallError(f"{flag} {text!r}: expected {form}")
            found[name] = path
        return found

    return paths


def engine_settings(texts: list[str]) -> dict[str, dict[str, Any]]:
    """`rwmm.components=200` as {"rwmm": {"components": 200}}; values are read as JSON where possible."""
    import json

    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
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


CORPUS = argument(
    "A folder of pictures, a manifest (CSV, JSONL, Parquet: path, words, category …), or stamps, clipart, symbols or "
    "emoji, which are fetched from Debian's packages when first used.",
    "CORPUS",
)
Place = Annotated[PathLike | Corpus, CORPUS]
Searched = Annotated[PathLike | Corpus | Searcher, CORPUS]
Engines = Annotated[
    Sequence[str] | None,
    option("A system; may be repeated. Default: all that suit the corpus.", "--engine", "-e", metavar="NAME"),
]
Home = Annotated[
    PathLike | None,
    option("Folder of the indexes. Default: .endoxa in the corpus; cache: outside it.", metavar="DIR|cache"),
]
Without = Annotated[
    Sequence[str] | None, option("Leave out categories with this part in their path; may be repeated.", metavar="PART")
]
EngineSettings = Annotated[
    Mapping[str, Mapping[str, Any]] | None,
    option(
        "A setting of an engine: rwmm.components=200.", "--set", metavar="ENGINE.SETTING=VALUE", many=True,
        parse=engine_settings,
    ),
]  # fmt: skip
Vectors = Annotated[
    Mapping[str, PathLike] | None,
    option(
        "A further system: vectors of your own (.parquet, .npz, .npy).", metavar="NAME=FILE", many=True,
        parse=named_paths("--vectors", "NAME=FILE, like clip=vectors.npz"),
    ),
]  # fmt: skip


def takes_settings(*, scoring_only: bool = False) -> Callable[[F], F]:
    """Show the settings of a verb in its signature and help: they are those of `Settings`."""

    def shown(verb: F) -> F:
        signature = inspect.signature(verb)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        names = [one for one in fields(Settings) if REGISTRY[one.name].scoring or not scoring_only]
        more = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in names
        ]
        verb.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        lines = "\n".join(f"        {one.name:13} {REGISTRY[one.name].help}" for one in names)
        verb.__doc__ = (
            f"{inspect.cleandoc(verb.__doc__ or '')}\n\nSettings, with their defaults in the signature:\n{lines}"
        )
        return verb

    return shown


def takes_either_order(verb: F) -> F:
    """Let a verb take its first two arguments in either order, where their kinds can be told apart.

    Arguments that are named are taken as named. Two dicts of numbers that cannot be told apart are taken in the order
    of the signature, unless they look swapped: then which is which must be said. Rows that hold a run and judgments
    are both, where no reference is given.
    """
    names = [*inspect.signature(verb).parameters][:2]
    first = names.index("run")  # the place of the run

    @wraps(verb)
    def _called(*given: Any, **named: Any) -> Any:
        from endoxa.verbs.inputs import entered, holds_both, is_nothing, is_swapped

        values = [entered(list(one) if isinstance(one, Iterator) else one) for one in given[:2]]
        named |= {name: entered(named[name]) for name in names if name in named}
        if len(values) == 2 and is_swapped(values[first], values[1 - first], names[1 - first]):
            values.reverse()
        whole = dict(zip(names, values, strict=False)) | named
        run = whole.get("run")
        if names[1 - first] == "reference" and is_nothing(whole.get("reference")) and holds_both(run):
            return verb(run, run, *given[2:], **{name: one for name, one in named.items() if name not in names})
        return verb(*values, *given[2:], **named)

    return _called  # type: ignore[return-value]
