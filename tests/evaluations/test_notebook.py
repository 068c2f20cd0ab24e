"""How evaluations and tables show themselves in a notebook."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
from answer_samples import first_sentence, is_answer
from evaluation_samples import HOSTILE, LONG, read, sample_evaluation, sample_in_doubt, system_names

import endoxa
from endoxa import formatting
from endoxa.evaluations import notebook
from endoxa.notes import text
from endoxa.tables import Belief, Run
from endoxa.verbs.evaluate import evaluate


def test_the_answer_and_the_summary_best_first() -> None:
    evaluation = sample_evaluation(6)
    reader = read(evaluation._repr_html_())
    assert (reader.errors, reader.open) == ([], [])
    text = "".join(reader.text).replace("\u00a0", " ")
    assert evaluation.sentences[0] in text
    (table,) = reader.tables
    assert table[0] == ["system", "AP", "nDCG@10", "P@10", "NumRet"]
    order = evaluation.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    assert [row[0] for row in table[1:]] == order["system"].to_list()
    first = order.row(0, named=True)
    assert table[1][1] == f"{first['value']:.4f}  [{first['lo']:.4f}, {first['hi']:.4f}]"
    assert table[1][4] == "50000"
    assert all(str(warning) in text for warning in evaluation.warnings)
    assert is_answer(first_sentence("<body>" + evaluation._repr_html_()))
    folded = evaluation._repr_html_().split("<details>")[1]
    assert str(evaluation.notes[0]) in folded


def test_in_doubt_there_is_p_best() -> None:
    evaluation = sample_in_doubt(system_names(3))
    table = read(evaluation._repr_html_()).tables[0]
    assert table[0] == ["system", "AP", "P(best)", "P@10", "P(best)"]
    assert table[1][2].startswith("0.")


def test_names_are_text_and_there_is_no_script() -> None:
    html = sample_evaluation(systems=[HOSTILE, LONG, "c"])._repr_html_()
    assert "<script" not in html
    assert "alert(" in html
    odd = replace(
        sample_evaluation(2), title="<b>T", warnings=(text("<i>w", "warning"),), notes=(text("<u>n"),)
    )._repr_html_()
    assert not any(tag in odd for tag in ("<b>T", "<i>w", "<u>n"))
    assert read(odd).errors == []


def test_many_systems_are_cut() -> None:
    html = sample_evaluation(40)._repr_html_()
    assert len(read(html).tables[0]) == notebook.ROWS + 1
    assert "… and 10 more systems" in html


def test_an_empty_summary_and_undefined_values_still_show() -> None:
    six = sample_evaluation(6)
    assert "nothing can be compared" in replace(six, summary=six.summary.clear())._repr_html_()
    assert "undefined" in replace(six, summary=six.summary.with_columns(value=pl.lit(float("nan"))))._repr_html_()


def test_tables_show_their_first_rows() -> None:
    rows = {
        "system": "s",
        "query": "q",
        "item": [f"<i>{n}" for n in range(2000)],
        "score": [-float(n) for n in range(2000)],
    }
    html = Run.of(pl.DataFrame(rows))._repr_html_()
    assert '<p class="verdict"><b>Run</b>, 2,000 rows.</p>' in html
    assert html.count("<tr>") == 10 + 1
    assert "… and 1,990 more rows" in html
    assert "&lt;i&gt;0" in html
    assert "<i>0" not in html
    assert (read(html).errors, read(html).open) == ([], [])


def test_tables_and_evaluations_have_the_colours_of_a_page() -> None:
    package = Path(formatting.__file__).parent
    css = (package / "reports" / "templates" / "page.css").read_text()
    for name, colour in re.findall(r"--([\w-]+): (#\w{6})", (package / "notebook.css").read_text()):
        assert re.search(rf"--{name}: {colour}", css), name


def test_a_figure_is_drawn_in_the_cell() -> None:
    qrels = {f"q{n}": {"x": 1} for n in range(6)}
    run = {s: {q: {"x": float(s == "a"), "y": 0.5} for q in qrels} for s in "ab"}
    given = pl.DataFrame([(q, item, 1.0, p) for q in qrels for item, p in (("x", 0.8), ("y", 0.4))],
                         schema=["query", "item", "grade", "p"], orient="row")  # fmt: skip
    for made in (evaluate(run, qrels, ["AP"]), evaluate(run, Belief.of(given), ["AP"], worlds=20)):
        html = made._repr_html_()
        assert html.count("<svg") == 1 and "<script" not in html
    assert "<svg" not in evaluate(run, None, ["AP"], worlds=20)._repr_html_()  # the sizes of a consensus say nothing


def test_every_verb_shows_its_settings() -> None:
    for name in endoxa.__all__:
        verb = getattr(endoxa, name)
        if inspect.isfunction(verb):
            kinds = {one.kind for one in inspect.signature(verb).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds, name
