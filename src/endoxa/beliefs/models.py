"""The ways to believe, by name. Each is a function from opinions (or runs, or labels) to a Belief."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from endoxa.beliefs import consensus, raters, taxonomy, votes
from endoxa.errors import TableError, TextError, did_you_mean
from endoxa.tables import ASIDE, COUNTED, Belief, Labels, Opinions, Run, Taxonomy

Source = Run | Opinions | Labels

MODELS: dict[str, Callable[..., Belief]] = {
    "consensus": consensus.believe,
    "votes": votes.votes,
    "dawid-skene": raters.believe,
    "subjects": votes.subjects,
    "taxonomy": taxonomy.believe,
    "levels": taxonomy.levels,
    "crisp": votes.crisp,
    "graded": votes.graded,
    "judge": votes.judge,
}
PEOPLE = 50  # resamples of the people where a resample is costly
RESAMPLED = {"dawid-skene", "taxonomy"}
COUNT_ROWS = {"votes", "dawid-skene", "subjects"}  # to these a system's silence must be spelt out
TAKES: dict[str, tuple[type, ...]] = {"consensus": (Run, Opinions), "taxonomy": (Labels,), "levels": (Labels,)}


def default(source: Source) -> str:
    """The way that suits what was given, where none was named."""
    if isinstance(source, Run):
        return "consensus"
    if isinstance(source, Labels):
        return "taxonomy" if len(source.sources) > 1 else "levels"
    kinds = set(source.frame["kind"])
    if kinds == {"system"}:
        return "consensus"
    if kinds == {"judge"}:
        return "judge"
    return "votes" if len(source.sources) > 1 else "crisp"


def believe(source: Source, model: str | None = None, *, seed: int = 0, **settings: Any) -> Belief:
    """A belief from opinions, runs or labels, in a named way; settings are those of the way.

    consensus     votes of systems: depth, prior, weights, people
    votes         shares of people's votes: smoothing, people
    dawid-skene   rater model: prior, variant, gold, people
    subjects      one reading per person: people
    taxonomy      labels in a tree or graph: taxonomy, mix, smoothing, queries, people
    levels        one labelling, doubt about the level: taxonomy, queries
    crisp, graded, judge   judgments at their word; grades as probabilities; soft grades of automatic judges
    """
    model = model or default(source)
    if model not in MODELS:
        raise TextError(f"no model is called {model!r}{did_you_mean(model, MODELS)} (there are: {', '.join(MODELS)})")
    takes = TAKES.get(model, (Opinions,))
    if not isinstance(source, takes):
        wanted = " or ".join(kind.__name__ for kind in takes)
        raise TableError(f"the model {model} takes {wanted}, and this is {type(source).__name__}")
    function = MODELS[model]
    known = [name for name in inspect.signature(function).parameters if name != "rng"][1:]
    for name in settings:
        if name not in known:
            raise TextError(
                f"the model {model} has no setting {name!r}{did_you_mean(name, known)} "
                f"(settings: {', '.join(known) or 'none'})"
            )
    if "taxonomy" in known and not isinstance(settings.get("taxonomy"), Taxonomy):
        raise TextError(f"the model {model} needs a taxonomy: a table of category and parent, or paths")
    if settings.get("people") is not None and settings["people"] < 0:
        raise TextError(f"people is the number of resamples, 0 or more, not {settings['people']}")
    if model in RESAMPLED and len(source.sources) > 1:  # type: ignore[union-attr]
        settings.setdefault("people", PEOPLE)
    if isinstance(source, Opinions) and source.frame["role"].is_in(ASIDE).any():
        kept = COUNTED | (pl.col("role") == "gold") if model == "dawid-skene" else COUNTED  # gold shows who errs
        source = Opinions(source.frame.filter(kept))
    if model in COUNT_ROWS and isinstance(source, Opinions):
        source = consensus.spelt_out(source)
    chance = {"rng": np.random.default_rng(seed)} if "rng" in inspect.signature(function).parameters else {}
    return function(source, **settings, **chance)
