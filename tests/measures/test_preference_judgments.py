"""Preference measures: against plain loops over pairs, worked cases, and what judges may not say."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

import endoxa
from endoxa import measure, summarise
from endoxa.errors import JoinError, TableError, TextError
from endoxa.measures import pairs
from endoxa.measures.evaluate import measure as measure_preferences
from endoxa.measures.explain import PARTS, explain, parts
from endoxa.measures.grammar import parse, parse_all
from endoxa.measures.pairs import PREFERENCES
from endoxa.measures.preference_judgments import Preferences
from endoxa.measures.trec_names import FAMILIES, NICKNAMES, place
from endoxa.policies import Policy
from endoxa.reports.trec_lines import lines
from endoxa.tables import Opinions, Run

Row = tuple[str, str, str, float]  # group, subgroup, item, level
ALL = list(PREFERENCES)
TREC = Policy.like("trec_eval-10")


def preferences(rows: list[Row], query: str = "q") -> Preferences:
    columns = ["group", "subgroup", "item", "level"]
    return Preferences.of(pl.DataFrame(rows, schema=columns, orient="row").with_columns(pl.lit(query).alias("query")))


def ranked(items: str | list[str], query: str = "q", system: str = "s") -> Run:
    names = list(items)
    frame = pl.DataFrame({"query": [query] * len(names), "item": names, "score": np.arange(len(names), 0, -1.0)})
    return Run.of(frame, system=system)


def scored(items: str | list[str], rows: list[Row], names: Any = ALL, policy: Policy | None = None) -> dict[str, float]:
    return measure_preferences(ranked(items), preferences(rows), names, policy).to_dict()["s"]["q"]


def group(levels: dict[str, float], name: str = "g", subgroup: str = "0") -> list[Row]:
    return [(name, subgroup, item, float(level)) for item, level in levels.items()]


# ---- plain loops --------------------------------------------------------------------------------------


class Judge:
    """One group by definition: its items with their last level, and the pairs it prefers."""

    def __init__(self, rows: list[Row]) -> None:
        self.level = {item: level for _, _, item, level in sorted(rows, key=lambda row: row[1])}
        self.subgroups = {subgroup for _, subgroup, _, _ in rows}
        self.prefers = {
            (a, b) for _, s, a, high in rows for _, other, b, low in rows if s == other and high > low
        }  # fmt: skip
        while new := {(a, d) for a, b in self.prefers for c, d in self.prefers if b == c} - self.prefers:
            self.prefers |= new


def judges(rows: list[Row]) -> list[Judge]:
    return [Judge([row for row in rows if row[0] == name]) for name in sorted({row[0] for row in rows})]


def fulfils(rank: dict[str, int], a: str, b: str) -> bool:
    return a in rank and rank[a] < rank.get(b, math.inf)


def share(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


def by_definition(rows: list[Row], order: list[str]) -> dict[str, float]:
    """All measures of one list, as their docstrings say."""
    rank = {item: place for place, item in enumerate(order)}
    panel = judges(rows)
    found: dict[str, float] = {}
    for suffix, least in (("", 0), ("_ret", 2), ("_imp", 1)):

        def counts(pair: tuple[str, str], least: int = least) -> bool:
            return sum(item in rank for item in pair) >= least

        wanted = [[pair for pair in judge.prefers if counts(pair)] for judge in panel]
        met = [[pair for pair in some if fulfils(rank, *pair)] for some in wanted]
        found[f"prefs_simp{suffix}"] = share(sum(map(len, met)), sum(map(len, wanted)))
        each = [share(len(m), len(w)) for m, w in zip(met, wanted, strict=True) if w]
        found[f"prefs_avgjg{suffix}"] = share(sum(each), len(each))
        votes = []
        for a, b in combinations(sorted({row[2] for row in rows}), 2):
            one, other = (sum((x, y) in judge.prefers for judge in panel) for x, y in ((a, b), (b, a)))
            if one + other and counts((a, b)):
                agree = one if fulfils(rank, a, b) else other if fulfils(rank, b, a) else 0
                votes.append(agree / (one + other))
        found[f"prefs_pair{suffix}"] = share(sum(votes), len(votes))
        if suffix != "_imp":
            found[f"prefs_num_prefs_ful{suffix}"] = sum(map(len, met))
            each = [balanced(judge, rank, suffix == "_ret") for judge in panel]
            each = [value for value in each if not math.isnan(value)]
            found[f"prefs_avgjg_Rnonrel{suffix}"] = share(sum(each), len(each))
    found["prefs_num_prefs_poss"] = sum(len(judge.prefers) for judge in panel)
    return found


def members(judge: Judge, rank: dict[str, int], only_retrieved: bool) -> list[str]:
    items = sorted(judge.level, key=lambda item: (rank.get(item, math.inf), item))
    return [item for item in items if item in rank or not only_retrieved]


def balanced(judge: Judge, rank: dict[str, int], only_retrieved: bool) -> float:
    items = members(judge, rank, only_retrieved)
    good = [item for item in items if judge.level[item] > 0]
    bad = [item for item in items if judge.level[item] <= 0]
    stay = {*good, *bad[: len(good)]}
    wanted = [pair for pair in judge.prefers if stay.issuperset(pair)]
    met = [pair for pair in wanted if fulfils(rank, *pair)]
    imagined = max(len(good) - len(bad), 0)
    return share(len(met) + sum(item in rank for item in good) * imagined, len(wanted) + len(good) * imagined)


def as_trec_eval(rows: list[Row], order: list[str]) -> dict[str, float]:
    """What departs from the definitions under --compat."""
    rank = {item: place for place, item in enumerate(order)}
    panel = judges(rows)
    found: dict[str, float] = {}
    for suffix, least in (("", 0), ("_ret", 2), ("_imp", 1)):
        each = []
        for judge in panel:
            wanted = [pair for pair in judge.prefers if sum(item in rank for item in pair) >= least]
            each.append(share(sum(fulfils(rank, *pair) for pair in wanted), len(wanted)) if wanted else 0.0)
        found[f"prefs_avgjg{suffix}"] = sum(each) / len(each)
    for suffix in ("", "_ret"):
        each = [balanced_as_trec_eval(judge, rank, bool(suffix)) for judge in panel]
        found[f"prefs_avgjg_Rnonrel{suffix}"] = 0.0 if any(map(math.isnan, each)) else sum(each) / len(each)
    return found


def balanced_as_trec_eval(judge: Judge, rank: dict[str, int], only_retrieved: bool) -> float:
    items = members(judge, rank, only_retrieved)
    partial = len(judge.subgroups) > 1
    known = sum(level > 0 for level in judge.level.values())
    good = [item for item in items if judge.level[item] > 0]
    bad = [item for item in items if (judge.level[item] == 0 if partial else judge.level[item] <= 0)]
    if len(good) >= len(bad):
        wanted = [pair for pair in judge.prefers if set(items).issuperset(pair)]
        met = [pair for pair in wanted if fulfils(rank, *pair)]
        imagined = len(good) - len(bad)
        return share(len(met) + sum(item in rank for item in good) * imagined, len(wanted) + known * imagined)
    bottom = 0.0 if partial else min(judge.level.values())
    last = [item for item in items if judge.level[item] == bottom]
    kept = last[: known if partial else len(good)]
    stay = {item for item in items if judge.level[item] != bottom} | set(kept)
    wanted = [pair for pair in judge.prefers if stay.issuperset(pair)]
    if not partial:
        wanted += [(a, b) for a in last for b in kept]  # the class against itself, each item against itself too
    return share(sum(fulfils(rank, *pair) for pair in wanted), len(wanted))


# ---- against them -------------------------------------------------------------------------------------

ITEMS = "abcdefgh"


@st.composite
def judged_list(draw: st.DrawFn, lowest: int = 0) -> tuple[list[Row], list[str]]:
    """Consistent judges: each has a level for every item and shows parts of that order; and a list of items."""
    rows: list[Row] = []
    for judge in range(draw(st.integers(1, 3))):
        levels = draw(st.lists(st.integers(lowest, 3), min_size=len(ITEMS), max_size=len(ITEMS)))
        for subgroup in range(draw(st.sampled_from([1, 1, 2, 3]))):
            factor = draw(st.sampled_from([1.0, 0.5]))
            some = draw(st.lists(st.sampled_from(range(len(ITEMS))), min_size=1, unique=True))
            rows += [(f"g{judge}", str(subgroup), ITEMS[at], levels[at] * factor) for at in some]
    return draw(st.permutations(rows)), draw(st.lists(st.sampled_from(ITEMS + "xyz"), min_size=1, unique=True))


@settings(max_examples=300, deadline=None)
@given(judged_list(lowest=-1))
def test_every_measure_is_its_definition(case: tuple[list[Row], list[str]]) -> None:
    rows, order = case
    assert scored(order, rows) == pytest.approx(by_definition(rows, order), nan_ok=True)


@settings(max_examples=300, deadline=None)
@given(judged_list())
def test_compat_gives_trec_evals_digits(case: tuple[list[Row], list[str]]) -> None:
    rows, order = case
    own = {name: 0.0 if math.isnan(value) else value for name, value in by_definition(rows, order).items()}
    assert scored(order, rows, policy=TREC) == pytest.approx(own | as_trec_eval(rows, order))


@settings(max_examples=100, deadline=None)
@given(judged_list(lowest=-1), st.sampled_from([1, 7, 20]))
def test_memory_is_bounded_without_changing_a_value(case: tuple[list[Row], list[str]], cells: int) -> None:
    rows, order = case
    whole = scored(order, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "CELLS", cells)
        assert scored(order, rows) == pytest.approx(whole, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(judged_list())
def test_one_judge_makes_pairs_and_preferences_the_same(case: tuple[list[Row], list[str]]) -> None:
    rows, order = case
    one = [row for row in rows if row[0] == "g0"]
    values = scored(order, one)
    for suffix in ("", "_ret", "_imp"):
        assert values[f"prefs_pair{suffix}"] == pytest.approx(values[f"prefs_simp{suffix}"], nan_ok=True)
        assert values[f"prefs_avgjg{suffix}"] == pytest.approx(values[f"prefs_simp{suffix}"], nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(judged_list())
def test_putting_one_judges_pair_right_fulfils_one_preference_more(case: tuple[list[Row], list[str]]) -> None:
    rows, order = case
    one = [row for row in rows if row[0] == "g0"]
    for at, (earlier, later) in enumerate(pairwise(order)):
        if (later, earlier) in Judge(one).prefers:
            better = [*order[:at], later, earlier, *order[at + 2 :]]
            before, after = (scored(some, one, "prefs_num_prefs_ful") for some in (order, better))
            assert after["prefs_num_prefs_ful"] == before["prefs_num_prefs_ful"] + 1


# ---- worked cases -------------------------------------------------------------------------------------


def test_a_preference_is_kept_broken_implied_or_not_touched() -> None:
    better = group({"a": 1, "b": 0})
    assert scored("ab", better, "prefs_simp") == {"prefs_simp": 1}
    assert scored("ba", better, "prefs_simp") == {"prefs_simp": 0}
    assert scored("ax", better, ["prefs_simp", "prefs_simp_imp"]) == {"prefs_simp": 1, "prefs_simp_imp": 1}
    assert scored("bx", better, ["prefs_simp", "prefs_simp_imp"]) == {"prefs_simp": 0, "prefs_simp_imp": 0}
    values = scored("x", better)
    assert values["prefs_simp"] == values["prefs_pair"] == values["prefs_avgjg"] == 0
    assert math.isnan(values["prefs_simp_imp"])
    assert math.isnan(values["prefs_simp_ret"])
    assert values["prefs_num_prefs_poss"] == 1


def test_what_follows_from_two_subgroups_is_preferred_too() -> None:
    chain = group({"a": 9, "b": 8}) + group({"b": 3, "c": 1}, subgroup="1") + group({"c": 5, "d": 4}, subgroup="2")
    assert scored("abcd", chain, "prefs_num_prefs_poss") == {"prefs_num_prefs_poss": 6}
    assert scored("dcba", chain, "prefs_num_prefs_ful") == {"prefs_num_prefs_ful": 0}
    assert scored("adbc", chain, ["prefs_num_prefs_ful", "prefs_simp"]) == pytest.approx(
        {"prefs_num_prefs_ful": 4, "prefs_simp": 4 / 6}
    )


def test_subgroups_leave_open_what_nobody_compared() -> None:
    parted = group({"a": 2, "b": 1}) + group({"c": 2, "d": 1}, subgroup="1")
    assert scored("abcd", parted, "prefs_num_prefs_poss") == {"prefs_num_prefs_poss": 2}
    same = group({"a": 2, "b": 1}) + group({"a": 7, "b": 1}, subgroup="1")
    assert scored("ab", same, "prefs_num_prefs_poss") == {"prefs_num_prefs_poss": 1}


def test_judges_may_disagree() -> None:
    torn = group({"a": 1, "b": 0}, "ann") + group({"a": 0, "b": 1}, "bob")
    agreed = group({"a": 1, "b": 0}, "ann") + group({"a": 2, "b": 1}, "bob")
    for order in ("ab", "ba"):
        values = scored(order, torn)
        assert values["prefs_num_prefs_poss"] == 2
        assert values["prefs_simp"] == values["prefs_pair"] == values["prefs_avgjg"] == 0.5
    assert scored("ab", agreed, ["prefs_simp", "prefs_pair"]) == {"prefs_simp": 1, "prefs_pair": 1}
    # ann: a > b, a > c, b > c; bob: b > a. The pair {a, b} is split, the two others are ann's alone
    three = group({"a": 3, "b": 2, "c": 1}, "ann") + group({"a": 1, "b": 2}, "bob")
    values = scored("abc", three)
    assert values["prefs_simp"] == 3 / 4
    assert values["prefs_pair"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert values["prefs_avgjg"] == (1 + 0) / 2


def test_a_judge_without_a_preference_is_left_out_but_counts_as_0_in_trec_eval() -> None:
    rows = group({"a": 1, "b": 0}, "ann") + group({"c": 1, "d": 1}, "bob")
    assert scored("abcd", rows, "prefs_avgjg") == {"prefs_avgjg": 1}
    assert scored("abcd", rows, "prefs_avgjg", TREC) == {"prefs_avgjg": 0.5}
    nothing = group({"a": 1, "b": 1})
    assert math.isnan(scored("ab", nothing, "prefs_avgjg")["prefs_avgjg"])
    assert scored("ab", nothing, ["prefs_avgjg", "prefs_simp"], TREC) == {"prefs_avgjg": 0, "prefs_simp": 0}


def test_as_many_irrelevant_items_as_relevant_ones() -> None:
    # one relevant, three irrelevant, in the order b a c d: of b, c, d only b counts, and it stands before a
    rows = group({"a": 1, "b": 0, "c": 0, "d": 0})
    assert scored("bacd", rows, ["prefs_simp", "prefs_avgjg_Rnonrel"]) == pytest.approx(
        {"prefs_simp": 2 / 3, "prefs_avgjg_Rnonrel": 0}
    )
    # two relevant, one of them retrieved, none irrelevant: two are imagined, and a fulfils both of its own
    assert scored("a", group({"a": 1, "b": 1}), "prefs_avgjg_Rnonrel") == {"prefs_avgjg_Rnonrel": 0.5}
    assert scored("a", group({"a": 1, "b": 1}), "prefs_avgjg_Rnonrel_ret") == {"prefs_avgjg_Rnonrel_ret": 1}
    assert scored("a", group({"a": 1, "b": 1}), "prefs_avgjg_Rnonrel_ret", TREC) == {"prefs_avgjg_Rnonrel_ret": 0.5}


def test_trec_eval_compares_irrelevant_items_with_each_other() -> None:
    # a perfect list: the one relevant item first. trec_eval adds the three irrelevant ones against the first of them
    rows = group({"a": 1, "b": 0, "c": 0, "d": 0})
    assert scored("abcd", rows, "prefs_avgjg_Rnonrel") == {"prefs_avgjg_Rnonrel": 1}
    assert scored("abcd", rows, "prefs_avgjg_Rnonrel", TREC) == {"prefs_avgjg_Rnonrel": 1 / 4}
    parted = rows + group({"a": 1, "b": 0}, subgroup="1")
    assert scored("abcd", parted, "prefs_avgjg_Rnonrel", TREC) == {"prefs_avgjg_Rnonrel": 1}


def test_in_trec_eval_one_judge_who_found_nothing_spoils_the_query() -> None:
    rows = group({"a": 1, "b": 0}, "ann") + group({"a": 0, "b": 0}, "bob")
    assert scored("ab", rows, "prefs_avgjg_Rnonrel") == {"prefs_avgjg_Rnonrel": 1}
    assert scored("ab", rows, "prefs_avgjg_Rnonrel", TREC) == {"prefs_avgjg_Rnonrel": 0}


def test_equal_scores_go_by_descending_id_but_in_trec_eval_by_ascending() -> None:
    tied = Run.of(pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "score": [1.0, 1.0, 2.0]}), system="s")
    rows = preferences(group({"a": 1, "b": 0}))
    assert measure_preferences(tied, rows, "prefs_simp").frame["value"][0] == 0
    assert measure_preferences(tied, rows, "prefs_simp", TREC).frame["value"][0] == 1
    for depth, value in ((1, math.nan), (2, 1.0), (3, 1.0)):
        cut = measure_preferences(tied, rows, "prefs_simp_imp", Policy.like("trec_eval-9", cut=depth, undefined="nan"))
        assert cut.frame["value"][0] == pytest.approx(value, nan_ok=True)
    read = Run.of(pl.DataFrame({"query": ["q"] * 2, "item": ["b", "a"], "score": [1.0, 1.0]}), system="s", ties="input")
    assert (
        measure_preferences(read, rows, "prefs_simp", Policy.like("trec_eval-9", ties="input")).frame["value"][0] == 0
    )


# ---- grades as preferences ----------------------------------------------------------------------------


def test_grades_imply_preferences_by_assessor() -> None:
    opinions = Opinions.of(
        pl.DataFrame(
            {
                "query": ["q"] * 5,
                "item": ["a", "b", "c", "a", "b"],
                "grade": [2.0, 1.0, 0.0, 0.0, 1.0],
                "source": ["ann", "ann", "ann", "bob", "bob"],
            }
        )
    )
    made = measure_preferences(
        ranked("abc"), Preferences.of_opinions(opinions), ["prefs_num_prefs_poss", "prefs_avgjg"]
    )
    assert made.to_dict()["s"]["q"] == {"prefs_num_prefs_poss": 4, "prefs_avgjg": 0.5}


def test_a_negative_grade_is_no_judgment_but_a_level_in_trec_eval() -> None:
    opinions = Opinions.of(pl.DataFrame({"query": ["q"] * 3, "item": ["a", "b", "c"], "grade": [1.0, 0.0, -1.0]}))
    for unjudged, possible in ((False, 1), (True, 3)):
        made = Preferences.of_opinions(opinions, unjudged=unjudged)
        assert measure_preferences(ranked("abc"), made, "prefs_num_prefs_poss").frame["value"][0] == possible


# ---- topics, systems, policies ------------------------------------------------------------------------


def two_topics() -> Preferences:
    rows = [("p", *row) for row in group({"a": 1, "b": 0})] + [("q", *row) for row in group({"c": 2, "d": 1, "e": 0})]
    return Preferences.of(pl.DataFrame(rows, schema=["query", "group", "subgroup", "item", "level"], orient="row"))


def test_missing_topics_follow_the_policy() -> None:
    run, names = ranked("ab", "p"), ["prefs_simp", "prefs_simp_ret", "prefs_num_prefs_poss"]
    empty = measure_preferences(run, two_topics(), names)
    assert empty.to_dict()["s"]["q"] == pytest.approx(
        {"prefs_simp": 0, "prefs_simp_ret": math.nan, "prefs_num_prefs_poss": 3}, nan_ok=True
    )
    assert empty.coverage.row(0, named=True) == {
        "system": "s", "queries": 2, "missing": 1, "unknown": 0, "items": 2, "judged": 2, "tied": 0,
    }  # fmt: skip
    assert measure_preferences(run, two_topics(), names, Policy(missing="skip")).queries == ["p"]
    with pytest.raises(JoinError, match="lacks query 'q'"):
        measure_preferences(run, two_topics(), names, Policy(missing="error"))
    with pytest.raises(JoinError, match="shares no query with the set of judgments"):
        measure_preferences(ranked("ab", "z"), two_topics(), names)


def test_trec_eval_9_counts_no_preferences_of_missing_topics() -> None:
    for release, possible in (("trec_eval-9", 1), ("trec_eval-10", 4)):
        scores = measure_preferences(
            ranked("ab", "p"), two_topics(), ["num_q", "prefs_num_prefs_poss", "prefs_simp"],
            Policy.like(release, missing="empty"),  # type: ignore[arg-type]
        )  # fmt: skip
        said = dict(line.split("\tall\t") for line in lines(scores, parse_all(scores.measures)))
        assert {name.strip(): value for name, value in said.items()} == {
            "num_q": "2", "prefs_num_prefs_poss": str(possible), "prefs_simp": "0.5000",
        }  # fmt: skip


def test_several_systems_and_unknown_topics() -> None:
    parts_ = [
        ("one", "p", "a", 2),
        ("one", "p", "b", 1),
        ("one", "z", "a", 1),
        ("two", "p", "b", 2),
        ("two", "p", "a", 1),
    ]
    run = Run.of(pl.DataFrame(parts_, schema=["system", "query", "item", "score"], orient="row"))
    scores = measure_preferences(run, two_topics(), "prefs_simp", Policy(missing="skip"))
    assert scores.to_dict() == {"one": {"p": {"prefs_simp": 1.0}}, "two": {"p": {"prefs_simp": 0.0}}}
    assert scores.coverage["unknown"].to_list() == [1, 0]


def test_items_that_nobody_compared_do_not_matter() -> None:
    rows = group({"a": 1, "b": 0, "c": 2})
    assert scored("xcybzaw", rows) == pytest.approx(scored("cba", rows), nan_ok=True)


def test_the_front_door_takes_preferences(tmp_path) -> None:
    rows = preferences(group({"a": 1, "b": 0}))
    assert measure({"q": {"a": 2.0, "b": 1.0}}, rows).measures == ["prefs_simp", "prefs_pair", "prefs_avgjg"]
    path = tmp_path / "a.run"
    path.write_text("q Q0 a 1 2 s\nq Q0 b 2 1 s\nr Q0 b 1 1 s\n")
    scores = measure(str(path), rows, "all_prefs")
    assert scores.coverage["unknown"].to_list() == [1]
    made = summarise(scores)
    assert made.filter(pl.col("measure") == "prefs_num_prefs_poss")["value"][0] == 1
    assert made.filter(pl.col("measure") == "NumQ")["value"][0] == 1


def test_what_preferences_cannot_answer() -> None:
    rows = preferences(group({"a": 1, "b": 0}))
    with pytest.raises(TextError, match=r"^P_10 needs grades, and these are preferences; measure them with prefs_simp"):
        measure_preferences(ranked("ab"), rows, "P_10")
    with pytest.raises(TextError, match=r"^prefs_simp needs preferences, and these are grades; .* -R prefs"):
        endoxa.measure({"q": {"a": 1.0}}, {"q": {"a": 1}}, "prefs_simp")
    with pytest.raises(TextError, match="ties=average is not known for preferences"):
        measure_preferences(ranked("ab"), rows, "prefs_simp", Policy(ties="average"))
    with pytest.raises(TextError, match="unjudged=bounds is not known"):
        measure_preferences(ranked("ab"), rows, "prefs_simp", Policy(unjudged="bounds"))
    with pytest.raises(TextError, match=r"no measure is called 'prefs_simpel'; did you mean prefs_simp\?"):
        parse_all("prefs_simpel")
    with pytest.raises(TextError, match="prefs_simp takes no parameters"):
        parse_all("prefs_simp.5")


# ---- what judges may not say --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            group({"a": 2, "b": 1}) + group({"a": 1, "b": 2}, subgroup="1"),
            "row 4 of the table of preferences: group 'g' of query 'q' prefers 'a' to 'b' and the reverse; a group is",
        ),
        (
            group({"a": 2, "b": 1}) + group({"b": 2, "c": 1}, subgroup="1") + group({"c": 2, "a": 1}, subgroup="2"),
            "row 6 of the table of preferences: group 'g' of query 'q' prefers 'a' to 'b' and the reverse",
        ),
        (
            group({"a": 2, "b": 0}) + group({"b": 1, "c": 0}, subgroup="1"),
            r"row 3 of the table of preferences: level 1 of item 'b': elsewhere in group 'g' of query 'q' it is "
            r"not relevant \(0 or less\); of one judge's levels",
        ),
        (
            [*group({"a": 2, "b": 1}), ("g", "0", "a", 2.0)],
            "row 3 of the table of preferences: item 'a' stands twice in subgroup '0' of group 'g' of query 'q';",
        ),
        (group({"a": math.nan}), "row 1 of the table of preferences: level is NaN; give a number"),
        ([], "there are no preferences to measure against"),
    ],
)  # fmt: skip
def test_a_judge_may_not_contradict_himself(rows: list[Row], says: str) -> None:
    with pytest.raises(TableError, match=says):
        preferences(rows)


def test_two_judges_may_say_the_reverse_in_subgroups_of_the_same_name() -> None:
    rows = group({"a": 2, "b": 1}, "ann", "1") + group({"a": 1, "b": 2}, "bob", "1") + group({"c": 1}, "bob", "2")
    assert scored("ab", rows, "prefs_simp") == {"prefs_simp": 0.5}


def test_columns_are_checked() -> None:
    with pytest.raises(TableError, match="a table of preferences needs a column 'group'"):
        Preferences.of(pl.DataFrame({"query": ["q"], "item": ["a"], "level": [1.0]}))
    columns = {"qid": ["q"], "group": ["g"], "subgroup": [0], "docno": ["a"]}
    with pytest.raises(TableError, match="level 'high' is not a number"):
        Preferences.of(pl.DataFrame({**columns, "level": ["high"]}))
    assert Preferences.of(pl.DataFrame({**columns, "level": ["1"]})).queries == ["q"]


# ---- names and help -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_measure_is_explained_and_printed(name: str) -> None:
    said = parts(PREFERENCES[name])
    assert set(said) == {"Meaning", *PARTS}
    assert said["Meaning"].endswith(".")
    assert explain(name).startswith(f"{name}: {said['Meaning']}\n  Formula ")
    assert str(parse(name)) == parse(name).label == name
    assert parse(str(parse(name))) == parse(name)


@pytest.mark.parametrize("nickname", ["prefs", "all_prefs"])
def test_nicknames_are_those_of_trec_eval(nickname: str) -> None:
    assert set(NICKNAMES[nickname]) == pytrec_eval.supported_nicknames[nickname]
    assert not set(ALL) & set(NICKNAMES["all_trec"])


def test_labels_stand_in_trec_evals_order_and_long_ones_are_not_cut() -> None:
    assert sorted(FAMILIES, key=place) == list(FAMILIES)
    wanted = parse_all(["prefs_pair", "prefs_avgjg_Rnonrel_ret", "prefs_simp", "num_q"])
    scores = measure_preferences(ranked("ab"), preferences(group({"a": 1, "b": 0})), wanted, TREC)
    assert lines(scores, wanted, per_query=True, summary=False) == [
        "prefs_simp            \tq\t1.0000",
        "prefs_pair            \tq\t1.0000",
        "prefs_avgjg_Rnonrel_ret\tq\t1.0000",
    ]
