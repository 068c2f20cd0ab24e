"""Stories: what people do, through the command line."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import click
import command_line
import numpy as np
import polars as pl
import pytest
from command_line import done, process

from endoxa.cli.root import root
from endoxa.examples import collection
from endoxa.tables import Run
from endoxa.verbs.write import write

ROOT = Path(__file__).parents[2]
COMMANDS = [
    "eval",
    "compare",
    "believe",
    "next",
    "judge",
    "decide",
    "pool",
    "fuse",
    "check",
    "generality",
    "explain",
    "report",
    "ratings",
    "categories",
    "study",
    "search",
    "images",
    "pages",
    "demo",
    "estimate",
    "backtest",
    "measure",
    "read",
    "write",
    "words",
]


def endoxa(*words: object) -> command_line.Ran:
    """The command on a wide terminal."""
    return command_line.endoxa(*words, COLUMNS="200")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Judgments of one assessor, and the runs of six systems."""
    folder = tmp_path_factory.mktemp("collection")
    run, opinions = collection(rng=np.random.default_rng(5))
    one = opinions.frame.filter(pl.col("source") == "ada").with_columns(pl.lit("0").alias("source"))
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 {item} {int(grade)}\n" for q, item, grade in one.select("query", "item", "grade").iter_rows())
    )
    write(opinions, folder / "three.txt")
    paths = []
    for system in run.systems:
        paths.append(folder / f"{system}.run")
        write(Run(run.frame.filter(pl.col("system") == system)), paths[-1])
    return folder / "qrels.txt", paths


def test_an_engineer_evaluates_three_systems(files) -> None:
    qrels, runs = files
    done = endoxa("eval", qrels, *runs[:3], "nDCG@10", "AP")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"hybrid +0\.\d{4} \[0\.\d{3}, 0\.\d{3}\]", done.stdout)
    assert "ties=trec" in done.stdout
    assert "undefined=nan" in done.stdout


def test_the_order_of_files_and_measures_does_not_matter(files) -> None:
    qrels, runs = files
    one = endoxa("eval", qrels, runs[0], "AP", "-o", "tsv")
    other = endoxa("eval", "AP", runs[0], "-o", "tsv", qrels)
    named = endoxa("eval", "--qrels", qrels, "--run", runs[0], "-m", "AP", "-o", "tsv")
    assert one.stdout == other.stdout == named.stdout
    assert one.stdout.startswith("system\tmeasure\tvalue")


def test_ties_average_is_the_exact_mean_over_orders(tmp_path) -> None:
    """Two tied items, one of them relevant: AP and RR are 1 or 1/2."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "tied.run"
    qrels.write_text("q 0 a 1\nq 0 b 0\n")
    run.write_text("q Q0 a 1 1.0 tied\nq Q0 b 2 1.0 tied\n")
    for seed in range(3):
        done = endoxa("eval", qrels, run, "AP", "RR", "Bpref", "IPrec@0.5", "--ties", "average", "--seed", seed)
        for measure in ("AP", "RR", r"IPrec@0\.5"):
            assert re.search(rf"^{measure} +0\.7500 ", done.stdout, re.M), done.stdout
        assert re.search(r"^Bpref +0\.5000 ", done.stdout, re.M)
        assert "sampled" not in done.stdout


def test_sampled_values_are_counted_with_their_error(tmp_path) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "tied.run"
    qrels.write_text("".join(f"q{q} 0 d{d} {d % 3}\n" for q in range(3) for d in range(24)))
    run.write_text("".join(f"q{q} Q0 d{d} 1 {d if q == 0 else 1} tied\n" for q in range(3) for d in range(30)))
    for words in ((), ("-v",)):
        done = endoxa("eval", qrels, run, "AP", "nDCG", "infAP", "--ties", "average", *words)
        assert re.search(
            r"^! infAP: sampled on 2 of 3 lists, .* 5,040 orders .* 200 random orders, .* at most 0\.00\d",
            done.stdout,
            re.M,
        ), done.stdout
    reach = endoxa("eval", qrels, run, "AP", "infAP", "--ties", "range")
    assert "! infAP: the worst and best order are unknown on 2 of 3 lists" in reach.stdout
    assert "AP: no least" not in reach.stdout


def test_trec_lines_by_query(files) -> None:
    qrels, runs = files
    done = endoxa("eval", "-q", "-o", "trec", "-m", "map", "-m", "P.5", qrels, runs[0])
    lines = done.stdout.splitlines()
    assert lines[0].split("\t")[0] == f"{'map':22}"
    assert [line.split("\t")[1] for line in lines[-2:]] == ["all", "all"]
    assert len(lines) == 2 * 61


def test_a_run_from_standard_input_and_gzip(files, tmp_path) -> None:
    qrels, runs = files
    plain = endoxa("eval", qrels, runs[0], "AP", "-o", "trec")
    piped = process("eval", qrels, "-", "AP", "-o", "trec", stdin=runs[0].read_bytes())
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(runs[0].read_bytes()))
    assert plain.stdout == piped.stdout == endoxa("eval", qrels, packed, "AP", "-o", "trec").stdout


@pytest.mark.parametrize("core", ["0", "1"])
@pytest.mark.parametrize("options", [(), ("--compat", "trec_eval-9"), ("--compat", "trec_eval-10")])
def test_queries_that_begin_with_a_hash_count(tmp_path, monkeypatch, core, options) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    (tmp_path / "qrels").write_text("#1 0 d1 1\nq2 0 d1 1\n")
    (tmp_path / "a.run").write_text("#1 Q0 d1 1 2 a\nq2 Q0 d2 1 2 a\nq2 Q0 d1 2 1 a\n")
    done = endoxa("eval", *options, tmp_path / "qrels", tmp_path / "a.run", "AP", "-o", "tsv")
    assert done.exit_code == 0, done.stderr
    assert "0.75" in done.stdout


@pytest.mark.parametrize("core", ["0", "1"])
def test_ids_with_blanks_between_tabs_count(tmp_path, monkeypatch, core) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    (tmp_path / "qrels").write_text("q 1\t0\tmy doc\t1\nq 1\t0\tyour doc\t0\n")
    (tmp_path / "a.run").write_text("q 1\tQ0\tyour doc\t1\t3\ta\nq 1\tQ0\tmy doc\t2\t2\ta\n")
    done = endoxa("eval", tmp_path / "qrels", tmp_path / "a.run", "AP", "-o", "tsv")
    assert "0.5" in done.stdout, done.stderr
    done = endoxa("eval", "--compat", "trec_eval-9", tmp_path / "qrels", tmp_path / "a.run", "AP")
    assert (done.exit_code, "qrels:1: 6 columns in" in done.stderr) == (1, True)


def test_check_calls_a_header_by_its_name(tmp_path) -> None:
    (tmp_path / "qrels").write_text("qid iter docno rel\nq1 0 d1 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 a\n")
    done = endoxa("check", tmp_path / "qrels", tmp_path / "a.run")
    assert (done.exit_code, "qrels:1: the line is a header" in done.stdout) == (1, True)


def test_an_unknown_column_is_named_with_the_nearest_known_ones(tmp_path) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "a.csv").write_text("query,doc,score\nq1,d1,2\n")
    for way in ((tmp_path / "a.csv",), ("--run", tmp_path / "a.csv")):
        done = endoxa("eval", tmp_path / "qrels", *way, "AP")
        assert (done.exit_code, "doc is unknown: did you mean docno, docid or doc_id" in done.stderr) == (1, True)


def test_several_assessors(files) -> None:
    qrels, runs = files
    three = qrels.parent / "three.txt"
    refused = endoxa("eval", three, runs[0], "AP")
    assert refused.exit_code == 1
    assert "--assessors mean" in refused.stderr
    done = endoxa("eval", three, runs[0], "AP", "--assessors", "mean", "-q", "-o", "tsv")
    assert done.exit_code == 0
    head, first = (line.split("\t") for line in done.stdout.splitlines()[:2])
    assert float(first[head.index("sd")]) >= 0
    same = endoxa("eval", "-R", "qrels_jg", "-o", "trec", three, runs[0])
    assert "map_avgjg" in same.stdout


def test_two_runs_with_one_tag_are_told_apart(files, tmp_path) -> None:
    qrels, runs = files
    for name in ("first.run", "second.run"):
        (tmp_path / name).write_bytes(runs[0].read_bytes())
    done = process("eval", qrels, tmp_path / "first.run", tmp_path / "second.run", "AP", "-o", "tsv")
    assert done.exit_code == 0, done.stderr
    assert {line.split("\t")[0] for line in done.stdout.splitlines()[1:]} == {"hybrid", "second"}


def test_a_researcher_compares(files) -> None:
    qrels, runs = files
    done = endoxa("compare", qrels, *runs, "nDCG@10", "AP", "--power")
    assert done.exit_code == 0, done.stderr
    assert "tau AP" in done.stdout
    assert "swap rate" in done.stdout
    assert "holm" in done.stdout.lower()
    table = endoxa("compare", qrels, *runs, "AP", "--baseline", "bm25", "--test", "tukey", "-o", "tsv")
    assert len(table.stdout.splitlines()) == 6
    unknown = endoxa("compare", qrels, *runs, "AP", "--baseline", "bm52")
    assert unknown.exit_code == 1
    assert "bm25" in unknown.stderr


def test_an_organiser_pools(files, tmp_path) -> None:
    qrels, runs = files
    done = endoxa("pool", *runs, "--depth", "10", "-o", "tsv", "--to", tmp_path / "pool.tsv")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "pool.tsv").read_text().startswith("query\titem\tsystems\tbest\tby")
    states = endoxa("pool", qrels, *runs, "--depth", "10")
    assert "pooled-unjudged" in states.stdout
    left = endoxa("pool", qrels, *runs, "--leave-out-uniques", "-m", "AP", "--depth", "20")
    assert left.exit_code == 0, left.stderr
    assert "value without" in left.stdout


def test_a_page_a_table_and_figures(files, tmp_path) -> None:
    qrels, runs = files
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    done = endoxa("report", qrels, *runs, "nDCG@10", "AP", "--to", page, "--figures", figures)
    assert done.exit_code == 0, done.stderr
    html = page.read_text()
    assert "hybrid" in html
    assert not re.search(r"(src|href)=[\"']https?://", html)
    assert {path.suffix for path in figures.iterdir()} == {".svg", ".png"}
    assert endoxa("report", qrels, *runs, "AP", "--to", tmp_path / "table.tex").exit_code == 0
    assert r"\toprule" in (tmp_path / "table.tex").read_text()


def test_check_finds_what_is_wrong(files, tmp_path) -> None:
    qrels, runs = files
    fine = endoxa("check", qrels, *runs)
    assert fine.exit_code == 0, fine.stdout
    assert "tied" in fine.stdout
    broken = tmp_path / "broken.run"
    broken.write_text("q01 Q0 d001 1 abc x\n")
    done = endoxa("check", qrels, broken)
    assert done.exit_code == 1
    assert "broken.run:1" in done.stdout


def test_check_and_eval_refuse_a_run_of_other_queries(files, tmp_path) -> None:
    _, runs = files
    other = tmp_path / "other.run"
    other.write_text("".join(f"z{line}\n" for line in runs[0].read_text().splitlines()))
    checked = endoxa("check", other, *runs[1:])
    assert checked.exit_code == 1
    assert f"✗ {other}: shares no query with any other system: it answers 'z" in checked.stdout
    done = endoxa("eval", other, *runs[1:], "AP")
    assert done.exit_code == 1
    assert "shares no query with any other system" in done.stderr


def test_a_name_that_is_nearly_a_file_is_suggested_once(files) -> None:
    _, runs = files
    wrong = runs[0].with_name(runs[0].name + "x")
    done = endoxa("fuse", wrong, runs[1])
    assert done.exit_code == 1
    assert done.stderr.count("did you mean") == 1
    named = endoxa("study", "new", "x", wrong, "--screen", "yes-no")
    assert f"runs: there is no {wrong}; did you mean {runs[0]}?" in named.stderr


def test_options_that_messages_name_are_in_the_help() -> None:
    text = endoxa("help", "eval").stdout
    assert "--run FILE" in text
    assert "--qrels FILE" in text


def test_read_says_what_a_file_holds(files) -> None:
    qrels, runs = files
    assert re.match(r".* holds judgments: [\d,]+ rows\.\n", endoxa("read", qrels).stdout)
    assert re.match(r".* holds a run: [\d,]+ rows\.\n", endoxa("read", runs[0]).stdout)


def test_explain(files) -> None:
    done = endoxa("explain", "nDCG")
    for word in ("Formula", "Misleads", "Source", "ndcg_cut"):
        assert word in done.stdout
    assert "nDCG" in endoxa("explain").stdout
    wrong = endoxa("explain", "nDGC")
    assert wrong.exit_code == 1
    assert "did you mean nDCG?" in wrong.stderr


def test_the_demo_writes_a_page(tmp_path) -> None:
    done = endoxa("demo", "documents", "--to", tmp_path / "demo")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "demo" / "report.html").stat().st_size > 20_000
    assert "report.html" in done.stdout


BAD = {
    "malformed line": (b"q01 Q0 d001 1 2.5 x\nq01 Q0 d002\n", "bad.run:2"),
    "NaN score": (b"q01 Q0 d001 1 nan x\n", "bad.run:1"),
    "text for a score": (b"q01 Q0 d001 1 abc x\n", "bad.run:1"),
    "duplicate": (b"q01 Q0 d001 1 2 x\nq01 Q0 d002 2 1 x\nq01 Q0 d001 3 0 x\n", "bad.run:3"),
    "no judged topic": (b"zzz Q0 d001 1 2 x\n", "shares no query with the set of judgments"),
    "empty file": (b"", "empty"),
    "binary junk": (bytes(range(256)) * 8, "bad.run"),
    "truncated gzip": (gzip.compress(b"q01 Q0 d001 1 2.5 x\n" * 500)[:-20], "bad.run"),
    "one enormous line": (b"q01 Q0 " + b"x" * 3_000_000 + b" 1 2.5 x\n", "bad.run"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_runs_are_one_line_with_place_and_remedy(files, tmp_path, case) -> None:
    qrels, _ = files
    data, place = BAD[case]
    bad = tmp_path / "bad.run"
    bad.write_bytes(data)
    done = endoxa("eval", "--qrels", qrels, "--run", bad, "AP")
    assert done.exit_code == 1, done.stdout
    assert place in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert len(done.stderr) < 600


@pytest.mark.parametrize(
    ("line", "place"),
    [("q01 0 d001 x", "bad.txt:1"), ("q01 0 d001", "bad.txt:1"), ("q01 0 d001 1\nq01 0 d001 2", "two judgments")],
)
def test_bad_judgments(files, tmp_path, line, place) -> None:
    _, runs = files
    bad = tmp_path / "bad.txt"
    bad.write_text(line + "\n")
    done = endoxa("eval", "--qrels", bad, "--run", runs[0], "AP")
    assert done.exit_code == 1
    assert place in done.stderr
    assert "Traceback" not in done.stderr


def test_lenient_skips_bad_lines_and_counts_them(files, tmp_path) -> None:
    qrels, runs = files
    good = runs[0].read_text().splitlines()
    bad = tmp_path / "bad.run"
    bad.write_text("\n".join([*good[:5], "what is this", *good[5:], "q01 Q0 d001 1 abc x"]) + "\n")
    refused = endoxa("eval", qrels, bad, "AP", "-o", "trec")
    assert refused.exit_code == 1
    assert "bad.run:6" in refused.stderr
    done = endoxa("eval", qrels, bad, "AP", "-o", "trec", "--lenient")
    assert done.exit_code == 0, done.stderr
    assert "2 lines skipped" in done.stderr
    assert done.stdout == endoxa("eval", qrels, runs[0], "AP", "-o", "trec").stdout


def test_a_wrong_call_is_exit_code_2(files) -> None:
    qrels, runs = files
    for words in (["eval", qrels, runs[0], "nDGC@10"], ["eval", qrels], ["eval", "no/such/file.run"]):
        done = endoxa(*words)
        assert done.exit_code == 2, done.stderr
        assert "Traceback" not in done.stderr
    unknown = endoxa("eval", qrels, runs[0], "-m", "nDGC@10")
    assert unknown.exit_code == 1
    assert "did you mean nDCG?" in unknown.stderr


def test_a_broken_pipe_is_no_error(files) -> None:
    qrels, runs = files
    command = f"{sys.executable} -c 'from endoxa.cli import main; main()' eval -q -o trec {qrels} {runs[0]} | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_help_with_examples_and_a_section(verb) -> None:
    printed = done(verb, "--help")
    assert "Examples" in printed or "Commands" in printed
    assert f"## endoxa {verb}\n" in (ROOT / "docs" / "cli.md").read_text()


ACTS = ["new", "list", "import", "invite", "serve", "status", "edit", "close", "delete", "export", "bundle"]


@pytest.mark.parametrize("verb", ACTS)
def test_every_act_of_a_study_has_help_with_examples_and_a_row(verb) -> None:
    printed = done("study", verb, "--help")
    assert "Examples" in printed
    assert f"| `{verb}" in (ROOT / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("verb", ["open", "list", "replay", "export", "reset", "neighbours", "contest"])
def test_every_act_of_a_search_has_help_with_examples_and_a_row(verb) -> None:
    printed = done("search", verb, "--help")
    assert "Examples" in printed
    assert f"| `{verb}" in (ROOT / "docs" / "cli.md").read_text()


def test_the_help_of_eval_fits_two_screens() -> None:
    printed = done("eval", "--help", COLUMNS="100")
    assert len(printed.splitlines()) <= 2 * 48
    for panel in ("How values are computed", "Runs without judgments", "Opinions and beliefs"):
        assert panel in printed


def test_no_verb_is_forgotten() -> None:
    commands = sorted(root().list_commands(click.Context(root())))
    assert commands == sorted([*COMMANDS, "help"]), "add the command to COMMANDS of this file"


def test_import_is_light() -> None:
    heavy = {"scipy", "matplotlib", "pandas", "jinja2", "click", "sqlalchemy", "fastapi", "numba", "PIL"}
    code = f"import sys, endoxa; endoxa.measure; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


def test_bounds_are_told_apart_from_intervals(files) -> None:
    qrels, runs = files
    done = endoxa("eval", qrels, runs[0], "P@20", "AP", "--unjudged", "bounds", "-o", "tsv")
    head = done.stdout.splitlines()[0].split("\t")
    assert head[-2:] == ["least", "most"]
    assert "AP: no least and greatest value is known" in done.stderr
    refused = endoxa("compare", qrels, *runs[:2], "P@20", "--unjudged", "bounds")
    assert refused.exit_code == 1
    assert "no one value to compare" in refused.stderr


def test_pooling_with_several_assessors(files) -> None:
    qrels, runs = files
    three = qrels.parent / "three.txt"
    assert "pooled-unjudged" in endoxa("pool", three, *runs, "--depth", "20").stdout
    left = endoxa("pool", three, *runs, "--leave-out-uniques", "--depth", "20")
    assert left.exit_code == 0, left.stderr
    assert re.search(r"lowest tau with the full order is \d\.\d{3}\.", left.stdout)


def test_judgments_from_standard_input(files) -> None:
    qrels, runs = files
    piped = process("eval", "-", runs[0], "AP", "-o", "trec", stdin=qrels.read_bytes())
    assert piped.stdout == endoxa("eval", qrels, runs[0], "AP", "-o", "trec").stdout


def test_several_runs_in_trec_form_are_named(files) -> None:
    qrels, runs = files
    done = endoxa("eval", qrels, *runs[:2], "AP", "-o", "trec")
    assert [line.split("\t")[0].strip() for line in done.stdout.splitlines()] == ["runid", "map", "runid", "map"]


@pytest.mark.parametrize(
    "words",
    [
        ["--ties", "foo"],
        ["--confidence", "95"],
        ["-M", "0"],
        ["--ties", "average", "-M", "5"],
        ["-o", "xml"],
        ["--to", "x"],
    ],
)
def test_wrong_settings_are_exit_code_2(files, words) -> None:
    qrels, runs = files
    assert endoxa("eval", qrels, runs[0], "AP", *words).exit_code == 2


def test_per_query_tables_in_every_form(files) -> None:
    qrels, runs = files
    for form in ("markdown", "latex", "tsv", "jsonl"):
        assert len(endoxa("eval", "-q", qrels, runs[0], "AP", "-o", form).stdout.splitlines()) >= 60


def test_an_empty_run_says_what_was_expected(files, tmp_path) -> None:
    qrels, _ = files
    (tmp_path / "empty.run").write_text("")
    done = endoxa("eval", qrels, "--run", tmp_path / "empty.run", "AP")
    assert "is empty; expected lines of query Q0 item rank score tag" in done.stderr


LONG = "a" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("eval", LONG, LONG), ("eval", f"{LONG}.run"), ("measure", LONG, LONG), ("check", LONG),
        ("compare", LONG, LONG),
        ("study", "status", "x", "--home", LONG), ("images", "index", LONG), ("write", LONG, LONG), ("read", LONG),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_a_path_that_is_too_long_is_no_traceback(words) -> None:
    done = endoxa(*words)
    assert done.exit_code in {1, 2}
    assert "Traceback" not in done.stderr


def test_a_home_that_is_damaged_is_one_line(tmp_path) -> None:
    (tmp_path / "studies.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 8192)
    done = endoxa("study", "status", "--home", tmp_path)
    assert done.exit_code == 1
    assert re.fullmatch(r"endoxa: .*studies\.db: the database cannot be opened: .*; .*\n", done.stderr)


def in_terminal(*words: object) -> tuple[int, bytes]:
    """The exit code of a command, and what a terminal of 80 columns shows of it."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
    command = [sys.executable, "-c", "from endoxa.cli import main; main()", *map(str, words)]
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=kept)
    os.close(inner)
    said = b""
    with contextlib.suppress(OSError):  # a terminal without a program is an error of the device
        while part := os.read(terminal, 1 << 16):
            said += part
    os.close(terminal)
    return done.wait(), said


def test_nothing_is_cut_or_broken_inside_a_word_on_a_terminal(files, tmp_path) -> None:
    qrels, runs = files
    named = []
    for number, run in enumerate(runs):
        named.append(tmp_path / f"splade_v{number}.run")
        tag = f"splade_distil_msmarco_v{number}"
        named[-1].write_text(re.sub(r"\S+$", tag, run.read_text(), flags=re.MULTILINE))
    for words in (
        ("compare", qrels, *named, "AP"),
        ("pool", qrels, *named, "--leave-out-uniques"),
        ("read", qrels),
        ("images", "search", tmp_path, "no picture is here, and the message about it is long enough to be broken"),
        ("eval", qrels, tmp_path / "a_run_that_is_missing", "AP"),
    ):
        _, said = in_terminal(*words)
        lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()).replace("\r", "").split("\n")
        assert all(len(line) <= 80 or " " not in line.strip() for line in lines), lines
        assert not any(re.search(r"splade_(?!distil_msmarco_v\d|v\d)", line) for line in lines), lines
        heads = " ".join(lines).split()
        if words[0] == "pool":
            assert {"relevant", "uniques", "without", "tau"} <= set(heads)


def test_terminal_escapes_in_tags_are_shown_not_obeyed(files, tmp_path) -> None:
    qrels, runs = files
    path = tmp_path / "evil.run"
    path.write_text(re.sub(r"\S+$", "evil\x1b]0;title\x07\x1b[2J\x9b3m", runs[0].read_text(), flags=re.MULTILINE))
    code, said = in_terminal("eval", qrels, path, "AP")
    assert code == 0
    assert b"evil\\x1b]0;title\\x1b[2J" in said
    assert not re.search(rb"\x1b\]|\x1b\[2J|\x07|\xc2\x9b", said)
