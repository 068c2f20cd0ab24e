"""Every setting of an evaluation: its default, its help, and the kinds of reference that it applies to.

The keywords of the library, the options of the command line, their help and the documentation are made from this one
class. A setting that is unknown, or that does not apply to the reference at hand, is an error that says so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

from endoxa.errors import CallError, TextError, did_you_mean, unknown
from endoxa.frozen import dataclass
from endoxa.notes import note
from endoxa.policies import (
    CHOICES,
    ORDERS,
    WORLDS,
    Assessors,
    Compat,
    Missing,
    Mix,
    Policy,
    Quality,
    Rule,
    Scale,
    Ties,
    Undefined,
    Unjudged,
)

Kind = Literal[
    "judgments", "preferences", "opinions", "belief", "consensus", "sample", "votes", "answers", "bundle", "ratings"
]  # fmt: skip
DEPTH, WEIGHTS = 100, "cluster"  # of the votes that a consensus counts
KINDS: tuple[Kind, ...] = get_args(Kind)
Test = Literal["randomisation", "t", "wilcoxon", "tukey"]
Interval = Literal["bootstrap-t", "bounded", "percentile"]
Correction = Literal["holm", "bh", "none"]
Format = Literal["auto", "qrels", "qrels_jg", "prefs", "qrels_prefs"]
Name = Literal["tag", "file"]
WORDS: dict[str, str] = {
    "judgments": "relevance judgments", "preferences": "preferences",
    "opinions": "opinions and labels that a model turns into a belief", "belief": "a belief",
    "consensus": "runs without judgments",
    "sample": "a few labels or machine judges beside runs",
    "votes": "votes of systems", "answers": "subjects' ranked answers",
    "bundle": "a benchmark bundle", "ratings": "ratings",
}  # fmt: skip
SCORED: tuple[Kind, ...] = ("judgments", "preferences", "opinions", "belief", "consensus", "votes")
LOOKED_UP: tuple[Kind, ...] = tuple(
    kind for kind in SCORED if kind != "consensus"
)  # each item has a grade, or a belief
LISTED: tuple[Kind, ...] = (*SCORED, "sample")
JUDGED: tuple[Kind, ...] = ("judgments", "preferences")
DOUBTED: tuple[Kind, ...] = ("opinions", "belief", "consensus", "sample", "votes")
VOTED: tuple[Kind, ...] = ("consensus", "votes")
LEARNED = note("scores.learned")  # marks scores that have no worlds and are not judged either
LABELS = "labels"  # the part of an evaluation that notes on its labels are about

POLICY, VOTES, BELIEF, ANSWERS, PAIRS, INTERVALS, READING, SCALE = (
    "How values are computed", "Runs without judgments", "Opinions and beliefs", "Subjects' ranked answers",
    "Comparison of systems", "Intervals and random numbers", "Reading files", "Scale",
)  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """What is known about one setting beside its name and default."""

    help: str
    panel: str
    kinds: tuple[Kind, ...] = KINDS
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    scoring: bool = True  # whether it changes scores, and not only what is made of them
    hidden: bool = False  # not listed by `endoxa eval --help`, but by the documentation


def setting(default: Any, help: str, panel: str, kinds: tuple[Kind, ...] = KINDS, **known: Any) -> Any:  # noqa: A002
    """A field of Settings."""
    return field(default=default, metadata={"setting": Setting(help, panel, kinds, **known)})


def _choice(name: str) -> dict[str, Any]:
    return {"choices": CHOICES[name]}


@dataclass(frozen=True)
class Settings:
    """How an evaluation is made. Every field is a keyword of the library and an option of the command line."""

    # fmt: off
    rel: float | None = setting(
        None, "Least grade that counts as relevant, for measures that do not name one.", POLICY, LISTED,
        flags=("-l", "--rel")
    )
    ties: Ties = setting(
        "trec", "Order of items with equal scores: by id, as read, the mean over all orders, or the worst and best.",
        POLICY, **_choice("ties")
    )
    missing: Missing = setting("empty", "Judged topics that a run lacks.", POLICY, LOOKED_UP, **_choice("missing"))
    unjudged: Unjudged = setting(
        "nonrelevant", "Items without a judgment.", POLICY, ("judgments", "opinions", "belief"), **_choice("unjudged")
    )
    undefined: Undefined = setting(
        "nan", "Queries on which a measure is 0/0.", POLICY, LOOKED_UP, **_choice("undefined")
    )
    cut: int | None = setting(
        None, "Keep only the first N items of every list.", POLICY, LISTED, flags=("-M", "--cut"), metavar="N", least=1
    )
    compat: Compat = setting(
        "none", "Reproduce the digits of a trec_eval release.", POLICY, LOOKED_UP, **_choice("compat")
    )
    assessors: Assessors = setting(
        "one", "mean: score each assessor (column 2 of the judgments) separately, then average.", POLICY, JUDGED,
        **_choice("assessors")
    )
    shuffles: int = setting(
        200, "Random orders of equal scores that ties=average draws for measures without a closed form, if a list has "
        f"more than {ORDERS:,} orders.", POLICY, ("judgments",), metavar="N", least=2, hidden=True
    )
    collection: int | None = setting(
        None, "Number of items in the collection.", POLICY, ("judgments", "answers", "bundle"), flags=("-N",),
        metavar="N", least=1, scoring=False, hidden=True
    )

    depth: int = setting(
        DEPTH, "A run votes for its first N items.", VOTES, ("consensus", "sample"), metavar="N", least=1
    )
    weights: Any = setting(
        WEIGHTS, "Weights of the systems' votes: a method, or a number per system.", VOTES, VOTED,
        metavar="equal|cluster|redundancy|minimum-variance|NAME=W,…"
    )
    prior: tuple[float, float] = setting(
        (1.0, 1.0), "Votes for yes and for no that are added to every pair.", VOTES, VOTED, metavar="A,B"
    )
    families: Any = setting(
        False, "Systems whose votes are left out together (auto finds near-duplicates).", VOTES, VOTED,
        flags=("--group",), metavar="SYSTEM=TEAM|auto", hidden=True
    )

    model: str | None = setting(
        None, "How opinions become a belief: votes, dawid-skene, subjects, graded, taxonomy, levels …; with "
        "labels beside runs: learned, or consensus, which only makes the judged pairs certain.", BELIEF,
        ("opinions", "consensus", "sample"), metavar="NAME"
    )
    people: int | None = setting(
        None, "Resamples of the people asked, or of the systems that vote.", BELIEF, ("opinions", "votes"), metavar="N",
        least=0
    )
    worlds: int = setting(
        WORLDS, "Possible worlds that are drawn from the belief.", BELIEF, (*DOUBTED, "bundle"), metavar="N", least=2
    )
    plugin: bool = setting(
        False, "Score expected grades as if they were grades (biased; for comparison).", BELIEF, DOUBTED, hidden=True
    )
    mix: Mix | None = setting(
        None, "Readings of a query that people filed in categories (assigned, unless given).", BELIEF, ("opinions",),
        choices=get_args(Mix), hidden=True
    )

    rule: Rule = setting(
        "uniform", "Where the subject's items that a system did not return are assumed to stand.", ANSWERS,
        ("answers",), choices=get_args(Rule), hidden=True
    )
    quality: Quality = setting(
        "rational", "Quality from a displacement x: 1/(1 + x)^p or exp(-λx).", ANSWERS, ("answers",),
        choices=get_args(Quality), hidden=True
    )
    exponent: float | None = setting(
        None, "p of the rational quality (1, unless given).", ANSWERS, ("answers",), flags=("--power",), metavar="P",
        least=0, most=math.inf, hidden=True
    )
    rate: float | None = setting(
        None, "λ of the exponential quality (1, unless given).", ANSWERS, ("answers",), metavar="L", least=0,
        most=math.inf, hidden=True
    )
    scale: Scale = setting(
        "mean", "x: the mean displacement of an item, the ratio to chance, or the displacement itself.", ANSWERS,
        ("answers",), choices=get_args(Scale), hidden=True
    )
    subjects_as_systems: bool = setting(
        False, "Score each subject's own list too, against the answers of all other subjects.", ANSWERS, ("answers",),
        hidden=True
    )

    baseline: str | None = setting(
        None, "Compare all systems with this one.", PAIRS, LISTED, flags=("-b", "--baseline"), metavar="SYSTEM",
        scoring=False
    )
    test: Test = setting(
        "randomisation", "Significance test.", PAIRS, JUDGED, choices=get_args(Test), scoring=False
    )
    interval: Interval = setting(
        "bootstrap-t", "Kind of interval of a difference; bounded: safe with few queries, and longer.", PAIRS, JUDGED,
        choices=get_args(Interval), scoring=False
    )
    correction: Correction = setting(
        "holm", "Correction for many comparisons.", PAIRS, JUDGED, choices=get_args(Correction), scoring=False
    )

    confidence: float = setting(
        0.95, "Confidence level of the intervals.", INTERVALS, metavar="SHARE", least=0, most=1, scoring=False
    )
    resamples: int | None = setting(
        None, "Resamples behind the intervals.", INTERVALS, metavar="N", least=2, scoring=False, hidden=True
    )
    seed: int = setting(0, "Seed of the random number generator.", INTERVALS, metavar="N", least=0)

    format: Format = setting(
        "auto", "trec_eval's name for the format of the judgments.", READING, JUDGED, flags=("-R",),
        choices=get_args(Format), hidden=True
    )
    lenient: bool = setting(False, "Report lines that cannot be read, and go on without them.", READING)
    name_from: Name = setting(
        "tag", "Where the name of a system comes from.", READING, choices=get_args(Name), hidden=True
    )

    on: str | None = setting(
        None, "Work on Spark instead of in this process: local[2], local[*] or spark://HOST:PORT (in Python also a "
        "session).", SCALE, SCORED, metavar="ADDRESS"
    )
    # fmt: on

    def __post_init__(self) -> None:
        for name, known in REGISTRY.items():
            value = getattr(self, name)
            if known.choices and value is not None and value not in known.choices:
                hint = did_you_mean(str(value), known.choices)
                raise CallError(f"{name} must be one of {', '.join(known.choices)}, not {value!r}", remedy=hint)
            if known.least is None or value is None:
                continue
            if not isinstance(value, int | float) or isinstance(value, bool) or value != value:  # noqa: PLR0124
                raise CallError(f"{name} must be a number, not {value!r}")
            if known.most is not None and not known.least < value < known.most:
                raise CallError(f"{name} must lie between {known.least:g} and {known.most:g}, not {value:g}")
            if value < known.least:
                raise CallError(f"{name} must be at least {known.least:g}, not {value:g}")
        try:
            self.policy  # noqa: B018  refuses what does not go together
        except TextError as error:
            raise CallError(error.problem, error.text, error.at, remedy=error.remedy) from None

    @cached_property
    def policy(self) -> Policy:
        """The choices that every number rests on."""
        return Policy(
            ties=self.ties, missing=self.missing, unjudged=self.unjudged, undefined=self.undefined, compat=self.compat,
            assessors=self.assessors, cut=self.cut, seed=self.seed, shuffles=self.shuffles,
        )  # fmt: skip

    @classmethod
    def of(cls, given: Mapping[str, Any], *, scoring_only: bool = False) -> Settings:
        """Settings by name. An unknown name is an error with the nearest known one.

        compat=trec_eval-9 also sets trec_eval's habits (missing topics skipped, 0/0 counts as 0) unless they are given.
        """
        known = [name for name, one in REGISTRY.items() if one.scoring or not scoring_only]
        for name in given:
            if name not in REGISTRY:
                there = f"there are: {', '.join(known)}"
                raise unknown(CallError, f"no setting is called {name!r}", name, known, listed=there)
            if name not in known:
                raise CallError(
                    f"{name} does not change scores", remedy="it is a setting of evaluate, compare and report"
                )
        habits = {} if given.get("compat", "none") == "none" else {"missing": "skip", "undefined": "zero"}
        habits |= {"assessors": "mean"} if given.get("format") == "qrels_jg" else {}
        return cls(**(habits | dict(given)))

    def refuse_foreign(self, given: Collection[str], kinds: Collection[Kind]) -> None:
        """Refuse a given setting that applies to none of these kinds of reference: better said than ignored."""
        for name in given:
            applies = REGISTRY[name].kinds
            if not set(applies) & set(kinds):
                here = " and ".join(WORDS[kind] for kind in kinds)
                there = ", ".join(WORDS[kind] for kind in applies)
                raise CallError(f"{name} does not apply to {here}", remedy=f"it is for {there}. Remove it.")

    def changed(self, **values: Any) -> Settings:
        """The same settings but for these."""
        return replace(self, **values)


REGISTRY: dict[str, Setting] = {one.name: one.metadata["setting"] for one in fields(Settings)}
DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Settings)}


def described() -> str:
    """All settings as Markdown, grouped by what they concern: the section of docs/cli.md."""
    parts = []
    for panel in dict.fromkeys(one.panel for one in REGISTRY.values()):
        rows = [_row(name, one) for name, one in REGISTRY.items() if one.panel == panel]
        parts.append(f"### {panel}\n\n| option | keyword | default | meaning | applies to |\n|---|---|---|---|---|\n")
        parts[-1] += "\n".join(rows) + "\n"
    return "\n".join(parts)


def _row(name: str, known: Setting) -> str:
    flags = ", ".join(f"`{flag}`" for flag in known.flags or (f"--{name.replace('_', '-')}",))
    default = DEFAULTS[name]
    usual = ",".join(f"{number:g}" for number in default) if isinstance(default, tuple) else default
    words = f" One of {', '.join(f'`{choice}`' for choice in known.choices)}." if known.choices else ""
    kinds = "every reference" if len(known.kinds) == len(KINDS) else ", ".join(known.kinds)
    return (
        f"| {flags} | `{name}` | {'' if default in {None, False} else f'`{usual}`'} | {known.help}{words} | {kinds} |"
    )
