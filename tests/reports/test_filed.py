"""Items that people filed, on a terminal and on the page of an evaluation."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import endoxa
from endoxa.reports.filed_terminal import CATEGORIES, ITEMS, parts
from endoxa.studies.filings import Filings, filings
from endoxa.tables import Labels, Taxonomy

NAMES = ["people", "crowd", "city"]


def tables(items: int, more: int = 0) -> tuple[Labels, Taxonomy]:
    """Three people who agree on every third item; *night market* is below crowd and below city."""
    rows = [
        (f"s{who}", f"i{n}", NAMES[n % 3] if who < 2 or n % 3 == 0 else "night market")
        for n in range(items)
        for who in range(3)
    ]
    edges = [("all", ""), ("people", "all"), ("crowd", "people"), ("outdoor", "all"), ("city", "outdoor")]
    edges += [("night market", "crowd"), ("night market", "city"), *((f"n{n}", "outdoor") for n in range(more))]
    return (
        Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row")),
        Taxonomy.of(pl.DataFrame(edges, schema=["category", "parent"], orient="row")),
    )


def found(items: int, more: int = 0) -> Filings:
    return filings(*tables(items, more), rng=np.random.default_rng(0))


def shown(one: Filings, item: str | None = None) -> str:
    return "\n".join(part if isinstance(part, str) else part.text(200) for part in parts(one, item, width=200))


def test_the_tree_is_indented_with_sizes_and_agreement() -> None:
    text = shown(found(3))
    lines = text.splitlines()
    assert lines[0].split() == ["category", "size", "filed", "alpha"]  # no interval of three items
    assert [line.split("  ")[0] or line[: len(line) - len(line.lstrip())] for line in lines[1:3]] == ["all", "  "]
    assert re.search(r"^      night market \(also below city\) +0\.6667 +2 +-?0\.\d{4}", text, re.M)
    assert re.search(r"^i1 +3 +0\.3333 .* crowd 2, night market 1 *$", text, re.M)
    assert "p(night market)" in text
    assert "[" in shown(found(12)).splitlines()[3]


def test_one_item_in_the_tree() -> None:
    text = shown(found(3), "i1")
    assert re.search(r"^    crowd +1\.0000 +2$", text, re.M)
    assert re.search(r"^  outdoor +0\.3333 +0$", text, re.M)


def test_what_does_not_fit_is_said() -> None:
    assert "… 5 more items; -q ITEM shows one, -o csv --to shares.csv writes all" in shown(found(ITEMS + 5))
    wide = shown(found(3, CATEGORIES))
    assert "p(people)" not in wide
    assert "18 categories; -q ITEM shows an item in the tree" in wide


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("filed")
    labels, tree = tables(9)
    run = {f"i{n}": {f"i{m}": float(-m) for m in range(9) if m != n} for n in range(9)}
    endoxa.write(endoxa.report({"A": run}, labels, ["P@3"], taxonomy=tree, worlds=20), folder / "page.html")
    return Path(folder / "page.html").read_text()


def test_the_page_shows_the_tree_with_shares(page: str) -> None:
    section = page[page.index('id="filed"') :]
    assert "Where people filed the items" in section
    assert "\u00a0" * 6 + "night market" in section
    assert "also below city" in section
    assert re.search(r"33.%", section)
    assert "The people agree with alpha" in section


def test_one_labelling_has_no_section(tmp_path: Path) -> None:
    labels, tree = tables(6)
    alone = Labels.of(labels.frame.filter(pl.col("source") == "s0"))
    run = {"A": {"i0": {"i3": 1.0}, "i1": {"i4": 1.0}}}
    made = endoxa.report(run, alone, ["P@1"], taxonomy=tree, worlds=20)
    assert "categories" not in made.tables
