"""Belief from filed items, against plain counting; worked numbers of docs/methods/beliefs.md, Categories."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from endoxa.beliefs import categories as module
from endoxa.beliefs.categories import RollUp, believe, levels, mixture_weights, roll_up, size
from endoxa.errors import TableError, TextError
from endoxa.notes import texts
from endoxa.tables import Belief, Labels, Taxonomy

TREE = {
    "all": None, "people": "all", "crowd": "people", "portrait": "people",
    "outdoor": "all", "city": "outdoor", "landscape": "outdoor",
}  # fmt: skip
VOTES = {
    "q": "people people crowd city city",
    "r1": "people portrait crowd city people",
    "r2": "city city crowd city landscape",
    "r3": "portrait people people people city",
    "r4": "landscape landscape landscape city landscape",
}
MIXES = ["assigned", "normalised", "normalised_no_root", "subject"]


def tree_of(edges):
    pairs = edges.items() if isinstance(edges, dict) else edges
    return Taxonomy.of(pl.DataFrame(list(pairs), schema=["category", "parent"], orient="row"))


def labels_of(rows):
    return Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))


def filed(votes=VOTES):
    return labels_of(
        [(str(s), item, c) for item, said in votes.items() for s, c in enumerate(said.split(), 1) if c != "-"]
    )


def rng(seed=5):
    return np.random.default_rng(seed)


class Fixed:
    """Draws that are known beforehand."""

    def __init__(self, *counts):
        self.counts = np.array(counts)

    def multinomial(self, _number, shares, size):
        assert len(self.counts) == size
        assert np.allclose(shares, 1 / self.counts.shape[1])
        return self.counts


def share(rolled: RollUp, category, item, kind="rolled"):
    return getattr(rolled, kind)[rolled.categories.index(category), rolled.items.index(item)]


# -- worked numbers


def test_roll_up_of_the_worked_example():
    rolled = roll_up(filed(), tree_of(TREE))
    expected = {"all": 1, "people": 0.6, "crowd": 0.2, "portrait": 0, "outdoor": 0.4, "city": 0.4, "landscape": 0}
    assert {name: pytest.approx(share(rolled, name, "q")) for name in TREE} == expected
    assert rolled.rolled[:, rolled.items.index("q")].sum() == pytest.approx(2.6)
    assert rolled.direct.sum(0) == pytest.approx(1)
    assert rolled.subjects.tolist() == [5] * 5
    assert rolled.categories[0] == "all"
    direct = {name: share(rolled, name, "q", "direct") for name in TREE}
    # Eq. 8 as printed adds the children's direct shares only: the root falls below 1.
    children = [name for name, parent in TREE.items() if parent == "all"]
    assert direct["all"] + sum(direct[name] for name in children) == pytest.approx(0.4)


def test_a_category_with_two_parents_counts_once():
    edges = [*TREE.items(), ("crowd", "city")]
    rolled = roll_up(filed(), tree_of(edges))
    assert {name: pytest.approx(share(rolled, name, "q")) for name in ("all", "people", "city", "outdoor")} == {
        "all": 1, "people": 0.6, "city": 0.6, "outdoor": 0.6,
    }  # fmt: skip
    # Adding up children instead would count crowd by both of its paths.
    direct = {name: share(rolled, name, "q", "direct") for name in TREE}

    def by_children(name):
        return direct[name] + sum(by_children(child) for child, parent in edges if parent == name)

    assert by_children("all") == pytest.approx(1.2)


def test_size_of_the_worked_example():
    shares = [0.9, 0.6, 0.8, 0.2, 0.5, 0.1, 0.3, 0]
    said = {f"i{n}": " ".join(["crowd"] * round(10 * p) + ["city"] * round(10 - 10 * p)) for n, p in enumerate(shares)}
    rolled = roll_up(filed(said), tree_of(TREE))
    row = size(rolled).filter(pl.col("category") == "people").row(0)
    assert row == ("people", pytest.approx(3.4), pytest.approx(1.2))
    row = size(rolled, without="i0").filter(pl.col("category") == "people").row(0)
    assert row == ("people", pytest.approx(2.5), pytest.approx(1.2 - 0.09))
    assert size(rolled).row(0) == ("all", pytest.approx(8), pytest.approx(0))
    with pytest.raises(TableError, match="nobody filed the item 'i11'; did you mean i1"):
        size(rolled, without="i11")


@pytest.mark.parametrize(
    ("mix", "found", "mean"),
    [
        ("assigned", ["r1", "r2", "r3"], 0.4),
        ("normalised", ["r1", "r2", "r3"], 0.646154),
        ("normalised_no_root", ["r1", "r2", "r3"], 0.425),
        ("subject", ["r1", "r2", "r3"], 0.6),
        ("assigned", ["r1", "r2", "r4"], 0.293333),
        ("subject", ["r1", "r2", "r4"], 0.466667),
    ],
)
def test_expected_precision_of_the_worked_example(mix, found, mean):
    belief = believe(filed(), tree_of(TREE), queries=["q"], mix=mix)
    rows = belief.frame.filter(pl.col("item").is_in(found))
    assert (rows["weight"] * rows["p"]).sum() / 3 == pytest.approx(mean, abs=5e-7)


def test_weights_as_printed():
    rolled = roll_up(filed(), tree_of(TREE))
    names, weights = mixture_weights(rolled, "q", "as_printed")
    assert weights.sum() == pytest.approx(2.6)
    p = [np.mean([share(rolled, name, item) for item in ("r1", "r2", "r3")]) for name in names]
    assert (weights * p).sum() / weights.sum() == pytest.approx(0.646154, abs=5e-7)
    # Eq. 13 divides by n too: its masses sum to 2.6/3.
    assert weights.sum() / 3 == pytest.approx(0.866667, abs=5e-7)


def test_weights_of_every_mix():
    rolled = roll_up(filed(), tree_of(TREE))

    def weights(mix):
        return dict(zip(*mixture_weights(rolled, "q", mix), strict=True))

    assert weights("assigned") == pytest.approx({"people": 0.4, "crowd": 0.2, "city": 0.4})
    every = {"all": 1, "people": 0.6, "crowd": 0.2, "outdoor": 0.4, "city": 0.4}
    assert weights("normalised") == pytest.approx({name: p / 2.6 for name, p in every.items()})
    every.pop("all")
    assert weights("normalised_no_root") == pytest.approx({name: p / 1.6 for name, p in every.items()})
    for mix in MIXES[:3]:
        readings = believe(filed(), tree_of(TREE), queries=["q"], mix=mix).frame.select("reading", "weight").unique()
        assert dict(readings.rows()) == pytest.approx(weights(mix))
    with pytest.raises(TextError, match="weighs people"):
        mixture_weights(rolled, "q", "subject")
    with pytest.raises(TextError, match="did you mean assigned"):
        mixture_weights(rolled, "q", "asigned")
    with pytest.raises(TableError, match="nobody filed the item 'r9'"):
        mixture_weights(rolled, "r9")


# -- against plain counting


@st.composite
def studies(draw):
    """A graph of categories, and people who file some items in one or two of them."""
    count = draw(st.integers(1, 6))
    edges = [("c0", None)]
    for number in range(1, count):
        above = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=2, unique=True))
        edges += [(f"c{number}", f"c{parent}") for parent in above]
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from("stu"), st.sampled_from("zyx"), st.integers(0, count - 1)),
            min_size=1,
            max_size=20,
            unique=True,
        )
    )
    return edges, [(source, item, f"c{number}") for source, item, number in rows]


def plainly(edges, rows):
    """Ancestors of each category, and {(source, item): [categories]}."""
    parents = defaultdict(set)
    for category, parent in edges:
        if parent:
            parents[category].add(parent)

    def above(category):
        return {category}.union(*(above(parent) for parent in parents[category]))

    filings = defaultdict(list)
    for source, item, category in rows:
        filings[source, item].append(category)
    return {category: above(category) for category, _ in edges}, filings


def plain_shares(edges, rows, item, copies=None):
    """p' and p of one item as {category: share}; people counted as often as `copies` says. None: nobody filed it."""
    above, filings = plainly(edges, rows)
    direct, rolled, people = defaultdict(float), defaultdict(float), 0
    for (source, filed_item), categories in filings.items():
        if filed_item != item:
            continue
        times = 1 if copies is None else copies[source]
        people += times
        for category in categories:
            direct[category] += times / len(categories)
        for category in set().union(*(above[name] for name in categories)):
            rolled[category] += times
    if not people:
        return None
    return {k: v / people for k, v in direct.items()}, {k: v / people for k, v in rolled.items()}, people


@settings(max_examples=100, deadline=None)
@given(studies())
def test_shares_are_plain_counts(study):
    edges, rows = study
    tree, labels = tree_of(edges), labels_of(rows)
    rolled = roll_up(labels, tree)
    assert sorted(rolled.items) == rolled.items == sorted({row[1] for row in rows})
    for column, item in enumerate(rolled.items):
        direct, p, people = plain_shares(edges, rows, item)
        assert rolled.subjects[column] == people
        for row, category in enumerate(rolled.categories):
            assert rolled.direct[row, column] == pytest.approx(direct.get(category, 0))
            assert rolled.rolled[row, column] == pytest.approx(p.get(category, 0))


def plain_belief(edges, rows, mix, smoothing=0.0, copies=None):
    """{(query, reading, item): (weight, p)}; under `copies`, None where nobody who was drawn filed it."""
    above, filings = plainly(edges, rows)
    items = sorted({row[1] for row in rows})
    found = {}
    for query in items:
        if mix == "subject":
            found |= _plain_subjects(above, filings, query, copies)
            continue
        base = plain_shares(edges, rows, query)
        now = plain_shares(edges, rows, query, copies)
        which = 0 if mix == "assigned" else 1
        readings = [name for name in base[which] if mix != "normalised_no_root" or name != "c0"]
        sums = None if now is None else sum(now[which].get(name, 0) for name in readings)
        for name in readings:
            weight = now[which].get(name, 0) / sums if sums else None
            for item in items:
                if item != query:
                    one = plain_shares(edges, rows, item, copies)
                    below = sum(name in above[other] for other in above if other != "c0")
                    total = smoothing * (len(above) - 1)
                    p = (one[1].get(name, 0) * one[2] + smoothing * below) / (one[2] + total) if one else None
                    found[query, name, item] = (weight, p)
    return found


def _plain_subjects(above, filings, query, copies):
    found, sums = {}, 0
    people = {source for source, item in filings if item == query}
    if not any(source in people and item != query for source, item in filings):
        return {}
    filler = min({item for _, item in filings} - {query})
    for (source, item), categories in filings.items():
        others = [other for who, other in filings if who == source and other != query]
        if item != query:
            continue
        times = 1 if copies is None else copies[source]
        sums += times
        for category in categories:
            name = source if len(categories) == 1 else f"{source}: {category}"
            for other in others or [filler]:
                p = any(category in above[label] for label in filings.get((source, other), ()))
                found[query, name, other] = (times / len(categories), float(p))
    return {key: (weight / sums if sums else None, p) for key, (weight, p) in found.items()}


@settings(max_examples=150, deadline=None)
@given(studies(), st.sampled_from(MIXES), st.sampled_from([0.0, 0.5]), st.data())
def test_belief_is_plain_counting(study, mix, smoothing, data):
    edges, rows = study
    tree, labels = tree_of(edges), labels_of(rows)
    smoothing = 0.0 if mix == "subject" else smoothing
    expected = plain_belief(edges, rows, mix, smoothing)
    sources = sorted({row[0] for row in rows})
    draws = data.draw(
        st.lists(
            st.lists(st.sampled_from(sources), min_size=len(sources), max_size=len(sources)), min_size=1, max_size=3
        )
    )
    counts = [[draw.count(source) for source in sources] for draw in draws]
    chance = {"people": len(draws), "rng": Fixed(*counts)} if len(sources) > 1 else {}
    if not expected:
        with pytest.raises(TableError, match=r"only item|root only|filed nothing else"):
            believe(labels, tree, mix=mix, smoothing=smoothing, **chance)
        return
    belief = believe(labels, tree, mix=mix, smoothing=smoothing, **chance)
    found = {row[:3]: row[3:] for row in belief.frame.select("query", "reading", "item", "weight", "p").rows()}
    assert found.keys() == expected.keys()
    for key, pair in expected.items():
        assert found[key] == pytest.approx(pair)
    for number, draw in enumerate(counts if chance else []):
        under = plain_belief(edges, rows, mix, smoothing, dict(zip(sources, draw, strict=True)))
        for row in belief.frame.iter_rows(named=True):
            weight, p = under[row["query"], row["reading"], row["item"]]
            # What the draw leaves without a label keeps its value.
            assert row["people_weight"][number] == pytest.approx(row["weight"] if weight is None else weight, abs=1e-6)
            assert row["people"][number] == pytest.approx(row["p"] if p is None else p, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(studies(), st.sampled_from(MIXES))
def test_the_table_is_as_its_own_check_would_leave_it(study, mix):
    edges, rows = study
    try:
        belief = believe(labels_of(rows), tree_of(edges), mix=mix)
    except TableError:
        return
    assert_frame_equal(belief.frame, Belief.of(belief.frame).frame)


@pytest.mark.parametrize("mix", MIXES)
def test_columns_of_people(mix):
    with_people = believe(filed(), tree_of(TREE), mix=mix, people=4, rng=rng())
    assert_frame_equal(with_people.frame, Belief.of(with_people.frame).frame)
    assert with_people.frame.schema["people"] == pl.Array(pl.Float32, 4)
    assert with_people.frame.schema["people_weight"] == pl.Array(pl.Float32, 4)


@settings(max_examples=100, deadline=None)
@given(studies())
def test_levels_are_plain_membership(study):
    edges, rows = study
    rows = [("s", item, category) for item, category in dict.fromkeys((item, category) for _, item, category in rows)]
    above, filings = plainly(edges, rows)
    inside = {item: set().union(*(above[name] for name in names)) for (_, item), names in filings.items()}
    expected = {
        (query, name, item): (1 / len(inside[query] - {"c0"}), float(name in inside[item]))
        for query in inside
        for name in inside[query] - {"c0"}
        for item in inside
        if item != query
    }
    labels, tree = labels_of(rows), tree_of(edges)
    if not expected:
        with pytest.raises(TableError, match=r"only item|root only"):
            levels(labels, tree)
        return
    belief = levels(labels, tree)
    found = {row[:3]: row[3:] for row in belief.frame.select("query", "reading", "item", "weight", "p").rows()}
    assert found == expected
    assert belief.model == "levels"
    assert_frame_equal(belief.frame, Belief.of(belief.frame).frame)


# -- people


def test_one_draw_serves_all_items_and_queries():
    belief = believe(filed(), tree_of(TREE), people=2, rng=Fixed([5, 0, 0, 0, 0], [0, 0, 0, 0, 5]))
    rows = {
        row[:3]: row[3:] for row in belief.frame.select("query", "reading", "item", "people", "people_weight").rows()
    }
    # The first person five times: q and r1 are people, r2 is city; then the last: q is city, r1 people, r2 landscape.
    assert rows["q", "people", "r1"] == ([1, 1], [1, 0])
    assert rows["q", "city", "r2"] == ([1, 0], [0, 1])
    assert rows["r2", "city", "q"] == ([0, 1], [1, 0])


def test_resampled_shares_spread_as_shares_of_that_many_people_do():
    belief = believe(filed(), tree_of(TREE), queries=["q"], people=4000, rng=rng())
    row = belief.frame.filter((pl.col("reading") == "people") & (pl.col("item") == "r1")).row(0, named=True)
    drawn = np.array(row["people"])
    assert drawn.mean() == pytest.approx(0.8, abs=0.02)
    assert drawn.var() == pytest.approx(0.8 * 0.2 / 4, rel=0.1)  # a standard error, squared
    weight = np.array(row["people_weight"])
    assert weight.mean() == pytest.approx(0.4, abs=0.02)
    assert weight.var() == pytest.approx(0.4 * 0.6 / 4, rel=0.1)


def test_the_same_seed_gives_the_same_people():
    one, two = (believe(filed(), tree_of(TREE), people=5, rng=rng(3)).frame for _ in range(2))
    assert_frame_equal(one, two)
    assert not believe(filed(), tree_of(TREE), people=5, rng=rng(4)).frame.equals(one)


def test_an_unrelated_filing_changes_nothing_for_a_person_who_filed_the_query_alone():
    """She counts in both cases, and what she did not file is not relevant to her."""
    votes = {"q": "people city", "r1": "people -", "r2": "city -"}
    p = {}
    for other in ("-", "landscape"):
        belief = believe(filed(votes | {"r4": f"- {other}"}), tree_of(TREE), queries=["q"], mix="subject")
        p[other] = dict(belief.expected().frame.select("item", "grade").iter_rows())
    assert p["-"]["r1"] == p["landscape"]["r1"] == 0.5


# -- what it says about itself


def test_notes():
    said = " | ".join(texts(believe(filed(), tree_of(TREE), smoothing=0.5, people=7, rng=rng()).lines()))
    for part in ("mix=assigned", "smoothing=0.5", "5 people filed 5 items, 5 people an item", "people=7"):
        assert part in said
    votes = {"q": "people city", "r1": "people -", "r2": "people -"}
    notes = texts(believe(filed(votes), tree_of(TREE), queries=["q"], mix="subject").notes)
    assert any("1 times a person filed the query and nothing else; to her, nothing is rel" in note for note in notes)
    votes["r2"] = "- city"
    notes = texts(believe(filed(votes), tree_of(TREE), queries=["q"], mix="subject").notes)
    assert any("50.0% of the labels are missing" in note for note in notes)
    assert any("1 to 2 people an item" in note for note in notes)


def test_items_in_the_root_only_are_told():
    votes = {"q": "all all", "r1": "people people", "r2": "crowd crowd"}
    belief = believe(filed(votes), tree_of(TREE), mix="normalised_no_root")
    assert belief.queries == ["r1", "r2"]
    assert any("1 items filed in the root only are no queries" in note for note in texts(belief.notes))
    assert believe(filed(votes), tree_of(TREE), queries=["q"]).frame["p"].to_list() == [1, 1]
    for make in (lambda: believe(filed(votes), tree_of(TREE), queries=["q"], mix="normalised_no_root"),
                 lambda: levels(filed(votes), tree_of(TREE), queries=["q"]),
                 lambda: mixture_weights(roll_up(filed(votes), tree_of(TREE)), "q", "normalised_no_root")):  # fmt: skip
        with pytest.raises(TableError, match="'q' was filed in the root only"):
            make()


def test_people_who_agree_are_one_labelling():
    votes = {"q": "crowd crowd", "r1": "people people", "r2": "city city"}
    belief = levels(filed(votes), tree_of(TREE), queries="q")
    assert belief.frame.select("reading", "weight", "item", "p").rows() == [
        ("crowd", 0.5, "r1", 0.0), ("crowd", 0.5, "r2", 0.0), ("people", 0.5, "r1", 1.0), ("people", 0.5, "r2", 0.0),
    ]  # fmt: skip
    assert any("2 people agree" in note for note in texts(belief.notes))
    with pytest.raises(TableError, match=r"'q' was filed differently by several people \(people, crowd, city\)"):
        levels(filed(), tree_of(TREE))
    # One of two people who filed it in two, the other in one of these: not the same labelling either.
    rows = [("1", "q", "crowd"), ("1", "q", "city"), ("2", "q", "city"), ("1", "r", "city")]
    with pytest.raises(TableError, match="'q' was filed differently"):
        levels(labels_of(rows), tree_of(TREE))


# -- bad input


def test_unknown_category():
    labels = filed(VOTES | {"r4": "landscape landscape landscape cty landscape"})
    for make in (roll_up, believe, levels):
        if make is levels:
            labels = labels_of([("s", "r4", "cty"), ("s", "q", "city")])
        with pytest.raises(TableError, match=r"item 'r4' is filed in 'cty'.*did you mean city"):
            make(labels, tree_of(TREE))


def test_unknown_and_no_queries():
    with pytest.raises(TableError, match="nobody filed the query 'r11'; did you mean r1"):
        believe(filed(), tree_of(TREE), queries=["q", "r11"])
    with pytest.raises(TableError, match="no query is asked for"):
        believe(filed(), tree_of(TREE), queries=[])
    with pytest.raises(TableError, match="only item 'q' was filed"):
        believe(filed({"q": "city city"}), tree_of(TREE))


def test_a_query_asked_twice_counts_once():
    once = believe(filed(), tree_of(TREE), queries=["r1", "q"])
    assert_frame_equal(once.frame, believe(filed(), tree_of(TREE), queries=["q", "r1", "q"]).frame)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"mix": "as_printed"}, "no belief: .*mixture_weights"),
        ({"mix": "asigned"}, "did you mean assigned"),
        ({"smoothing": -1}, "smoothing is a number, 0 or greater, not -1"),
        ({"smoothing": float("nan")}, "not nan"),
        ({"mix": "subject", "smoothing": 1}, "no shares to smooth"),
        ({"people": 5}, "give rng"),
        ({"people": -5}, "0 or more, not -5"),
    ],
)
def test_bad_settings(setting, said):
    with pytest.raises(TextError, match=said):
        believe(filed(), tree_of(TREE), **setting)


def test_one_person_cannot_be_resampled():
    with pytest.raises(TableError, match="one person filed all"):
        believe(filed({"q": "city", "r": "city"}), tree_of(TREE), people=5, rng=rng())


def test_a_vast_belief_is_refused(monkeypatch):
    monkeypatch.setattr(module, "MOST", 50)
    for mix in ("assigned", "subject"):
        with pytest.raises(TableError, match="times 10 resamples of the people do not fit in memory"):
            believe(filed(), tree_of(TREE), mix=mix, people=10, rng=rng())


def test_names_of_people_that_collide():
    rows = [
        ("a", "q", "city"),
        ("a", "q", "crowd"),
        ("a: city", "q", "crowd"),
        ("a", "r", "city"),
        ("a: city", "r", "city"),
    ]
    with pytest.raises(TableError, match="two readings are called 'a: city'"):
        believe(labels_of(rows), tree_of(TREE), queries=["q"], mix="subject")


def test_who_filed_nothing_else_has_no_reading():
    rows = [("a", "q", "city"), ("b", "r", "city"), ("b", "t", "city")]
    with pytest.raises(TableError, match="who filed the query 'q' filed nothing else"):
        believe(labels_of(rows), tree_of(TREE), queries=["q"], mix="subject")
    belief = believe(labels_of(rows), tree_of(TREE), mix="subject")
    assert belief.queries == ["r", "t"]
    assert any("1 items are no queries" in note for note in texts(belief.notes))
