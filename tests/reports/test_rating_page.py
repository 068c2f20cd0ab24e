"""The page of people's ratings: whole, safe, the same every time, and true to the figures."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape

import polars as pl
import pytest
from evaluation_samples import SCRIPT, read, sample_ratings

from endoxa.evaluations.evaluation import Evaluation, File
from endoxa.evaluations.ratings import Analysis, analyse, evaluation_of
from endoxa.reports.pages.ratings import page
from endoxa.tables import Opinions


@pytest.fixture(scope="module")
def found() -> Analysis:
    return sample_ratings()


def shown(found: Analysis) -> Evaluation:
    command = {"Command": "endoxa ratings <x>"}
    return evaluation_of(found, provenance=command, files=[File("a<b.csv", 12, "ab" * 32)])


@pytest.fixture(scope="module")
def html(found: Analysis) -> str:
    return page(shown(found))


def test_the_page_is_whole(html: str) -> None:
    reader = read(html)
    assert reader.errors == []
    assert reader.open == []
    ids = [str(attributes["id"]) for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(attributes["href"])[1:] for tag, attributes in reader.tags if tag == "a"]
    assert set(links) <= set(ids)
    assert {"maps", "curves", "agreement", "raters", "scale", "selection", "dominance", "policies"} <= set(ids)
    assert html.count("Numbers of this figure") == html.count("<figure>") == 9


def test_nothing_is_fetched_and_only_our_script_runs(html: str) -> None:
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert not re.search(r"(?:src|href)=[\"']https?:", html)


def test_names_from_outside_are_text(html: str) -> None:
    assert SCRIPT not in html
    assert html.count("<script>") == 1
    assert "a&lt;b.csv" in html
    assert "alert(&#34;x&#34;)" in html


def test_the_same_bytes_every_time(found: Analysis, html: str) -> None:
    assert page(shown(found)) == html


def test_the_figures_of_the_page_are_those_found(found: Analysis, html: str) -> None:
    text = unescape(re.sub(r"<[^>]+>", " ", html))
    first = found.first
    assert first is not None
    for row in first.frame.iter_rows(named=True):
        assert f"{row['held_out']:.3f}".replace("-", "−") in text
        assert f"± {row['se']:.3f}" in text
    assert found.after is not None
    assert f"{found.after.alpha:.3f}" in text
    assert found.selection is not None
    assert f"{abs(found.selection.advantage.gamma):.3f}" in text
    for warning in found.warnings:
        assert " ".join(warning.split()) in " ".join(text.split())


def test_a_page_without_runs_and_with_next_to_nothing() -> None:
    for rows in ([("a", "q", "x", 2.0)], [("a", "q", "x", None), ("b", "q", "x", None)]):
        people = Opinions.of(
            pl.DataFrame(rows, schema=["source", "query", "item", "grade"], orient="row", strict=False)
        )
        reader = read(page(evaluation_of(analyse(people))))
        assert reader.errors == []
        assert "maps" not in [attributes.get("id") for _, attributes in reader.tags]
