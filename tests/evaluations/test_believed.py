"""Evaluation under a belief: what follows from scores, people with systems beside them, and labels."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from endoxa.beliefs import consensus
from endoxa.beliefs.reliability import calibrate
from endoxa.beliefs.votes import pinned, votes
from endoxa.comparisons import prediction
from endoxa.comparisons.shared import Doubts
from endoxa.errors import TextError
from endoxa.evaluations import believed
from endoxa.evaluations.settings import Settings
from endoxa.measures.grammar import parse_all
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions, Run
from endoxa.wording.phrases import few_of


def field(seed: int = 0, systems: int = 4, queries: int = 12) -> tuple[Run, dict[tuple[str, str], float]]:
    """Runs of 20 items from 50, and which pairs are really relevant."""
    rng = np.random.default_rng(seed)
    rows, truth = [], {}
    for q in range(queries):
        worth = rng.normal(size=50)
        truth |= {(f"q{q:02}", f"d{d:02}"): float(worth[d] > 1) for d in range(50)}
        for s in range(systems):
            best = np.argsort(-(worth + rng.normal(0, 0.5 + s / 2, 50)))[:20]
            rows += [(f"s{s}", f"q{q:02}", f"d{d:02}", -float(n)) for n, d in enumerate(best)]
    return Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")), truth


def people_of(truth: dict[tuple[str, str], float], names: tuple[str, ...] = ("ann", "bob", "cy")) -> Opinions:
    rng = np.random.default_rng(0)
    rows = [
        (who, *pair, float(rng.random() < (0.9 if grade else 0.1))) for who in names for pair, grade in truth.items()
    ]
    return Opinions.of(pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row"))


RUN, TRUTH = field()
MEASURES = parse_all(["P@5", "AP"])


def test_an_evaluation_under_a_belief() -> None:
    belief = votes(people_of(TRUTH), people=20, rng=np.random.default_rng(0))
    settings = Settings(worlds=50, seed=3, confidence=0.9)
    made = believed.evaluate(RUN, belief, MEASURES, settings)
    assert made.kind == "belief"
    assert made.belief is belief
    assert made.virtual is None
    assert made.summary.columns[-1] == "p_best"
    doubts = Doubts(made.scores, seed=3)
    assert made.summary.filter(pl.col("measure") == "AP")["p_best"].to_list() == list(doubts.best("AP").values())
    assert made.doubts.equals(doubts.shares("P@5"))
    assert made.comparison.frame.equals(believed.compare(made.scores, settings).frame)
    assert made.summary.drop("p_best").equals(believed.summarise(made.scores, settings))
    narrow, wide = (
        believed.evaluate(RUN, belief, MEASURES, settings.changed(confidence=share)).summary for share in (0.5, 0.99)
    )
    assert (narrow["hi"] - narrow["lo"] < wide["hi"] - wide["lo"]).all()
    told = " ".join(texts(made.notes))
    assert "12 queries, 50 possible worlds; intervals: the middle 90%, with all doubts" in told
    assert "what would help most" in told


def test_a_baseline_is_compared_with_all() -> None:
    belief = votes(people_of(TRUTH), people=0)
    made = believed.evaluate(RUN, belief, MEASURES, Settings(worlds=20, baseline="s2"))
    assert set(made.comparison.frame["baseline"]) == {"s2"}
    with pytest.raises(TextError, match="did you mean s"):
        believed.evaluate(RUN, belief, MEASURES, Settings(worlds=20, baseline="s22"))


def test_sums_are_not_compared() -> None:
    belief = votes(people_of(TRUTH), people=0)
    made = believed.evaluate(RUN, belief, parse_all(["NumRelRet", "P@5"]), Settings(worlds=20))
    assert set(made.comparison.frame["measure"]) == {"P@5"}
    assert set(made.summary["measure"]) == {"NumRelRet", "P@5"}


def test_one_system_has_no_pairs_and_certainty_no_worlds() -> None:
    own = Run(RUN.frame.filter(pl.col("system") == "s0"))
    assert believed.evaluate(own, votes(people_of(TRUTH), people=0), MEASURES, Settings(worlds=20)).comparison is None
    rows = [(*pair, float(grade > 0)) for pair, grade in TRUTH.items()]
    sure = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
    made = believed.evaluate(RUN, sure, MEASURES, Settings(worlds=20))
    assert made.scores.draws is None
    assert texts(made.notes)[0] == "12 queries"


def test_warnings_of_any_belief() -> None:
    few = Run(RUN.frame.filter(pl.col("query") < "q03"))
    rows = [(f"q{n:02}", "d00", 0.5) for n in range(3)]
    thin = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
    warnings = " ".join(texts(believed.evaluate(few, thin, MEASURES, Settings(worlds=50)).warnings))
    assert "AP is undefined with probability 0.5 on average" in warnings
    assert "With only 3 queries, the intervals over queries are too narrow." in warnings
    assert "less than a tenth of the items of s0, s1, s2 and s3" in warnings


def test_topics_of_the_belief_that_a_run_lacks() -> None:
    rows = [(f"q{n:02}", "d00", 0.5) for n in range(12)]
    belief = Belief.of(pl.DataFrame(rows, schema=["query", "item", "p"], orient="row"))
    short = Run(RUN.frame.filter((pl.col("system") != "s1") | (pl.col("query") > "q03")))
    found = texts(believed.evaluate(short, belief, MEASURES, Settings(worlds=50)).warnings)
    assert "Topics of the belief that a run lacks (they count as empty lists): s1 4." in found


def sample(count: int, seed: int = 1) -> Opinions:
    """Pairs of the first five items of any run, drawn with the same probability."""
    pool = RUN.frame.filter(pl.col("rank") <= 5).select("query", "item").unique().sort("query", "item")
    share = count / pool.height
    drawn = pool.filter(pl.Series(np.random.default_rng(seed).random(pool.height) < share))
    grades = [TRUTH[pair] for pair in drawn.iter_rows()]
    return Opinions.of(
        drawn.with_columns(
            pl.Series("grade", grades),
            pl.lit(share).alias("propensity"),
            pl.lit("next").alias("selected_by"),
            pl.lit(5).alias("draw_depth"),
        )
    )


def test_labels_beside_a_consensus() -> None:
    settings, labels = Settings(worlds=20, depth=20, people=0), sample(120)
    before = consensus.believe(RUN, depth=20, people=0)
    plain = believed.evaluate(RUN, pinned(before, labels), MEASURES, settings)
    made = believed.with_labels(plain, RUN, before, labels)
    found = calibrate(before, labels, RUN)
    assert made.tables["calibration"].row(0, named=True)["brier"] == found.brier
    assert made.tables["gaps"].equals(found.systems)
    assert made.tables["reliability"].equals(found.reliability)
    estimates = prediction.estimate(RUN, before, labels, ["P@5"])
    assert made.tables["estimates"].equals(estimates.frame)
    assert made.tables["estimated_pairs"].equals(estimates.pairs)
    assert (estimates.frame["outside"] == 0).all()  # the labels say from which pairs they were drawn
    assert texts(made.notes)[-len(texts(plain.notes)) :] == texts(plain.notes)
    assert all(note.startswith("labels: ") for note in texts(made.notes)[: -len(texts(plain.notes))])


@pytest.mark.parametrize(
    ("measures", "count", "words"), [(["AP"], 120, "No valid interval exists for AP"), (["P@5"], 4, "No interval: ")]
)
def test_why_there_is_no_estimate(measures, count, words) -> None:
    settings, labels = Settings(worlds=20), sample(count)
    before = consensus.believe(RUN, depth=20, people=0)
    plain = believed.evaluate(RUN, pinned(before, labels), parse_all(measures), settings)
    made = believed.with_labels(plain, RUN, before, labels)
    assert "estimates" not in made.tables
    assert any(note.startswith(f"labels: {words}") for note in texts(made.notes))


def test_lists_of_names() -> None:
    assert few_of(["a"]) == "a"
    assert few_of(list("abc")) == "a, b and c"
    assert few_of(list("abcde")) == "a, b, c, d and one other"
    assert few_of(list("abcdef")) == "a, b, c, d and 2 others"


def test_the_mean_of_skewed_worlds_lies_in_its_interval_and_a_note_says_why() -> None:
    """AP is 1 in 98 of 100 worlds, and 1/2 in the others: their middle 95 % is the point 1, which the mean is not."""
    run = Run.of(pl.DataFrame({"system": "s", "query": "q", "item": ["a", "b"], "score": [2.0, 1.0]}))
    belief = Belief.of(pl.DataFrame({"query": "q", "item": ["a", "b"], "p": [0.99, 1.0]}))
    found = believed.evaluate(run, belief, parse_all(["AP"]), Settings())
    row = found.summary.row(0, named=True)
    assert row["value"] == pytest.approx(0.995)
    assert row["lo"] == row["value"] < row["hi"] == 1
    assert any(note.startswith("a mean at an end of its interval: ") for note in texts(found.notes))
    even = Belief.of(pl.DataFrame({"query": "q", "item": ["a", "b"], "p": [0.5, 1.0]}))
    assert "at an end" not in str(texts(believed.evaluate(run, even, parse_all(["AP"]), Settings()).notes))
