"""Items that people filed: the numbers by hand, alpha against plain pairs, and the interval by simulation."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import polars as pl
import pytest

from endoxa.errors import TableError
from endoxa.notes import texts
from endoxa.studies.filings import depths, distances, filings
from endoxa.tables import Labels, Taxonomy

EDGES = {"all": (None,), "people": ("all",), "outdoor": ("all",), "crowd": ("people",), "city": ("outdoor",)}
GRAPH = {**EDGES, "city": ("outdoor", "crowd")}
SANTINI = {"a": "people people crowd city city", "b": "city city city city city"}


def tree_of(edges: dict) -> Taxonomy:
    rows = [(name, parent) for name, parents in edges.items() for parent in parents]
    return Taxonomy.of(pl.DataFrame(rows, schema=["category", "parent"], orient="row"))


def labels_of(filed: dict[str, str]) -> Labels:
    """`x+y` files an item in two categories; `-` files it nowhere."""
    rows = [
        (f"s{n}", item, name)
        for item, names in filed.items()
        for n, several in enumerate(names.split())
        if several != "-"
        for name in several.split("+")
    ]
    return Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))


def found_of(filed: dict[str, str], edges: dict = EDGES, **more):
    return filings(labels_of(filed), tree_of(edges), rng=np.random.default_rng(1), **more)


def plain_alpha(units: list[list[tuple[str, ...]]], delta) -> float:
    """One minus the mean distance within a unit by that between any two filings, pair by pair."""
    units = [unit for unit in units if len(unit) > 1]

    def apart(x, y):
        return float(np.mean([delta(a, b) for a in x for b in y]))

    n = sum(map(len, units))
    observed = sum(2 * apart(x, y) / (len(unit) - 1) for unit in units for x, y in combinations(unit, 2)) / n
    every = [filing for unit in units for filing in unit]
    return 1 - observed / (sum(apart(x, y) for x, y in permutations(every, 2)) / (n * (n - 1)))


def test_santinis_example() -> None:
    """Golden: people 2, crowd 1, city 2 of five, as his text says of Figure 1; alpha was worked by hand."""
    found = found_of(SANTINI)
    shares = dict(found.of("a").select("category", "p").iter_rows())
    assert shares == pytest.approx({"all": 1, "people": 0.6, "crowd": 0.2, "outdoor": 0.4, "city": 0.4})
    assert sum(shares.values()) == pytest.approx(2.6)
    assert found.tree["category"].to_list() == ["all", "people", "crowd", "outdoor", "city"]
    assert found.tree["size"].to_list() == pytest.approx([2, 0.6, 0.2, 1.4, 1.4])
    assert found.tree["filed"].to_list() == [0, 2, 1, 0, 7]
    assert found.items.rows() == [("a", 5, pytest.approx(0.2)), ("b", 5, pytest.approx(1.0))]
    assert found.agreement["alpha"].to_list() == pytest.approx([1 - (1 / 3) / ((2 / 3 + 21) / 45), 1 - 0.4 / (23 / 45)])
    assert found.agreement["alpha"].to_list() == pytest.approx([0.3077, 0.2174], abs=5e-5)
    assert found.agreement["lo"].is_nan().all()  # two images
    assert "5 people filed 2 items in 5 categories and agree with alpha 0.3077 by distance in the tree" in found.answer


@pytest.mark.parametrize("edges", [EDGES, GRAPH])
def test_alpha_by_plain_pairs(edges: dict) -> None:
    filed = {
        "a": "people people+city crowd city", "b": "city outdoor - all", "c": "crowd - - -", "d": "people crowd city -",
        "e": "people+crowd people+crowd city city",
    }  # fmt: skip
    found = found_of(filed, edges)
    tree = tree_of(edges)
    depth = depths(tree)

    def by_tree(x, y):
        if x == y:
            return 0.0
        shared = max(depth[name] for name in tree.ancestors[x] & tree.ancestors[y])
        return 1 - 2 * shared / (depth[x] + depth[y])

    units = [[tuple(one.split("+")) for one in names.split() if one != "-"] for names in filed.values()]
    tree_alpha, nominal = found.agreement["alpha"]
    assert tree_alpha == pytest.approx(plain_alpha(units, by_tree))
    assert nominal == pytest.approx(plain_alpha(units, lambda x, y: float(x != y)))
    for name, alpha in found.tree.select("category", "alpha").iter_rows():
        inside = [[(any(name in tree.ancestors[one] for one in filing),) for filing in unit] for unit in units]
        if name == "all":
            assert np.isnan(alpha)  # all belong to the root
        else:
            assert alpha == pytest.approx(plain_alpha(inside, lambda x, y: float(x != y))), name
    agreeing = dict(found.items.select("item", "agreeing").iter_rows())
    assert np.isnan(agreeing["c"])
    pairs = [np.mean([one == other for one in x for other in y]) for x, y in combinations(units[0], 2)]
    assert agreeing["a"] == pytest.approx(np.mean(pairs))


def test_distances_in_a_graph_use_the_longest_way() -> None:
    tree = tree_of(GRAPH)
    assert depths(tree) == {"all": 0, "people": 1, "outdoor": 1, "crowd": 2, "city": 3}
    names = ["all", "people", "crowd", "city", "outdoor"]
    found = distances(tree, names)
    assert found[names.index("people"), names.index("crowd")] == pytest.approx(1 / 3)
    assert found[names.index("crowd"), names.index("city")] == pytest.approx(1 - 4 / 5)
    assert found[names.index("outdoor"), names.index("crowd")] == 1
    assert found[names.index("all"), names.index("people")] == 1
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()


def test_the_same_item_in_two_categories_is_named() -> None:
    (several,) = [one for one in found_of({"a": "people+city people", "b": "city city"}).notes if one.kind == "warning"]
    assert str(several).startswith("'s0' filed item 'a' in 2 categories (people, city).")
    assert "agreement over 2 items" in " ".join(texts(found_of(SANTINI).notes))


@pytest.mark.parametrize(
    ("filed", "reason"),
    [({"a": "city", "b": "people"}, "no item was filed by two people"),
     ({"a": "city city", "b": "city city"}, "all items were filed in the same category")],
)  # fmt: skip
def test_undefined_agreement_says_why(filed: dict, reason: str) -> None:
    found = found_of(filed)
    assert found.agreement["alpha"].is_nan().all()
    assert f"their agreement is undefined: {reason}" in found.answer


def test_an_item_that_nobody_filed() -> None:
    with pytest.raises(TableError, match="nobody filed the item 'c'"):
        found_of(SANTINI).of("c")


def random_filing(chance: np.random.Generator, items: int, people: int = 4) -> dict[str, str]:
    """Each item has a true category, which each person names with probability .6; otherwise she draws one."""
    names = np.array(["people", "crowd", "city", "outdoor"])
    true = chance.integers(4, size=items)
    said = np.where(chance.random((items, people)) < 0.6, true[:, None], chance.integers(4, size=(items, people)))
    return {f"i{at}": " ".join(names[row]) for at, row in enumerate(said)}


def test_the_interval_covers_the_alpha_of_many_items() -> None:
    chance = np.random.default_rng(3)
    truth = found_of(random_filing(chance, 4000), resamples=2).agreement["alpha"].to_list()
    hits, trials = np.zeros(2), 60
    for _ in range(trials):
        made = found_of(random_filing(chance, 40), resamples=200).agreement
        hits += [lo <= one <= hi for one, lo, hi in zip(truth, made["lo"], made["hi"], strict=True)]
    assert (hits / trials >= 0.85).all()
    assert found_of(random_filing(chance, 9)).agreement["lo"].is_nan().all()
    ten = found_of(random_filing(chance, 10))
    assert ten.agreement["lo"].is_not_nan().all()
    assert ten.tree.filter(pl.col("category") == "people")["lo"].is_not_nan().all()
