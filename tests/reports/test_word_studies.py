"""The page of a study of words: its sentences say what is clear and what is not; its numbers are those of the study."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from word_samples import lifts_of, pictures

from endoxa.formatting import number
from endoxa.reports.pages.word_studies import WordStudy, against_source, answer, curve_of, heads, lines, page, words
from endoxa.words.annotating import Learning
from endoxa.words.contenders import Contender

LEARNING = Learning(components=16)


@pytest.fixture(scope="module")
def features() -> WordStudy:
    material = pictures(240)
    noise = np.random.default_rng(5).normal(size=(960, 2)).astype(np.float32)
    material = replace(material, columns={**material.columns, "texture": noise, "context": material.columns["base"]})
    material = replace(material, columns={**material.columns, "base": noise})
    sets = [("base",), ("base", "rgs"), ("base", "texture"), ("base", "rgs", "context")]
    contenders = [Contender("+".join(groups), "made", groups, 4, LEARNING) for groups in sets]
    lifts = lifts_of(material, contenders, {one.name: "base" for one in contenders[1:]})
    return WordStudy("features", "Features: made", lifts, warnings=("Only 90 pictures",), provenance={"Seed": "0"})


@pytest.fixture(scope="module")
def segmenters() -> WordStudy:
    material = pictures(240)
    contenders = [
        Contender(f"{name}, {count}", name, (group,), count, LEARNING)
        for name, group in (("ncuts", "base"), ("grid", "rgs"))
        for count in (2, 4)
    ]
    references = {f"ncuts, {count}": f"grid, {count}" for count in (2, 4)}
    lifts = lifts_of(material, contenders, references, count=3)
    return WordStudy("segmenters", "Segmentations", lifts, {"ncuts": 0.1, "grid": 0.02})


def test_the_answer_comes_first(features: WordStudy) -> None:
    text, best = answer(features), features.lifts.order()[0]
    own = features.lifts.value(best)
    assert best == "base+rgs+context"
    assert text.startswith(f"The features {best} predict {number(own['score'], 3)} of the words of held-out pictures")
    assert "Against base that is +" in text and "no clear difference" not in text
    assert "novel topics" in text and "Kendall's tau" in text


def test_an_unclear_difference_is_called_so(features: WordStudy) -> None:
    lifts = replace(features.lifts, references={"base+rgs+context": "base+rgs+context"})
    assert "+0.000" not in answer(replace(features, lifts=lifts))
    assert "which is no clear difference" in answer(replace(features, lifts=lifts))


def test_the_tables_have_the_numbers_of_the_study(features: WordStudy, segmenters: WordStudy) -> None:
    for study in (features, segmenters):
        rows = lines(study)
        assert all(len(row) == len(heads(study)) for row in rows)
        for row in rows:
            own = study.lifts.value(row[0].text)
            at = heads(study).index("held-out")
            assert row[at].sort == own["lift"] and row[heads(study).index("SE")].sort == own["se"]
            assert f"naive {number(own['naive'], 4)}" == row[heads(study).index("SE")].small
    assert [row[0].text for row in lines(features)] == features.lifts.names  # the order of the table in the source
    printed = [row[heads(features).index("Barnard et al.")].text for row in lines(features)]
    assert printed == ["0.020", "0.092", "0.048", "0.094"]
    assert next(row[-1].text for row in lines(segmenters)) == "0.100"


def test_tau_with_the_source_needs_three_sets(features: WordStudy, segmenters: WordStudy) -> None:
    tau = against_source(features)
    assert tau is not None and -1 <= tau <= 1
    assert against_source(segmenters) is None


def test_words_are_those_of_the_best_contender(features: WordStudy) -> None:
    most = words(features)[0]
    assert most.caption.endswith(features.lifts.order()[0])
    lifts = [row[-1].sort for row in most.rows]
    assert lifts == sorted(lifts, reverse=True)


def test_curves_have_a_point_for_every_number_of_regions(segmenters: WordStudy) -> None:
    frame = curve_of(segmenters, "held-out")
    assert frame.select("source", "regions").rows() == [("grid", 2), ("grid", 4), ("ncuts", 2), ("ncuts", 4)]
    own = segmenters.lifts.value("ncuts, 4")
    assert frame.row(3)[2:] == (own["lift"], own["se"])


def test_the_page_is_whole(features: WordStudy, segmenters: WordStudy) -> None:
    html = page(features)
    assert "Only 90 pictures" in html and html.count("<figure>") == 2 and "http" not in html.split("<body>")[1]
    html = page(segmenters)
    assert html.count("<figure>") == 2 and "largest regions" in html
