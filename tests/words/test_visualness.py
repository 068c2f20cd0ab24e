"""Which words are visual, beside older measures: scenes whose truth is known, words that mean nothing, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from region_samples import material, scene_views, scenes
from scipy.stats import kstest
from view_samples import views

from endoxa.engines import Material
from endoxa.errors import JoinError, TableError, TextError
from endoxa.words.concreteness import concreteness, neighbours_of
from endoxa.words.topics import topics_of
from endoxa.words.visualness import Looking, Visualness, visualness, vocabulary

SMALL = Looking(components=20, mixtures=2)


@pytest.fixture(scope="module")
def found() -> Visualness:
    pictures, categories = scenes()
    return visualness(pictures, scene_views(), topics_of(categories), looking=SMALL, seed=1)


def row(found: Visualness, word: str) -> dict:
    return found.frame.row(by_predicate=pl.col("word") == word, named=True)


def test_a_colour_word_is_visual_and_a_random_word_is_not() -> None:
    """A third of the scenes have a red blob and the word red; `odd` is on random scenes."""
    pictures, _ = scenes()
    found = visualness(pictures, scene_views(), looking=SMALL, seed=1)
    assert found.null == "pictures"
    red, odd = row(found, "red"), row(found, "odd")
    assert red["call"] == "visual" and red["p"] == 0.005 and red["q"] <= 0.05 and red["z"] > 5 and red["excess_z"] > 5
    assert odd["call"] == "not visual" and odd["p"] > 0.05 and abs(odd["V"]) < odd["half"] and abs(odd["excess_z"]) < 3
    assert "red" in found.visual and "odd" not in found.visual


def test_the_regions_that_show_red_are_red() -> None:
    pictures, _ = scenes()
    found = visualness(pictures, scene_views(), None, ["red"], looking=SMALL, seed=1)
    offsets = dict(zip(pictures.items, pictures.offsets[:-1], strict=True))
    for one in found.typical["red"]:
        colour = pictures.columns["rgb"][offsets[one.item] + one.region, :3]
        assert colour[0] > 0.6 and colour[1] < 0.3 and "red" in pictures.words[pictures.items.index(one.item)]
    chances = [one.chance for one in found.typical["red"]]
    assert len(chances) == 12 and chances == sorted(chances, reverse=True) and chances[-1] > 0.5


def test_entropy_alone_would_order_words_by_their_number(found: Visualness) -> None:
    """Raw entropy mostly measures sample size; excess above chance does not."""
    n = found.frame["n"].to_numpy()
    assert np.corrcoef(n, found.frame["E"])[0, 1] > 0.5


def test_100_words_on_random_scenes_have_uniform_p() -> None:
    """Real regions of scenes, words assigned to random pictures: the permutation p is uniform."""
    pictures, _ = scenes()
    rng = np.random.default_rng(4)
    words: list[list[str]] = [[] for _ in pictures.items]
    for number in range(100):
        for at in rng.permutation(len(pictures))[: rng.integers(20, 60)]:
            words[at].append(f"w{number}")
    random = Material(pictures.items, tuple(map(tuple, words)), pictures.columns, pictures.counts)
    found = visualness(random, scene_views(), looking=Looking(components=20, mixtures=1, draws=199), seed=2)
    assert found.frame.height == 100
    assert kstest(found.frame["p"], "uniform").pvalue > 0.05
    assert len(found.visual) <= 2


def test_a_word_alone_has_the_numbers_that_it_has_among_all(found: Visualness) -> None:
    pictures, categories = scenes()
    alone = visualness(pictures, scene_views(), topics_of(categories), ["Red"], looking=SMALL, seed=1)
    both = (row(found, "red"), row(alone, "red"))
    assert alone.frame.height == 1
    for name in ("n", "V", "A", "B", "D", "z", "p", "excess", "excess_z", "E"):
        assert both[0][name] == pytest.approx(both[1][name], nan_ok=True)
    assert both[1]["q"] == both[1]["p"], "one test needs no correction"


def test_the_order_and_the_columns(found: Visualness) -> None:
    frame = found.frame
    several = frame.filter(pl.col("call") != "one topic only")
    assert several["V"].is_sorted(descending=True) and several.equals(frame.head(several.height))
    assert (frame["half"] - 1.64 * 0.55 / frame["n"].sqrt()).abs().max() < 1e-12
    assert ((frame["q"] >= frame["p"]) & (frame["p"] >= 1 / 200)).all()
    assert frame["hessel"].is_nan().all() and frame["norm"].is_nan().all() and frame["selected_E"].is_nan().all()
    assert found.null == "topics" and found.topics >= 4 and found.components == 20 and found.look == "histograms"
    held = {(row["topics"] >= 3, row["left_out"]) for row in frame.iter_rows(named=True)}
    assert held <= {(True, "topic"), (False, "picture")}


def test_the_same_seed_gives_the_same_numbers(found: Visualness) -> None:
    pictures, categories = scenes()
    again = visualness(pictures, scene_views(), topics_of(categories), looking=SMALL, seed=1)
    assert_frame_equal(again.frame, found.frame, check_exact=True)
    assert again.typical == found.typical


def test_the_number_of_components_follows_the_regions() -> None:
    words = [("a",) if at % 3 else ("b",) for at in range(600)]
    found = visualness(material(600, words), views(600), looking=Looking(mixtures=1, draws=19, most=0.9))
    assert found.components == (1200 + 600) // 2 // 8
    few = visualness(material(60, words[:60]), views(60), looking=Looking(mixtures=1, draws=19, most=0.9))
    assert few.components == 18, "one for ten regions at most"


def test_hessels_concreteness_stands_beside(found: Visualness) -> None:
    pictures, _ = scenes()
    rng = np.random.default_rng(0)
    red = np.array(["red" in words for words in pictures.words])
    vectors = rng.normal(size=(len(pictures), 8)).astype(np.float32) + 2 * red[:, None].astype(np.float32)
    looks = replace(scene_views(), vectors=vectors.astype(np.float64))
    beside = visualness(pictures, looks, None, ["red", "odd"], looking=SMALL)
    assert beside.look == "vectors"
    has = np.array([["odd" in words for words in pictures.words], red])
    expected = dict(zip(("odd", "red"), concreteness(neighbours_of(vectors, 50), has), strict=True))
    assert {word: row(beside, word)["hessel"] for word in expected} == pytest.approx(expected)
    assert row(beside, "red")["A"] > 0.9, "the vectors say it"


def test_the_iteration_of_the_source_stands_beside() -> None:
    pictures, _ = scenes()
    found = visualness(
        pictures, scene_views(), None, ["red", "odd"], looking=Looking(components=20, mixtures=2, iterated=True), seed=1
    )
    for word in ("red", "odd"):
        one = row(found, word)
        assert 0 < one["selected_E"] < np.log2(20)
        assert 0.05 <= one["selected_share"] <= 1 and 0 < one["selected_regions"] < found.regions
    assert row(found, "red")["selected_z"] > row(found, "odd")["selected_z"]


# ---- bad input -------------------------------------------------------------------------------------------------


def test_words_that_are_too_rare_or_too_frequent_are_left_out_and_counted() -> None:
    words = [("all", *(["often"] if at < 30 else []), *(["rare", "seldom"] if at < 5 else [])) for at in range(80)]
    chosen, usual, notes = vocabulary(words, None, Looking())
    assert chosen == usual == ("often",)
    assert notes == [
        "2 words are left out, on fewer than 20 pictures",
        "1 word is left out, on more than 50 % of the pictures: all (80)",
    ]
    chosen, _, notes = vocabulary(words, ["rare", "often"], Looking())
    assert chosen == ("often",) and notes == ["1 word is left out, on fewer than 20 pictures: rare (5)"]
    with pytest.raises(JoinError, match=r"no word is left.*rare \(5\).*'all', is on 80 of 80; lower --least"):
        vocabulary(words, ["rare"], Looking())
    assert vocabulary(words, None, Looking(least=5))[0] == ("often", "rare", "seldom")


def test_a_word_that_no_picture_has_is_refused() -> None:
    with pytest.raises(TextError, match=r"no picture has the word 'skye'; did you mean sky\?"):
        vocabulary([("sky",)] * 3, ["skye"], Looking())
    with pytest.raises(JoinError, match="no picture has a word; give captions"):
        vocabulary([(), ()], None, Looking())


@pytest.mark.parametrize("topics", [None, topics_of(["one"] * 60)])
def test_without_topics_words_are_compared_with_random_pictures(topics) -> None:
    words = [("a",) if at % 3 else ("b",) for at in range(60)]
    found = visualness(
        material(60, words), views(60), topics, looking=Looking(mixtures=1, draws=19, most=0.9, least=20)
    )
    count = "0 topics" if topics is None else "1 topic"
    assert found.null == "pictures" and found.topics == 0
    assert f"with {count}, too few to leave one out, words are tested on single pictures" in found.notes


def test_pictures_without_regions_are_left_out_and_counted() -> None:
    whole = material(60, [("a",) if at % 3 else ("b",) for at in range(60)])
    counts = whole.counts.copy()
    rows = np.arange(whole.offsets[-1]) >= 3  # the first picture loses its regions
    counts[0] = 0
    lame = Material(whole.items, whole.words, {name: one[rows] for name, one in whole.columns.items()}, counts)
    looking = Looking(mixtures=1, draws=19, most=0.9, least=15)
    found = visualness(lame, views(60), topics_of(["t"] * 60), looking=looking)
    assert found.pictures == 59 and "1 picture has no region" in found.notes
    assert row(found, "b")["n"] == 19
    nothing = Material(("p",), (("a",),), {name: one[:0] for name, one in whole.columns.items()}, np.zeros(1, np.int64))
    with pytest.raises(JoinError, match="no picture has a region"):
        visualness(nothing, views(1))


def test_regions_that_are_not_described() -> None:
    bare = Material(("p", "q", "r"), (("a",), ("a",), ()), {"base": np.ones((3, 5))}, np.ones(3, np.int64))
    with pytest.raises(TableError, match="no column 'rgb'"):
        visualness(bare, views(3), looking=Looking(least=2, most=0.9))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"least": 1}, "least is 1; expected at least 2"), ({"most": 1.0}, "most is 1; expected a share"),
        ({"draws": 5}, "draws is 5; expected at least 19"), ({"null": "topic"}, "no null is called 'topic'"),
        ({"mixtures": 0}, "mixtures is 0"), ({"components": -1}, "components is -1"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(settings: dict, message: str) -> None:
    with pytest.raises(TextError, match=message):
        Looking(**settings)
