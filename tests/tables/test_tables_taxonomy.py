"""Taxonomies and labels: what they check on entry."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TableError
from endoxa.tables import Labels, Taxonomy


def tree(*edges: tuple[str, str | None]) -> Taxonomy:
    return Taxonomy.of(pl.DataFrame(edges, schema={"category": pl.String, "parent": pl.String}, orient="row"))


def labels(rows, columns=("source", "item", "category")) -> Labels:
    return Labels.of(pl.DataFrame(rows, schema=list(columns), orient="row"))


# -- taxonomies


def test_ancestors_of_a_graph():
    made = tree(("crowd", "people"), ("people", "all"), ("crowd", "city"), ("city", "all"), ("all", None))
    assert made.root == "all"
    assert made.categories[0] == "all"
    assert set(made.categories) == {"all", "people", "crowd", "city"}
    assert made.ancestors["crowd"] == {"crowd", "people", "city", "all"}
    assert made.ancestors["all"] == {"all"}


def test_a_parent_without_a_row_is_a_root():
    made = tree(("crowd", "people"), ("portrait", "people"))
    assert made.root == "people"
    assert made.ancestors["crowd"] == {"crowd", "people"}


def test_several_roots_stand_under_one():
    made = tree(("crowd", "people"), ("city", "outdoor"), ("sky", None))
    assert made.root == Taxonomy.ROOT
    assert made.ancestors["crowd"] == {"crowd", "people", Taxonomy.ROOT}
    assert made.ancestors["sky"] == {"sky", Taxonomy.ROOT}
    with pytest.raises(TableError, match=r"'\(all\)' is the name of a category; rename it"):
        tree(("crowd", "people"), ("city", "(all)"))


def test_an_empty_parent_is_none():
    assert tree(("all", ""), ("people", "all")).root == "all"


def test_one_category():
    assert tree(("all", None)).categories == ["all"]


def test_the_same_row_twice_counts_once():
    assert len(tree(("all", None), ("people", "all"), ("people", "all"))) == 2


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([("a", "b"), ("b", "a")], "no root: a is under b is under a; remove one of these edges"),
        ([("a", "a")], "a is under a"),
        ([("all", None), ("x", "all"), ("a", "b"), ("b", "c"), ("c", "a")], "not acyclic: a is under b"),
        ([("all", None), ("a", "all"), ("a", "b"), ("b", "a"), ("under", "a")], "not acyclic: .*is under"),
    ],
)
def test_cycles_are_named(edges, said):
    with pytest.raises(TableError, match=said):
        tree(*edges)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), min_size=1, max_size=8, unique=True))
def test_a_graph_is_refused_exactly_when_it_has_a_cycle(edges):
    """The plain way: walk from each category to all that can be reached."""

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            here = todo.pop()
            for category, parent in edges:
                if category == here and parent not in seen:
                    seen.add(parent)
                    todo.append(parent)
        return seen

    names = {name for edge in edges for name in edge}
    if any(name in reached(name) for name in names):
        with pytest.raises(TableError, match="is under"):
            tree(*edges)
        return
    made = tree(*edges)
    assert set(made.categories) - {Taxonomy.ROOT} == names
    for name in names:
        assert made.ancestors[name] - {Taxonomy.ROOT} == {name} | (reached(name) - {Taxonomy.ROOT})
        assert made.root in made.ancestors[name]


def test_a_taxonomy_of_paths():
    made = Taxonomy.of_paths(["animals/birds/owls", "animals/cats", "/plants//trees/"])
    assert made.root == Taxonomy.ROOT
    assert made.ancestors["animals/birds/owls"] == {"animals/birds/owls", "animals/birds", "animals", Taxonomy.ROOT}
    assert made.ancestors["plants/trees"] == {"plants/trees", "plants", Taxonomy.ROOT}
    assert Taxonomy.of_paths(["all/a", "all/b/c"]).root == "all"


def test_names_of_the_same_last_part_stay_apart():
    made = Taxonomy.of_paths(["x/other", "y/other"])
    assert {"x/other", "y/other"} < set(made.categories)


def test_an_empty_taxonomy():
    for make in (lambda: Taxonomy.of_paths([]), lambda: Taxonomy.of_paths(["/"]), tree):
        with pytest.raises(TableError, match="the taxonomy is empty"):
            make()


def test_bad_columns():
    with pytest.raises(TableError, match="a taxonomy needs a column 'parent'; the columns are category, parents"):
        Taxonomy.of(pl.DataFrame({"category": ["a"], "parents": ["b"]}))
    with pytest.raises(TableError, match="row 2 of the taxonomy: category is missing"):
        Taxonomy.of(pl.DataFrame({"category": ["a", None], "parent": [None, "a"]}))


# -- labels


def test_labels_keep_the_order_read():
    made = labels([("bob", "i1", "city"), ("ann", "i1", "crowd"), ("bob", "i1", "crowd")])
    assert made.sources == ["bob", "ann"]
    assert made.frame.columns == ["source", "item", "category"]
    assert len(made) == 3


def test_one_labelling_needs_no_source():
    assert labels([("i1", "city")], ("item", "category")).sources == ["labels"]
    assert Labels.of(pl.DataFrame({"item": ["i1"], "category": ["a"]}), source="gold").sources == ["gold"]


def test_other_names():
    assert labels([("ann", "i1", "city")], ("rater", "doc_id", "category")).frame.row(0) == ("ann", "i1", "city")


def test_an_empty_label_is_no_answer():
    made = labels([("ann", "i1", "city"), ("ann", "i2", ""), ("ann", "i3", None)])
    assert made.frame["item"].to_list() == ["i1"]
    with pytest.raises(TableError, match="there are no labels"):
        labels([("ann", "i2", "")])


def test_the_same_label_twice_counts_once():
    assert len(labels([("ann", "i1", "city"), ("ann", "i1", "city")])) == 1


def test_numbers_are_names():
    assert labels([(1, 7, 3)]).frame.row(0) == ("1", "7", "3")


def test_bad_labels():
    with pytest.raises(TableError, match="a table of labels needs a column 'category'"):
        labels([("ann", "i1")], ("source", "item"))
    with pytest.raises(TableError, match="row 1 of the table of labels: item is missing"):
        labels([("ann", None, "city")])
