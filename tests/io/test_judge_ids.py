"""Ids of pairs in the files of machine judges: one separator must split all of them, or the caller must say more."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa.errors import FileError
from endoxa.io.judge_ids import SEPARATORS, Pairs, Requests, named_by_texts, split

NAMES = st.text(alphabet="abcXYZ019.", min_size=1, max_size=8)


@given(
    st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=9),
    st.sampled_from([s for group in SEPARATORS for s in group]),
)
def test_packed_ids_come_apart(pairs: list[tuple[str, str]], sign: str) -> None:
    assert split([sign.join(pair) for pair in pairs], "f") == {sign.join(pair): pair for pair in pairs}


@pytest.mark.parametrize(
    ("ids", "pairs"),
    [
        (["q_1|d-7", "q_2|d-9"], [("q_1", "d-7"), ("q_2", "d-9")]),  # a rare separator counts more than a usual one
        (["a:::b", "a:::c"], [("a", "b"), ("a", "c")]),  # and is not split at a part of it
        (["q1__d_1", "q2__d_2"], [("q1", "d_1"), ("q2", "d_2")]),
        (["q1_d:1:2", "q2_d:1"], [("q1", "d:1:2"), ("q2", "d:1")]),  # : does not split all
        (["q|a b", "q|c d"], [("q", "a b"), ("q", "c d")]),
    ],
)
def test_which_separator_counts(ids: list[str], pairs: list[tuple[str, str]]) -> None:
    assert list(split(ids, "f").values()) == pairs


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["q1|d1", "q1|d1|2"], "no separator splits every id, such as 'q1|d1', into a query and an item"),
        (["q1|", "q1|d"], "no separator splits every id"),
        (["|d"], "no separator splits every id"),
        (["q1 d1", "q2-d2"], "no separator splits every id"),
        (["q_1-d"], "the ids, such as 'q_1-d', can be split at '_' and '-'"),
        (["q|x::y"], "can be split at '|' and '::'"),
        (["task7"], "no separator splits every id"),
        ([""], "no separator splits every id, such as ''"),
    ],
)
def test_ids_that_cannot_be_split(ids: list[str], says: str) -> None:
    with pytest.raises(FileError) as caught:
        split(ids, "out.jsonl")
    assert says in caught.value.problem
    assert str(caught.value).startswith("out.jsonl: ")
    assert "QUERY|ITEM" in caught.value.remedy and "custom_id,query,item" in caught.value.remedy


def test_all_ways_to_name_a_pair_together() -> None:
    pairs = Pairs(queries={"why": "q1"}, items={"a text": "d1", "twice": None})
    named = [
        (("q9|d9",), False), (("q2", "d2"), False), (("why", "a text"), True), (("why", "twice"), True),
        (("who", "a text"), True),
    ]  # fmt: skip
    assert pairs.of(named, "f") == [
        ("q9", "d9"), ("q2", "d2"), ("q1", "d1"), "several have the same text", "the text is not known"
    ]  # fmt: skip
    assert pairs.unnamed([True]) == []
    assert Pairs().unnamed([False, True]) == ["queries", "items"]
    assert Pairs().unnamed([False]) == []
    assert Pairs(requests=Requests((), ())).unnamed([True]) == []


def test_texts_of_tables_and_of_a_folder_of_beir(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("qid\ttext\nq1\t why? \nq2\twhat?\nq3\twhat?\n")
    assert named_by_texts(tmp_path / "q.tsv", "query") == {"why?": "q1", "what?": None}
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "A text."}\n')
    assert named_by_texts(tmp_path, "item") == {"A text.": "d1"}
    (tmp_path / "empty.csv").write_text("item,text\nd1,\n")
    with pytest.raises(FileError, match=r"empty.csv: item 'd1' has neither text nor a picture"):
        named_by_texts(tmp_path / "empty.csv", "item")
    with pytest.raises(FileError, match=r"expected item, and text or file or both"):
        named_by_texts(tmp_path / "q.tsv", "item")
