"""Notes: facts, the sentence of a code, and what files hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

from endoxa.notes import Note, marked, note, of_plain, plain, text, texts, warning

LONELY = warning("consensus.lonely_queries", lonely=np.int64(1), queries=2)
SENTENCE = "1 of 2 queries are answered by one system only, which agrees with itself"


def test_a_note_has_facts_and_its_sentence() -> None:
    assert Note("warning", "consensus.lonely_queries", {"lonely": 1, "queries": 2}) == LONELY
    assert type(LONELY.facts["lonely"]) is int  # numbers of NumPy are no JSON
    assert (str(LONELY), LONELY.marked) == (SENTENCE, f"! {SENTENCE}")
    assert marked([note("belief.crisp")]) == texts([note("belief.crisp")]) == ("judgments are taken as certain",)


def test_the_part_that_a_note_is_about_begins_its_sentence() -> None:
    part = LONELY.of("votes").of("labels")
    assert (part.part, LONELY.part) == ("labels", "")
    assert str(part) == f"labels: votes: {SENTENCE}"
    assert str(part.whole) == f"votes: {SENTENCE}"


def test_an_unknown_number_is_null_in_a_file_and_its_sentence_stays() -> None:
    unknown = warning("sample.against_consensus", tau=float("nan"))
    stored = json.loads(json.dumps(plain([unknown]), allow_nan=False))
    assert stored[0]["facts"] == {"tau": None}
    assert of_plain(stored) == (text(str(unknown), "warning"),)


def test_a_code_without_a_sentence_is_refused() -> None:
    with pytest.raises(KeyError):
        str(note("no.such.code"))
    with pytest.raises(TypeError):
        str(note("belief.pinned", pairs=1))


def test_files_hold_facts_and_sentences() -> None:
    notes = (LONELY.of("labels"), note("belief.crisp"), text("by hand"))
    stored = json.loads(json.dumps(plain(notes)))
    assert stored[0]["text"] == f"labels: {SENTENCE}"
    assert of_plain(stored) == notes
    assert of_plain(["an old file"], "warning") == (text("an old file", "warning"),)


@pytest.mark.parametrize(
    "change", [{"code": "of.a.later.version"}, {"text": "worded otherwise"}, {"facts": {"lonely": 1}}, {"facts": 3}]
)
def test_the_sentence_counts_where_a_file_is_of_another_version(change: dict[str, object]) -> None:
    (stored,) = plain([LONELY])
    (again,) = of_plain([stored | change])
    assert again == text(str((stored | change)["text"]), "warning")


@pytest.mark.parametrize("content", ["one", {"text": "one"}, [1], [{"text": 1, "kind": "note"}], [{"text": "x"}]])
def test_what_is_not_a_list_of_notes_is_refused(content: object) -> None:
    with pytest.raises(ValueError, match="not a"):
        of_plain(content)
