"""Models by name: defaults, refusals, and a toy model that is added with one registration."""

from __future__ import annotations

import polars as pl
import pytest

from endoxa.beliefs import models
from endoxa.errors import TableError, TextError
from endoxa.notes import texts
from endoxa.tables import Belief, Opinions, Run

OPINIONS = Opinions.of(
    pl.DataFrame({"source": ["x", "y"], "query": ["q", "q"], "item": ["a", "a"], "grade": [1.0, 0.0]})
)


def stubborn(opinions: Opinions, *, p: float = 0.5, people: int = 0) -> Belief:
    """Every pair that anybody mentions is relevant with the same probability."""
    pairs = opinions.frame.select("query", "item").unique()
    return Belief.of(pairs.with_columns(pl.lit(p).alias("p")), model="stubborn", notes=[f"{people} resamples"])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(models, "MODELS", dict(models.MODELS))
    models.register("stubborn", stubborn, takes=(Opinions,), people=7)
    return "stubborn"


def test_a_toy_model_is_added_with_one_registration(toy: str) -> None:
    belief = models.believe(OPINIONS, toy, p=0.25)
    assert belief.frame["p"].to_list() == [0.25]
    assert texts(belief.notes) == ("7 resamples",)  # its own default number of resamples
    assert models.named(toy).settings == ["p", "people"]


def test_a_toy_model_is_found_in_messages_and_help(toy: str) -> None:
    with pytest.raises(TextError, match="did you mean stubborn"):
        models.believe(OPINIONS, "stuborn")
    with pytest.raises(TextError, match=r"\(there are: consensus, .*stubborn\)"):
        models.believe(OPINIONS, "x")
    assert "stubborn      Every pair that anybody mentions is relevant" in models.described()
    with pytest.raises(TextError, match=r"no setting 'q'.*\(settings: p, people\)"):
        models.believe(OPINIONS, toy, q=1)
    with pytest.raises(TableError, match="takes Opinions, not Run"):
        models.believe(Run.of(pl.DataFrame({"system": ["s"], "query": ["q"], "item": ["a"], "score": [1.0]})), toy)


def test_every_model_has_help() -> None:
    assert all(len(one.summary) > 20 for one in models.MODELS.values())


def test_models_that_count_rows_see_the_noes_of_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MODELS", dict(models.MODELS))
    seen = []
    for name, counts in (("counting", True), ("other", False)):
        models.register(name, lambda opinions: seen.append(len(opinions)) or stubborn(opinions), counts_rows=counts)
    rows = [("ann", "person", "q", "x", 1.0), ("ann", "person", "q", "y", 1.0), ("sys", "system", "q", "x", 1.0)]
    given = Opinions.of(pl.DataFrame(rows, schema=["source", "kind", "query", "item", "grade"], orient="row"))
    for name in ("counting", "other"):
        models.believe(given, name)
    assert seen == [4, 3]


def test_votes_suit_several_people_and_crisp_judgments_one() -> None:
    assert models.default(OPINIONS) == "votes"
    assert models.default(Opinions.of(OPINIONS.frame.filter(pl.col("source") == "x"))) == "crisp"
    assert models.default(Opinions.of(OPINIONS.frame.drop("kind"), kind="system")) == "consensus"


def test_only_a_model_that_learns_from_gold_tasks_sees_them() -> None:
    gold = pl.DataFrame({"source": ["x", "y"], "query": "q", "item": "b", "grade": [1.0, 1.0], "role": "gold"})
    rows = pl.concat([OPINIONS.frame.select("source", "query", "item", "grade", pl.lit("task").alias("role")), gold])
    seen = {name: set(models.believe(Opinions.of(rows), name).frame["item"]) for name in ("votes", "dawid-skene")}
    assert seen == {"votes": {"a"}, "dawid-skene": {"a", "b"}}
