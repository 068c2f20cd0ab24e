"""Preferences in files: five columns of text, or a table with their names."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from command_line import done, fails

from endoxa.errors import FileError
from endoxa.io.formats import sniff
from endoxa.io.qrels import PREFERENCES as FORM
from endoxa.io.read import read
from endoxa.io.sources import Piece, source_of
from endoxa.io.trec_text import Skipped, SkippedLinesWarning, exact, parts, regular
from endoxa.measures.preference_judgments import Preferences

TEXT = """\

q1  ann  0  a  2
q1 ann\t0 b 1.5
q1 bob one b 1

q1 bob one a 0
q1 bob two c 3e0
q1 bob two b 1
"""
ROWS = [
    ("q1", "ann", "0", "a", 2.0),
    ("q1", "ann", "0", "b", 1.5),
    ("q1", "bob", "one", "b", 1.0),
    ("q1", "bob", "one", "a", 0.0),
    ("q1", "bob", "two", "c", 3.0),
    ("q1", "bob", "two", "b", 1.0),
]


def written(folder: Path, text: str, name: str = "prefs.txt") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["prefs.txt", "prefs.txt.gz"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_five_columns(tmp_path, name, ending) -> None:
    made = read(written(tmp_path, TEXT.replace("\n", ending), name), kind="preferences")
    assert isinstance(made, Preferences)
    assert made.frame.rows() == ROWS
    assert made.frame.columns == ["query", "group", "subgroup", "item", "level"]


def test_the_fast_way_reads_the_same() -> None:
    text = "".join(" ".join(map(str, row)) + "\n" for row in ROWS).encode()
    fast = regular(text, FORM)
    assert fast is not None
    assert fast.equals(exact(Piece(text, 1, len(text)), FORM, "prefs.txt")[0])


def test_pieces_make_one_table(tmp_path) -> None:
    path = written(tmp_path, TEXT)
    assert pl.concat([part.frame for part in parts(source_of(path), FORM, size=20)]).rows() == ROWS


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("q1 ann first a 2\nq1 ann first b 1\n", "preferences"),
        ("q1 ann 0 a 2\nq1 ann 0 b 1\n", "preferences"),  # 2 is no probability
        ("q1 ann 0 a 1\nq1 ann 0 b 0", "preferences"),  # nor is 0
        (TEXT, "preferences"),
        ("q1 ann 0 a 1\nq1 ann 0 b 0.5\n", "sampled"),  # may be either: query item grade method probability
        ("q1 a 0 top 1\nq1 b 1 top 2\n", "sampled"),  # a mistake: their reader gives its line
        ("q1 ann 0 a 2\n", "sampled"),
        ("".join(f"q1 d{item} 1 top 0.125\n" for item in range(999)), "sampled"),  # the last line looked at is cut
    ],
)
def test_the_content_tells_unless_all_levels_may_be_probabilities(tmp_path, text, kind) -> None:
    assert sniff(written(tmp_path, text)) == kind


def test_preferences_with_numbers_for_subgroups_are_recognised(tmp_path) -> None:
    text = "".join(f"q1 ann {number} a 1\nq1 ann {number} b 0\n" for number in range(2))
    prefs, run = written(tmp_path, text), written(tmp_path, RUN, "sys.run")
    assert isinstance(read(prefs), Preferences)
    assert done("eval", prefs, run, "-o", "tsv") == done("eval", "-R", "prefs", prefs, run, "-o", "tsv")
    with pytest.raises(FileError, match=r"prefs\.txt:2: probability '0' is not in"):  # judgments, if the user says so
        read(prefs, kind="qrels")


def test_tables_with_column_names(tmp_path) -> None:
    csv = "query,group,subgroup,item,level\n" + "".join(",".join(map(str, row)) + "\n" for row in ROWS)
    made = read(written(tmp_path, csv, "prefs.csv"))
    assert isinstance(made, Preferences)
    assert made.frame.rows() == ROWS
    with pytest.raises(FileError, match=r"bad\.csv:8: item 'a' stands twice in subgroup '0'"):
        read(written(tmp_path, csv + "q1,ann,0,a,1\n", "bad.csv"))
    made.frame.write_parquet(tmp_path / "prefs.parquet")
    assert read(tmp_path / "prefs.parquet").frame.rows() == ROWS


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("q1 ann 0 c", "4 columns in 'q1 ann 0 c'; a preferences line has 5: query group subgroup item level"),
        ("q1 ann 0 c 1 2", "6 columns in 'q1 ann 0 c 1 2'; a preferences line has 5"),
        ("q1 ann 0 c high", "level 'high' is not a number; a preferences line is: query group subgroup item level"),
        ("q1 ann 0 c nan", "level 'nan' is not a number; remove the line"),
        ("q1 ann 0 a 1", "item 'a' stands twice in subgroup '0' of group 'ann' of query 'q1'; remove one of the two"),
        ("q1 bob one c 0", r"level 0 of item 'c': elsewhere in group 'bob' of query 'q1' it is relevant \(above 0\)"),
    ],
)
def test_errors_name_the_line(tmp_path, line, says) -> None:
    with pytest.raises(FileError, match=rf"prefs\.txt:9: {says}"):
        read(written(tmp_path, TEXT + line + "\n"), kind="preferences")


def test_a_circle_names_the_last_line_of_the_two_items(tmp_path) -> None:
    circle = "q ann 1 a 2\nq ann 1 b 1\n\nq ann 2 b 2\nq ann 2 a 1\nq ann 2 c 1\n"
    with pytest.raises(FileError, match=r"prefs\.txt:5: group 'ann' of query 'q' prefers 'a' to 'b' and the reverse"):
        read(written(tmp_path, circle), kind="preferences")


def test_a_lenient_reader_goes_on_and_tells(tmp_path) -> None:
    told: list[Skipped] = []
    path = written(tmp_path, TEXT + "q1 ann 0\nq1 ann 0 a 1\n")
    made = read(path, kind="preferences", lenient=True, report=told.append)
    assert made.frame.rows() == ROWS
    assert [skipped.count for skipped in told] == [2]
    assert "prefs.txt:9: 3 columns" in str(told[0])
    assert "prefs.txt:10: item 'a' is listed again in its subgroup" in str(told[0])
    with pytest.warns(SkippedLinesWarning):
        read(path, kind="preferences", lenient=True)


def test_no_leniency_with_contradictions(tmp_path) -> None:
    text = "q ann 1 a 2\nq ann 1 a 2\nq ann 1 b 1\nq ann 2 b 2\nq ann 2 a 1\n"
    with pytest.raises(FileError, match=r"prefs\.txt:5: group 'ann'"):
        read(written(tmp_path, text), kind="preferences", lenient=True)


def test_an_empty_file(tmp_path) -> None:
    with pytest.raises(FileError, match="the file is empty; expected a table with the columns query, group"):
        read(written(tmp_path, " \n\n"), kind="preferences")


# ---- through the command line -------------------------------------------------------------------------

RUN = "q1 Q0 b 1 3 sys\nq1 Q0 a 2 2 sys\nq1 Q0 x 3 1 sys\n"


def test_eval_reads_preferences(tmp_path) -> None:
    # ann: a > b. bob: b > a, c > b, hence c > a. The list b a x fulfils b > a only
    prefs, run = written(tmp_path, TEXT), written(tmp_path, RUN, "sys.run")
    call = ["-R", "prefs", prefs, run]
    assert done("eval", "-o", "trec", "-q", "--compat", "trec_eval-10", *call) == (
        "prefs_num_prefs_poss  \tq1\t4\n"
        "prefs_num_prefs_ful   \tq1\t1\n"
        "prefs_num_prefs_ful_ret\tq1\t1\n"
        "prefs_simp            \tq1\t0.2500\n"
        "prefs_pair            \tq1\t0.1667\n"
        "prefs_avgjg           \tq1\t0.1667\n"
        "runid                 \tall\tsys\n"
        "num_q                 \tall\t1\n"
        "prefs_num_prefs_poss  \tall\t4\n"
        "prefs_num_prefs_ful   \tall\t1\n"
        "prefs_num_prefs_ful_ret\tall\t1\n"
        "prefs_simp            \tall\t0.2500\n"
        "prefs_pair            \tall\t0.1667\n"
        "prefs_avgjg           \tall\t0.1667\n"
    )
    table = done("eval", *call)
    assert [line.split()[:2] for line in table.splitlines()[3:6]] == [
        ["prefs_simp", "0.2500"], ["prefs_pair", "0.1667"], ["prefs_avgjg", "0.1667"],
    ]  # fmt: skip
    assert "unjudged=condensed" in table
    rows = done("eval", "-o", "tsv", "-q", "-m", "all_prefs", *call).splitlines()
    assert len(rows) == 1 + 15
    assert any(row.startswith("sys\tq1\tprefs_simp_ret\t0.5") for row in rows)


def test_eval_takes_grades_as_preferences(tmp_path) -> None:
    qrels = written(tmp_path, "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\nq1 0 d -1\n", "qrels.txt")
    run = written(tmp_path, RUN, "sys.run")
    call = ["-o", "trec", "-R", "qrels_prefs", "-m", "prefs_num_prefs_poss", qrels, run]
    assert done("eval", *call) == "prefs_num_prefs_poss  \tall\t3\n"
    assert done("eval", "--compat", "trec_eval-9", *call) == "prefs_num_prefs_poss  \tall\t6\n"


def test_eval_says_what_does_not_fit(tmp_path) -> None:
    prefs, run = written(tmp_path, TEXT), written(tmp_path, RUN, "sys.run")
    for words, says in (
        (["-R", "prefs", "-m", "map", prefs, run], "map needs grades"),
        (["-R", "preferences", prefs, run], "did you mean prefs?"),
        (["-R", "prefs", "--ties", "range", prefs, run], "ties=range is not known"),
    ):
        assert says in fails("eval", *words)
