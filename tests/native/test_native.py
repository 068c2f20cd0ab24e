"""The native core: the same as the exact readers on random files, and one clear message for each kind of bad input."""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from tests.native import many_files

import endoxa
from endoxa import native
from endoxa.errors import EndoxaError, FileError, TextError
from endoxa.io import native_files, sources
from endoxa.io.read import natively_judged
from endoxa.measures.evaluate import prepare
from endoxa.policies import Policy

ROOT = Path(__file__).parents[2]
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 2\n"
RUN = "q1 Q0 a 1 3 bm25\nq1 Q0 b 2 2 bm25\nq2 Q0 d 1 3 bm25\nq2 Q0 c 2 2 bm25\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "bm25.run").write_text(RUN)
    return tmp_path / "bm25.run", tmp_path / "qrels.txt"


@pytest.mark.parametrize("part", range(4))
def test_many_files_give_the_same_both_ways(core, part: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv(native.SETTING, "1")
    for name in ("CHUNK", "SMALL", "SLICE"):  # the files change them
        monkeypatch.setattr(native_files, name, getattr(native_files, name))
    seeds = range(75 * part, 75 * part + 75)  # `make alike` takes 100,000
    assert {seed: both for seed in seeds if (both := many_files.differing(seed, tmp_path))} == {}


def test_the_native_core_reads_what_is_usual(core, files, monkeypatch) -> None:
    """Without this the comparison could pass because everything was declined."""
    run, qrels = files
    monkeypatch.setattr("endoxa.io.run_files.map_blocks", None)
    scores = endoxa.measure(str(run), str(qrels), ["RR"])
    assert scores.to_dict() == {"bm25": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}}}
    many = [f"q{query} Q0 d{item} 0 {item % 7} bm25" for item in range(50) for query in range(50)]
    run.write_text("\n".join(many))  # shuffled: every query comes back
    # 21 items have more; of the seven with a score of 3, d45, d38 and d31 come before d3
    assert endoxa.measure(str(run), {"q7": {"d3": 1}}, ["RR"]).to_dict() == {"bm25": {"q7": {"RR": 1 / 25}}}


def message(run: Path, qrels: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The message, which both ways share."""
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv(native.SETTING, value)
        with pytest.raises(FileError) as error:
            endoxa.measure(str(run), str(qrels), ["RR"])
        found.append(str(error.value))
    assert found[0] == found[1]
    return found[0]


def test_truncated_gzip(core, files, monkeypatch) -> None:
    run, qrels = files
    run.write_bytes(gzip.compress((RUN * 1000).replace("Q0 a", "Q0 é").encode())[:-20])
    assert "truncated" in message(run, qrels, monkeypatch)


def test_a_line_of_100_megabytes(core, files, monkeypatch) -> None:
    run, qrels = files
    run.write_bytes(RUN.encode() + b"x" * 100_000_000)
    assert "bm25.run:5: the line is longer than 64 KiB" in message(run, qrels, monkeypatch)


def test_ids_with_nul_bytes(core, files, monkeypatch) -> None:
    run, qrels = files
    run.write_text(RUN.replace(" d ", " d\0d "))
    assert "bm25.run:3: the file contains binary data" in message(run, qrels, monkeypatch)


def test_an_item_that_is_listed_twice(core, files, monkeypatch) -> None:
    run, qrels = files
    run.write_text(RUN + "q1 Q0 a 3 1 bm25\n")
    assert "bm25.run:5: query 'q1' of 'bm25' lists item 'a' twice" in message(run, qrels, monkeypatch)
    run.write_text(RUN)
    qrels.write_text(QRELS + "q1 0 a 0\n")
    assert "qrels.txt:4: item 'a' of query 'q1' has two judgments" in message(run, qrels, monkeypatch)


def test_a_score_that_is_not_a_number(core, files, monkeypatch) -> None:
    run, qrels = files
    run.write_text(RUN.replace("2 2 bm25", "2 NaN bm25", 1))
    assert "bm25.run:2: score 'NaN' is not a number" in message(run, qrels, monkeypatch)


@pytest.mark.parametrize("value", ["1", "0"])
def test_a_query_that_comes_back_late_and_two_systems_in_one_file(core, files, monkeypatch, value: str) -> None:
    monkeypatch.setenv(native.SETTING, value)
    run, qrels = files
    run.write_text(RUN + "q1 Q0 c 9 9 bm25\n" + RUN.replace("bm25", "dense"))
    scores = endoxa.measure(str(run), str(qrels), ["RR"])
    assert scores.to_dict() == {
        "bm25": {"q1": {"RR": 0.5}, "q2": {"RR": 0.5}},
        "dense": {"q1": {"RR": 1.0}, "q2": {"RR": 0.5}},
    }


@pytest.mark.parametrize("value", ["1", "0"])
def test_a_file_that_changes_while_it_is_read(core, files, monkeypatch, value: str) -> None:
    monkeypatch.setenv(native.SETTING, value)
    run, qrels = files
    run.write_text("".join(f"q{query} Q0 d{item} 0 {-item} bm25\n" for query in range(400) for item in range(1000)))
    begin, last = native_files._start, sources.last_query  # asked for once the file is open

    def grow() -> None:
        with run.open("a") as file:
            file.write("q1 Q0")

    monkeypatch.setattr(native_files, "_start", lambda *given: (grow(), begin(*given))[1])
    monkeypatch.setattr(sources, "last_query", lambda *given: (grow(), last(*given))[1])
    with pytest.raises(FileError, match=r"bm25.run: the file changed while it was read"):
        endoxa.measure(str(run), str(qrels), ["RR"])


def test_a_file_that_is_cut_while_it_is_read(core, files, monkeypatch) -> None:
    run, qrels = files
    ends = native_files._ends  # asked for once the file is open, and only of runs
    monkeypatch.setattr(native_files, "_ends", lambda *given, **more: (os.truncate(run, 20), ends(*given, **more))[1])
    with pytest.raises(FileError, match="the file changed while it was read"):
        endoxa.measure(str(run), str(qrels), ["RR"])


def test_scores_and_judgments_that_were_read_natively_can_be_sent_to_other_processes(core, files) -> None:
    run, qrels = files
    scores = endoxa.measure(str(run), str(qrels), ["RR"])
    assert pickle.loads(pickle.dumps(scores)).frame.equals(scores.frame)
    judgments = natively_judged(sources.source_of(qrels))
    assert judgments is not None and judgments.judged is not None
    again = pickle.loads(pickle.dumps(judgments))
    assert again.judged is None
    assert again.frame.equals(endoxa.read(str(qrels)).frame)
    for opinions in (judgments, again):  # what is sent to the workers of a cluster
        prepared = prepare(opinions, Policy())[""]
        sent = pickle.loads(pickle.dumps(prepared))
        assert sent.table is None and sent.frame.equals(prepared.frame)


def test_the_setting_turns_it_off_and_the_version_says_so(files, monkeypatch, capsys) -> None:
    command = [sys.executable, "-m", "endoxa", "--version", "-v"]
    said = {
        value: subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | {native.SETTING: value}
        ).stdout
        for value in ("1", "0")
    }
    assert said["1"].startswith(f"endoxa {endoxa.__version__}\nfiles are read ")
    assert "files are read without the native core: " in said["0"]


@pytest.fixture(scope="module")
def sources_of_the_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src"):
        place = ROOT / name
        leave = shutil.ignore_patterns("*.so", "__pycache__", "static")
        shutil.copytree(place, folder / name, ignore=leave) if place.is_dir() else shutil.copy(place, folder / name)
    return folder


@pytest.mark.parametrize("compiler", ["", "no-such-compiler"])
def test_a_wheel_carries_it_where_there_is_a_compiler(core, sources_of_the_package: Path, tmp_path, compiler) -> None:
    (sources_of_the_package / "src/endoxa/native/_core.abi3.so").unlink(missing_ok=True)
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=sources_of_the_package, capture_output=True, text=True,
        check=True, env=os.environ | {"CXX": compiler},
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    native_part = [name for name in names if name.startswith("endoxa/native/") and not name.endswith(".py")]
    if compiler:
        assert wheel.name.endswith("-py3-none-any.whl")
        assert native_part == []
        assert "the native core is not built" in done.stderr
    else:
        assert "-cp311-abi3-" in wheel.name
        assert native_part == ["endoxa/native/_core.abi3.so"]


def test_an_unknown_order_of_ties_is_refused_both_ways(core, files, monkeypatch) -> None:
    for value in ("1", "0"):
        monkeypatch.setenv(native.SETTING, value)
        with pytest.raises(TextError, match="ties must be one of"):
            endoxa.read(str(files[0]), kind="run", ties="foo")


def test_the_usual_measures_need_no_numpy(core, files) -> None:
    """One command, from files and from dicts; what the numbers are, many_files compares."""
    run, qrels = files
    program = (
        "import sys, endoxa\n"
        "asked = ['AP', 'nDCG@10', 'RR', 'P@10', 'R@1000', 'Success@1']\n"
        f"one = endoxa.measure({str(run)!r}, {str(qrels)!r}, asked).to_dict()['bm25']\n"
        "two = endoxa.measure({'q1': {'a': 3.0, 'b': 2.0}}, {'q1': {'a': 1, 'b': 0}}, asked).to_dict()['run']\n"
        "print(one['q1'] == two['q1'], 'numpy' in sys.modules, 'polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]


def test_plain_scores_are_scores_like_all_others(core, files, monkeypatch) -> None:
    """Frames, coverage, absent lists, several files and renamed systems; one system without a judged query."""
    run, qrels = files
    other = run.with_name("other.run")
    other.write_text("q2 Q0 c 1 3 bm25\nq9 Q0 c 1 3 bm25\n")
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv(native.SETTING, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(endoxa.measure([str(run), str(other)], str(qrels), ["AP", "P@2"]))
    one, two = found
    assert one.scored is not None and one.scored.flat is not None and two.scored is not None and two.scored.flat is None
    for name in ("frame", "coverage", "absent"):
        assert getattr(one, name).equals(getattr(two, name)), name
    assert one.to_dict() == two.to_dict() and one.covered == two.covered and one.queries == two.queries
    assert pickle.loads(pickle.dumps(one)).frame.equals(two.frame)
    other.write_text("q9 Q0 c 1 3 other\n")
    for value in ("1", "0"):
        monkeypatch.setenv(native.SETTING, value)
        with pytest.raises(EndoxaError, match="run 'other' shares no query"):
            endoxa.measure([str(run), str(other)], str(qrels), ["AP"])
