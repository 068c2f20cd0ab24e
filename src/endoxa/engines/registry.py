"""The engines by name, as the command line and saved indexes know them; a program may register its own at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from endoxa.engines import PICTURES, SYMBOLS, Engine
from endoxa.engines.chance import Chance
from endoxa.engines.embeddings import PARTS, Embeddings
from endoxa.engines.histograms import Histograms
from endoxa.engines.integrated_regions import IntegratedRegions
from endoxa.engines.keywords import Keywords
from endoxa.engines.region_mixtures import Mixture
from endoxa.engines.shape_context import ShapeContext
from endoxa.engines.shape_vectors import SHAPES, ShapeVectors
from endoxa.errors import TextError, refuse_unknown, unknown

KINDS: dict[str, Callable[..., Engine]] = {}  # the class of each kind of engine
ENGINES: dict[str, tuple[str, dict[str, Any]]] = {}  # per name: the kind, and the settings that the name stands for
NEEDS: dict[str, tuple[str, ...]] = {}  # per name: the modules that must be installed
SUITS: dict[str, str] = {}  # per name: the corpora whose default it is, PICTURES or SYMBOLS
EXPECTED: dict[type, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def register(
    kind: str, make: Callable[..., Engine], presets: Mapping[str, Mapping[str, Any]] | None = None, *,
    needs: Iterable[str] = (), suits: str = PICTURES,
) -> None:  # fmt: skip
    """Enter a kind of engine: its name in saved indexes, its class, and the systems of this kind by name.

    `presets` maps the name of each system to its settings; without it the only system has the name of the kind.
    `needs` names modules without which these systems cannot run. `suits` says where they run if no system is named:
    those that suit symbols can be named for every corpus, but are the default for symbols only.
    """
    systems = {kind: {}} if presets is None else presets
    for name in dict.fromkeys([*systems, kind]):
        if name in ENGINES or name in KINDS:
            raise TextError(f"an engine is called {name!r} already", remedy="choose another name")
    KINDS[kind] = make
    for name, settings in systems.items():
        ENGINES[name] = kind, dict(settings)
        NEEDS[name] = tuple(needs)
        SUITS[name] = suits


register("keywords", Keywords)
register(
    "histograms",
    Histograms,
    {"histograms": {}, "histograms-colour": {"features": "colour"}, "histograms-texture": {"features": "texture"}},
)
register("integrated-regions", IntegratedRegions)
register("mixture", Mixture, {"romm": {"words": False}, "rwmm": {"words": True}})
register("embeddings", Embeddings, needs=PARTS)
register("random", Chance)
register("shapes", ShapeVectors, {name: {"shape": name} for name in SHAPES}, suits=SYMBOLS)
register("shape-context", ShapeContext, suits=SYMBOLS)


def available(suits: str = PICTURES) -> tuple[str, ...]:
    """The engines that suit pictures, or symbols, and can run here: those whose modules are installed."""
    installed = (name for name in ENGINES if all(find_spec(part) is not None for part in NEEDS[name]))
    return tuple(name for name in installed if SUITS[name] == suits)


def engine(name: str, **settings: Any) -> Engine:
    """An engine by its name; settings are those of its kind, and have the type of their default."""
    refuse_unknown("engine", name, ENGINES, listed=True)
    kind, preset = ENGINES[name]
    known = {field.name: field.default for field in fields(KINDS[kind])}  # type: ignore[arg-type]
    for setting, value in settings.items():
        if setting not in known:
            have = f"settings: {', '.join(known)}"
            raise unknown(TextError, f"the engine {name} has no setting {setting!r}", setting, known, listed=have)
        default = known[setting]
        kinds = {float, int} if type(default) is float else {type(default)}
        if type(value) not in kinds:
            raise TextError(
                f"{setting} of {name} is {value!r}", remedy=f"expected {EXPECTED[type(default)]}, like {default!r}"
            )
    return KINDS[kind](**(preset | settings))


def engines_of(
    names: Iterable[str] | None, settings: Mapping[str, Mapping[str, Any]] | None = None, suits: str = PICTURES
) -> dict[str, Engine]:
    """The engines by name, all that suit and can run here if none are named; `settings` are per name."""
    chosen, given = list(available(suits) if names is None else names), settings or {}
    for name in given:
        if name not in chosen:
            raise TextError(f"settings are given for {name!r}, which is not among the engines: {', '.join(chosen)}")
    return {name: engine(name, **given.get(name, {})) for name in chosen}


def kind_of(engine: Engine) -> str:
    """The kind of an engine."""
    return next(name for name, kind in KINDS.items() if isinstance(engine, kind))  # type: ignore[arg-type]


def restore(kind: str, settings: Mapping[str, Any]) -> Engine:
    """The engine that was saved; lists of JSON become tuples again."""
    if kind not in KINDS:
        raise TextError(f"no kind of engine is called {kind!r}")
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return KINDS[kind](**plain)
