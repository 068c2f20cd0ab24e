"""trec_eval's own lines, on a case small enough to check by hand."""

from __future__ import annotations

import pytest

from endoxa import measure
from endoxa.measures.grammar import parse_all
from endoxa.reports.trec_lines import lines

QRELS = {"9": {"a": 1, "b": 0, "c": 1}, "10": {"a": 1}, "11": {"z": 1}}
RUN = {"sys": {"9": {"a": 3.0, "b": 2.0, "x": 1.0}, "10": {"b": 2.0, "a": 1.0}}}


def written(texts: list[str], **how) -> list[str]:
    wanted = parse_all(texts)
    policy = {"compat": "trec_eval-10"} | {key: how.pop(key) for key in ("compat", "missing") if key in how}
    return lines(measure(RUN, QRELS, wanted, **policy), wanted, **how)


def test_names_are_padded_and_queries_in_byte_order() -> None:
    assert written(["map", "num_ret", "runid"], per_query=True) == [
        "num_ret               \t10\t2",
        "map                   \t10\t0.5000",
        "num_ret               \t9\t3",
        "map                   \t9\t0.5000",
        "runid                 \tall\tsys",
        "num_ret               \tall\t5",
        "map                   \tall\t0.5000",
    ]


def test_missing_topics_count_under_c_and_release_9_does_not_print_them() -> None:
    ten = written(["map"], per_query=True, missing="empty")
    assert ten[1] == "map                   \t11\t0.0000"
    assert ten[-1] == "map                   \tall\t0.3333"
    nine = written(["map"], per_query=True, missing="empty", compat="trec_eval-9")
    assert [line.split("\t")[1] for line in nine] == ["10", "9", "all"]
    assert nine[-1] == ten[-1]


def test_geometric_means_are_printed_for_all_only() -> None:
    assert written(["gm_map"], per_query=True) == ["gm_map                \tall\t0.5000"]


def test_relstring_and_our_own_names() -> None:
    assert written(["relstring.2", "nDCG(dcg='exp-log2')@1"], per_query=True)[:2] == [
        "relstring_2           \t10\t'-1'",
        "nDCG(dcg='exp-log2')@1\t10\t0.0000",
    ]
    assert written(["AP", "P@10"])[0].startswith("map ")


def test_release_9_has_no_rbp() -> None:
    assert written(["rbp", "map"], compat="trec_eval-9") == ["map                   \tall\t0.5000"]


def test_z_scores() -> None:
    reference = {
        ("9", "map"): (0.25, 0.5),
        ("10", "map"): (0.5, 0.0),
        ("9", "P_5"): (0.1, 0.1),
        ("10", "P_5"): (0.2, 0.1),
    }
    got = written(["map", "P.5"], per_query=True, zscores=reference)
    assert got == [
        "Zmap                   \t10\t0.0000",
        "ZP_5                   \t10\t0.0000",
        "Zmap                   \t9\t0.5000",
        "ZP_5                   \t9\t1.0000",
        "Zmap                   \tall\t0.2500",
        "ZP_5                   \tall\t0.5000",
    ]
    unknown = written(["map"], per_query=True, zscores={("9", "map"): (0.5, 1.0)})
    assert unknown[0] == "Zmap                   \t10\t-1000000.0000"


@pytest.mark.parametrize("text", ["official", "all_trec", "set"])
def test_nicknames_print_in_trec_evals_order(text) -> None:
    labels = [line.split("\t")[0].strip() for line in written([text])]
    assert labels[:3] == ["runid", "num_q", "num_ret"]
    assert len(labels) == len(set(labels))
