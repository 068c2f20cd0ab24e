"""Endoxa as a provider of ir_measures."""

import ir_measures
import pytest
from ir_measures import AP, ERR, RBP, RR, IPrec, Judged, P, R, SetF, nDCG

from endoxa.provider import endoxa, install

QRELS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"x": 1, "y": 0}}
RUN = {"1": {"b": 3.0, "a": 2.0, "z": 1.5, "c": 1.0}, "2": {"y": 1.0, "x": 0.5}}


@pytest.mark.parametrize(
    "measure",
    [
        AP,
        nDCG @ 10,
        nDCG(dcg="exp-log2") @ 2,
        P @ 3,
        P(rel=2) @ 3,
        R @ 2,
        RR,
        IPrec @ 0.5,
        AP(judged_only=True),
        Judged @ 3,
    ],
)
def test_agrees_with_ir_measures_own_providers(measure) -> None:
    theirs = ir_measures.calc_aggregate([measure], QRELS, RUN)[measure]
    assert endoxa.calc_aggregate([measure], QRELS, RUN)[measure] == pytest.approx(
        theirs, abs=1e-5
    )  # gdeval prints five decimals


def test_rbp_and_err_by_hand() -> None:
    # query 1: grades 0, 2, -, 1; RBP(rel=1) hits at ranks 2 and 4
    run, qrels = {"1": RUN["1"]}, {"1": QRELS["1"]}
    got = endoxa.calc_aggregate([RBP(p=0.5, rel=1), ERR @ 10], qrels, run)
    assert got[RBP(p=0.5, rel=1)] == pytest.approx(0.5 * (0.5 + 0.125))
    stop2, stop4 = 3 / 16, 1 / 16
    assert got[ERR @ 10] == pytest.approx(stop2 / 2 + (1 - stop2) * stop4 / 4)


def test_beta_is_beta() -> None:
    # precision 2/4, recall 2/2: F2 = 5 P R / (4 P + R)
    run, qrels = {"1": RUN["1"]}, {"1": QRELS["1"]}
    assert endoxa.calc_aggregate([SetF(beta=2.0)], qrels, run)[SetF(beta=2.0)] == pytest.approx(5 * 0.5 / (4 * 0.5 + 1))


def test_install_puts_endoxa_first() -> None:
    before = list(ir_measures.DefaultPipeline.providers)
    try:
        install()
        install()
        assert ir_measures.DefaultPipeline.providers.count(endoxa) == 1
        tied = {"1": {"a": 1.0, "b": 1.0}}
        judged = {"1": {"a": 1}}
        # ir_measures' own providers disagree on ties (RR 0.5, RR@10 1.0); one rule holds here
        got = ir_measures.calc_aggregate([RR, RR @ 10], judged, tied)
        assert got[RR] == got[RR @ 10] == 0.5
    finally:
        ir_measures.DefaultPipeline.providers[:] = before
