"""The page of an evaluation where the truth is in doubt."""

from __future__ import annotations

import math
import re
from html import unescape
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from evaluation_samples import EVERYTHING, HOSTILE, LONG, read, sample_in_doubt, system_names

import endoxa
from endoxa.evaluations.sentences import advice, answer
from endoxa.evaluations.standings import chances
from endoxa.formatting import chance
from endoxa.notes import texts
from endoxa.reports.pages.evaluation import page
from endoxa.tables import Run
from endoxa.wording.evaluating import LIMITS_OF_CONSENSUS

SIX = sample_in_doubt(system_names(6))
SAMPLES = {
    "six": SIX,
    "belief": sample_in_doubt(["a", "b", "c"], measures=("AP",), model="raters", virtual=None, people=0.0),
    "one": sample_in_doubt(["lonely"], measures=("AP",)),
    "nothing": sample_in_doubt(["a", "b"], measures=("AP",), queries=1, people=0.0, truth=0.0),
    "hostile": sample_in_doubt([HOSTILE, LONG + "1", LONG + "2", '"><img src=x onerror=y>'], measures=("AP",)),
}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page(evaluation) for name, evaluation in SAMPLES.items()}


@pytest.mark.parametrize("name", SAMPLES)
def test_page_is_well_formed_and_loads_nothing(pages: dict[str, str], name: str) -> None:
    html = pages[name]
    reader = read(html)
    assert reader.errors == []
    assert reader.open == []
    ids = [str(attributes["id"]) for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in reader.tags:
        assert tag not in {"iframe", "object", "embed", "base", "form", "img"}
        assert not any(key.startswith("on") for key in attributes)
        if tag == "a":
            assert str(attributes["href"])[1:] in ids
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', html):
        assert reference in ids
    assert "http://" not in html
    assert "https://" not in html
    assert html.count("<figure>") == html.count("<figcaption>") == html.count('role="img"')
    assert html.count("<table") == html.count("<caption>")
    headings = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_sections_follow_what_is_there(pages: dict[str, str]) -> None:
    def sections(name: str) -> list[str]:
        return re.findall(r'<h2 id="(\w+)">', pages[name])

    rest = ["coverage", "policies", "measures"]
    assert sections("six") == ["warnings", "doubts", "ridges", "better", "shares", "depths", "differences", *rest]
    assert sections("belief") == ["warnings", "doubts", "ridges", "better", "shares", "differences", *rest]
    assert sections("nothing") == ["warnings", "doubts", "ridges", "shares", "depths", "differences", *rest]
    assert sections("one") == ["warnings", "doubts", "ridges", "shares", "depths", *rest]


def test_page_says_within_this_consensus_and_never_calls_it_map(pages: dict[str, str]) -> None:
    text = " ".join("".join(read(pages["six"]).text).split())
    assert text.count("within this consensus") > 5
    assert not re.search(r"\b(MAP|map|mean average precision|truth|true|correct|really)\b", text)
    assert "this consensus" not in "".join(read(pages["belief"]).text)
    assert "under this belief" in "".join(read(pages["belief"]).text)


def test_verdict_warnings_and_how_the_belief_was_made(pages: dict[str, str]) -> None:
    html = pages["six"]
    (top,) = re.findall(r'<p class="verdict">(.*?)</p>', html)
    assert unescape(re.sub("<[^>]+>", "", top)).replace("\u00a0", " ") == answer(SIX)
    text = "".join(read(html).text)
    assert LIMITS_OF_CONSENSUS in text
    assert "beware of <clones>" in text
    assert "beware of <clones>" not in html
    assert "one query is answered by one system only" in text
    assert "! one" not in text
    for line in texts(SIX.belief.lines()[:2]):
        assert text.count(line) == 1  # under the summary, not among the notes again
    for line in advice(SIX):
        assert line in text
    assert SIX.comparison is not None
    assert all(note in text for note in texts(SIX.comparison.notes))
    assert "6 systems12 queries" in text  # the baseline is none
    assert html.index('class="verdict"') < html.index(LIMITS_OF_CONSENSUS) < html.index('id="doubts"')


def test_tables_have_the_numbers_of_the_evaluation(pages: dict[str, str]) -> None:
    first, others, *_ = read(pages["six"]).tables
    assert first[0] == ["system", "AP", "P(best)", "without own vote", "unique"]
    own = SIX.summary.filter(pl.col("measure") == "AP").sort("value", descending=True)
    rows = own.filter(pl.col("system") != EVERYTHING)
    for shown, row in zip(first[1:], rows.iter_rows(named=True), strict=True):
        value = f"{row['value']:.4f} [{row['lo']:.4f}, {row['hi']:.4f}]"
        rest = [chance(row["p_best"]), f"{row['without_own_vote']:.4f}", f"{100 * row['unique']:.1f} %"]
        assert shown == [row["system"], value, *rest]
    everything = own.filter(pl.col("system") == EVERYTHING)["value"][0]
    below = f"Baseline {EVERYTHING}, which returns everything in random order: AP {everything:.4f}."
    assert below in "".join(read(pages["six"]).text)
    assert others[0] == ["system", "P@10", "P(best)"]
    assert [shown[0] for shown in others] == [shown[0] for shown in first]
    known = {row["system"]: row for row in SIX.summary.filter(pl.col("measure") == "P@10").iter_rows(named=True)}
    for shown in others[1:]:
        row = known[shown[0].removesuffix(" returns everything")]
        assert shown[1].startswith(f"{row['value']:.4f} [")
        assert shown[2] == chance(row["p_best"])
    virtual = re.findall(r'<tr class="virtual">\s*<th[^>]*>(.)', pages["six"])
    assert set(virtual) == {EVERYTHING}
    assert len(virtual) == 4  # a hill for each measure, the doubts, the coverage
    depth = read(pages["six"].split('id="depths"')[1].split("</section>")[0]).tables[0]
    assert depth == [["depth", "tau", "leader"], ["10", "0.62", "rerank-mono"], ["100", "1.00", "bm25"]]


def test_unknown_columns_are_left_out(pages: dict[str, str]) -> None:
    assert read(pages["belief"]).tables[0][0] == ["system", "AP", "P(best)"]
    assert read(pages["one"]).tables[0][0] == ["system", "AP", "without own vote", "unique"]
    assert 'class="virtual"' not in pages["belief"]


def test_the_pairs_are_below_the_matrix(pages: dict[str, str]) -> None:
    tables = read(pages["six"].split('id="better"')[1].split("</section>")[0]).tables
    assert len(tables) == 2
    for measure, table in zip(("AP", "P@10"), tables, strict=True):
        found = {
            frozenset((one.system, one.against)): one
            for pair in chances(SIX, measure)
            for one in ((pair, pair.turned())[pair.difference < 0],)
        }
        assert len(table) == 16  # ⊤ takes no part in pairs
        for row in table[1:]:
            one = found[frozenset((row[0].removesuffix(" returns everything"), row[1]))]
            assert row[2:5] == [chance(p, 3) for p in (one.better, one.tie, one.worse)]


def test_names_are_escaped(pages: dict[str, str]) -> None:
    html = pages["hostile"]
    assert "alert(" in html
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "".join(read(html).text).count(HOSTILE) > 5


def test_page_from_runs_alone() -> None:
    rng = np.random.default_rng(2)
    rows = [
        (system, f"q{query}", f"d{item}", float(score))
        for system, noise in (("a", 0.3), ("b", 0.6), ("c", 1.0), ("e", 2.0))
        for query in range(6)
        for item, score in enumerate(np.arange(30) / 10 + rng.normal(0, noise, 30))
    ]
    run = Run.of(pl.DataFrame(rows, schema=["system", "query", "item", "score"], orient="row"))
    made = endoxa.evaluate(run, None, "AP", depth=10, worlds=30)
    reader = read(page(made))
    assert reader.errors == []
    text = "".join(reader.text)
    assert text.count("ithin this consensus") >= 5
    assert LIMITS_OF_CONSENSUS in text
    rows = made.summary.filter(pl.col("system") != EVERYTHING).sort("value", descending=True)
    shown = [row[1] for row in reader.tables[0][1:]]
    assert shown == [f"{row['value']:.4f}" for row in rows.iter_rows(named=True)]
    assert "% interval" not in text and 'id="ridges"' not in page(made)
    assert "With only 6 queries, other queries may order the systems differently." in text
    told = [
        [str(depth), "–" if math.isnan(tau) else f"{tau:.2f}", leader]
        for depth, tau, leader in made.tables["depths"].iter_rows()
    ]
    assert told in [table[1:] for table in reader.tables]
