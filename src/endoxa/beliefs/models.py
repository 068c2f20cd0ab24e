"""The registry of models that turn opinions, runs or labels into a belief. Help and documentation are made from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs import categories, consensus, learned, raters, votes
from endoxa.errors import TableError, TextError, refuse_unknown, unknown
from endoxa.frozen import dataclass
from endoxa.tables import ASIDE, COUNTED, Belief, Labels, Opinions, Run, Taxonomy

Source = Run | Opinions | Labels
PEOPLE = 50  # resamples of the people where a resample is costly


@dataclass(frozen=True)
class Model:
    """A registered model.

    function     (source, **settings) to a Belief; a parameter `rng` gets the random number generator
    takes        kinds of table that it takes
    people       default number of resamples of the people, where there are several; None: the function's own default
    counts_rows  whether it counts rows, so that what a system did not list must be written out as a no
    keeps_gold   whether it learns from gold tasks, whose true grades are known
    """

    name: str
    function: Callable[..., Belief]
    takes: tuple[type, ...] = (Opinions,)
    people: int | None = None
    counts_rows: bool = False
    keeps_gold: bool = False

    @property
    def settings(self) -> list[str]:
        """The names of its settings."""
        return [name for name in inspect.signature(self.function).parameters if name != "rng"][1:]

    @property
    def summary(self) -> str:
        """The first line of its docstring, for help."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]


MODELS: dict[str, Model] = {}


def register(name: str, function: Callable[..., Belief], **known: Any) -> None:
    """Add a model; `known` holds the other fields of `Model`."""
    MODELS[name] = Model(name, function, **known)


register("consensus", consensus.believe, takes=(Run, Opinions))
register("learned", learned.believe, takes=(Run,))
register("votes", votes.votes, counts_rows=True)
register("dawid-skene", raters.believe, people=PEOPLE, counts_rows=True, keeps_gold=True)
register("subjects", votes.subjects, counts_rows=True)
register("taxonomy", categories.believe, takes=(Labels,), people=PEOPLE)
register("levels", categories.levels, takes=(Labels,))
register("crisp", votes.crisp)
register("graded", votes.graded)


def default(source: Source) -> str:
    """The model that suits the source, where none is named."""
    if isinstance(source, Run):
        return "consensus"
    if isinstance(source, Labels):
        return "taxonomy" if len(source.sources) > 1 else "levels"
    if set(source.frame["kind"]) == {"system"}:
        return "consensus"
    return "votes" if len(source.sources) > 1 else "crisp"


def named(name: str) -> Model:
    """The model of this name."""
    refuse_unknown("model", name, MODELS, listed=True)
    return MODELS[name]


def described() -> str:
    """Every model with its first line and its settings: a line each."""
    return "\n".join(
        f"{one.name:12}  {one.summary}" + (f" Settings: {', '.join(one.settings)}." if one.settings else "")
        for one in MODELS.values()
    )


def believe(source: Source, model: str | None = None, *, seed: int = 0, **settings: Any) -> Belief:
    """A belief from opinions, runs or labels by a named model; the settings are those of the model (`described`)."""
    chosen = named(model or default(source))
    if not isinstance(source, chosen.takes):
        wanted = " or ".join(kind.__name__ for kind in chosen.takes)
        raise TableError(f"the model {chosen.name} takes {wanted}, not {type(source).__name__}")
    for name in settings:
        if name not in chosen.settings:
            have, problem = ", ".join(chosen.settings) or "none", f"the model {chosen.name} has no setting {name!r}"
            raise unknown(TextError, problem, name, chosen.settings, listed=f"settings: {have}")
    if isinstance(source, Opinions) and source.by_machines:
        raise TableError(
            f"the model {chosen.name} is for opinions of people, and these are of machine judges",
            remedy="give them beside runs (--judge FILE, judges=): labels of people show how far to trust them",
        )
    if "taxonomy" in chosen.settings and not isinstance(settings.get("taxonomy"), Taxonomy):
        raise TextError(f"the model {chosen.name} needs a taxonomy: a table of category and parent, or paths")
    if settings.get("people") is not None and settings["people"] < 0:
        raise TextError(f"people is the number of resamples, 0 or more, not {settings['people']}")
    if chosen.people is not None and not isinstance(source, Run) and len(source.sources) > 1:
        settings.setdefault("people", chosen.people)
    if isinstance(source, Opinions) and source.frame["role"].is_in(ASIDE).any():
        kept = COUNTED | (pl.col("role") == "gold") if chosen.keeps_gold else COUNTED  # gold shows who errs
        source = Opinions(source.frame.filter(kept))
    if chosen.counts_rows and isinstance(source, Opinions):
        source = consensus.spelt_out(source)
    function = chosen.function
    chance = {"rng": np.random.default_rng(seed)} if "rng" in inspect.signature(function).parameters else {}
    return function(source, **settings, **chance)
