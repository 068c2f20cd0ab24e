"""The engines by name, as the command line and saved indexes know them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from endoxa.engines import Engine
from endoxa.engines.chance import Chance
from endoxa.engines.embeddings import Embeddings
from endoxa.engines.histograms import Histograms
from endoxa.engines.integrated_regions import IntegratedRegions
from endoxa.engines.keywords import Keywords
from endoxa.engines.mixtures import Mixture
from endoxa.errors import TextError, did_you_mean

KINDS: dict[str, Callable[..., Engine]] = {
    "keywords": Keywords,
    "histograms": Histograms,
    "integrated-regions": IntegratedRegions,
    "mixture": Mixture,
    "embeddings": Embeddings,
    "random": Chance,
}

# What can be asked for: the kind of engine, and the settings that make this one of it.
ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    "keywords": ("keywords", {}),
    "histograms": ("histograms", {}),
    "histograms-colour": ("histograms", {"features": "colour"}),
    "histograms-texture": ("histograms", {"features": "texture"}),
    "integrated-regions": ("integrated-regions", {}),
    "romm": ("mixture", {"words": False}),
    "rwmm": ("mixture", {"words": True}),
    "embeddings": ("embeddings", {}),
    "random": ("random", {}),
}

EXPECTED: dict[type, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def engine(name: str, **settings: Any) -> Engine:
    """An engine by its name; settings are those of its kind."""
    if name not in ENGINES:
        raise TextError(f"no engine is called {name!r}{did_you_mean(name, ENGINES)} (there are: {', '.join(ENGINES)})")
    kind, preset = ENGINES[name]
    known = settings_of(kind)
    for one in settings:
        if one not in known:
            raise TextError(
                f"the engine {name} has no setting {one!r}{did_you_mean(one, known)} (settings: {', '.join(known)})"
            )
    for one, value in settings.items():
        _refuse_kind(name, one, value, known[one])
    return KINDS[kind](**(preset | settings))


def _refuse_kind(engine: str, name: str, value: Any, usual: Any) -> None:
    """A setting is of the kind of its usual value: a whole number, a number, a text, or true or false."""
    kind = type(usual)
    fits = type(value) in {kind, int} if kind is float else type(value) is kind
    if not fits:
        raise TextError(f"{name} of {engine} is {value!r}; expected {EXPECTED[kind]}, like {usual!r}")


def settings_of(kind: str) -> dict[str, Any]:
    """The settings of a kind, and their usual values."""
    return {field.name: field.default for field in fields(KINDS[kind])}  # type: ignore[arg-type]


def kind_of(made: Engine) -> str:
    """Which kind an engine is of."""
    return next(name for name, kind in KINDS.items() if isinstance(made, kind))  # type: ignore[arg-type]


def restore(kind: str, settings: Mapping[str, Any]) -> Engine:
    """The engine that was saved; lists of JSON become tuples again."""
    if kind not in KINDS:
        raise TextError(f"no kind of engine is called {kind!r}")
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return KINDS[kind](**plain)
