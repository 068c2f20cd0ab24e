"""Laws of the entrance: every verb gives the same numbers for every form of a reference, or refuses all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from answer_samples import contradictions
from polars.testing import assert_frame_equal

import endoxa
from endoxa.errors import CallError, EndoxaError, TextError
from endoxa.evaluations.settings import DEFAULTS, REGISTRY, Settings
from endoxa.io.bundles import write_bundle
from endoxa.measures.grammar import Measure, parse
from endoxa.measures.preference_judgments import Preferences
from endoxa.tables import Answers, Belief, Bundle, Labels, Opinions, Run, Taxonomy
from endoxa.verbs.compare import superiority
from endoxa.verbs.decide import decide
from endoxa.verbs.inputs import votes_of_texts

QUERIES = [f"q{n:02}" for n in range(12)]
ITEMS = [f"d{n:02}" for n in range(12)]
SYSTEMS = ("bm25", "dense", "hybrid", "random")
FEW: dict[str, Any] = {"worlds": 16}


def _run() -> Run:
    rng = np.random.default_rng(3)
    rows = []
    for place, system in enumerate(SYSTEMS):
        for query in QUERIES:
            worth = -np.arange(12) + rng.normal(0, 1 + 2 * place, 12)
            best = np.argsort(-worth)[:8]
            rows += [(system, query, ITEMS[at], float(8 - n)) for n, at in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))


def _grades(source: str, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [(source, q, d, float(rng.random() < 0.7 - n / 20)) for q in QUERIES for n, d in enumerate(ITEMS)]
    return pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row")


@dataclass(frozen=True)
class Case:
    """A kind of reference in all its forms, and the settings that go with it."""

    forms: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Beside:
    """Labels beside runs: they are given as labels, and the reference is nothing."""

    labels: Any


def _given(reference: Any, case: Case) -> dict[str, Any]:
    """The reference, labels and settings of a verb that takes them all."""
    if isinstance(reference, Beside):
        return {"reference": None, "labels": reference.labels, **case.settings, **case.more}
    return {"reference": reference, **case.settings, **case.more}


@pytest.fixture(scope="module")
def run() -> Run:
    return _run()


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory, run: Run) -> dict[str, Case]:
    """Nothing, judgments, several assessors, a belief, votes, preferences, answers, labels, a bundle, a sample."""
    folder = tmp_path_factory.mktemp("references")

    def paths(table: Any, name: str, *suffixes: str) -> dict[str, Path]:
        found = {}
        for suffix in suffixes:
            found[f"path {suffix}"] = folder / f"{name}.{suffix}"
            endoxa.write(table, folder / f"{name}.{suffix}")
        return found

    def halves(table: Any, name: str, by: str = "query") -> list[Path]:
        names = table.frame[by].unique().sort().to_list()
        found = []
        for number, half in enumerate((names[: len(names) // 2], names[len(names) // 2 :])):
            found.append(folder / f"{name}-{number}.csv")
            endoxa.write(type(table)(table.frame.filter(pl.col(by).is_in(half))), found[-1])
        return found

    judged = Opinions.of(_grades("qrels", 1))
    people = Opinions.of(pl.concat([_grades(who, seed) for seed, who in enumerate(("ann", "bob", "cy"))]))
    several = {"object": people, "frame": people.frame, "pandas": people.to_pandas()}
    several |= paths(people, "people", "csv", "jsonl", "parquet", "txt")
    several["several files"] = halves(people, "people", "source")
    belief = endoxa.believe(people, "votes", people=4)
    plain = Belief.of(belief.frame.drop("people", strict=False), model="votes")
    votes = endoxa.Opinions.of(
        run.frame.filter(pl.col("rank") <= 4).select(
            pl.col("system").alias("source"),
            pl.lit("system").alias("kind"),
            "query",
            "item",
            pl.lit(1.0).alias("grade"),
        )
    )
    preferences = Preferences.of_opinions(judged)
    answers = Answers.of(
        pl.DataFrame(
            [(who, q, d, n + 1.0) for who in ("ann", "bob") for q in QUERIES for n, d in enumerate(ITEMS[:5])],
            schema=["source", "query", "item", "rank"], orient="row",
        )
    )  # fmt: skip
    tree = Taxonomy.of_paths(["a/x", "a/y", "b/z"])
    filed = [("one", name, ("a/x", "a/y", "b/z")[n % 3]) for n, name in enumerate([*ITEMS, *QUERIES])]
    labels = Labels.of(pl.DataFrame(filed, schema=["source", "item", "category"], orient="row"))
    bundle = Bundle(
        name="small", title="", task="search", licence="", screen="yes-no", scale=(0.0, 1.0), threshold=0.5,
        made="2026-03-01", items=pl.DataFrame({"item": ITEMS}), queries=pl.DataFrame({"query": QUERIES}),
        opinions=people,
    )  # fmt: skip
    write_bundle(bundle, folder / "small.zip")
    few = Opinions.of(_grades("qrels", 1).sample(40, seed=1).sort("query", "item"))
    two = Opinions.of(
        pl.concat([few.frame, few.frame.with_columns(source=pl.lit("bob"), grade=1 - pl.col("grade"))[::3]])
    )
    tree_path = folder / "tree.csv"
    endoxa.write(tree, tree_path)
    label_paths = paths(labels, "labels", "csv", "parquet")
    return {
        "nothing": Case({"None": None, "no files": []}),
        "judgments": Case(
            {"object": judged, "frame": judged.frame, "dict": judged.to_dict(), "pandas": judged.to_pandas(),
             "several files": halves(judged, "judged")}
            | paths(judged, "judged", "csv", "jsonl", "parquet", "txt")
        ),
        "several assessors": Case(
            {name: form for name, form in several.items() if name not in {"path txt"}},
        ),
        "each assessor apart": Case(several, {"assessors": "mean"}),
        "several assessors by a model": Case(several, {"model": "votes", "people": 4}),
        "belief": Case({"object": belief} | paths(belief, "belief", "parquet")),
        "belief as text": Case({"object": plain, "frame": plain.frame} | paths(plain, "plain", "csv", "jsonl")),
        "votes": Case({"object": votes, "frame": votes.frame} | paths(votes, "votes", "csv", "parquet")),
        "preferences": Case({"object": preferences} | paths(preferences, "preferences", "csv", "jsonl", "parquet")),
        "answers": Case(
            {"object": answers, "frame": answers.frame, "several files": halves(answers, "answers")}
            | paths(answers, "answers", "csv", "parquet")
        ),
        "labels": Case(
            {"object": labels, "frame": labels.frame} | label_paths, more={"taxonomy": tree},
        ),
        "labels and tree": Case({f"{name} and tree": [path, tree_path] for name, path in label_paths.items()}),
        "bundle": Case({"object": bundle, "path": folder / "small.zip"}),
        "sample": Case(
            {"object": Beside(few), "frame": Beside(few.frame), "dict": Beside(few.to_dict()),
             "pandas": Beside(few.to_pandas()), "several files": Beside(halves(few, "few")),
             "several tables": Beside([Opinions(few.frame[:20]), Opinions(few.frame[20:])])}
            | {name: Beside(path) for name, path in paths(few, "few", "csv", "jsonl", "parquet", "txt").items()}
        ),
        "sample of several judges": Case(
            {"object": Beside(two), "frame": Beside(two.frame), "several files": Beside(halves(two, "two", "source"))}
            | {name: Beside(path) for name, path in paths(two, "two", "csv", "jsonl", "parquet", "txt").items()}
        ),
        "sample beside the consensus": Case(
            {"object": Beside(few), "frame": Beside(few.frame), "path": Beside(folder / "few.csv")},
            {"model": "consensus"},
        ),
    }  # fmt: skip


def _evaluation(result: endoxa.Evaluation) -> list[pl.DataFrame]:
    pairs = [] if result.comparison is None else [result.comparison.frame]
    doubts = [] if result.doubts is None else [result.doubts]
    return [result.summary, *pairs, *doubts, *(result.tables[name] for name in sorted(result.tables))]


def _labelled(run: Run) -> Opinions:
    rows = run.frame.select("query", "item").unique().sort("query", "item")
    return Opinions.of(
        rows.with_columns((pl.col("item") < "d05").cast(pl.Float64).alias("grade"), pl.lit(0.9).alias("propensity"))
    )


Verb = Callable[[Run, Any, Case], list[pl.DataFrame]]


def _measure(run: Run, reference: Any, case: Case) -> list[pl.DataFrame]:
    scores = endoxa.measure(run, **_given(reference, case))
    return [scores.frame, scores.coverage, *([] if scores.draws is None else [scores.draws.frame()])]


def _rank(frame: pl.DataFrame) -> list[pl.DataFrame]:
    return [frame]


VERBS: dict[str, Verb] = {
    "measure": _measure,
    "evaluate": lambda run, ref, case: _evaluation(endoxa.evaluate(run, **_given(ref, case))),
    "compare": lambda run, ref, case: [endoxa.compare(run, **_given(ref, case)).frame],
    "report": lambda run, ref, case: _evaluation(endoxa.report(run, **_given(ref, case))),
    "estimate": lambda run, ref, _: [endoxa.estimate(run, ref, _labelled(run), ["P@4"]).frame],
    "choose": lambda run, ref, _: [
        endoxa.choose(run, None, 10, first=4, judged=ref.labels)
        if isinstance(ref, Beside)
        else endoxa.choose(run, ref, 10, first=4)
    ],
    "distribution": lambda run, ref, _: [
        pl.DataFrame({"mass": endoxa.distribution(run, ref, "P@4", "bm25", "q01").mass})
    ],
    "leave_out_uniques": lambda run, ref, _: [endoxa.leave_out_uniques(run, ref, "AP", depth=5).frame],
    "rate": lambda _, ref, __: [endoxa.rate(ref).tables["figures"]],
    "believe": lambda run, ref, case: [
        endoxa.believe(run, case.settings.get("model", "learned"), labels=ref.labels).frame
        if isinstance(ref, Beside)
        else endoxa.believe(ref, **case.more).frame
    ],
}


def outcome(verb: Verb, run: Run, reference: Any, case: Case) -> list[pl.DataFrame] | str:
    """The numbers, or that it was refused in one line; anything else than an EndoxaError is a defect."""
    try:
        return verb(run, reference, case)
    except EndoxaError as error:
        assert len(str(error)) < 800
        return "refused"


KINDS = [
    "nothing", "judgments", "several assessors", "each assessor apart", "several assessors by a model", "belief",
    "belief as text", "votes", "preferences", "answers", "labels", "labels and tree", "bundle",
    "sample", "sample of several judges", "sample beside the consensus",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_form_of_a_reference_gives_the_same(verb: str, kind: str, cases: dict[str, Case], run: Run) -> None:
    case = cases[kind]
    case = Case(case.forms, case.settings | (FEW if _takes_worlds(kind) else {}), case.more)
    first_name, *others = case.forms
    expected = outcome(VERBS[verb], run, case.forms[first_name], case)
    for name in others:
        found = outcome(VERBS[verb], run, case.forms[name], case)
        if isinstance(expected, str) or isinstance(found, str):
            assert found == expected, f"{verb}, {kind}: {first_name} gives {expected}, {name} gives {found}"
            continue
        for one, other in zip(expected, found, strict=True):
            assert_frame_equal(one, other, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


def _takes_worlds(kind: str) -> bool:
    return kind not in {
        "judgments",
        "several assessors",
        "each assessor apart",
        "preferences",
        "answers",
        "sample",
        "sample of several judges",
    }


SCORED = {"measure", "evaluate", "compare", "report"}
BELIEVED = SCORED | {"estimate", "choose", "distribution", "believe"}
PEOPLE = {"leave_out_uniques", "rate", "believe"}
GIVES = {
    "nothing": BELIEVED - {"believe"},
    "judgments": SCORED | PEOPLE | {"distribution", "estimate"},  # as a belief that holds them for certain
    "several assessors": PEOPLE,  # the others ask what to make of them
    "each assessor apart": SCORED | PEOPLE,
    "several assessors by a model": SCORED | PEOPLE,
    "belief": BELIEVED,
    "belief as text": BELIEVED,
    "votes": BELIEVED - {"report"},
    "preferences": SCORED,
    "answers": {"evaluate"},
    "labels": SCORED | {"believe"},  # the others take no taxonomy beside the labels
    "labels and tree": BELIEVED - {"choose"},  # nothing is in doubt among the first items
    "bundle": {"evaluate"},
    "sample": SCORED | {"choose", "believe"},  # the others take labels of their own, or none
    "sample of several judges": SCORED | {"choose", "believe"},
    "sample beside the consensus": SCORED | {"choose", "believe"},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_which_verbs_take_which_references(verb: str, kind: str, cases: dict[str, Case], run: Run) -> None:
    case = cases[kind]
    case = Case(case.forms, case.settings | (FEW if _takes_worlds(kind) else {}), case.more)
    found = outcome(VERBS[verb], run, next(iter(case.forms.values())), case)
    assert (found != "refused") == (verb in GIVES[kind])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "evaluate" in GIVES[kind]])
@pytest.mark.parametrize("system", ["", "copy"])
def test_the_answer_agrees_with_the_table_under_it(kind: str, system: str, cases: dict[str, Case], run: Run) -> None:
    """The leader is the first row and has the largest P(best), or the answer says why; means lie in their intervals."""
    case = cases[kind]
    case = Case(case.forms, case.settings | (FEW if _takes_worlds(kind) else {}), case.more)
    if system:  # a tie with the last system
        copied = run.frame.filter(pl.col("system") == "random").with_columns(system=pl.lit(system))
        run = Run(pl.concat([copied, run.frame]))
    evaluation = endoxa.evaluate(run, **_given(next(iter(case.forms.values())), case))
    assert contradictions(evaluation) == []


def test_the_same_numbers_whatever_holds_the_run(run: Run, tmp_path: Path) -> None:
    paths = []
    for system in run.systems:
        paths.append(tmp_path / f"{system}.run")
        endoxa.write(Run(run.frame.filter(pl.col("system") == system)), paths[-1])
    judged = Opinions.of(_grades("qrels", 1))
    forms = [run, paths, run.to_dict(), run.frame, run.to_pandas(), [str(path) for path in paths]]
    for reference, settings in ((judged, {}), (None, FEW)):
        first, *others = (_evaluation(endoxa.evaluate(form, reference, ["AP", "P@4"], **settings)) for form in forms)
        for other in others:
            for one, two in zip(first, other, strict=True):
                assert_frame_equal(one, two, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


SETTING_VERBS = {
    "measure": endoxa.measure, "evaluate": endoxa.evaluate, "compare": endoxa.compare, "report": endoxa.report,
}  # fmt: skip


@pytest.mark.parametrize("verb", SETTING_VERBS)
def test_an_unknown_setting_is_refused_with_the_nearest_one(verb: str, run: Run) -> None:
    for reference in (None, Opinions.of(_grades("qrels", 1))):
        with pytest.raises(TextError, match="no setting is called 'wolrds'; did you mean worlds"):
            SETTING_VERBS[verb](run, reference, ["P@4"], wolrds=10)


@pytest.mark.parametrize("verb", SETTING_VERBS)
@pytest.mark.parametrize(
    "kind", ["nothing", "judgments", "belief", "votes", "preferences", "answers", "bundle", "sample"]
)
def test_a_setting_of_another_kind_of_reference_is_refused(
    verb: str, kind: str, cases: dict[str, Case], run: Run
) -> None:
    own = {"nothing": "consensus"}.get(kind, kind)
    other = {"model": "votes", "weights": "equal", "prior": (2.0, 1.0), "depth": 5, "people": 3}
    values = DEFAULTS | other | {"worlds": 7, "plugin": True, "baseline": "bm25", "cut": 5, "rel": 2.0}
    for name, setting in REGISTRY.items():
        turns_into_another = name in {"model", "format"} and kind in {"judgments", "votes"}
        if own in setting.kinds or turns_into_another or (verb == "measure" and not setting.scoring):
            continue
        with pytest.raises(CallError, match=f"^{name} "):
            SETTING_VERBS[verb](run, **_given(next(iter(cases[kind].forms.values())), Case({}, {name: values[name]})))


def test_scores_are_compared_under_settings_that_do_not_change_them(run: Run) -> None:
    scores = endoxa.measure(run, None, ["P@4"], **FEW)
    with pytest.raises(CallError, match="no setting is called 'tset'; did you mean test"):
        endoxa.compare(scores, tset="t")
    with pytest.raises(CallError, match="test does not apply"):
        endoxa.compare(scores, test="t")
    with pytest.raises(CallError, match="worlds changes scores"):
        endoxa.compare(scores, worlds=10)
    with pytest.raises(CallError, match="these values are modelled from the runs"):
        endoxa.compare(scores)


def test_settings_have_the_defaults_of_what_they_set() -> None:
    from endoxa.beliefs import consensus

    assert (Settings().depth, Settings().weights) == (consensus.DEPTH, consensus.WEIGHTS)


def test_labels_do_not_go_with_judgments(run: Run) -> None:
    with pytest.raises(CallError, match="labels are a few judged pairs"):
        endoxa.evaluate(run, Opinions.of(_grades("qrels", 1)), ["P@4"], labels=_labelled(run))


def test_near_words_are_aligned_and_lines_are_words(tmp_path: Path) -> None:
    texts = {"a": {"d": ["Williamson"]}, "b": {"d": ["Willianson", "Boston"]}}
    plain, near = (votes_of_texts(texts, "align", near=near).frame for near in (None, 0.8))
    assert set(plain["item"]) == {"1:Willianson", "2:Williamson", "2:Boston"}
    assert set(near["item"]) == {"1:Williamson", "1:Willianson", "2:Boston"}
    paths = [tmp_path / f"{name}.txt" for name in "ab"]
    for path in paths:
        path.write_text("New York\n")
    assert set(votes_of_texts(paths, "bag", lines=True).frame["item"]) == {"New York#1"}
    assert set(votes_of_texts(paths, "bag").frame["item"]) == {"New#1", "York#1"}
    with pytest.raises(CallError, match="near is for aligned words"):
        votes_of_texts(paths, "bag", near=0.8)


GRADED = [f"{name}(rel=2)" for name in ("AP", "RR", "SetP", "SetR", "SetF", "Rprec", "RBP", "GMAP", "Rndcg", "NumRel")]
GRADED += ["P(rel=2)@10", "R(rel=2)@10", "Success(rel=2)@10", "nDCG(gains={1:0,2:3})@10", "DCG(gains={1:0})"]


@pytest.mark.parametrize("measure", GRADED)
@pytest.mark.parametrize("kind", ["nothing", "votes", "belief"])
def test_a_measure_of_grades_that_a_belief_does_not_have_is_refused(
    kind: str, measure: str, cases: dict[str, Case], run: Run
) -> None:
    """A consensus of votes has no grade above 1: every value would be 0 or undefined."""
    reference = next(iter(cases[kind].forms.values()))
    plain = str(Measure((parsed := parse(measure)).name, tuple(s for s in parsed.settings if s[0] == "k")))
    calls = {
        "measure": lambda: endoxa.measure(run, reference, measure, **FEW),
        "evaluate": lambda: endoxa.evaluate(run, reference, measure, **FEW),
        "second": lambda: endoxa.evaluate(run, reference, ["P@4", measure], **FEW),
        "compare": lambda: endoxa.compare(run, reference, measure, **FEW),
        "report": lambda: endoxa.report(run, reference, measure, **FEW),
        "distribution": lambda: endoxa.distribution(run, reference, measure, "bm25"),
        "superiority": lambda: superiority(run, reference, "bm25", "dense", measure),
    }
    if kind == "nothing":
        calls["between"] = lambda: endoxa.compare(run, None, measure, between=("bm25", "dense"))
        calls["plugin"] = lambda: endoxa.evaluate(run, None, measure, plugin=True)
        calls["choose"] = lambda: endoxa.choose(run, None, 10, measures=measure)
        calls["decide"] = lambda: decide(run, None, measure, **FEW)
    for call in calls.values():
        with pytest.raises(CallError, match="no grade above 1") as refused:
            call()
        assert f"take {plain}, or give judgments or labels with higher grades" in str(refused.value)
    with pytest.raises(TextError):  # an estimate counts from grade 1 on
        endoxa.estimate(run, reference, _labelled(run), measure)


def test_grades_that_exist_are_measured(run: Run) -> None:
    """Judgments, labels and beliefs with grades above 1 have values; so has a gain of grade 1 among others."""
    graded = Opinions.of(_grades("qrels", 1).with_columns(pl.col("grade") * 2))
    assert endoxa.evaluate(run, graded, "P(rel=2)@4").summary["value"].max() > 0
    assert endoxa.evaluate(run, None, "P(rel=2)@4", labels=graded).summary["value"].max() > 0
    assert endoxa.choose(run, None, 10, measures="P(rel=2)@4", judged=Opinions(graded.frame[:40])).height == 10
    belief = Belief.of(graded.frame.select("query", "item", pl.lit(2.0).alias("grade"), pl.lit(0.5).alias("p")))
    assert endoxa.evaluate(run, belief, "P(rel=2)@4", **FEW).summary["value"].max() > 0
    assert endoxa.evaluate(run, None, "nDCG(gains={1:1,2:3})@4", **FEW).summary["value"].max() > 0
    assert endoxa.evaluate(run, Opinions.of(_grades("qrels", 1)), "P(rel=2)@4").summary["value"].max() == 0
