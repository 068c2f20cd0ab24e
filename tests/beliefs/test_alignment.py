"""Texts as votes: the worked examples, and a plain alignment by recursion to compare with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.beliefs.alignment import aligned, bag_of_words, columns
from endoxa.errors import TableError
from endoxa.tables import Opinions

Texts = dict[str, list[str]]

SMITH: Texts = {
    "S1": "John Smith visited Paris".split(),
    "S2": "John Smlth visited Paris France".split(),
    "S3": "John Smith visted Paris".split(),
}
ORDER: Texts = {"S1": "Paris met John".split(), "S2": "John met Paris".split(), "S3": "Paris met John Paris".split()}


def one_document(texts: Texts) -> dict[str, Texts]:
    return {system: {"text": words} for system, words in texts.items()}


def votes(opinions: Opinions) -> dict[str, set[str]]:
    """{system: items it voted for} of one document."""
    found: dict[str, set[str]] = {system: set() for system in opinions.frame["source"]}
    for system, item, grade in opinions.frame.select("source", "item", "grade").iter_rows():
        if grade == 1:
            found[system].add(item)
    return found


def consensus(opinions: Opinions) -> tuple[dict[str, Fraction], dict[str, tuple[Fraction, Fraction]]]:
    """P of every item, (1 + votes)/(2 + systems), and (precision, recall) of every system against it."""
    found = votes(opinions)
    count = Counter(item for items in found.values() for item in items)
    p = {item: Fraction(1 + yes, 2 + len(found)) for item, yes in count.items()}
    hits = {system: sum((p[item] for item in items), Fraction(0)) for system, items in found.items()}
    total = sum(p.values())
    return p, {system: (hits[system] / len(items), hits[system] / total) for system, items in found.items() if items}


def rounded(values: dict[str, tuple[Fraction, Fraction]]) -> list[tuple[float, float]]:
    return [(round(float(precision), 6), round(float(recall), 6)) for precision, recall in values.values()]


# ---- worked examples (docs/methods/beliefs.md, Alignment of texts)


@pytest.mark.parametrize("near", [None, 0.8])
def test_misread_words_stand_over_one_another(near: float | None) -> None:
    assert columns(SMITH, near=near) == [
        ("John", "John", "John"),
        ("Smith", "Smlth", "Smith"),
        ("visited", "visited", "visted"),
        ("Paris", "Paris", "Paris"),
        (None, "France", None),
    ]
    p, measured = consensus(aligned(one_document(SMITH), near=near))
    assert {item: float(value) for item, value in p.items()} == {
        "1:John": 0.8,
        "2:Smith": 0.6,
        "2:Smlth": 0.4,
        "3:visited": 0.6,
        "3:visted": 0.4,
        "4:Paris": 0.8,
        "5:France": 0.4,
    }
    assert float(sum(p.values())) == 4.0
    assert rounded(measured) == [(0.7, 0.7), (0.6, 0.75), (0.65, 0.65)]


def test_a_bag_of_the_same_words_says_the_same() -> None:
    p, measured = consensus(bag_of_words(one_document(SMITH)))
    assert {item: float(value) for item, value in p.items()} == {
        "John#1": 0.8,
        "Smith#1": 0.6,
        "Smlth#1": 0.4,
        "visited#1": 0.6,
        "visted#1": 0.4,
        "Paris#1": 0.8,
        "France#1": 0.4,
    }
    assert rounded(measured) == [(0.7, 0.7), (0.6, 0.75), (0.65, 0.65)]


def test_order_matters_to_columns_only() -> None:
    bag = bag_of_words(one_document(ORDER))
    assert votes(bag)["S1"] == votes(bag)["S2"] == {"Paris#1", "met#1", "John#1"}
    assert votes(bag)["S3"] == {"Paris#1", "met#1", "John#1", "Paris#2"}
    assert rounded(consensus(bag)[1]) == [(0.8, 0.857143), (0.8, 0.857143), (0.7, 1.0)]
    assert columns(ORDER) == [
        ("Paris", "John", "Paris"),
        ("met", "met", "met"),
        ("John", None, "John"),
        (None, "Paris", "Paris"),
    ]
    assert rounded(consensus(aligned(one_document(ORDER)))[1]) == [(0.666667, 0.666667), (0.6, 0.6), (0.65, 0.866667)]


# ---- a plain alignment --------------------------------------------------------------------------------


@cache
def edits(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    return min(edits(one[1:], other) + 1, edits(one, other[1:]) + 1, edits(one[1:], other[1:]) + (one[0] != other[0]))


def pair_score(one: str | None, other: str | None, near: Fraction | None) -> Fraction:
    if one is None or other is None:
        return Fraction(0 if one == other else -1)
    if one == other:
        return Fraction(1)
    alike = 1 - Fraction(edits(one, other), max(len(one), len(other)))
    return 2 * alike - 1 if near is not None and alike >= near else Fraction(-1)


Plain = list[tuple[str | None, ...]]


def mean_score(one: Sequence[str | None], other: Sequence[str | None], near: Fraction | None) -> Fraction:
    return sum((pair_score(a, b, near) for a, b in product(one, other)), Fraction(0)) / (len(one) * len(other))


def plain_join(first: Plain, second: Plain, sizes: tuple[int, int], near: Fraction | None) -> tuple[Fraction, Plain]:
    """The best score and the alignment of two lists of columns: diagonal, else up, else left, from the end."""
    above, below = (None,) * sizes[0], (None,) * sizes[1]

    @cache
    def best(i: int, j: int) -> tuple[Fraction, str]:
        if i == 0 and j == 0:
            return Fraction(0), ""
        ways: list[tuple[Fraction, str]] = []
        if i and j:
            ways.append((best(i - 1, j - 1)[0] + mean_score(first[i - 1], second[j - 1], near), "diagonal"))
        if i:
            ways.append((best(i - 1, j)[0] + mean_score(first[i - 1], below, near), "up"))
        if j:
            ways.append((best(i, j - 1)[0] + mean_score(above, second[j - 1], near), "left"))
        top = max(score for score, _ in ways)
        return top, next(way for score, way in ways if score == top)

    i, j = len(first), len(second)
    made: Plain = []
    while i or j:
        way = best(i, j)[1]
        made.append((first[i - 1] if way != "left" else above) + (second[j - 1] if way != "up" else below))
        i, j = i - (way != "left"), j - (way != "up")
    return best(len(first), len(second))[0], made[::-1]


def plain_columns(texts: list[list[str]], near: Fraction | None) -> Plain:
    """The whole method by its definition, slowly."""
    single = [[(word,) for word in text] for text in texts]
    distance: dict[frozenset[int], Fraction] = {}
    for a, b in combinations(range(len(texts)), 2):
        _, pair = plain_join(single[a], single[b], (1, 1), near)
        matches, longer = sum(one == other for one, other in pair), max(len(texts[a]), len(texts[b]))
        distance[frozenset({a, b})] = 1 - Fraction(matches, longer) if longer else Fraction(0)
    clusters: list[tuple[list[int], Plain]] = [([place], list(text)) for place, text in enumerate(single)]
    while len(clusters) > 1:
        ranked = []
        for x, y in combinations(range(len(clusters)), 2):
            apart = [distance[frozenset(pair)] for pair in product(clusters[x][0], clusters[y][0])]
            ranked.append((sum(apart, Fraction(0)) / len(apart), x, y))
        _, x, y = min(ranked)
        (ours, first), (theirs, second) = clusters[x], clusters[y]
        joined = plain_join(first, second, (len(ours), len(theirs)), near)[1]
        clusters[x] = (ours + theirs, joined)
        del clusters[y]
    members, made = clusters[0]
    return [tuple(column[members.index(place)] for place in range(len(texts))) for column in made]


words = st.sampled_from(["a", "b", "c", "abcde", "abcdx", "abcd", "xbcdefghij", "abcdefghij", "abcdefghijk"])
texts = st.lists(words, max_size=6)
NEAR = {None: None, 0.8: Fraction(4, 5), 0.5: Fraction(1, 2), 1.0: Fraction(1)}


@settings(deadline=None, max_examples=100)
@given(st.lists(words, max_size=20), st.lists(words, max_size=20), st.sampled_from(list(NEAR)))
def test_two_texts_have_the_best_score(one: list[str], other: list[str], near: float | None) -> None:
    found = columns({"one": one, "other": other}, near=near)
    score, alignment = plain_join([(word,) for word in one], [(word,) for word in other], (1, 1), NEAR[near])
    assert sum((pair_score(a, b, NEAR[near]) for a, b in found), Fraction(0)) == score
    assert found == alignment


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, min_size=1, max_size=5), st.sampled_from(list(NEAR)))
def test_several_texts_as_by_the_definition(outputs: list[list[str]], near: float | None) -> None:
    found = columns({f"s{place}": text for place, text in enumerate(outputs)}, near=near)
    assert found == plain_columns(outputs, NEAR[near])


letters = st.text("ab", max_size=12)


@settings(deadline=None, max_examples=200)
@given(letters, letters, st.sampled_from([0.5, 0.6, 0.7, 0.8, 0.9]))
def test_near_words_are_all_found(one: str, other: str, near: float) -> None:
    """Between strangers two pairs score -2, and one pair with two gaps its similarity - 2: more, if that is above 0."""
    found = columns({"x": [one, "?"], "y": ["!", other]}, near=near)
    assert ((one, other) in found) == (pair_score(one, other, Fraction(str(near))) > 0)


# ---- properties ---------------------------------------------------------------------------------------

any_outputs = st.dictionaries(
    st.sampled_from(["s", "t", "u", "v"]),
    st.dictionaries(
        st.sampled_from(["d1", "d2", "d3"]), st.lists(st.sampled_from(["a", "b", "#", "a#1", "1:a", ""]), max_size=8)
    ),
    min_size=1,
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from("stuv"), st.lists(st.sampled_from("abcde"), max_size=30), min_size=1))
def test_every_word_stands_once_and_in_order(outputs: Texts) -> None:
    found = columns(outputs)
    assert all(any(word is not None for word in column) for column in found)
    for place, text in enumerate(outputs.values()):
        assert [column[place] for column in found if column[place] is not None] == text


@settings(deadline=None, max_examples=50)
@given(any_outputs, st.randoms(use_true_random=False))
@pytest.mark.parametrize("method", [bag_of_words, aligned])
def test_documents_do_not_meet(method, outputs: dict[str, Texts], random) -> None:  # type: ignore[no-untyped-def]
    if not any(words for found in outputs.values() for words in found.values()):
        with pytest.raises(TableError, match="nothing to vote on"):
            method(outputs)
        return
    order = ["d1", "d2", "d3"]
    random.shuffle(order)
    shuffled = {
        system: {document: found[document] for document in order if document in found}
        for system, found in outputs.items()
    }
    rows = set(method(outputs).frame.select("source", "query", "item", "grade").rows())
    assert rows == set(method(shuffled).frame.select("source", "query", "item", "grade").rows())
    apart: set[tuple[str, str, str, float]] = set()
    for document in order:
        alone = {system: {document: found[document]} for system, found in outputs.items() if document in found}
        if any(found[document] for found in alone.values()):
            apart |= set(method(alone).frame.select("source", "query", "item", "grade").rows())
    assert rows == apart


@settings(deadline=None, max_examples=50)
@given(any_outputs)
def test_a_bag_by_counting(outputs: dict[str, Texts]) -> None:
    """v = 1 iff the system has the word j times or more, for j up to the most that any system has it."""
    expected = set()
    for document in ("d1", "d2", "d3"):
        counts = {system: Counter(found[document]) for system, found in outputs.items() if document in found}
        most: Counter[str] = Counter()
        for count in counts.values():
            most |= count
        for word, times in most.items():
            for j, (system, count) in product(range(1, times + 1), counts.items()):
                if count[word] >= j:
                    expected.add((system, document, f"{word}#{j}", 1.0))
                elif not count:
                    expected.add((system, document, f"{word}#{j}", 0.0))
    if expected:
        frame = bag_of_words(outputs).frame
        assert set(frame.select("source", "query", "item", "grade").rows()) == expected
        assert frame.height == len(expected)
        assert set(frame["kind"]) == {"system"}


@settings(deadline=None, max_examples=50)
@given(any_outputs)
def test_votes_are_the_words_of_the_columns(outputs: dict[str, Texts]) -> None:
    expected = set()
    for document in ("d1", "d2", "d3"):
        having = {system: found[document] for system, found in outputs.items() if document in found}
        for place, column in enumerate(columns(having) if having else [], 1):
            for system, word in zip(having, column, strict=True):
                if word is not None:
                    expected.add((system, document, f"{place}:{word}", 1.0))
                elif not having[system]:
                    expected |= {(system, document, f"{place}:{other}", 0.0) for other in column if other is not None}
    if expected:
        frame = aligned(outputs).frame
        assert set(frame.select("source", "query", "item", "grade").rows()) == expected
        assert frame.height == len(expected)


# ---- empty outputs, absent documents, bad input -------------------------------------------------------


@pytest.mark.parametrize("method", [bag_of_words, aligned])
def test_an_empty_output_votes_no_and_an_absent_one_not_at_all(method) -> None:  # type: ignore[no-untyped-def]
    made = method({"full": {"d": ["x", "y"]}, "empty": {"d": []}, "absent": {"e": ["z"]}})
    rows = made.frame.select("source", "query", "grade").rows()
    assert sorted(rows) == [
        ("absent", "e", 1.0),
        ("empty", "d", 0.0),
        ("empty", "d", 0.0),
        ("full", "d", 1.0),
        ("full", "d", 1.0),
    ]


def test_empty_texts_are_all_gaps() -> None:
    assert columns({"a": [], "b": ["x", "y"], "c": []}) == [(None, "x", None), (None, "y", None)]
    assert columns({"a": [], "b": []}) == []
    assert columns({"a": ["x"]}) == [("x",)]


def test_long_texts_with_blocks_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a profile are weighed in blocks; where the blocks end is not seen."""
    outputs = {"a": list("abcabcabcxxyz"), "b": list("abcacbabcxyz"), "c": list("bcabcabcxxyyz")}
    whole = columns(outputs)
    monkeypatch.setattr("endoxa.beliefs.alignment.BLOCK", 30)
    assert columns(outputs) == whole


def test_words_longer_than_the_unit_divides() -> None:
    long = "incomprehensibilities-and-more"  # 30 letters
    assert columns({"a": ["x", long], "b": [long[:-1] + "?"]}, near=0.8) == [("x", None), (long, long[:-1] + "?")]


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({}, "there are no outputs"),
        ({"s": {"d": "John Smith"}}, "'s' for 'd' is a str; expected a list of words: split the text first"),
        ({"s": {"d": 7}}, "is a int; expected a list of words"),
        ({"s": {"d": ["a", None]}}, "holds None; expected words"),
        ({"s": {"d": ["a", 3]}}, "holds 3; expected words"),
        ({"s": ["a"]}, "output 's' is a list; expected {document"),
        ({1: {"d": ["a"]}}, "system 1 is not called by a text"),
        ({"s": {1: ["a"]}}, "document 1 of 's' is not called by a text"),
        ({"s": {"d": []}, "t": {}}, "no system has a word"),
        ({"s": {}}, "no system has a word"),
    ],
)
@pytest.mark.parametrize("method", [bag_of_words, aligned])
def test_bad_outputs(method, outputs, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TableError) as caught:
        method(outputs)
    assert said in str(caught.value)


@pytest.mark.parametrize("near", [0.0, -1.0, 0.49, 1.01, float("nan")])
def test_a_share_that_is_none(near: float) -> None:
    with pytest.raises(TableError, match=r"near is a share of letters between 0\.5 and 1"):
        aligned(one_document(SMITH), near=near)
