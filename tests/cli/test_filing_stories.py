"""endoxa categories: what people who filed items say, and what is wrong with a filing."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from command_line import endoxa

import endoxa as library

FILED = {"a": "people people crowd city city", "b": "city city city city city"}
TREE = "category,parent\nall,\npeople,all\noutdoor,all\ncrowd,people\ncity,outdoor\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Santini's example: five people file two images."""
    rows = [f"s{n},{item},{name}" for item, names in FILED.items() for n, name in enumerate(names.split(), 1)]
    (tmp_path / "filing.csv").write_text("\n".join(["source,item,category", *rows]) + "\n")
    (tmp_path / "tree.csv").write_text(TREE)
    (tmp_path / "system.run").write_text("a Q0 b 1 1 A\n")
    return tmp_path


def done(*words: object) -> str:
    ran = endoxa(*words)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def refused(*words: object, code: int = 1) -> str:
    ran = endoxa(*words)
    assert ran.exit_code == code, ran.output
    assert ran.stderr.count("\n") == 1
    return ran.stderr


def test_the_tree_with_sizes_shares_and_agreement(folder: Path) -> None:
    """Golden: p, sizes and alpha by hand; two of ten pairs of people agree on image a."""
    told = done("categories", folder / "filing.csv", folder / "tree.csv")
    assert told.startswith("5 people filed 2 items in 5 categories and agree with alpha 0.3077 by distance in the tree")
    assert "(0.2174 if categories are only equal or not)" in told
    for line in ("all +2.0000 +0 +–", "  people +0.6000 +2 ", "    crowd +0.2000 +1 ", "    city +1.4000 +7 "):
        assert re.search(f"^{line}", told, re.M), line
    a = next(line for line in told.splitlines() if line.startswith("a "))
    assert a.split()[1:8] == ["5", "0.2000", "1.0000", "0.6000", "0.2000", "0.4000", "0.4000"]
    assert "people 2, crowd 1, city 2" in a
    assert "no interval below 10" in done("categories", folder / "filing.csv", folder / "tree.csv", "-v")
    assert done("--quiet", "categories", folder / "filing.csv", folder / "tree.csv").count("\n") == 1


def test_one_item_and_the_long_form(folder: Path) -> None:
    files = (folder / "tree.csv", folder / "filing.csv")  # in either order
    told = done("categories", *files, "-q", "a")
    assert re.search(r"^  people +0\.6000 +2$", told, re.M)
    assert "b" not in {line.split(" ")[0] for line in told.splitlines()}
    rows = json.loads(done("categories", *files, "-q", "a", "-o", "json"))
    assert {row["category"]: row["p"] for row in rows}["people"] == pytest.approx(0.6)
    done("categories", *files, "-o", "csv", "--to", folder / "shares.csv")
    written = pl.read_csv(folder / "shares.csv")
    assert written.columns == ["item", "category", "p", "filed"]
    assert written.height == 10
    assert written["filed"].sum() == 10


@pytest.mark.parametrize(("mix", "mean"), [("assigned", 0.4), ("normalised", 1.8 / 2.6), ("normalised_no_root", 0.5)])
def test_retrieval_under_doubt(folder: Path, mix: str, mean: float) -> None:
    """Golden: Σ of the weight of a reading times p(reading | b), by hand; b is a query of no run."""
    told = done("eval", folder / "filing.csv", folder / "tree.csv", folder / "system.run", "P@1", "--mix", mix)
    assert f"A has P@1 {mean:.4f}" in told
    found = library.evaluate(
        folder / "system.run", [folder / "filing.csv", folder / "tree.csv"], ["P@1"],
        mix=mix,  # type: ignore[arg-type]
    )  # fmt: skip
    assert found.summary["value"].item() == pytest.approx(mean)


def test_what_is_wrong_with_a_filing_is_one_line(folder: Path) -> None:
    filing, tree = folder / "filing.csv", folder / "tree.csv"
    (folder / "cycle.csv").write_text("category,parent\nall,\npeople,crowd\ncrowd,people\ncity,all\n")
    said = refused("categories", filing, folder / "cycle.csv")
    assert "cycle.csv" in said
    assert "people is under crowd is under people; remove one of these edges" in said
    assert "nobody filed the item 'z'" in refused("categories", filing, tree, "-q", "z")
    assert "a taxonomy" in refused("categories", tree, tree)
    (folder / "odd.csv").write_text("source,item,category\ns1,a,poeple\n")
    assert "did you mean people" in refused("categories", folder / "odd.csv", tree)
    said = refused("ratings", filing)
    assert "filing.csv: expected grades, found who filed what" in said
    assert "endoxa categories FILING TREE says how far people agree" in said
    (folder / "grades.csv").write_text("query,item,grade\nq,a,1\n")
    assert "a taxonomy goes with labels" in refused("categories", folder / "grades.csv", tree, code=2)
    assert "expected who filed what" in refused("categories", filing, filing)


def test_an_item_that_one_person_filed_twice_counts_in_both(folder: Path) -> None:
    with (folder / "filing.csv").open("a") as file:
        file.write("s1,b,people\n")
    told = done("categories", folder / "filing.csv", folder / "tree.csv")
    assert "! 's1' filed item 'b' in 2 categories (city, people)." in told
    assert "people 0.5, city 4.5" in told


def test_a_study_says_what_takes_filings(folder: Path) -> None:
    pytest.importorskip("sqlalchemy")
    (folder / "items.csv").write_text("item,text\na,one\nb,two\n")
    (folder / "queries.csv").write_text("query,text\nq,what\n")
    (folder / "r.run").write_text("q Q0 a 1 2 A\nq Q0 b 2 1 A\n")
    home = ("--home", folder / "home")
    asked = ("--screen", "one-result", "--items", folder / "items.csv", "--queries", folder / "queries.csv")
    done("study", "new", "pets", folder / "r.run", *asked, *home)
    said = refused("study", "import", "pets", folder / "filing.csv", *home)
    assert "filing.csv: expected grades, found who filed what" in said
