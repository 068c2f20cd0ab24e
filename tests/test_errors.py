"""One error tree; every message says what, where, what was expected and what to do."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endoxa import errors
from endoxa.errors import (
    CallError,
    EndoxaError,
    FileError,
    InstallError,
    JoinError,
    TableError,
    TextError,
    did_you_mean,
    refuse_unknown,
)


def test_the_tree() -> None:
    for kind in (FileError, TableError, TextError, CallError, JoinError, InstallError):
        assert issubclass(kind, EndoxaError)
        assert kind.__name__ in (errors.__doc__ or ""), "the tree is drawn in the docstring"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (FileError("a.run", "score 'abc' is odd", "mend it", 1042), "a.run:1042: score 'abc' is odd; mend it"),
        (FileError("a.run", "is empty"), "a.run: is empty"),
        (FileError("a.run", "is empty", line=0), "a.run:0: is empty"),
        (TextError("no measure is called 'x'"), "no measure is called 'x'"),
        (TextError("no setting 'x'", "P(x=1)@5", 2), "no setting 'x'\n    P(x=1)@5\n      ^"),
        (TextError("wrong", "P", 0), "wrong\n    P\n    ^"),
    ],
)  # fmt: skip
def test_messages(error: EndoxaError, says: str) -> None:
    assert str(error) == says


def test_a_file_error_keeps_its_parts() -> None:
    error = FileError("a.run", "what", "remedy", 3)
    assert (error.path, error.what, error.remedy, error.line) == ("a.run", "what", "remedy", 3)


@pytest.mark.parametrize(
    "error",
    [
        FileError("a.run", "what", "remedy", 3),
        TextError("wrong", "P", 0),
        CallError("no setting 'x'", "P(x=1)@5", 2, command="endoxa eval"),
        CallError("no run was given"),
    ],
)
def test_an_error_from_another_process_is_the_same(error: EndoxaError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and vars(again) == vars(error)


@pytest.mark.parametrize(
    ("word", "known", "hint"),
    [
        ("nDGC", ["AP", "nDCG"], "; did you mean nDCG?"),
        ("ndcg", ["AP", "nDCG"], "; did you mean nDCG?"),
        ("xyz", ["AP", "nDCG"], ""),
        ("AP", [], ""),
        ("", ["AP"], ""),
    ],
)
def test_did_you_mean(word: str, known: list[str], hint: str) -> None:
    assert did_you_mean(word, known) == hint


@given(st.text(max_size=12), st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_did_you_mean_only_names_what_is_known(word: str, known: list[str]) -> None:
    hint = did_you_mean(word, known)
    assert hint == "" or any(hint == f"; did you mean {name}?" for name in known)


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    refuse_unknown("system", "bm25", ["bm25", "tfidf"])
    with pytest.raises(TextError, match=r"^no system is called 'bm52'; did you mean bm25\?$"):
        refuse_unknown("system", "bm52", ["bm25", "tfidf"])
    with pytest.raises(TextError, match=r"^no test is called 'z' \(there are: t, wilcoxon\)$"):
        refuse_unknown("test", "z", ("t", "wilcoxon"), listed=True)


def test_a_long_name_does_not_make_a_long_message():
    """A cell of a table may be as long as the file."""
    error = FileError("f.parquet", f"query {'q' * 60_000!r} is listed twice", "remove one")
    assert len(str(error)) < 5000 and str(error).endswith("…; remove one")
