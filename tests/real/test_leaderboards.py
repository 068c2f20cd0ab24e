"""Published figures: the TREC-COVID round 1 leaderboard and MAP of TREC 2003 Robust."""

from __future__ import annotations

import csv

import pytest

import endoxa

OFFICIAL = {"ndcg@10": "nDCG@10", "p@5": "P@5", "bpref": "Bpref", "MAP": "AP"}

ROBUST = {
    "pircRBa1": 0.3101, "aplrob03a": 0.2998, "uwmtCR0": 0.2763, "THUIRr0301": 0.2597, "fub03IeOLKe3": 0.2503,
    "UIUC03Rd1": 0.2424, "InexpC2": 0.2249, "SABIR03BASE": 0.2021, "MU03rob01": 0.1929, "humR03dc": 0.1248,
    "NLPR03vb10": 0.1055, "rutcor03100": 0.0737,
}  # fmt: skip


def means(scores: endoxa.Scores) -> dict[tuple[str, str], float]:
    return {
        (system, measure): value
        for system, measure, value in endoxa.summarise(scores).select("system", "measure", "value").iter_rows()
    }


def test_trec_covid_round_1(folder) -> None:
    covid = folder("covid-r1")
    with (covid / "leaderboard.csv").open() as file:
        rows = {row["run"]: row for row in csv.DictReader(file)}
    paths = sorted((covid / "runs").glob("*.gz"))
    assert len(paths) == 36
    scores = endoxa.measure(
        paths, covid / "qrels.txt", list(OFFICIAL.values()), compat="trec_eval-9", missing="empty", name_from="file"
    )
    found = means(scores)
    worst = 0.0
    for path in paths:
        name = path.name.removesuffix(".gz")
        for column, measure in OFFICIAL.items():
            worst = max(worst, abs(found[name, measure] - float(rows[name][column])))
    print(f"TREC-COVID round 1: 36 runs x {', '.join(OFFICIAL)}: largest difference to the leaderboard {worst:.6f}")
    assert worst <= 1e-4


def test_robust_2003(folder) -> None:
    robust = folder("robust03")
    paths = sorted((robust / "runs").glob("*.gz"))
    assert len(paths) == 12
    scores = endoxa.measure(paths, robust / "qrels.txt.gz", ["AP"], compat="trec_eval-9", name_from="file")
    found = means(scores)
    for system, expected in ROBUST.items():
        print(f"robust03 {system:14} MAP measured {found[system, 'AP']:.4f} expected {expected:.4f}")
        assert found[system, "AP"] == pytest.approx(expected, abs=5e-5)
    share = {row["system"]: row["tied"] / row["items"] for row in scores.coverage.iter_rows(named=True)}
    print(f"robust03 rutcor03100: {share['rutcor03100']:.1%} of the items are tied")
    assert share["rutcor03100"] == pytest.approx(0.9997, abs=5e-5)


def test_pool_bias_on_real_runs(folder) -> None:
    """Leave-out-uniques: a run never gains by losing its own finds, and the order hardly changes."""
    robust = folder("robust03")
    run = endoxa.read(sorted((robust / "runs").glob("*.gz")), kind="run")
    opinions = endoxa.read(robust / "qrels.txt.gz", kind="qrels")
    found = endoxa.leave_out_uniques(run, opinions, "AP", depth=100)
    for row in found.frame.iter_rows(named=True):
        before, after = row["value"], row["value_without"]
        print(f"robust03 {row['system']:14} AP {before:.4f} without uniques {after:.4f} tau {row['tau']:.3f}")
    assert found.frame["tau"].min() > 0.8
