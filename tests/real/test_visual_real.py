"""Which words are visual, on real drawings fetched into the cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from endoxa.errors import EndoxaError
from endoxa.io import packages
from endoxa.verbs.fetch import fetch
from endoxa.verbs.visual import visual
from endoxa.words.visualness import Visualness

NAME = "emoji" if "emoji" in packages.COLLECTIONS else "stamps"
LEAST = 20 if NAME == "emoji" else 8


@pytest.fixture(scope="module")
def corpus():
    try:
        return fetch(NAME)
    except EndoxaError as error:
        pytest.skip(f"{NAME} cannot be fetched here: {error}")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    return tmp_path_factory.mktemp("visual")


@pytest.fixture(scope="module")
def found(corpus, home) -> Visualness:
    return visual(corpus, least=LEAST, iterated=True, home=home)


def test_some_words_are_visual_and_some_are_not(found: Visualness) -> None:
    print(f"\n{NAME}: {found.pictures:,} pictures, {found.regions:,} regions, {found.topics} topics, {found.look}")
    for row in found.frame.iter_rows(named=True):
        print(
            f"  {row['word']:16} n {row['n']:4} V {row['V']:+.2f} ± {row['half']:.2f} A {row['A']:.2f} "
            f"B {row['B']:.2f} D {row['D']:.2f} {row['call']:22} q {row['q']:.3f} "
            f"z of excess {row['excess_z']:5.1f} E {row['E']:.2f} "
            f"Hessel {row['hessel']:5.2f} selected E {row['selected_E']:.2f} of {row['selected_share']:.0%}"
        )
    assert 0 < len(found.visual) < found.frame.height
    if NAME == "emoji":
        assert {"hand", "face", "person"} <= set(found.visual)


def test_topics_ask_more_of_a_word_than_pictures(corpus, home, found: Visualness) -> None:
    by_pictures = visual(corpus, least=LEAST, null="pictures", draws=19, home=home)
    counts = [len(one.visual) for one in (by_pictures, found)]
    print(f"\nvisual: {counts[0]} of {found.frame.height} words by single pictures, {counts[1]} across topics")
    assert counts[0] >= counts[1]


def test_raw_entropy_depends_on_the_number_of_pictures(found: Visualness) -> None:
    """On Corel the rank correlation of E and n is .63."""
    ranks = found.frame.select(pl.col("E", "n", "V").rank())
    values = {name: float(np.corrcoef(ranks[name], ranks["n"])[0, 1]) for name in ("E", "V")}
    print(f"\nrank correlation with the number of pictures: E {values['E']:+.2f}, V {values['V']:+.2f}")


def test_colours_are_seen_and_signs_less(corpus, home) -> None:
    """Colours of emoji, on 10 pictures or more, have a higher V than words for signs (specification, test e)."""
    if NAME != "emoji":
        pytest.skip("emoji are not there")
    by_pictures = visual(corpus, least=10, null="pictures", draws=19, home=home)
    values = {row["word"]: row for row in by_pictures.frame.iter_rows(named=True)}
    colours, signs = (
        {word: values[word]["V"] for word in words if word in values}
        for words in (("red", "white", "blue", "black", "yellow", "green"), ("sign", "symbol", "mark"))
    )
    print(f"\nV of colours {colours}, of signs {signs}")
    assert colours and signs and min(colours.values()) > max(signs.values())


def test_v_of_random_words_on_real_pictures(corpus, home) -> None:
    """Words on random pictures have V with a standard deviation near .55/√n, and are not called visual."""
    rng = np.random.default_rng(0)
    n = len(corpus)
    sizes = rng.integers(20, 120, 60)
    words: list[list[str]] = [[] for _ in range(n)]
    for number, size in enumerate(sizes):
        for at in rng.permutation(n)[:size]:
            words[at].append(f"w{number:02d}")
    frame = corpus.frame.with_columns(pl.Series("words", words, dtype=pl.List(pl.String)))
    drawn = visual(replace(corpus, frame=frame), null="pictures", draws=19, home=home)
    spreads = (1.64 * drawn.frame["V"] / drawn.frame["half"]).to_numpy()
    print(f"\nV √n / .55 of 60 random words: mean {spreads.mean():+.2f}, sd {spreads.std():.2f}, "
          f"within 3: {(np.abs(spreads) < 3).mean():.2f}")  # fmt: skip
    assert not drawn.visual and (np.abs(spreads) < 3).mean() >= 0.95
