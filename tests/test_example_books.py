"""The notebooks in examples/: every cell runs, and a cell that shows an evaluation begins with the answer."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from answer_samples import first_sentence, is_answer

import endoxa

EXAMPLES = Path(__file__).parents[1] / "examples"
BOOKS = sorted(path.name for path in EXAMPLES.glob("*.ipynb"))


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a kernel does: all statements, and the value of the last one if it is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def test_there_is_one_for_each_kind_of_reader() -> None:
    assert BOOKS == [
        "machine-judge.ipynb", "organiser.ipynb", "photos.ipynb", "researcher.ipynb", "search-engineer.ipynb",
    ]  # fmt: skip


@pytest.mark.parametrize("name", BOOKS)
def test_every_cell_runs_and_evaluations_answer_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    book = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    assert (book["nbformat"], book["cells"][0]["cell_type"]) == (4, "markdown")
    names: dict[str, Any] = {"__name__": "__main__"}
    answers = 0
    for cell in book["cells"]:
        source = "".join(cell["source"])
        assert max(map(len, source.splitlines())) <= 120
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None  # outputs go stale
        value = run(source, names)
        if hasattr(value, "_repr_html_"):
            html = value._repr_html_()
            assert "<script" not in html
            if isinstance(value, endoxa.Evaluation):
                assert is_answer(first_sentence("<body>" + html)), html[:300]
                answers += 1
    assert answers >= 1
    if name == "researcher.ipynb":
        assert r"\caption{Effectiveness on 60 topics." in (tmp_path / "table.tex").read_text()
        assert (tmp_path / "report.html").stat().st_size > 20_000
