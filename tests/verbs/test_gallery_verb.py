"""A gallery: the page of what systems returned over a corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

from endoxa.images.corpus import same_category
from endoxa.io.opening import open_corpus
from endoxa.verbs.gallery import gallery, gallery_of
from endoxa.verbs.run import run


def test_the_page_shows_queries_results_and_the_belief(indexed: Path, tmp_path: Path) -> None:
    ran = run(indexed, ["histograms", "random"], sample=4, depth=5)
    corpus = open_corpus(indexed)
    judgments = same_category(corpus, ran.run.frame["query"].unique().to_list())
    page = gallery(indexed, ran.run, belief=judgments, queries=2, depth=3, to=tmp_path / "page.html", title="Found")
    assert (tmp_path / "page.html").read_text() == page and "<h1>Found</h1>" in page
    assert page.count('<details class="query"') == 2
    pictures = json.loads(re.search(r'id="pictures">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert pictures and all(address.startswith("data:image/jpeg;base64,") for address in pictures.values())
    assert "histograms, random over 30 pictures" in gallery(corpus, ran.run, queries=1, depth=1)


def test_a_picture_that_does_not_decode_has_no_thumbnail(scenes: Path) -> None:
    ran = run(scenes, ["random"], sample=2, depth=2)
    corpus = open_corpus(scenes)
    broken = ran.run.frame["item"][0]
    (scenes / corpus.frame["path"][corpus.rows[broken]]).write_bytes(b"no picture")
    assert broken not in json.loads(gallery_of(corpus, ran.run, {}).pictures)
