"""Tables for the tests of readers and writers: any that a user could make."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
from hypothesis import strategies as st

from endoxa.notes import text
from endoxa.policies import Policy
from endoxa.tables import DRAW, Comparison, Opinions, Run, Scores

finite = st.floats(allow_nan=False, allow_infinity=False)
scores = finite | st.sampled_from([float("inf"), float("-inf"), 0.0, -0.0, 1.0])
odd = st.sampled_from(
    [
        "#",
        "a,b",
        '"',
        '""',
        "'",
        "x^",
        "NULL",
        "nan",
        "007",
        "1e5",
        "é",
        "\xa0",
        "{}",
        "\\",
        "-",
        "0",
        "=1+1",
        "'=1",
        "''@a",
        "-5",
        "'-5",
    ]
)
any_text = (
    odd
    | st.text(st.characters(codec="utf-8"), max_size=6)
    | st.sampled_from(["", " ", "a b", "\n", "\r", "\r\n", "\t", "\ufeff"])
)
name = odd | st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\0"), min_size=1, max_size=6)
query = name.filter(lambda text: text[0] != "\ufeff")
tag = name
maybe = st.none() | finite


def runs(text: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Run]:
    """Runs; with names that TREC's text can hold unless told otherwise."""
    names = (tag, query, name) if text is None else (text, text, text)
    row = st.tuples(*names, scores)
    rows = st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[:3])
    return rows.map(lambda rows: Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row")))


OPINION = {
    "source": pl.String,
    "kind": pl.String,
    "query": pl.String,
    "item": pl.String,
    "grade": pl.Float64,
    "scale": pl.String,
    "confidence": pl.Float64,
    "selected_by": pl.String,
    **dict.fromkeys(DRAW, pl.Int64),
    "propensity": pl.Float64,
    "role": pl.String,
    "at": pl.Datetime("us", "UTC"),
}
moments = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


def opinions() -> st.SearchStrategy[Opinions]:
    """Judgments with every column in use."""
    row = st.tuples(
        any_text,
        st.sampled_from(["person", "judge"]),
        any_text,
        any_text,
        maybe,
        st.none() | any_text,
        maybe,
        st.none() | any_text,
        *[st.none() | st.integers(0, 2**53)] * 3,
        st.none() | st.floats(1e-9, 1),
        any_text,
        st.none() | moments,
    )
    rows = st.lists(row, min_size=1, max_size=8, unique_by=lambda row: (row[0], row[2], row[3]))
    return rows.map(lambda rows: Opinions.of(pl.DataFrame(rows, schema=OPINION, orient="row")))


def plain_judgments(*, sampled: bool = False, several: bool = False) -> st.SearchStrategy[Opinions]:
    """Judgments that TREC's text can hold."""
    row = st.tuples(name if several else st.just("qrels"), query, name, finite, st.none() | name, st.floats(1e-9, 1))
    rows = st.lists(row, min_size=1, max_size=8, unique_by=lambda row: row[:3])
    columns = ["source", "query", "item", "grade", "selected_by", "propensity"]
    schema = {column: OPINION[column] for column in columns}

    def made(rows: list[tuple[object, ...]]) -> Opinions:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        frame = frame.with_columns(pl.col("selected_by").replace("-", None))
        return Opinions.of(frame if sampled else frame.drop("selected_by", "propensity"))

    return rows.map(made)


numbers = st.floats(allow_nan=True)


def tables_of_scores() -> st.SearchStrategy[Scores]:
    row = st.tuples(any_text, any_text, st.sampled_from(["AP", "nDCG@10", "P(rel=2)@5"]), numbers, maybe, maybe, maybe)
    columns = ["system", "query", "measure", "value", "sd", "lo", "hi"]
    schema = {column: pl.String if column in columns[:3] else pl.Float64 for column in columns}
    policies = st.sampled_from(
        [Policy(), Policy(ties="average", seed=7, shuffles=50), Policy.like("trec_eval-9"), Policy(cut=10)]
    )

    def made(rows: list[tuple[object, ...]], policy: Policy, texts: bool) -> Scores:
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        frame = frame.with_columns(undefined=pl.col("value").is_nan().cast(pl.Float64))
        coverage = frame.select(pl.col("system").unique(maintain_order=True)).with_columns(
            pl.lit(place, pl.Int64).alias(column)
            for place, column in enumerate(("queries", "missing", "unknown", "items", "judged", "tied"))
        )
        text = frame.select("system", "query", "measure", pl.lit("'01'").alias("text")) if texts else None
        return Scores(frame, policy, coverage, text)

    rows = st.lists(row, min_size=1, max_size=6, unique_by=lambda row: row[:3])
    return st.builds(made, rows, policies, st.booleans())


def comparisons() -> st.SearchStrategy[Comparison]:
    row = st.tuples(*[any_text] * 4, *[numbers] * 3, *[maybe] * 4, *[numbers] * 3, any_text, st.integers(0, 9))
    schema = dict.fromkeys(("measure", "system", "baseline", "doubt"), pl.String)
    schema |= dict.fromkeys(
        ("difference", "lo", "hi", "p_better", "p_tie", "superiority", "sd", "p_value", "p_adjusted", "effect"),
        pl.Float64,
    )
    schema |= {"test": pl.String, "queries": pl.Int64}
    rows = st.lists(row, min_size=1, max_size=5)
    return st.builds(
        lambda rows, notes: Comparison(pl.DataFrame(rows, schema=schema, orient="row"), tuple(map(text, notes))),
        rows,
        st.lists(any_text, max_size=2),
    )
