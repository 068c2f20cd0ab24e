"""Parameters that several verbs share, and what wraps their signatures. Quick to load, because help needs it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, TypeVar

from endoxa.declared import MEASURES, REFERENCE, RUN, option
from endoxa.evaluations.settings import REGISTRY, Settings

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
Tree = Annotated[Any, option("The categories of labels.", "--taxonomy", metavar="FILE", hidden=True)]
Title = Annotated[str, option("Heading of the page.")]
Workers = Annotated[int | None, option("Number of processes. Default: one per core.", least=1)]
Seed = Annotated[int, option(REGISTRY["seed"].help)]
Confidence = Annotated[float, option(REGISTRY["confidence"].help, metavar="SHARE")]
Worlds = Annotated[int, option(REGISTRY["worlds"].help, least=2)]
On = Annotated[str | None, option(REGISTRY["on"].help, metavar="ADDRESS")]
Lenient = Annotated[bool, option(REGISTRY["lenient"].help)]
Page = Annotated[Any, option("The page to write.", metavar="PAGE.html")]


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
