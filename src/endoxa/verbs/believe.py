"""believe: from opinions, runs or labels to what is held to be relevant, and how surely."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from endoxa.beliefs import models
from endoxa.beliefs.votes import pinned
from endoxa.errors import CallError
from endoxa.evaluations import ratings
from endoxa.io.provenance import provenance
from endoxa.io.read import kind_of
from endoxa.tables import Belief, Labels, Opinions, Run, Taxonomy
from endoxa.verbs.inputs import (
    entered,
    gradings_of,
    labels_of,
    opinions_of,
    paths_of,
    reference_of,
    run_of,
    settings_of,
)
from endoxa.verbs.read import read

F = TypeVar("F", bound=Callable[..., Any])
LEARNING = {"dawid-skene": "gold", "learned": "labels"}  # models that learn from labels, and by which setting


def _shows_settings(verb: F) -> F:
    """Show the settings of all models in the signature, so that completion helps."""
    signature = inspect.signature(verb)
    own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    taken = {one.name for one in own} | set(LEARNING.values()) | {"judges"}
    names = dict.fromkeys(name for model in models.MODELS.values() for name in model.settings if name not in taken)
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any) for name in names]
    verb.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return verb


@_shows_settings
def believe(
    source: Any,
    model: str | None = None,
    *,
    taxonomy: Any = None,
    labels: Any = None,
    judges: Any = None,
    threshold: float | None = None,
    calibrated: bool = True,
    seed: int = 0,
    **settings: Any,
) -> Belief:
    """Make a belief: weighted readings of each query, a distribution over grades for each item.

    `source` is a table, or a file or several files of one: runs, opinions, labels (with a `taxonomy`). `model` names
    the way to believe; without it the one that suits the source: consensus for runs, votes for several people, crisp
    for one. Further settings are those of the model (`endoxa.beliefs.models`); an unknown one is refused.
    `labels` are judged pairs, which become certain; with dawid-skene they may be called `gold`. `judges` are grades of
    machine judges beside runs, which the model `learned` takes. `threshold`: the source holds ratings, and relevant is
    what a rater put above it, the raters calibrated first.

    >>> belief = believe({"a": {"q": {"x": 2, "y": 1}}, "b": {"q": {"x": 2, "z": 1}}}, weights="equal")
    >>> belief.frame.select("item", "p").rows()
    [('x', 0.75), ('y', 0.5), ('z', 0.5)]
    """
    settings = {name: value for name, value in settings.items() if value is not None}
    table, tree = _source(source, taxonomy)
    if isinstance(table, Belief):
        if model is not None or settings:
            raise CallError(
                "this is a belief already", remedy="a model and its settings make one from opinions or runs"
            )
        return table if labels is None else pinned(table, opinions_of(labels))
    if tree is not None:
        settings["taxonomy"] = tree
    if (gradings := gradings_of(judges)) is not None:
        if not isinstance(table, Run) or model not in {None, "learned"}:
            raise CallError("machine judges stand beside runs, and only the model learned takes them")
        model, settings["judges"] = "learned", gradings
    chosen = model or models.default(table)
    if (teaching := LEARNING.get(chosen)) in settings:
        if labels is not None:
            raise CallError(f"labels and {teaching} mean the same to the model {chosen}", remedy="give one of them")
        labels = settings.pop(teaching)
    known = labels_of(labels) if chosen == "learned" else None if labels is None else opinions_of(labels)
    if known is not None and chosen in LEARNING:
        settings[LEARNING[chosen]] = known  # what is known also shows who errs
    if threshold is not None:
        belief = _rated(table, known, threshold, model=model, calibrated=calibrated, seed=seed, settings=settings)
    elif not calibrated:
        raise CallError("calibrated=False goes with a threshold: votes are not calibrated")
    else:
        belief = models.believe(table, chosen, seed=seed, **settings)
    belief = replace(belief, files=_files(source))
    return belief if known is None or chosen in LEARNING else pinned(belief, known)


def _source(source: Any, taxonomy: Any) -> tuple[Run | Opinions | Labels | Belief, Taxonomy | None]:
    """The table that is to be believed, and the taxonomy that goes with labels."""
    source = entered(source)
    paths = paths_of(source)
    kinds = {path: kind_of(path) for path in paths}
    if isinstance(source, Run) or (paths and all(kind == "run" for kind in kinds.values())):
        return run_of(source), None
    if not paths and not isinstance(source, Opinions | Labels | Belief):
        table = read(source, kind="auto" if _is_deep(source) else "qrels")
        if isinstance(table, Run):
            return table, None
        source = table
    reference = reference_of(source, settings_of({"model": "learned"}), taxonomy=taxonomy)
    if reference.judges is not None:
        raise CallError(
            "grades of machine judges alone are no belief",
            remedy="give them beside runs: believe(runs, judges=…), endoxa believe RUNS --judge FILE",
        )
    if not isinstance(reference.table, Opinions | Labels | Belief):
        raise CallError(f"a belief is made of runs, opinions or labels, not of {reference.kind}")
    return reference.table, reference.taxonomy


def _is_deep(source: Any) -> bool:
    """Whether it is not {query: {item: grade}}: a frame, or {system: {query: {item: score}}}."""
    inner = next(iter(source.values()), None) if isinstance(source, Mapping) else None
    return not isinstance(inner, Mapping) or any(isinstance(value, Mapping | list) for value in inner.values())


def _files(source: Any) -> tuple[str, ...]:
    """Name, size and SHA-256 of each file that the belief is made of."""
    files = [provenance(path) for path in paths_of(source) if path.given != "-"]
    return tuple(f"{one.name} {one.size:,} bytes sha256 {one.sha256}" for one in files)


def _rated(
    table: Any, known: Opinions | None, threshold: float, *, model: str | None, calibrated: bool, seed: int,
    settings: dict[str, Any],
) -> Belief:  # fmt: skip
    """The belief that ratings make through a threshold; labels are then a yes or a no."""
    if not isinstance(table, Opinions):
        raise CallError(f"a threshold is for ratings (query, item, grade), and this is {type(table).__name__}")
    if known is not None and not known.frame["grade"].drop_nulls().is_in([0.0, 1.0]).all():
        raise CallError("with a threshold a pair is relevant or not: labels have grades 0 and 1")
    return ratings.believe(table, threshold=threshold, model=model, calibrated=calibrated, seed=seed, settings=settings)
