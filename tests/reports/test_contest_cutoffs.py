"""The cut-offs of a contest in sentences, on the terminal and on the page."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cutoff_samples import missed_by_consensus
from evaluation_samples import sample_in_doubt

from endoxa.evaluations.contest import verdicts
from endoxa.evaluations.cutoffs import Cutoffs
from endoxa.reports.pages.contest import Contest, page
from endoxa.reports.pages.contest_cutoffs import even, even_tau, missed, tables


@pytest.fixture(scope="module")
def found() -> Cutoffs:
    return missed_by_consensus()


def test_a_system_that_the_consensus_misses_is_named(found: Cutoffs) -> None:
    """Precision at 3: lone 1, a 0 by folders; by consensus lone 2/5, a (3/5 + 3/5 + 2/5)/3."""
    assert missed(found) == (
        "The consensus misses lone: on precision at 3 it is better than a by folders (+1.000 [0.767, 1.000]) and worse "
        "by consensus (−0.133 [−0.234, −0.002]). The same is true of lone and b. Kendall's tau of consensus and "
        "folders on precision at 3 is −1.00."
    )


def test_no_pair_is_turned_round(found: Cutoffs) -> None:
    assert "No pair of systems is better by one" in missed(replace(found, turned=found.turned.clear()))


def test_tables_for_the_terminal(found: Cutoffs) -> None:
    precision = tables(found)["precision"]
    assert precision.columns == ["k", "lone", "a", "b", "tau"]
    assert precision.row(2) == (3, "1.000 / 0.400", "0.000 / 0.533", "0.000 / 0.533", "−1.00 [−1.00, −1.00]")


def test_f_has_a_table_of_its_own_and_a_single_number(found: Cutoffs) -> None:
    """`lone` finds 3 of 42 mates: F at 3 is 6/45, and at 42 the same. By consensus Σ P is 1.2 of 3.2: 2.4/6.2."""
    assert tables(found)["F"].row(2)[:2] == (3, f"{6 / 45:.3f} / {2.4 / 6.2:.3f}")
    one = even(found)
    assert one.columns == ["system", "folders", "consensus"] and one["system"][0] == "lone"
    assert one["folders"][0].startswith(f"{6 / 45:.3f} [") and one["folders"][1].startswith("0.000 [")
    assert even_tau(found).endswith("Kendall's tau of the two orders: −1.00 [−1.00, −1.00].")


def test_the_page_has_both_tables_tau_and_the_pairs(found: Cutoffs) -> None:
    judged = verdicts({"consensus": sample_in_doubt(["a", "b"], measures=("P@2",), step=0.1)})
    html = page(Contest("t", judged, {}, cutoffs=found))
    for text in (
        "Consensus beside folders, at every cut-off", "Precision at every cut-off, by folders and by consensus",
        "Recall at every cut-off", "F at every cut-off, by folders and by consensus",
        "F at the cut-off of R-precision", "Kendall&#39;s tau of the orders by folders and by consensus",
        "those that no other system returns", "Pairs that are better by folders and worse by consensus",
    ):  # fmt: skip
        assert text in html or text.replace("&#39;", "'") in html, text
    assert "at every cut-off" not in page(Contest("t", judged, {}))
