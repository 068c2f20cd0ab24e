"""Stories: input through pipes, which can be read only once."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from command_line import endoxa

from endoxa.errors import FileError
from endoxa.io import limits
from endoxa.io.read import read

ENDOXA = shlex.join([sys.executable, "-c", "from endoxa.cli import main; main()"])
LIMIT = 120  # seconds, after which a command counts as hanging
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 1\n"
RUN = "q1 Q0 d1 1 2 a\nq2 Q0 d2 1 2 a\nq2 Q0 d1 2 1 a\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(RUN.replace(" a\n", " b\n").replace("q2 Q0 d2 1 2", "q2 Q0 d2 1 0.5"))
    (tmp_path / "spools").mkdir()
    return tmp_path


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in the folder; `endoxa` is the command. No copy of a pipe is left behind."""
    script = f'endoxa() {{ {ENDOXA} "$@"; }}\n{line}'
    environment = os.environ | {"TMPDIR": str(folder / "spools")}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert not list((folder / "spools").glob("endoxa-*"))
    return done


PIPES = {
    "process substitution": "endoxa eval qrels <(cat a.run) AP -o tsv",
    "judgments by process substitution": "endoxa eval <(cat qrels) a.run AP -o tsv",
    "a FIFO": "mkfifo pipe; cat a.run > pipe & endoxa eval qrels pipe AP -o tsv",
    "/dev/stdin": "cat a.run | endoxa eval qrels /dev/stdin AP -o tsv",
    "gzip": "endoxa eval <(gzip -c qrels) <(gzip -c a.run) AP -o tsv",
    "judgments and run": "endoxa eval <(cat qrels) <(cat a.run) AP -o tsv",
    "a dash": "cat a.run | endoxa eval qrels - AP -o tsv",
}


@pytest.mark.parametrize("name", PIPES)
@pytest.mark.parametrize("core", ["0", "1"])
def test_a_pipe_gives_the_numbers_of_its_file(
    folder: Path, name: str, core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDOXA_NATIVE", core)
    done = shell(folder, PIPES[name])
    assert done.returncode == 0, done.stderr
    assert done.stdout == endoxa("eval", folder / "qrels", folder / "a.run", "AP", "-o", "tsv").stdout


@pytest.mark.parametrize(
    "call",
    [
        "compare {qrels} {a} {b} AP -o tsv",
        "next {a} {b} -n 2",
        "check {qrels} {a}",
        "pool {a} {b}",
        "fuse {a} {b}",
        "read {a}",
        "measure {qrels} {a} AP",
        "believe {a} {b}",
    ],
)
def test_every_command_takes_pipes(folder: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names = {"qrels": "qrels", "a": "a.run", "b": "b.run"}
    meant = endoxa(*call.format(**names).split())
    done = shell(folder, f"endoxa {call.format(**{key: f'<(cat {name})' for key, name in names.items()})}")
    assert (done.returncode, meant.exit_code) == (0, 0), done.stderr
    texts = [re.sub(r"/dev/fd/[0-9]+|qrels|[ab][.]run", "FILE", one.stdout).split() for one in (done, meant)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("call", ["eval qrels {} AP", "check {}", "eval qrels - AP < {}", "eval {} a.run AP"])
def test_a_device_without_end_is_refused(folder: Path, device: str, call: str) -> None:
    done = shell(folder, f"endoxa {call.format(device)}")
    assert done.returncode == 1
    assert "this is a device, and may have no end; give a file or a pipe" in done.stderr + done.stdout


def test_standard_input_that_is_closed(folder: Path) -> None:
    done = shell(folder, "endoxa eval qrels - AP <&-")
    assert (done.returncode, "<stdin>: standard input is closed" in done.stderr) == (1, True)


def test_an_empty_device_is_an_empty_file(folder: Path) -> None:
    done = shell(folder, "endoxa eval qrels /dev/null AP")
    assert (done.returncode, "/dev/null: the file is empty" in done.stderr) == (1, True)


def fed(path: Path, text: str) -> threading.Thread:
    """Somebody who writes into the pipe as soon as it is read."""
    writer = threading.Thread(target=lambda: path.write_text(text))
    writer.start()
    return writer


def test_a_pipe_is_opened_once_whatever_path_leads_to_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    writer = fed(tmp_path / "pipe", QRELS)
    first = read(tmp_path / "pipe")
    writer.join()
    assert read(tmp_path / "link").frame.equals(first.frame)


def test_a_pipe_beyond_the_limit_is_refused_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIPE", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    writer = fed(tmp_path / "pipe", QRELS)
    for _ in range(2):
        with pytest.raises(FileError, match=r"pipe: the pipe has more than 10 bytes; save its content as a file"):
            read(tmp_path / "pipe")
    writer.join()
