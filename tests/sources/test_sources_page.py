"""The page of the sources: links, figures, and the command that writes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sources import kept, run
from sources.catalogue import RECORDS
from sources.page import page
from sources.written import entries


@pytest.fixture(scope="module")
def html() -> str:
    return page(entries(RECORDS, kept.read()), {"Endoxa": "x"})


def test_every_record_has_a_section_that_the_table_of_all_links_to(html: str) -> None:
    ids = set(re.findall(r'<h2 id="([^"]+)"', html))
    links = re.findall(r'<a href="#([^"]+)">', html)
    for record in RECORDS:
        assert record.slug in ids and record.slug in links
    assert set(links) <= ids


def test_the_list_of_sections_names_each_source_once(html: str) -> None:
    listed = re.search(r'<nav aria-label="Sections">(.*?)</nav>', html, flags=re.DOTALL)
    assert listed is not None
    names = re.findall(r">([^<]+)</a>", listed[1])
    for source in {record.source.name for record in RECORDS}:
        assert names.count(source.replace("'", "&#39;")) == 1


def test_errata_are_bold_with_ours_below(html: str) -> None:
    assert re.search(r"<b>4\.20</b><small>3\.20000 C-E1</small>", html)


def test_nothing_is_fetched(html: str) -> None:
    assert "http://" not in html.replace("http://www.w3.org", "") and "https://" not in html


def test_one_source_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run.main(["--only", "quenot", "--to", str(tmp_path / "q.html")])
    printed = capsys.readouterr().out
    assert printed.startswith("Of Quénot: 4 tables") and "Page:" in printed
    assert "Quénot" in (tmp_path / "q.html").read_text(encoding="utf-8")


def test_an_unknown_name_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no table or figure is called 'tabel'.*gimelfarb-table"):
        run.main(["--only", "tabel", "--to", str(tmp_path / "q.html")])
