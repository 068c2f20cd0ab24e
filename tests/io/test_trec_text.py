"""TREC's text: what the format means, and that the fast ways read the same."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from endoxa.errors import EndoxaError, FileError
from endoxa.io.read import read
from endoxa.io.run_files import map_blocks
from endoxa.io.sources import Piece, source_of
from endoxa.io.trec_text import (
    NUMBER,
    QRELS,
    RUN,
    SAMPLED,
    Form,
    Skipped,
    SkippedLinesWarning,
    exact,
    parts,
    ragged,
    regular,
)

FORMS = [RUN, QRELS, SAMPLED]
TABS = [replace(form, tabs=True) for form in FORMS]
LINES = {"run": b"1 Q0 d1 1 2.5 bm25\n", "qrels": b"1 0 d1 2\n", "sampled qrels": b"1 d1 2 s 0.5\n"}

# words that have tripped readers: quotes, hashes, a no-break space, what looks like a compressed file, a mark
odd = st.sampled_from(
    ["#", "a#b", '"', '"a"', ",", "x^2", "x\x01", "\xa0", "\ufeff", "é", "\x0b", "\x85", "nan", "\u2028"]
)
word = odd | st.text(st.characters(exclude_characters=" \t\r\n\0", codec="utf-8"), min_size=1, max_size=6)
number = st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.sampled_from(
    ["1", "+1", "-1", "1.", ".5", "1e5", "1E-5", "-0", "007", "1e999", "0.1"]
)
probability = st.sampled_from(["1", "0.5", "1e-9", ".25"])
blanks = st.sampled_from([" ", "  ", "\t", " \t ", "\t\t"])
ending = st.sampled_from(["\n", "\r\n", " \n", "\t\r\n", "\n\n", "\n \t\n"])


def words(form: Form) -> st.SearchStrategy[list[str]]:
    kinds = {"grade": number.filter(lambda text: not math.isinf(float(text))), "score": number | st.just("-inf")}
    return st.tuples(*(probability if name == "propensity" else kinds.get(name, word) for name in form.columns)).map(
        list
    )


@st.composite
def ragged_text(draw: st.DrawFn, form: Form) -> bytes:
    """A file that can be read, as untidy as the format allows."""
    text = draw(st.sampled_from(["", "\n"]))
    for columns in draw(st.lists(words(form), min_size=1, max_size=6)):
        text += draw(st.sampled_from(["", "", " ", "\t"]))
        text += "".join(column + draw(blanks) for column in columns[:-1]) + columns[-1] + draw(ending)
    return text.encode()


@st.composite
def regular_text(draw: st.DrawFn, form: Form) -> bytes:
    separator = draw(st.sampled_from([" ", "\t"]))
    rows = draw(st.lists(words(form), min_size=1, max_size=6))
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def read_exactly(data: bytes, form: Form) -> pl.DataFrame | str:
    try:
        return exact(Piece(data, 1, 0), form, "f")[0]
    except FileError as error:
        return str(error)


def agree(data: bytes, form: Form) -> None:
    """A fast way gives the table of the exact one, or nothing at all."""
    meant = read_exactly(data, form)
    for way in (regular, ragged):
        found = way(data, form)
        if found is not None:
            assert isinstance(meant, pl.DataFrame), meant
            assert found.rows() == meant.rows()
            assert found.schema == meant.schema


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(data=st.data())
def test_both_ways_read_regular_files_alike(form: Form, data: st.DataObject) -> None:
    agree(data.draw(regular_text(form)), form)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(data=st.data())
def test_the_ragged_way_reads_what_the_format_allows(form: Form, data: st.DataObject) -> None:
    text = data.draw(ragged_text(form))
    meant = read_exactly(text, form)
    assert isinstance(meant, pl.DataFrame), meant
    found = ragged(text, form)
    assert found is not None
    assert found.rows() == meant.rows()
    agree(text, form)


@pytest.mark.parametrize("form", TABS, ids=lambda form: form.name)
@given(data=st.data())
def test_the_ragged_way_reads_columns_between_tabs(form: Form, data: st.DataObject) -> None:
    blank = st.sampled_from(["", " ", "  "])
    text = ""
    for columns in data.draw(st.lists(words(form), min_size=1, max_size=6)):
        ids = [one if name in form.numbers else f"{one} {one}" for one, name in zip(columns, form.columns, strict=True)]
        text += "\t".join(data.draw(blank) + one + data.draw(blank) for one in ids) + data.draw(ending)
    meant = read_exactly(text.encode(), form)
    assert isinstance(meant, pl.DataFrame), meant
    found = ragged(text.encode(), form)
    assert found is not None
    assert found.rows() == meant.rows()
    agree(text.encode(), form)


@pytest.mark.parametrize("form", [*FORMS, *TABS], ids=lambda form: f"{form.name} {form.tabs}")
@given(data=st.data())
def test_no_irregularity_gives_another_table(form: Form, data: st.DataObject) -> None:
    text = data.draw(regular_text(form))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 2))
        junk = data.draw(
            st.sampled_from(
                [b" ", b"\t", b"\r", b"\n", b"#", b"", b"\0", b"\xff", b"\xc3", b" x", b"nan", b"\xef\xbb\xbf"]
            )
        )
        text = text[:at] + junk + text[at + cut :]
    agree(text, form)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_regular_files_take_the_fast_way(form: Form) -> None:
    text = LINES[form.name] * 3
    for tidy in (
        text,
        text[:-1],
        text.replace(b" ", b"\t"),
        text.replace(b"\n", b"\r\n"),
        text.replace(b"d1", b"\xc3\xa9#"),
    ):
        assert regular(tidy, form) is not None
    for untidy in (b" " + text, text + b"\n", b"\n" + text, text.replace(b" ", b"  ", 1), text.replace(b"\n", b" \n")):
        assert regular(untidy, form) is None
        assert ragged(untidy, form) is not None


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_single_bytes_put_anywhere_never_change_the_table_silently(form: Form) -> None:
    text = LINES[form.name] * 3
    for junk in (b" ", b"\t", b"\r", b"\n", b"#", b"\0", b"\xff", b'"', b",", b"\x01", b"-", b"_"):
        for at in range(len(text) + 1):
            agree(text[:at] + junk + text[at:], form)
    for at in range(len(text)):
        agree(text[:at] + text[at + 1 :], form)


@given(regular_text(RUN), st.integers(1, 60))
def test_cutting_a_file_into_pieces_changes_nothing(text: bytes, size: int) -> None:
    import tempfile

    meant = read_exactly(text.removeprefix(b"\xef\xbb\xbf"), RUN)
    with tempfile.TemporaryDirectory() as directory:
        for name, data in (("plain", text), ("zipped.gz", gzip.compress(text))):
            path = Path(directory) / name
            path.write_bytes(data)
            try:
                found = pl.concat(part.frame for part in parts(source_of(path, "f"), RUN, size=size))
            except FileError as error:
                assert str(error) == meant if isinstance(meant, str) else not meant.height
            else:
                assert isinstance(meant, pl.DataFrame), meant
                assert found.rows() == meant.rows()


@given(number)
@example("1.7976931348623157e308")
def test_all_ways_read_a_number_alike(text: str) -> None:
    line = f"1 Q0 d 1 {text} t\n".encode()
    for way in (regular, ragged):
        frame = way(line, RUN)
        assert frame is not None
        assert frame["score"].to_list() == [float(text)]


def written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (b"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 abc t\n", 2, "score 'abc' is not a number"),
        (b"1 Q0 d1 1 2.5 t\n\n1 Q0 d2 2 NaN t\n", 3, "score 'NaN' is not a number"),
        (b"1 Q0 d1 1 2.5 t\n \n1 Q0 d2 2 1_0 t\n", 3, "score '1_0' is not a number"),
        (b"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 1.5\n", 2, "5 columns in '1 Q0 d2 2 1.5'"),
        (b"1 Q0 d1 1 2.5 t\n1 Q0 d\xff 2 1.5 t\n", 2, "byte 7 of '1 Q0 d\ufffd 2 1.5 t' is not UTF-8"),
        (b"1 Q0 d1 1 2.5 t\n1 Q0 \0 2 1.5 t\n", 2, "the file contains binary data"),
        (b"1 Q0 d1 1 2.5 t\n1 Q0 d1 2 1.5 t\n", 2, "query '1' of 't' lists item 'd1' twice"),
        (b"1 Q0 d1 1 2.5 t\n" + b"a" * (1 << 20) + b"b\n", 2, "the line is longer than 64 KiB"),
        (b"1 0 d1 1\n1 0 d2 1.x\n", 2, "grade '1.x' is not a number"),
        (b"1 0 d1 1\n1 0 d2 inf\n", 2, "grade 'inf' is not finite"),
        (b"1 0 d1 1\n1 0 d2\n", 2, "3 columns in '1 0 d2'"),
        (b"1 0 d1 1\n1 0 d2 1 1\n", 2, "5 columns in '1 0 d2 1 1'"),
        (b"1 0 d1 1\n1 1 d1 1\n", 2, "item 'd1' of query '1' has two judgments"),
        (b"1 d1 1 s 0.5\n1 d2 0 s 0\n", 2, "probability '0' is not in (0, 1]"),
        (b"1 d1 1 s 0.5\n1 d1 0 s 0.5\n", 2, "item 'd1' of query '1' has two judgments"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_line_is_named(tmp_path: Path, data: bytes, line: int, what: str) -> None:
    path = written(tmp_path / "f", data)
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: {what}")
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    zipped = written(tmp_path / "f.gz", gzip.compress(data))
    with pytest.raises(FileError, match=r":\d+: ") as again:
        read(zipped)
    assert (again.value.line, again.value.problem) == (line, caught.value.problem)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"# only\n# comments\n", "neither a run nor qrels: the first line is '# only'"),
        (gzip.compress(b"1 Q0 d1 1 2.5 t\n" * 1000)[:-9], "the gzip data are truncated"),
        (gzip.compress(b"1 Q0 d1 1 2.5 t\n")[:5], "the gzip data are truncated"),
        (b"\x1f\x8b" + b"junk" * 9, "damaged gzip data"),
        (b"\x28\xb5\x2f\xfdjunk", "damaged zstd data"),
        (b"PAR1junk", "damaged Parquet data"),
        (b"hello world\n", "neither a run nor qrels"),
        (b"a" * (1 << 25), "neither a run nor qrels"),
        (b"1 Q0 d1 1 2.5 t\n" + b"a" * (1 << 25), "the line is longer than 64 KiB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_file_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    path = written(tmp_path / "f", data)
    with pytest.raises(FileError) as caught:
        read(path)
    assert what in caught.value.problem
    assert caught.value.remedy
    assert len(str(caught.value)) < len(path) + 300


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "bm25.run").touch()
    with pytest.raises(FileError, match=r"no such file; did you mean .*/bm25.run\?"):
        read(tmp_path / "bm52.run")
    with pytest.raises(FileError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(FileError, match="no such file"):
        read(tmp_path / "no" / "such")
    with pytest.raises(FileError, match="cannot be opened"):
        read("a\0b")


def test_what_the_format_allows(tmp_path: Path) -> None:
    text = (
        '\ufeff\n  1\tQ0  d#1 \t 1 2.5 my own tag  \r\n\n1 Q0 \xa0\u3000 2 -inf my own tag\n#1 Q0 "d 3 inf my own tag'
    )
    run = read(written(tmp_path / "f", text.encode()))
    assert run.frame.select("system", "query", "item", "rank", "score").rows() == [
        ("my", "1", "d#1", 1, 2.5),
        ("my", "1", "\xa0\u3000", 2, -math.inf),
        ("my", "#1", '"d', 1, math.inf),
    ]


HASHES = {
    "run": (b"#1 Q0 d1 1 2 s\nq2 Q0 d2 1 2 s\n", "run"),
    "qrels": (b"q2 0 d1 1\n#1 0 d1 1\n", "qrels"),
    "qrels in words": (b"q2 0 d1 no\n#1 0 d1 yes\n", "qrels"),
    "sampled qrels": (b"#1 d1 1 s 0.5\nq2 d1 0 s 0.5\n", "qrels"),
    "preferences": (b"q2 a x d1 2\n#1 a x d1 2\n", "preferences"),
    "MS MARCO": (b"#1\td1\t1\n#1\td2\t2\nq2\td1\t1\n", "run"),
}


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("kind", ["auto", "wanted"])
@pytest.mark.parametrize("core", ["0", "1"])
def test_a_query_may_begin_with_a_hash(
    name: str, kind: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    data, wanted = HASHES[name]
    table = read(written(tmp_path / "f", data), kind="auto" if kind == "auto" else wanted)
    assert sorted(table.frame["query"].unique()) == ["#1", "q2"]


HEADERS = {
    "run": ["query Q0 item rank score tag", "qid Q0 docno rank sim run_name", "#topic iter doc rank score runid"],
    "qrels": [
        "qid iter docno rel",
        "query iteration item grade",
        "# TOPIC ITERATION DOCUMENT RELEVANCY",
        "qid it doc rel",
    ],
    "qrels in words": ["qid iter docno rel", "topic iter document relevant"],
    "sampled qrels": ["query item grade method probability", "qid docno rel method iprob"],
    "preferences": ["query group subgroup item level", "qid group subgroup docno rel"],
    "MS MARCO": ["qid pid rank", "query passage rank"],
}


@pytest.mark.parametrize(("name", "header"), [(name, header) for name, texts in HEADERS.items() for header in texts])
@pytest.mark.parametrize("core", ["0", "1"])
def test_a_header_is_refused_by_name(
    name: str, header: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    data, wanted = HASHES[name]
    for at, text in ((1, f"{header}\n".encode() + data), (data.count(b"\n") + 1, data + f"{header}\n".encode())):
        path = written(tmp_path / "f", text)
        for kind in ("auto", wanted):
            with pytest.raises(FileError, match=r"the line is a header: .*; TREC text has no header: remove") as caught:
                read(path, kind=kind)
            assert caught.value.line == at
            skipped: list[Skipped] = []
            table = read(path, kind=kind, lenient=True, report=skipped.append)
            assert sorted(table.frame["query"].unique()) == ["#1", "q2"]
            assert [one.count for one in skipped] == [1]


@pytest.mark.parametrize("header", [header for texts in HEADERS.values() for header in texts])
def test_a_header_alone_is_refused(header: str, tmp_path: Path) -> None:
    for kind in ("auto", "run", "qrels", "sampled", "preferences"):
        with pytest.raises(FileError, match="header"):
            read(written(tmp_path / "f", header.encode()), kind=kind)


@pytest.mark.parametrize("header", ["query\titem\tgrade", "query,item,grade", "qid\titer\tdocno\trel"])
def test_a_header_between_tabs_or_commas_names_the_columns(header: str, tmp_path: Path) -> None:
    mark = "," if "," in header else "\t"
    row = mark.join(["q1", "0", "d1", "1"] if "iter" in header else ["q1", "d1", "1"])
    table = read(written(tmp_path / "f", f"{header}\n{row}\n".encode()))
    assert table.frame.select("query", "item", "grade").rows() == [("q1", "d1", 1.0)]


TABBED = {
    "run": ("q 1\tQ0\tmy doc\t1\t2\ts t\nq 1\tQ0\td\t2\t1\ts t\n", "run", ("q 1", "my doc", 2.0)),
    "qrels": ("q 1\t0\tmy doc\t1\nq2\t0\td\t0\n", "qrels", ("q 1", "my doc", 1.0)),
    "qrels in words": ("q 1\t0\tmy doc\tyes\nq2\t0\td\tnot relevant\n", "qrels", ("q 1", "my doc", 1.0)),
    "sampled qrels": ("q 1\tmy doc\t1\ts\t.5\nq2\td\t0\ts\t.5\n", "qrels", ("q 1", "my doc", 1.0)),
    "preferences": ("q 1\ta b\tx\tmy doc\t2\nq 1\ta b\tx\td\t1\n", "preferences", ("q 1", "my doc", 2.0)),
    "MS MARCO": ("q 1\tmy own doc\t1\nq 1\td\t2\n", "run", ("q 1", "my own doc", 1.0)),
}


@pytest.mark.parametrize("name", TABBED)
@pytest.mark.parametrize("core", ["0", "1"])
def test_a_file_with_a_tab_between_all_columns_may_have_blanks_in_ids(
    name: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    text, wanted, row = TABBED[name]
    number = {"run": "score", "qrels": "grade", "preferences": "level"}[wanted]
    for kind in ("auto", wanted):
        table = read(written(tmp_path / "f", text.encode()), kind=kind)
        assert row in table.frame.select("query", "item", number).rows()
    if name == "run":
        assert table.systems == ["s t"]
        blocks = map_blocks(tmp_path / "f", lambda run: run.frame["item"].to_list(), size=8)
        assert blocks == [["my doc", "d"]]


@pytest.mark.parametrize("name", TABBED)
@pytest.mark.parametrize("core", ["0", "1"])
def test_one_line_with_too_few_tabs_is_refused_where_ids_have_blanks(
    name: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    text, wanted, row = TABBED[name]
    broken = text + text.splitlines()[1].replace("d", "e").replace("\t", " ", 1) + "\n"
    path = written(tmp_path / "f", broken.encode())
    with pytest.raises(FileError, match=r"columns by tabs in .*; other lines have .* blanks within ids") as caught:
        read(path, kind=wanted)
    assert caught.value.line == 3
    skipped: list[Skipped] = []
    table = read(path, kind=wanted, lenient=True, report=skipped.append)
    assert [one.count for one in skipped] == [1]
    assert row[1] in table.frame["item"].to_list()


@pytest.mark.parametrize("core", ["0", "1"])
def test_any_blanks_separate_where_trec_eval_is_meant(
    core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    path = written(tmp_path / "f", b"q1\tQ0\tmy doc\t1\t2\ts\n")
    run = read(path, kind="run", blanks=True)
    assert run.frame.select("system", "query", "item", "score").rows() == [("2", "q1", "my", 1.0)]
    assert map_blocks(path, lambda run: run.systems, blanks=True) == [["2"]]


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0\td1\t1\t2.5\tmy tag\nq1 Q0 d2 2 1.5 my tag\n",
        "q1\tQ0 d1\t1 2.5\tmy\ttag\nq1\tQ0\td2\t2\t1.5\tmy tag\n",
        "q1 Q0 d1\t1\t2.5\tmy\nq1 Q0 d2\t2\t1.5\tmy\n",
    ],
)
@pytest.mark.parametrize("core", ["0", "1"])
def test_tabs_among_blanks_separate_like_blanks(
    text: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    run = read(written(tmp_path / "f", text.encode()))
    assert run.frame.select("system", "item", "score").rows() == [("my", "d1", 2.5), ("my", "d2", 1.5)]


def test_three_columns_between_tabs_or_four_between_blanks_are_told(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b"q1\tmy doc\t1\nq1\tother doc\t2\n")
    with pytest.raises(FileError, match=r"three columns by tabs, but more by blanks: .*; name the run with --run"):
        read(path)
    assert read(path, kind="run").frame["item"].to_list() == ["my doc", "other doc"]
    with pytest.raises(FileError, match=r":2: item 'doc' of query 'q1' has two judgments"):
        read(path, kind="qrels")


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("core", ["0", "1"])
def test_a_comment_is_a_line_that_cannot_be_read(
    name: str, at: int, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    data, wanted = HASHES[name]
    lines = data.replace(b"#1", b"q1").splitlines(keepends=True)
    path = written(tmp_path / "f", b"".join([*lines[:at], b"# made by a tool\n", *lines[at:]]))
    for kind in ("auto", wanted):
        with pytest.raises(FileError, match="no comments: remove the line") as caught:
            read(path, kind=kind)
        assert caught.value.line == at + 1
        skipped: list[Skipped] = []
        table = read(path, kind=kind, lenient=True, report=skipped.append)
        assert sorted(table.frame["query"].unique()) == ["q1", "q2"]
        assert [one.count for one in skipped] == [1]


@pytest.mark.parametrize("core", ["0", "1"])
@pytest.mark.parametrize("name", ["run", "qrels", "sampled qrels", "preferences"])
def test_a_line_of_comment_is_left_out_where_trec_eval_does_it(
    name: str, core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own tests have such lines. One that can be read is data all the same."""
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    data, wanted = HASHES[name]
    path = written(tmp_path / "f", b"# made by a tool\n" + data + b"# the end\n")
    skipped: list[Skipped] = []
    table = read(path, kind=wanted, blanks=True, report=skipped.append)
    assert sorted(table.frame["query"].unique()) == ["#1", "q2"] and not skipped
    indented = written(tmp_path / "g", data + b" # the end\n")
    with pytest.raises(FileError, match="remove the line"):
        read(indented, kind=wanted, blanks=True)


@pytest.mark.parametrize(
    "text",
    [
        "1 Q0 a 1 3 s\r1 Q0 b 2 2 s\r1 Q0 c 3 1 s\r",
        "1 Q0 a 1 3 s\n1 Q0 b 2 2 s\r1 Q0 c 3 1 s\n",
        "1 Q0 a 1 3 s\n# 0 d 1 2 s\r1 Q0 b 2 2 s\n",
        "1 0 a 1\r1 0 b 0\r",
        "1 0 a 1\r1 0 b 0\r1 0 c 0",
        "query,item,grade\r1,a,1\r",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_lines_that_end_with_cr_are_never_lost(tmp_path: Path, text: str, packed: bool) -> None:
    data = text.encode()
    with pytest.raises(FileError, match="carriage return"):
        read(written(tmp_path / "f", gzip.compress(data) if packed else data))


def test_lines_of_a_taxonomy_that_end_with_cr(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="carriage return"):
        read(written(tmp_path / "f", b"animals/birds\ranimals/fish\r"), kind="taxonomy")


def test_grades_keep_their_fractions_and_signs(tmp_path: Path) -> None:
    opinions = read(written(tmp_path / "f", b"1 0 a 0.9\n1 0 b -2\n1 0 c 1e-3\n"))
    assert opinions.to_dict() == {"1": {"a": 0.9, "b": -2.0, "c": 0.001}}
    assert opinions.sources == ["qrels"]


def test_assessors_stand_in_column_two(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b"1 ann a 1\n1 bob a 0\n")
    assert read(path, assessors=True).sources == ["ann", "bob"]
    with pytest.raises(FileError, match=r"2: item 'a' of query '1' has two judgments; .*assessor"):
        read(path)
    again = written(tmp_path / "g", b"1 ann a 1\n1 bob a 0\n1 ann a 1\n")
    with pytest.raises(FileError, match="3: 'ann' judges item 'a' of query '1' twice"):
        read(again, assessors=True)


def test_sampled_qrels_hold_method_and_probability(tmp_path: Path) -> None:
    opinions = read(written(tmp_path / "f", b"1 a 1 statAP 0.25\n1 b 0 - 1\n"))
    columns = opinions.frame.select("item", "grade", "selected_by", "propensity")
    assert columns.rows() == [("a", 1.0, "statAP", 0.25), ("b", 0.0, None, 1.0)]


BAD = b"1 Q0 d1 1 9 t\n1 Q0 d2 2 abc t\n1 Q0 d1 3 1 t\n1 Q0 d3 4\n1 Q0 d4 5 7 t\n"


def test_lenient_readers_skip_and_say_so(tmp_path: Path) -> None:
    path = written(tmp_path / "f", BAD)
    records: list[Skipped] = []
    run = read(path, lenient=True, report=records.append)
    assert run.frame["item"].to_list() == ["d1", "d4"]
    assert run.frame["score"].to_list() == [9.0, 7.0]
    (record,) = records
    assert record.count == 3
    assert [error.line for error in record.first] == [2, 4, 3]
    assert str(record).startswith(f"{path}: 3 lines skipped; {path}:2: score 'abc'")
    with pytest.warns(SkippedLinesWarning, match="3 lines skipped"):
        read(path, lenient=True)


def test_lenient_readers_keep_the_first_judgment(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b"1 0 a 1\n1 0 a 2\n1 0 b x\n")
    records: list[Skipped] = []
    assert read(path, lenient=True, report=records.append).to_dict() == {"1": {"a": 1.0}}
    assert [(record.count, [error.line for error in record.first]) for record in records] == [(2, [3, 2])]


def test_lenient_readers_do_not_make_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(EndoxaError, match="no line can be read"):
        read(written(tmp_path / "f", b"1 0 a x\n"), kind="qrels", lenient=True)


def test_long_texts_are_shortened(tmp_path: Path) -> None:
    path = written(tmp_path / "f", b"1 Q0 d1 1 2.5 t\n1 Q0 d2 2 " + b"9" * 500 + b"x t\n")
    with pytest.raises(FileError) as caught:
        read(path)
    assert "…" in caught.value.problem
    assert len(caught.value.problem) < 100


@pytest.mark.parametrize("word", ["1" * 60_000 + "x", "." + "1" * 60_000 + "x", "1e" + "1" * 60_000 + "x"])
def test_a_long_word_that_is_no_number_is_refused_in_one_pass(word: str, tmp_path: Path) -> None:
    """A pattern that tries every split of the digits would take an hour for it, and a server would wait."""
    path = tmp_path / "long.run"
    path.write_text(f"q1 Q0 d1 1 {word} tag\n")
    with pytest.raises(FileError, match="is not a number"):
        read(path, kind="run")


@pytest.mark.parametrize("word", ["1", "-1.", "+.5", "1.25e-3", "1E5", "inf", "-Infinity"])
def test_numbers_are_still_numbers(word: str) -> None:
    assert NUMBER.fullmatch(word)
    assert not NUMBER.fullmatch(f"{word}x")
    assert not NUMBER.fullmatch(".")


def test_the_line_of_a_repeat_is_found_without_parsing_the_others(tmp_path, monkeypatch):
    """60 MB of one line, packed into 90 kB, took 47 s: every line was parsed to find the second."""
    from endoxa.io import trec_text

    path = tmp_path / "same.qrels"
    path.write_bytes(b"#q 0 aa 1\nq 0 b 1\n\n" + b"q 0 aa 1\n" * 5000)
    found, calls = trec_text.parsed, []
    monkeypatch.setattr(trec_text, "parsed", lambda *given: calls.append(given) or found(*given))
    with pytest.raises(FileError, match=r"same\.qrels:5: item 'aa' of query 'q' has two judgments"):
        read(path)
    assert len(calls) == 3


@pytest.mark.parametrize(
    "text", [b"q 0 a 1\nq 0 x 0\nq 0 aa 1\nq 0 a 2", b"q 0 x 1\r\nq 0 a 1\r\na 0 q 1\r\nq 0 a 2\r\n"]
)
def test_the_line_of_a_repeat(tmp_path, text):
    (tmp_path / "f").write_bytes(text)
    with pytest.raises(FileError, match=r"f:4: item 'a' of query 'q' has two judgments"):
        read(tmp_path / "f", kind="qrels")
