"""Progress: a bar for whoever asks for one, in a notebook and on a line."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from endoxa.progress import bar, shown
from endoxa.verbs.evaluate import evaluate


def test_a_function_is_taken_as_it_is_and_nothing_stays_nothing() -> None:
    def own(what: str, done: int, whole: int) -> None: ...

    assert shown(own) is own
    assert shown(None) is shown(False) is None


def test_outside_a_notebook_the_bar_is_a_line_that_vanishes(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    run = tmp_path / "a.run"
    run.write_text("q1 Q0 d1 1 2.0 a\nq1 Q0 d2 2 1.0 a\n")
    evaluate(run, {"q1": {"d1": 1}}, ["AP"], progress=True)
    line = shown(True)
    assert line is not None
    line("reading", 1, 4)
    line("reading", 4, 4)
    assert capsys.readouterr().err.endswith("reading 25%\r\x1b[K")


def test_in_a_notebook_the_bar_is_updated_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two calls of IPython that it rests on, as its documentation states them."""
    seen: list[str] = []
    handle = SimpleNamespace(update=lambda data, raw: seen.append(data["text/html"]))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=lambda *_, **__: handle))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    line = shown(True)
    assert line is not None
    line("<b>", 1, 2)
    line("<b>", 2, 2)
    assert seen == ['<progress value="1" max="2"></progress> &lt;b&gt;', ""] == [bar("<b>", 1, 2), bar("<b>", 2, 2)]
