"""Names of measures: they print, parse back, compare and hash; wrong ones are explained at the right place."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from endoxa.errors import TextError
from endoxa.measures.grammar import REQUIRED, Measure, make, parse, parse_all
from endoxa.measures.registry import ALIASES, REGISTRY
from endoxa.measures.trec_names import FAMILIES, NICKNAMES, label_of

numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6)) | st.integers(-50, 50)
positive = st.floats(1e-3, 1e3).map(lambda x: round(x, 6)) | st.integers(1, 20)
shares = st.floats(0, 1) | st.sampled_from([0, 1, 0.1])
levels = st.integers(0, 9) | st.floats(0, 9)

# A setting that is not here makes the tests fail: it has no way to be printed and read yet.
SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "k": st.integers(1, 10_000) | st.sampled_from([10.0]),
    "rel": positive,
    "beta": positive,
    "mult": positive,
    "relative": st.booleans(),
    "norm": st.sampled_from(["R", "min"]),
    "recall": shares,
    "recalls": st.lists(shares, min_size=1, max_size=4) | st.lists(shares, min_size=1, max_size=4).map(tuple),
    "compat": st.sampled_from(["none", "trec_eval-9", "trec_eval-10"]),
    "dcg": st.sampled_from(["log2", "exp-log2"]),
    "gains": st.dictionaries(levels, numbers, min_size=1, max_size=3),
    "max_rel": positive,
    "p": st.floats(0.01, 0.99),
    "a": numbers,
    "b": numbers,
    "c": numbers,
    "d": numbers,
    "N": st.integers(0, 10**9),
}


@st.composite
def any_settings(draw: st.DrawFn, name: str) -> dict[str, Any]:
    wanted = REGISTRY[name].settings
    chosen = [setting for setting, default in wanted.items() if default is REQUIRED or draw(st.booleans())]
    return {setting: draw(SETTINGS[setting]) for setting in draw(st.permutations(chosen))}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_measure_prints_and_parses_back(name: str) -> None:
    @settings(max_examples=20, deadline=None)
    @given(any_settings(name))
    def law(given_settings: dict[str, Any]) -> None:
        one = make(name, given_settings)
        again = parse(str(one))
        assert again == one
        assert hash(again) == hash(one)
        assert repr(again) == str(again) == str(one)
        reordered = make(name, dict(reversed(given_settings.items())))
        assert str(reordered) == str(one)

    law()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_defaults_are_not_printed(name: str) -> None:
    known = REGISTRY[name].settings
    needed = {setting: {"k": 10, "recall": 0.5, "N": 100}[setting] for setting, d in known.items() if d is REQUIRED}
    defaults = {setting: d for setting, d in known.items() if d is not REQUIRED and d is not None}
    assert make(name, needed | defaults) == make(name, needed)
    assert str(make(name, needed | defaults)) == str(make(name, needed))


def test_measures_are_values() -> None:
    assert {parse("P@10"), parse("P(k=10)"), parse("Precision@10"), parse("P_10"), parse(" P(rel=1) @ 10.0 ")} == {
        parse("P@10")
    }
    assert parse("P@10") != parse("P(rel=2)@10")
    assert parse("map").label == "map"
    assert parse("AP").label is None
    assert parse("nDCG(gains={2:9,1:3})") == parse("nDCG(gains={1:3.0,2:9.0})")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("map", "AP"), ("P_10", "P@10"), ("ndcg_cut.10", "nDCG@10"), ("ndcg_cut_10", "nDCG@10"),
        ("iprec_at_recall..25", "IPrec@0.25"), ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("ndcg.1=3,2=9", "nDCG(gains={1:3,2:9})"), ("recip_rank", "RR"), ("bpref", "Bpref"), ("gm_map", "GMAP"),
        ("set_F.4", "SetF(beta=2)"), ("set_relative_P", "SetP(relative=True)"), ("relative_P_5", "P(relative=True)@5"),
        ("utility.2,-1,0,0", "Utility(a=2)"), ("11pt_avg..25,.5,.75", "AvgIPrec(recalls=(0.25,0.5,0.75))"),
        ("Rprec_mult.0.2", "Rprec(mult=0.2)"), ("map_cut.5", "AP@5"), ("success_1", "Success@1"),
        ("relstring.20", "relstring@20"), ("rbp", "RBP(p=0.9)"), ("rbp.p=0.95", "RBP(p=0.95)"),
        ("unj_20", "Unjudged@20"),
        ("num_rel_ret", "NumRelRet"), ("map_avgjg", "AP"), ("P.23.4", "P@23"),
    ],
)  # fmt: skip
def test_trec_eval_names(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


def test_trec_eval_names_that_stand_for_several() -> None:
    assert [str(m) for m in parse_all("P.5,10")] == ["P@5", "P@10"]
    assert [str(m) for m in parse_all("P.10,5,10")] == ["P@5", "P@10"]
    assert [m.label for m in parse_all("success")] == ["success_1", "success_5", "success_10"]
    assert [m.label for m in parse_all("iprec_at_recall..10,.25")] == ["iprec_at_recall_0.10", "iprec_at_recall_0.25"]
    assert [str(m) for m in parse_all(["map", "AP", "map"])] == ["AP", "AP"]  # one with, one without trec_eval's label


def test_set_f_takes_the_square_of_beta() -> None:
    assert dict(parse("set_F.0.5").settings)["beta"] == math.sqrt(0.5)


@pytest.mark.parametrize("nickname", ["official", "set", "all_trec", "qrels_jg", "prefs", "all_prefs"])
def test_nicknames_hold_what_trec_eval_says(nickname: str) -> None:
    since_9 = {family for family in NICKNAMES[nickname] if FAMILIES[family].since == 9}
    assert since_9 == pytrec_eval.supported_nicknames[nickname]
    assert {m.name for m in parse_all(nickname)} == {FAMILIES[family].name for family in NICKNAMES[nickname]}


def test_version_10_added_three_measures() -> None:
    assert {family for family, row in FAMILIES.items() if row.since == 10} == {"rbp", "rbp_resid", "unj"}
    assert {"rbp", "rbp_resid", "unj"} <= set(NICKNAMES["all_trec"])


def test_labels_are_those_of_trec_eval() -> None:
    names = pytrec_eval.supported_measures - {"runid", "relstring"}
    theirs = pytrec_eval.RelevanceEvaluator({"q": {"a": 1, "b": 0}}, names).evaluate({"q": {"a": 1.0, "b": 0.5}})["q"]
    ours = parse_all(sorted(names))
    assert {m.label for m in ours} == set(theirs)
    for one in ours:
        if one.name != "Rprec":  # Rprec and Rprec_mult_1.00 are one measure
            assert label_of(one.name, dict(one.settings)) == one.label


def test_a_measure_keeps_its_own_label_after_an_equal_one_was_asked_for() -> None:
    own, theirs = parse("AP"), parse("map")
    assert (own, own.label) == (theirs, None)
    assert [one.label for one in (*parse_all([own]), *parse_all([theirs]))] == [None, "map"]


def test_a_family_with_parameters_replaces_the_one_of_the_nickname() -> None:
    cutoffs = [m.label for m in parse_all(["official", "P.7"]) if m.name == "P"]
    assert cutoffs == ["P_7"]


def test_level_is_given_to_measures_that_have_none() -> None:
    found = parse_all(["AP", "P(rel=3)@5", "nDCG", "NumRet", "RBP", "map"], rel=2)
    assert [str(m) for m in found] == ["AP(rel=2)", "P(rel=3)@5", "nDCG", "NumRet", "RBP", "AP(rel=2)"]
    assert found[-1].label == "map"


IR_MEASURES = [
    "AP", "AP@10", "AP(rel=2)", "AP(rel=1)", "MAP@10", "P@5", "P(rel=2)@5", "Precision@5", "R@5", "Recall(rel=2)@5",
    "nDCG", "nDCG@10", "NDCG@5", "nDCG(dcg='log2')@10", "nDCG(dcg='exp-log2')@10", "nDCG(gains={1:3,2:9})@10", "RR",
    "MRR@10", "RBP(rel=1)", "RBP(p=0.8,rel=1)", "RBP(p=0.9,rel=1)@10", "Rprec", "RPrec(rel=2)", "Bpref", "BPref(rel=2)",
    "infAP", "SetF", "SetF(beta=1)", "SetP", "SetP(relative=False)", "SetP(relative=True)", "SetP(rel=2)", "SetR",
    "SetAP", "Success@5", "Success(rel=2)@5", "IPrec@0.1", "IPrec(rel=2)@0.5", "Judged@10", "ERR@20", "ERR", "NumQ",
    "NumRel", "NumRel(rel=2)", "NumRet", "NumRet(rel=1)", "AP(cutoff=5)", "P(rel=2,cutoff=5)",
]  # fmt: skip


@pytest.mark.parametrize("text", IR_MEASURES)
def test_ir_measures_prints_the_same(text: str) -> None:
    assert str(parse(text)) == str(ir_measures.parse_measure(text))


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_aliases_are_those_of_ir_measures(alias: str) -> None:
    assert ALIASES[alias] == getattr(ir_measures, alias).NAME


@pytest.mark.parametrize(
    ("text", "says", "caret"),
    [
        ("nDGC@10", "no measure is called 'nDGC'; did you mean nDCG?", 0),
        ("nDGC@10", "no measure is called 'nDGC'; did you mean nDCG?", 0),
        ("nothing_like_it", "no measure is called 'nothing_like_it'", 0),
        ("P(rle=2)@5", "P has no setting 'rle'; did you mean rel?", 2),
        ("Bpref(p=2)", "Bpref has no setting 'p'", 6),
        ("nDCGrel(rel=2)", "nDCGrel has no setting 'rel'", 8),
        ("AP(judged_only=True)", "AP has no setting 'judged_only'", 3),
        ("P@0", "a cut-off is a whole number from 1 on, not 0", 1),
        ("P@2.5", "a cut-off is a whole number from 1 on, not 2.5", 1),
        ("P@1e999", "a cut-off is a whole number from 1 on, not inf", 1),
        ("P(k=-3)", "a cut-off is a whole number from 1 on, not -3", 2),
        ("P@True", "a cut-off is a whole number from 1 on, not True", 1),
        ("IPrec@1.5", "a level of recall lies between 0 and 1, not at 1.5", 5),
        ("RBP(p=1)", "RBP: p must be a probability between 0 and 1", 4),
        ("RBP(rel=1,p=1)", "RBP: p must be a probability between 0 and 1", 10),
        ("SetF(beta=-1)", "SetF: beta must be a number above 0", 5),
        ("AP(rel=1e999)", "AP: rel must be a number, not inf", 3),
        ("AP(rel='high')", "AP: rel must be a number, not 'high'", 3),
        ("nDCG(dcg='ln')", "nDCG: dcg must be one of log2, exp-log2, not 'ln'", 5),
        ("nDCG(gains=3)", "nDCG: gains must be like {1: 3.5, 2: 9}", 5),
        ("nDCG(gains={1:'a'})", "nDCG: gains must be like {1: 3.5, 2: 9}", 5),
        ("nDCG(gains={'a':1})", "nDCG: gains must be like {1: 3.5, 2: 9}", 5),
        ("nDCG(gains={1:1e999})", "nDCG: gains must be like {1: 3.5, 2: 9}", 5),
        ("AvgIPrec(recalls=('a',))", "AvgIPrec: recalls must be like (0.2, 0.5, 0.8)", 9),
        ("P(relative=1)@5", "P: relative must be True or False", 2),
        ("D(N=-1)@5", "D: N must be a whole number", 2),
        ("D(N=1e999)@5", "D: N must be a whole number", 2),
        ("P(2)@5", "settings are named, like rel=2", 2),
        ("P(rel=1,rel=2)@5", "P: rel is given twice", 8),
        ("P(k=5)@10", "P: k is given twice", 6),
        ("P(k=5,cutoff=10)", "P: k is given twice", 6),
        ("Bpref@10", "Bpref has no cut-off", 5),
        ("F", "F needs k: write F@10", 0),
        ("D@5", "D needs N: write D(N=…)", 0),
        ("P@5@10", "a measure reads Name(setting=value)@k", 0),
        ("P(rel=", "a measure reads Name(setting=value)@k", None),
        ("P(rel=open('x'))@5", "a setting is a number, a word in quotes, True, False or a dict", 6),
        ("é(2)", "settings are named, like rel=2", 2),
        ("P(rel='é',k=open('x'))", "a setting is a number", 12),
        ("map_5", "map takes no parameters", 3),
        ("map.5", "map takes no parameters", 3),
        ("P.x", "'x' is not a list of numbers like 5,10,20", 2),
        ("P.5,", "'5,' is not a list of numbers like 5,10,20", 2),
        ("P_5_3", "'5_3' is not a list of numbers like 5,10,20", 2),
        ("P.nan", "'nan' is not a list of numbers like 5,10,20", 2),
        ("P.inf", "'inf' is not a list of numbers like 5,10,20", 2),
        ("P.0", "a cut-off is a whole number from 1 on, not 0", 0),
        ("P@9999999999", "a cut-off is a whole number from 1 on, not 9999999999", 1),
        ("set_F.-1", "set_F takes one number above 0", 6),
        ("set_F.1,2", "set_F takes one number above 0", 6),
        ("utility.1,2,3,4,5", "utility takes at most four numbers", 8),
        ("ndcg.1", "'1' is not a pair like 1=3.5", 5),
        ("ndcg.a=3", "nDCG has no setting 'a'", 5),
        ("", "a measure reads Name(setting=value)@k", 0),
    ],
)
def test_errors_say_what_and_where(text: str, says: str, caret: int | None) -> None:
    with pytest.raises(TextError) as caught:
        parse_all(text)
    error = caught.value
    assert str(error).startswith(says)
    if caret is not None:
        assert error.at == caret
        assert str(error).splitlines()[-2:] == [f"    {text}", "    " + " " * caret + "^"]


def test_one_name_for_many_is_refused_where_one_is_wanted() -> None:
    with pytest.raises(TextError, match=r"'P' names 9 measures, not one: P@5, P@10"):
        parse("P")


def test_deep_nesting_is_refused() -> None:
    for text in (
        "-" * 20_000 + "1",
        "(" * 300 + "1" + ")" * 300,
        "P(rel=" + "[" * 150 + "]" * 150 + ")@5",
        "P@" + "9" * 5000,
    ):
        with pytest.raises(TextError):
            parse(text)


pieces = st.sampled_from(
    [*REGISTRY, *FAMILIES, *NICKNAMES, *ALIASES, "(", ")", "@", "=", ",", ".", "_", "-", "1", "5", "0.5", "10", "1e400",
     "nan", "inf", "None", "True", "'log2'", "{1:2}", "{", "}", "[", "(0.5,)", "é", " ", "\n", "**", "rel", "k",
     "gains", "cutoff", "p", "N", "beta", "recalls", "recall"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=20) | st.lists(pieces, max_size=9).map("".join))
def test_any_text_is_a_measure_or_a_text_error(text: str) -> None:
    try:
        found = parse_all(text)
    except TextError as error:
        assert error.at is None or 0 <= error.at <= len(error.text)
        return
    for one in found:
        assert isinstance(one, Measure)
        assert parse(str(one)) == one
