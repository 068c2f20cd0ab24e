"""The sources, table by table: ours on printed input has the printed digits, and the document is what they give.

Printed numbers are typed from the sources; `records.py` says what is compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

import pytest
from sources import barnard_words, kept, lamiroy_sun
from sources.catalogue import RECORDS
from sources.markdown import markdown
from sources.records import Record, Table, compare, decimals, figure, same
from sources.studies import STUDIES
from sources.written import EQUAL, LOST, MEANINGS, OPEN, entries, entry

ROOT = Path(__file__).parents[2]
SAME_INPUT = [record for record in RECORDS if record.ours is not None]


@pytest.mark.parametrize("record", SAME_INPUT, ids=lambda record: record.slug)
def test_ours_has_the_printed_digits_but_for_errata(record: Record) -> None:
    found = compare(record)
    assert found.cells
    assert not found.unexplained, [(one.row, one.column, one.printed, one.ours) for one in found.unexplained]
    named = {(one.row, one.column) for one in found.errata}
    assert named == set(record.errata), "every erratum is of a cell that is compared"


def test_errata_are_explained_in_the_documentation() -> None:
    known = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"[A-E]-E\d+", known))
    for first, last in re.findall(r"D-E(\d+) to D-E(\d+)", known):
        explained |= {f"D-E{number}" for number in range(int(first), int(last) + 1)}
    named = set(re.findall(r"[A-E]-E\d+", markdown(entries(RECORDS, kept.read()))))
    assert named <= explained and len(named) > 30


# What each source holds, counted in its text: numbered tables and figures, and what stands there without a number.
NUMBERED = {
    "barnard": [*(f"Table {at}" for at in range(1, 9)), "Figure 1", "Figure 2"],
    "lamiroy-sun": [*(f"Table {at}" for at in range(1, 9)), "Figure 1", "Figure 2"],
    "santini": ["Figure 1"],
    "gimelfarb": [
        "interactive engine", "four counts", "worked recall", "worked precision", "worked fallout", "table",
        "precision-recall graph", "generality",
    ],
    "quenot": ["sets", "curve", "global measures", "pooling"],
}  # fmt: skip


def test_no_table_or_figure_is_missing() -> None:
    names = {source: {one.name for one in RECORDS if one.source.key == source} for source in NUMBERED}
    for source, wanted in NUMBERED.items():
        assert set(wanted) <= names[source]
    assert {one.source.key for one in RECORDS} == set(NUMBERED)
    assert max(Counter(one.slug for one in RECORDS).values()) == 1


def test_every_equation_of_santini_has_a_record() -> None:
    covered: set[int] = set()
    for record in RECORDS:
        if found := re.fullmatch(r"(?:equations?|diagrams) (\d+)(?:-(\d+))?", record.name):
            covered |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
    assert covered == set(range(1, 24))


def test_a_record_compares_or_says_why_not() -> None:
    for one in entries(RECORDS, kept.read()):
        assert set(one.kinds) <= set(MEANINGS) and one.kinds
        assert one.sentence.endswith(".") and "nan" not in one.sentence
        assert one.record.lost or OPEN not in one.kinds, f"{one.record.slug}: what is gone?"
        if LOST in one.kinds:
            assert one.record.lost


def test_kept_results_are_of_known_studies() -> None:
    """A study that has not been run is told on the page; one that is kept has the command that it has now."""
    assert {record.study for record in RECORDS if record.study} == set(STUDIES)
    for name, one in kept.read().items():
        assert one.command == STUDIES[name].command
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one.date) and one.seconds >= 0


def test_the_document_is_what_the_records_give() -> None:
    written = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    assert markdown(entries(RECORDS, kept.read())) == written, "run python -m sources.run"


def test_whole_numbers_behind_the_symbol_tables() -> None:
    """Erratum B-E3: every cell follows; at k = 2, 42, 43, 44, 43, 43 items were returned, and rank 1 is a hit."""
    assert [lamiroy_sun.hits()[name, 2][1] for name in lamiroy_sun.SYSTEMS] == [42, 43, 44, 43, 43]
    assert {lamiroy_sun.hits()[name, 1] for name in lamiroy_sun.SYSTEMS} == {(22, 22)}
    for (_, k), (h, d) in lamiroy_sun.hits().items():
        assert h <= d <= 22 * k


def test_a_wrong_digit_would_be_found() -> None:
    record = SAME_INPUT[0]
    assert record.printed is not None and record.ours is not None
    name, *texts = record.printed.rows[0]
    changed = Table("", record.printed.heads, ((name, *("9.99" for _ in texts)), *record.printed.rows[1:]))
    wrong = Record(record.source, "wrong", "", "", "", printed=changed, ours=record.ours)
    assert compare(wrong).unexplained


def test_an_erratum_that_is_none_would_be_found() -> None:
    record = next(one for one in SAME_INPUT if not one.errata)
    cell = compare(record).cells[0]
    wrong = Record(
        record.source, "wrong", "", "", "", printed=record.printed, ours=record.ours,
        errata={(cell.row, cell.column): "X-E1"},
    )  # fmt: skip
    assert compare(wrong).unexplained


@pytest.mark.parametrize(
    ("printed", "ours", "digits", "cut", "agrees"),
    [
        (0.55, 0.545455, 2, False, True),
        (0.54, 0.545455, 2, False, False),
        (0.20, 0.195, 2, False, True),  # a half may go either way
        (0.06476, 25 / 386, 5, True, True),
        (0.06477, 25 / 386, 5, True, False),
        (0.06477, 25 / 386, 5, False, True),
        (math.inf, math.nan, 0, False, False),
        (math.inf, math.inf, 0, False, True),
    ],
)
def test_same_digits(printed: float, ours: float, digits: int, cut: bool, agrees: bool) -> None:
    assert same(printed, ours, digits, cut=cut) == agrees


def test_printed_cells() -> None:
    assert [figure(text) for text in ("0.20 (0.03)", "−1.5", "+", "-", "", "Otsu")] == [0.2, -1.5, 1.0, 0.0, None, None]
    assert figure("∞") == math.inf
    assert [decimals(text) for text in ("0.20 (0.03)", "7", "1.00000")] == [2, 0, 5]
    with pytest.raises(ValueError, match="every line must have 2 cells"):
        Table.read("t", "a | b\n1 | 2 | 3")


def test_a_study_that_was_never_run_is_told() -> None:
    record = next(one for one in RECORDS if one.study and one.ours is not None)
    found = entry(record, None)
    assert LOST in found.kinds and "has not been run yet" in found.sentence
    plain = next(one for one in SAME_INPUT if not one.study and not one.errata)
    assert entry(plain, None).kinds == (EQUAL,)


def test_kept_results_come_back_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "kept.json"
    result = {"rows": [("a", 0.123456789, math.nan)], "at": {5: [1, 2]}}
    assert kept.keep("one", kept.Kept("command", "2026-01-01", 3, result), place)
    assert kept.read(place)["one"].result == {"rows": [["a", 0.12346, None]], "at": {"5": [1, 2]}}
    assert not kept.keep("one", kept.Kept("command", "2026-02-02", 9, result), place)
    assert kept.read(place)["one"].date == "2026-01-01", "the same result leaves the file as it is"
    assert kept.keep("one", kept.Kept("command", "2026-02-02", 9, {"rows": []}), place)
    assert kept.read(tmp_path / "none.json") == {}


def test_votes_that_the_document_tables_imply() -> None:
    """Erratum B-E4: one vote per item in Table 7; 1.8665 and 1.8650 in Table 8."""
    seven, eight = (lamiroy_sun.implied_votes(table) for table in (lamiroy_sun.TABLE_7, lamiroy_sun.TABLE_8))
    assert [round(value[0], 4) for value in seven.values()] == [1.0, 0.9978]
    assert [round(value[0], 4) for value in eight.values()] == [1.8665, 1.865]


def test_the_figure_of_segmenters_is_drawn_from_a_result() -> None:
    """Two segmenters and a grid, one with an over-segmentation of 20 regions; novel pictures for one only."""
    lifts = {
        "ncuts": {"2": {"held-out": [0.05, 0.01]}, "4": {"held-out": [0.08, 0.01], "novel": [0.02, 0.03]}},
        "grid": {"4": {"held-out": [0.02, 0.01]}, "20": {"held-out": [0.09, 0.02]}},
        "blobworld": {"2": {"held-out": [0.01, 0.01]}, "4": {"held-out": [-0.01, 0.01]}},
    }
    found = {"corpus": "emoji", "resamples": 10, "segmenters": lifts}
    assert barnard_words.order_of(found, "held-out") == ["ncuts", "grid", "blobworld"]
    held_out, novel = barnard_words.segmenter_drawings(found)
    assert held_out.numbers.rows[0] == ("ncuts", "0.050 ± 0.010", "0.080 ± 0.010", "–")
    assert novel.numbers.rows == (("ncuts", "–", "0.020 ± 0.030", "–"),)
    for width in (9.0, 3.6):
        assert held_out.draw(width=width).get_figwidth() == width
    sentence = barnard_words.segmenter_sentence(found)
    assert "is 1.00" in sentence and "not every lift there is above 0" in sentence and "number 2 of 3" in sentence
