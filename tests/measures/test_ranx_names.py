import pytest

from endoxa.errors import TextError
from endoxa.measures.grammar import parse


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("ndcg@10", "nDCG@10"),
        ("ndcg@10-l2", "nDCG(gains={1:0})@10"),
        ("ndcg_burges@5", "nDCG(dcg='exp-log2')@5"),
        ("mrr@10", "RR@10"),
        ("mrr-l2", "RR(rel=2)"),
        ("hit_rate@5", "Success@5"),
        ("precision@3-l3", "P(rel=3)@3"),
        ("precision", "SetP"),
        ("f1@10", "F@10"),
        ("r-precision", "Rprec"),
        ("map@100-l2", "AP(rel=2)@100"),
        ("rbp.95", "RBP(p=0.95,rel=1)"),
        ("bpref", "Bpref"),
    ],
)
def test_ranx_strings_are_understood(theirs, ours) -> None:
    assert parse(theirs) == parse(ours)


def test_what_ranx_does_not_know_is_still_an_error() -> None:
    with pytest.raises(TextError, match="no measure is called 'mrrr'"):
        parse("mrrr@10")
