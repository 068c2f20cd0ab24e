"""The engines by name, as the command line and saved indexes know them.

A new engine is a frozen dataclass in a file of its own, one line of `register` below, and a test. A program may also
register an engine of its own at run time; it then takes part wherever no engines are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from endoxa.engines import Engine
from endoxa.engines.chance import Chance
from endoxa.engines.embeddings import PARTS, Embeddings
from endoxa.engines.histograms import Histograms
from endoxa.engines.integrated_regions import IntegratedRegions
from endoxa.engines.keywords import Keywords
from endoxa.engines.region_mixtures import Mixture
from endoxa.errors import TextError, did_you_mean, refuse_unknown

KINDS: dict[str, Callable[..., Engine]] = {}  # the class of each kind of engine
ENGINES: dict[str, tuple[str, dict[str, Any]]] = {}  # per name: the kind, and the settings that the name stands for
NEEDS: dict[str, tuple[str, ...]] = {}  # per name: the modules that must be installed
EXPECTED: dict[type, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def register(
    kind: str, make: Callable[..., Engine], presets: Mapping[str, Mapping[str, Any]] | None = None, *,
    needs: Iterable[str] = (),
) -> None:  # fmt: skip
    """Enter a kind of engine: its name in saved indexes, its class, and the systems of this kind by name.

    `presets` maps the name of each system to its settings; without it there is one system, which has the name of the
    kind. `needs` names modules without which these systems cannot run.
    """
    systems = {kind: {}} if presets is None else presets
    for name in (*systems, *((kind,) if kind not in systems else ())):
        if name in ENGINES or name in KINDS:
            raise TextError(f"an engine is called {name!r} already; choose another name")
    KINDS[kind] = make
    for name, settings in systems.items():
        ENGINES[name] = kind, dict(settings)
        NEEDS[name] = tuple(needs)


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


def available() -> tuple[str, ...]:
    """The engines that can run here: those whose modules are installed."""
    return tuple(name for name in ENGINES if all(find_spec(part) is not None for part in NEEDS[name]))


def engine(name: str, **settings: Any) -> Engine:
    """An engine by its name; settings are those of its kind."""
    refuse_unknown("engine", name, ENGINES, listed=True)
    kind, preset = ENGINES[name]
    known = settings_of(kind)
    for setting, value in settings.items():
        if setting not in known:
            raise TextError(
                f"the engine {name} has no setting {setting!r}{did_you_mean(setting, known)} "
                f"(settings: {', '.join(known)})"
            )
        _refuse_type(name, setting, value, known[setting])
    return KINDS[kind](**(preset | settings))


def engines_of(
    names: Iterable[str] | None, settings: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Engine]:
    """The engines by name, all that can run here if none are named; `settings` are per name."""
    chosen = list(available() if names is None else names)
    given = settings or {}
    for name in given:
        if name not in chosen:
            raise TextError(f"settings are given for {name!r}, which is not among the engines: {', '.join(chosen)}")
    return {name: engine(name, **given.get(name, {})) for name in chosen}


def _refuse_type(name: str, setting: str, value: Any, default: Any) -> None:
    """A setting has the type of its default: a whole number, a number, a text, or true or false."""
    kind = type(default)
    fits = type(value) in {kind, int} if kind is float else type(value) is kind
    if not fits:
        raise TextError(f"{setting} of {name} is {value!r}; expected {EXPECTED[kind]}, like {default!r}")


def settings_of(kind: str) -> dict[str, Any]:
    """The settings of a kind of engine, and their defaults."""
    return {field.name: field.default for field in fields(KINDS[kind])}  # type: ignore[arg-type]


def kind_of(engine: Engine) -> str:
    """The kind of an engine."""
    return next(name for name, kind in KINDS.items() if isinstance(engine, kind))  # type: ignore[arg-type]


def restore(kind: str, settings: Mapping[str, Any]) -> Engine:
    """The engine that was saved; lists of JSON become tuples again."""
    if kind not in KINDS:
        raise TextError(f"no kind of engine is called {kind!r}")
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
    return KINDS[kind](**plain)
