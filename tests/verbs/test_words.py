"""Words on composed scenes, whose truth is known: what predicts them, what is told, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from vector_samples import write_vectors

import endoxa
from endoxa.engines import Material
from endoxa.errors import EndoxaError, FileError, JoinError, TextError
from endoxa.images import LabelMap
from endoxa.images.corpus import Corpus
from endoxa.images.features import describe_regions
from endoxa.images.scenes import Scene, draw
from endoxa.images.segment import by_size, largest, segment
from endoxa.reports.pages.word_studies import answer
from endoxa.verbs.compose import compose
from endoxa.verbs.words import annotate, evaluation, features, predict, segmenters
from endoxa.words.annotating import Learning, select
from endoxa.words.contenders import Contender, Task, outcome
from endoxa.words.lifts import Lifts
from endoxa.words.splits import resamples
from endoxa.words.topics import topics_of

GROUPS = ("base", "rgs")
QUICK = {"workers": 1, "resamples": 2, "share": 1.0, "components": 8}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words") / "scenes"
    compose(folder, 40, seed=4, size=(48, 72), form="png")
    return folder


# ---- what must hold where the truth is known ------------------------------------------------------------------


def described(scenes: list[Scene], regions: Callable[[Scene], LabelMap]) -> Material:
    rows = [describe_regions(one.picture, largest(regions(one), 12), GROUPS) for one in scenes]
    columns = {group: np.concatenate([row[group] for row in rows]) for group in GROUPS}
    counts = np.array([len(row[GROUPS[0]]) for row in rows])
    return Material(tuple(map(str, range(len(scenes)))), tuple(one.words for one in scenes), columns, counts)


@pytest.fixture(scope="module")
def truth() -> Lifts:
    """300 drawn scenes: true regions, two segmenters, the whole grid; features as independent, 80 components."""
    drawn = [draw(number, 7, size=(48, 72)) for number in range(300)]
    sources: dict[str, Callable[[Scene], LabelMap]] = {"masks": lambda one: by_size(one.labels)}
    for name in ("felzenszwalb", "slic", "grid"):
        sources[name] = partial(lambda one, method: segment(one.picture, method), method=name)
    splits = resamples(topics_of([one.category for one in drawn]), 5, share=1.0)
    contenders, outcomes = [], {}
    for name, regions in sources.items():
        material = select(described(drawn, regions), GROUPS)
        one = Contender(name, name, GROUPS, 12, Learning(components=80, whiten=False))
        contenders.append(one)
        outcomes[name] = [outcome(Task(one, at, material, split, 0)) for at, split in enumerate(splits)]
    return Lifts(tuple(contenders), tuple(map(str, range(300))), outcomes, {"felzenszwalb": "grid", "slic": "grid"})


def test_predicted_words_beat_the_frequencies_by_more_than_four_standard_errors(truth: Lifts) -> None:
    for name in truth.names:
        own = truth.value(name)
        assert own["lift"] > 4 * own["se"] and own["se"] > own["naive"] > 0


def test_true_regions_beat_every_segmenter_and_the_grid(truth: Lifts) -> None:
    """Segmenters do not beat a grid that covers the picture: docs/words.md has the figures."""
    for name in ("felzenszwalb", "slic", "grid"):
        assert truth.difference("masks", name).lo > 0.05
    assert truth.order()[0] == "masks"


# ---- the verbs ------------------------------------------------------------------------------------------------


def test_predict_sets_regions_beside_the_grid(scenes: Path, tmp_path: Path) -> None:
    study = predict(scenes, ["masks"], home=tmp_path, to=tmp_path / "page.html", **QUICK)
    assert study.lifts.names == ["masks", "grid"] and study.lifts.parts == ["train", "held-out"]
    assert dict(study.lifts.references) == {"masks": "grid"}
    assert any("Only 30 pictures are learnt from" in line for line in study.warnings)
    assert study.lifts.value("masks")["pictures"] > 0 and (tmp_path / "page.html").read_text().startswith("<!DOCTYPE")
    again = predict(scenes, ["masks"], home=tmp_path, **QUICK)
    assert again.lifts.summary.equals(study.lifts.summary)


def test_a_study_is_an_evaluation(scenes: Path, tmp_path: Path) -> None:
    study = predict(scenes, ["masks"], home=tmp_path, **QUICK)
    found = evaluation(study, baseline="frequencies")
    assert found.systems == ["masks", "grid", "frequencies"] and found.measures == ["Rprec"]
    assert found.comparison is not None and found.comparison.frame["system"].to_list() == ["masks", "grid"]
    assert found.sentences
    endoxa.write(found, tmp_path / "evaluation.html")
    assert "frequencies" in (tmp_path / "evaluation.html").read_text()


def test_vectors_and_segmentations_of_ones_own_take_part(scenes: Path, tmp_path: Path) -> None:
    from endoxa.io.opening import open_corpus

    corpus = open_corpus(scenes)
    known = sorted({word for words in corpus.words for word in words})
    vectors = np.array([[word in words for word in known] for words in corpus.words], dtype=float)
    vectors += 0.01 * np.random.default_rng(0).normal(size=vectors.shape)
    write_vectors(tmp_path / "clip.npz", corpus.items[1:], vectors[1:])
    (tmp_path / "maps").mkdir()
    for item, mask in corpus.frame.select("item", "mask").iter_rows():
        target = tmp_path / "maps" / f"{item}.png"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((scenes / mask).read_bytes())
    study = predict(
        scenes, ["grid"], vectors={"clip": tmp_path / "clip.npz"}, segmentations={"mine": tmp_path / "maps"},
        home=tmp_path, **QUICK,
    )  # fmt: skip
    assert study.lifts.names == ["grid", "mine", "clip"]
    assert len(study.lifts.items) == 39, "the pictures that all of them know"
    assert any("1 pictures have no vector" in line for line in study.warnings)
    masks = segmenters(
        scenes, ["masks"], regions=[8], segmentations={"mine": tmp_path / "maps"}, home=tmp_path, **QUICK
    )
    mine, own = (masks.lifts.value(f"{name}, 8") for name in ("mine", "masks"))
    assert mine["lift"] == own["lift"]


def test_segmenters_are_compared_with_the_grid_of_as_many_cells(scenes: Path, tmp_path: Path) -> None:
    study = segmenters(scenes, ["slic"], regions=[2, 12], home=tmp_path, **QUICK)
    assert study.lifts.names == ["slic, 2", "slic, 12", "slic, 20", "grid, 2", "grid, 12", "grid, 20"]
    assert study.lifts.references == {f"slic, {count}": f"grid, {count}" for count in (2, 12, 20)}
    regions = {name: study.lifts.outcomes[name][0].regions for name in ("grid, 2", "grid, 12", "grid, 20")}
    assert list(regions.values()) == [2, 12, 20]
    for name in study.lifts.names:
        count = name.rpartition(" ")[2]
        assert set(study.lifts.peers(name).order) == {f"slic, {count}", f"grid, {count}"}
    nearest = segmenters(scenes, ["slic"], regions=[7], home=tmp_path, **QUICK)
    assert nearest.lifts.references == {"slic, 7": "grid, 8"}


def test_merging_stands_beside_no_merging_and_random_merging(scenes: Path, tmp_path: Path) -> None:
    study = segmenters(scenes, ["slic", "masks"], regions=[6], merge=0.9, home=tmp_path, **QUICK)
    lifts = study.lifts
    assert lifts.names[:3] == ["slic, 6", "slic, 6, merged", "slic, 6, merged at random"] and len(lifts.names) == 7
    assert lifts.references["slic, 6, merged"] == lifts.references["slic, 6, merged at random"] == "slic, 6"
    left = {name: [one.regions for one in lifts.outcomes[name]] for name in lifts.names[:3]}
    assert left["slic, 6, merged"] == left["slic, 6, merged at random"] < left["slic, 6"]
    assert " Merging neighbours of " in answer(study) and "merging as many at random, by " in answer(study)
    plain = segmenters(scenes, ["slic"], regions=[6], home=tmp_path / "other", **QUICK)
    assert plain.lifts.value("slic, 6") == lifts.value("slic, 6"), "nothing else changes"


def test_pruned_contenders_stand_beside_the_same_words_unpruned(scenes: Path, tmp_path: Path) -> None:
    study = predict(scenes, ["masks"], visual=0.1, home=tmp_path, **QUICK)
    lifts = study.lifts
    assert lifts.names == ["masks", "grid", "masks, pruned", "grid, pruned"]
    assert lifts.references == {"masks": "grid", "masks, pruned": "masks", "grid, pruned": "grid"}
    for at in range(2):
        kept = {lifts.outcomes[name][at].vocabulary for name in lifts.names}
        assert len(kept) == 1, "every contender is scored on the same words"
        parts = [lifts.outcomes[name][at].parts["held-out"] for name in ("masks", "masks, pruned")]
        assert (parts[0].expected == parts[1].expected).all() and (parts[0].at == parts[1].at).all()
    assert any("have V ≥ 0.1 on the training pictures" in note and "are dropped" in note for note in study.notes)
    whole = predict(scenes, ["masks"], home=tmp_path, **QUICK)
    assert len(whole.lifts.outcomes["masks"][0].vocabulary) > len(lifts.outcomes["masks"][0].vocabulary)


def test_the_grid_of_another_number_of_cells_is_named(scenes: Path, tmp_path: Path) -> None:
    study = predict(scenes, ["masks"], regions=7, home=tmp_path, **QUICK)
    assert "The grid has 8 cells, the nearest number to 7 regions." in study.notes


def test_features_are_those_of_the_table_unless_given(scenes: Path, tmp_path: Path) -> None:
    study = features(scenes, segmenter="grid", home=tmp_path, **QUICK)
    assert len(study.lifts.names) == 11 and set(study.lifts.references.values()) == {"base"}
    two = features(scenes, ["rgb", "base,lab"], segmenter="grid", home=tmp_path, whiten=True, **QUICK)
    assert two.lifts.names == ["rgb", "base+lab"] and dict(two.lifts.references) == {"base+lab": "rgb"}


def test_annotate_learns_from_the_others(scenes: Path, tmp_path: Path) -> None:
    from endoxa.io.opening import open_corpus

    corpus = open_corpus(scenes)
    path = corpus.frame["path"][3]
    found = annotate(scenes, [corpus.items[0], scenes / path], count=3, home=tmp_path, to=tmp_path / "page.html",
                     components=8, workers=1)  # fmt: skip
    assert found.words["picture"].unique(maintain_order=True).to_list() == [corpus.items[0], corpus.items[3]]
    assert found.words.group_by("picture").len()["len"].to_list() == [3, 3]
    assert "38 pictures learnt from" in found.facts and any("2 of the pictures are in" in line for line in found.notes)
    assert found.words["chance"].is_between(0, 1).all()
    shown = found.pictures[0]
    assert len(shown.marks) == found.regions.filter(pl.col("picture") == shown.name).height <= 8
    assert (tmp_path / "page.html").read_text().count('class="region"') == found.regions.height


# ---- bad input ------------------------------------------------------------------------------------------------


def corpus_of(scenes: Path, words: list[list[str]] | None = None, categories: list[str] | None = None) -> Corpus:
    from endoxa.io.opening import open_corpus

    frame = open_corpus(scenes).frame
    if words is not None:
        frame = frame.with_columns(pl.Series("words", words, dtype=pl.List(pl.String)))
    if categories is not None:
        frame = frame.with_columns(pl.Series("category", categories, dtype=pl.String))
    return Corpus(frame, str(scenes))


def test_words_on_one_picture_only_are_no_vocabulary(scenes: Path, tmp_path: Path) -> None:
    alone = corpus_of(scenes, [[f"word{at}"] for at in range(40)])
    with pytest.raises(JoinError, match=r"no word is on 2 or more of the 3. pictures to learn from; .*--least"):
        predict(alone, ["grid"], home=tmp_path, **QUICK)


def test_a_corpus_without_words_is_refused(scenes: Path, tmp_path: Path) -> None:
    with pytest.raises(JoinError, match="no picture has a word"):
        predict(corpus_of(scenes, [[]] * 40), ["grid"], home=tmp_path, **QUICK)


def test_a_word_on_every_picture_is_told(scenes: Path, tmp_path: Path) -> None:
    words = [["scene", f"kind{at % 3}"] for at in range(40)]
    study = predict(corpus_of(scenes, words), ["grid"], home=tmp_path, **QUICK)
    assert any("Words on every training picture" in line for line in study.warnings)


def test_without_novel_topics_this_is_told(scenes: Path, tmp_path: Path) -> None:
    few = corpus_of(scenes, categories=["a", "b"] * 20)
    study = predict(few, ["grid"], home=tmp_path, **(QUICK | {"share": 0.5}))
    assert "novel" not in study.lifts.parts
    assert any("There are 2 topics, and novel ones need 4 or more" in line for line in study.warnings)


def test_pictures_without_regions_are_left_out_and_counted(scenes: Path, tmp_path: Path) -> None:
    corpus = corpus_of(scenes)
    masks = corpus.frame["mask"].to_list()
    blank = scenes / "masks" / "blank.png"
    import cv2

    blank.write_bytes(cv2.imencode(".png", np.full((48, 72), 255, np.uint8))[1].tobytes())
    frame = corpus.frame.with_columns(pl.Series("mask", ["masks/blank.png", *masks[1:]]))
    study = predict(Corpus(frame, str(scenes)), ["masks"], home=tmp_path, **QUICK)
    assert len(study.lifts.items) == 39
    assert any("1 pictures are left out" in line and "has no region" in line for line in study.warnings)


def test_one_resample_has_no_standard_error(scenes: Path, tmp_path: Path) -> None:
    study = predict(scenes, ["grid"], home=tmp_path, **(QUICK | {"resamples": 1}))
    assert np.isnan(study.lifts.value("grid")["se"])
    assert any("One resample has no standard error" in line for line in study.warnings)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda place: predict(place, ["watershed"]), "watershed"),
        (lambda place: predict(place, groups=["base", "colour"]), "colour"),
        (lambda place: predict(place, regions=0), "0 regions"),
        (lambda place: predict(place, share=1.5), "share is 1.5"),
        (lambda place: predict(place, segmentations={"slic": "."}), "is a segmenter already"),
        (lambda place: segmenters(place, ["grid"], regions=[]), "numbers of regions"),
        (lambda place: segmenters(place, ["slic"], merge=95), "merge is 95; expected a share"),
        (lambda place: segmenters(place, ["slic"], regions=[80], merge=0.9), "80 regions cannot be merged"),
        (lambda place: predict(place, visual=1.5), "V is 1.5; expected a number from -1 to 1"),
        (lambda place: predict(place, ["grid"], visual=0.99, workers=1), "has V of 0.99 or more"),
        (lambda place: features(place, ["base,colour"]), "colour"),
        (lambda place: annotate(place, []), "name a picture"),
        (lambda place: annotate(place, ["x"], count=0), "0 words"),
    ],
)
def test_bad_calls_are_refused(scenes: Path, call, said: str) -> None:
    with pytest.raises(EndoxaError, match=said) as refused:
        call(scenes)
    assert isinstance(refused.value, TextError | JoinError | FileError)


def test_a_picture_that_is_not_there_is_refused(scenes: Path) -> None:
    with pytest.raises(FileError, match="neither a file nor a picture"):
        annotate(scenes, ["nowhere.jpg"])
