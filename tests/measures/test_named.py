"""Measures as objects, lists of names, and the names that others use."""

from __future__ import annotations

import ir_measures
import pytest

import endoxa
from endoxa import measures
from endoxa.errors import TextError
from endoxa.measures import AP, P, nDCG
from endoxa.measures.grammar import KNOWN, parse, parse_all


def test_a_measure_is_an_object() -> None:
    assert nDCG @ 10 == parse("nDCG@10")
    assert P(rel=2) @ 5 == parse("P(rel=2)@5")
    assert nDCG(dcg="exp-log2") @ 3 == parse("nDCG(dcg='exp-log2')@3")
    assert parse_all([AP, nDCG @ 10]) == parse_all(["AP", "nDCG@10"]) == parse_all("AP,nDCG@10")
    assert parse_all(AP) == [parse("AP")]
    for name in (name for name in KNOWN if not name.islower()):  # runid is what trec_eval prints, no measure
        assert getattr(measures, name).name == name
    with pytest.raises(AttributeError, match="no attribute 'nDGC'"):
        _ = measures.nDGC
    with pytest.raises(TextError, match="write P@10"):
        parse_all([P])
    with pytest.raises(TextError, match="no setting 'rell'"):
        parse_all([AP(rell=2)])


def test_objects_of_ir_measures_are_taken() -> None:
    theirs = [ir_measures.nDCG @ 10, ir_measures.P(rel=2) @ 5, ir_measures.AP, ir_measures.RBP(p=0.9)]
    assert parse_all(theirs) == parse_all(["nDCG@10", "P(rel=2)@5", "AP", "RBP(p=0.9)"])
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 1}}
    assert endoxa.measure(run, qrels, [ir_measures.RR, nDCG @ 2]).frame.equals(
        endoxa.measure(run, qrels, "RR,nDCG@2").frame
    )


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("HitRate@10", "Success@10"),
        ("hits@5", "Success@5"),
        ("Hit@1", "Success@1"),
        ("success@5", "Success@5"),
        ("ndcg_at_10", "nDCG@10"),
        ("NDCG_at_3", "nDCG@3"),
        ("precision_at_5", "P@5"),
        ("recall_at_100", "R@100"),
        ("mrr_at_10", "RR@10"),
        ("map_at_100", "AP@100"),
        ("Recall@5", "R@5"),
        ("Ndcg@5", "nDCG@5"),
        ("F1@5", "F@5"),
        ("P@5", "P@5"),
    ],
)
def test_usual_names_are_understood(theirs: str, ours: str) -> None:
    assert parse(theirs) == parse(ours)
    assert endoxa.explain(theirs) == endoxa.explain(ours.partition("@")[0])


def test_a_comma_within_settings_is_no_list() -> None:
    assert parse_all("P.5,10,map") == parse_all(["P.5,10", "map"])
    assert parse_all("nDCG(gains={1:1,2:3},dcg='exp-log2')@5, P@3") == [
        parse("nDCG(gains={1:1,2:3},dcg='exp-log2')@5"),
        parse("P@3"),
    ]
    with pytest.raises(TextError):
        parse_all(",")
