"""The choices behind a number. They are explicit, and every result prints them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Literal, get_args

from endoxa.errors import TextError, did_you_mean
from endoxa.frozen import dataclass

Ties = Literal["trec", "input", "average", "range"]
Missing = Literal["empty", "skip", "error"]
Unjudged = Literal["nonrelevant", "condensed", "bounds"]
Undefined = Literal["nan", "zero", "skip"]
Compat = Literal["none", "trec_eval-9", "trec_eval-10"]
Assessors = Literal["one", "mean"]
Metric = Literal["nominal", "ordinal", "interval", "ratio"]  # what the distance between two grades means
Method = Literal["isotonic", "bayes", "ogive"]  # a map from scores to ratings
Rule = Literal["uniform", "optimist", "printed", "tail", "worst", "incremental"]  # where what was not returned stands
Scale = Literal["mean", "chance", "raw"]  # what a displacement is divided by before it becomes a quality
Quality = Literal["rational", "exponential"]
Mix = Literal["assigned", "normalised", "normalised_no_root", "subject"]  # which readings a filed query has
Input = Literal["raw", "z", "rank"]  # what such a map reads
Inputs = Literal["auto", "raw", "z", "rank"]  # auto: chosen for each system on held-out queries

CHOICES: dict[str, tuple[str, ...]] = {
    "ties": get_args(Ties), "missing": get_args(Missing), "unjudged": get_args(Unjudged),
    "undefined": get_args(Undefined), "compat": get_args(Compat), "assessors": get_args(Assessors),
}  # fmt: skip

MEANING: dict[str, dict[str, str]] = {
    "ties": {
        "trec": "items with equal scores are in descending order of item id, as in trec_eval",
        "input": "items with equal scores are in the order of the file",
        "average": "the value is the mean over all orders of items with equal scores; a warning counts sampled values",
        "range": "the values for the worst and the best order of items with equal scores are given beside trec_eval's",
    },
    "missing": {
        "empty": "a judged topic that the run lacks counts as an empty list",
        "skip": "a judged topic that the run lacks is left out for that run",
        "error": "a judged topic that the run lacks is an error",
    },
    "unjudged": {
        "nonrelevant": "an item without a judgment counts as not relevant",
        "condensed": "items without a judgment are removed from the list",
        "bounds": "the least and greatest possible values are given: no unjudged item is relevant, or all are fully",
    },
    "undefined": {
        "nan": "0/0 is NaN; means are over the queries where the measure is defined, and the others are counted",
        "zero": "0/0 counts as 0",
        "skip": "a query where any score is 0/0 is left out for every system and measure",
    },
    "compat": {
        "none": "the definitions are Endoxa's own",
        "trec_eval-9": "the digits are those of trec_eval 9.0.8, which compares scores in single precision",
        "trec_eval-10": "the digits are those of trec_eval 10.0, which compares scores in single precision",
    },
    "assessors": {
        "one": "there is one judgment per query and item",
        "mean": "each assessor's judgments are scored separately, then averaged",
    },
}


ORDERS = 5_040  # orders of the equal scores of a list, up to which all are computed if there is no closed form
NORMAL = 1.96  # standard errors between the mean over sampled orders and its lo and hi
WORLDS = 400  # possible worlds that are drawn if the reference is a belief
TAUGHT = 5  # labels a topic from which small differences and machine judges are spoken of
UNTIL = 0.95  # probability at which a question is settled
BATCH = 25  # labels between two looks at the verdict
MIXING = 0.1  # share of a choice of pairs that is spread evenly over the pool


def refuse_choice(name: str, value: object, known: Collection[str]) -> None:
    """Refuse a value of a setting that is not a known one: `ties must be one of trec, input, not 'trek'; …`."""
    if value not in known:
        raise TextError(
            f"{name} must be one of {', '.join(known)}, not {value!r}", remedy=did_you_mean(str(value), known)
        )


def refuse_outside(name: str, value: float, usual: float = 0.95) -> None:
    """Refuse a confidence or another probability of a statement that is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise TextError(f"{name} must lie between 0 and 1, not {value}", remedy=f"{usual} is usual")


@dataclass(frozen=True)
class Policy:
    """How ties, missing topics, unjudged items and 0/0 are treated.

    `cut` keeps only the first N items of every list (trec_eval's -M). `ties="average"` is exact for measures with a
    closed form, and for lists whose equal scores have at most ORDERS distinguishable orders. For the others the mean is
    estimated from `shuffles` random orders, which `seed` decides.
    """

    ties: Ties = "trec"
    missing: Missing = "empty"
    unjudged: Unjudged = "nonrelevant"
    undefined: Undefined = "nan"
    compat: Compat = "none"
    assessors: Assessors = "one"
    cut: int | None = None
    seed: int = 0
    shuffles: int = 200

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            refuse_choice(name, getattr(self, name), known)
        if self.cut is not None and self.cut < 1:
            raise TextError(f"cut must be at least 1, not {self.cut}")
        if self.ties in {"average", "range"} and (self.cut is not None or self.unjudged == "bounds"):
            other = "cut" if self.cut is not None else "unjudged=bounds"
            raise TextError(
                f"ties={self.ties} and {other} cannot be combined: a cut through equal scores has no unique result",
                remedy="use cut-offs such as P@10, or ties=trec",
            )
        if self.shuffles < 2:
            raise TextError(f"shuffles must be at least 2, not {self.shuffles}")

    @classmethod
    def like(cls, compat: Compat, **settings: object) -> Policy:
        """Return the policy of a trec_eval release: its tie order, missing topics skipped, 0/0 as zero."""
        policy = cls(compat=compat)
        if policy.compat != "none":
            policy = replace(policy, missing="skip", undefined="zero")
        return replace(policy, **settings)  # type: ignore[arg-type]

    def lines(self) -> list[str]:
        """Return the lines that a result prints, one per choice: `ties=trec: items with equal scores …`."""
        chosen = [
            f"{field.name}={getattr(self, field.name)}: {MEANING[field.name][getattr(self, field.name)]}"
            for field in fields(self)
            if field.name in MEANING and (field.name not in {"compat", "assessors"} or self._departs(field.name))
        ]
        if self.cut is not None:
            chosen.append(f"cut={self.cut}: only the first {self.cut} items of every list count")
        return chosen

    def _departs(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(Policy, name))

    def __str__(self) -> str:
        names = ["ties", "missing", "unjudged", "undefined"]
        names += [name for name in ("compat", "assessors", "cut") if self._departs(name)]
        return " ".join(f"{name}={getattr(self, name)}" for name in names)
