"""trec_eval's names for measures, and how it writes them.

`map`, `P_10`, `P.5,10`, `ndcg_cut.10`, `iprec_at_recall..25`, `ndcg.1=3,2=9`, and the nicknames `official`, `set`,
`all_trec`, `qrels_jg`, `prefs`, `all_prefs`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from endoxa.errors import TextError
from endoxa.measures.pairs import PREFERENCES

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
LEVELS = tuple(i / 10 for i in range(11))
MULTIPLES = tuple(i / 5 for i in range(1, 11))

Named = tuple[str, str, dict[str, Any]]  # trec_eval's label, our name, settings


@dataclass(frozen=True)
class Family:
    """One row of trec_eval's table: our name for it, and what its parameters mean.

    kind: one of `none`, `cutoffs`, `levels` (one value for each), `pairs`, `numbers` (one value in all)
    """

    name: str
    kind: str = "none"
    default: tuple[float, ...] = ()
    setting: str = "k"
    fixed: tuple[tuple[str, Any], ...] = ()
    numbers: Callable[[list[float]], dict[str, Any]] | None = None
    since: int = 9


def _set_f(values: list[float]) -> dict[str, Any]:
    if len(values) != 1 or values[0] <= 0:
        raise ValueError("set_F takes one number above 0, the square of beta")
    return {"beta": math.sqrt(values[0])}


def _utility(values: list[float]) -> dict[str, Any]:
    if len(values) > 4:
        raise ValueError("utility takes at most four numbers, like 1,-1,0,0")
    return dict(zip("abcd", values, strict=False))


# In the order in which trec_eval prints them.
FAMILIES: dict[str, Family] = {
    "runid": Family("runid"),
    "num_q": Family("NumQ"),
    "num_ret": Family("NumRet"),
    "num_rel": Family("NumRel"),
    "num_rel_ret": Family("NumRelRet"),
    "map": Family("AP"),
    "gm_map": Family("GMAP"),
    "Rprec": Family("Rprec"),
    "bpref": Family("Bpref"),
    "recip_rank": Family("RR"),
    "iprec_at_recall": Family("IPrec", "levels", LEVELS, "recall"),
    "P": Family("P", "cutoffs", CUTOFFS),
    "relstring": Family("relstring", "cutoffs", (10,)),
    "recall": Family("R", "cutoffs", CUTOFFS),
    "infAP": Family("infAP"),
    "gm_bpref": Family("GMBpref"),
    "Rprec_mult": Family("Rprec", "levels", MULTIPLES, "mult"),
    "utility": Family("Utility", "numbers", numbers=_utility),
    "11pt_avg": Family("AvgIPrec", "numbers", numbers=lambda values: {"recalls": tuple(values)}),
    "binG": Family("binG"),
    "G": Family("G", "pairs"),
    "ndcg": Family("nDCG", "pairs"),
    "ndcg_rel": Family("nDCGrel", "pairs"),
    "Rndcg": Family("Rndcg", "pairs"),
    "ndcg_cut": Family("nDCG", "cutoffs", CUTOFFS),
    "map_cut": Family("AP", "cutoffs", CUTOFFS),
    "relative_P": Family("P", "cutoffs", CUTOFFS, fixed=(("relative", True),)),
    "success": Family("Success", "cutoffs", (1, 5, 10)),
    "set_P": Family("SetP"),
    "set_relative_P": Family("SetP", fixed=(("relative", True),)),
    "set_recall": Family("SetR"),
    "set_map": Family("SetAP"),
    "set_F": Family("SetF", "numbers", numbers=_set_f),
    "num_nonrel_judged_ret": Family("NumNonrelJudgedRet"),
    **{name: Family(name) for name in PREFERENCES},
    "map_avgjg": Family("AP"),
    "P_avgjg": Family("P", "cutoffs", CUTOFFS),
    "Rprec_mult_avgjg": Family("Rprec", "levels", MULTIPLES, "mult"),
    "rbp": Family("RBP", "pairs", fixed=(("p", 0.9),), since=10),
    "rbp_resid": Family("RBPResidual", fixed=(("p", 0.9),), since=10),
    "unj": Family("Unjudged", "cutoffs", (5, 10, 20), since=10),
}
ORDER = {family: place for place, family in enumerate(FAMILIES)}

_OFFICIAL = (
    "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
    "iprec_at_recall", "P",
)  # fmt: skip
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": _OFFICIAL,
    "set": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_relative_P",
        "set_recall", "set_map", "set_F",
    ),
    "all_trec": tuple(family for family in FAMILIES if not family.endswith("_avgjg") and family not in PREFERENCES),
    "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
    "prefs": ("runid", "num_q", *list(PREFERENCES)[:6]),
    "all_prefs": ("runid", "num_q", *PREFERENCES),
}  # fmt: skip


def expand(text: str, *, given: frozenset[str] = frozenset()) -> list[Named] | None:
    """The measures that a trec_eval name stands for; None if it is not one of its names.

    A nickname leaves out the families in `given`: those asked for with parameters of their own.
    """
    if text in NICKNAMES:
        families = (family for family in NICKNAMES[text] if family not in given)
        return [named for family in families for named in _members(family, "", text)]
    split = split_name(text)
    return None if split is None else _members(*split, text)


def split_name(text: str) -> tuple[str, str] | None:
    """`P.5,10` or `P_10` as family and parameters; None if no family of trec_eval is called so."""
    for family in sorted(FAMILIES, key=len, reverse=True):
        rest = text[len(family) :]
        if text.startswith(family) and (not rest or rest[0] in "._"):
            if rest[:1] == "_" and not (rest[1:2].isdigit() or rest[1:2] in {".", "-"}):
                continue
            return family, rest[1:]
    return None


def _members(family: str, parameters: str, text: str) -> list[Named]:
    row = FAMILIES[family]
    fixed = dict(row.fixed)
    if not parameters:
        if row.kind == "cutoffs":
            return [(_label(family, value), row.name, fixed | {"k": int(value)}) for value in row.default]
        if row.kind == "levels":
            return [(_label(family, value), row.name, fixed | {row.setting: value}) for value in row.default]
        return [(family, row.name, fixed)]
    if row.kind == "none":
        raise TextError(f"{family} takes no parameters", text, len(family))
    if row.kind == "pairs":
        return [(f"{family}_{parameters}", row.name, fixed | _pairs(parameters, text, len(family) + 1))]
    values = _numbers(parameters, text, len(family) + 1)
    if row.kind == "numbers" and row.numbers is not None:
        try:
            return [(f"{family}_{parameters}", row.name, fixed | row.numbers(values))]
        except ValueError as error:
            raise TextError(str(error), text, len(family) + 1) from None
    if row.kind == "cutoffs":
        whole = sorted({int(value) for value in values})  # trec_eval reads 23.4 as 23
        return [(_label(family, value), row.name, fixed | {"k": value}) for value in whole]
    return [(_label(family, value), row.name, fixed | {row.setting: value}) for value in sorted(set(values))]


def _label(family: str, value: float) -> str:
    if FAMILIES[family].kind == "levels":
        return f"{family}_{value:.2f}"
    return family if family == "relstring" and value == 10 else f"{family}_{int(value)}"


def _number(text: str) -> float:
    """A finite decimal number; Python's own `1_0`, `nan` and `inf` are none."""
    if not re.fullmatch(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]{1,2})?\s*", text, re.IGNORECASE):
        raise ValueError(text)
    return float(text)


def _numbers(parameters: str, text: str, at: int) -> list[float]:
    try:
        return [_number(part) for part in parameters.split(",")]
    except ValueError:
        raise TextError(f"{parameters!r} is not a list of numbers like 5,10,20", text, at) from None


def _pairs(parameters: str, text: str, at: int) -> dict[str, Any]:
    """`1=3,2=9` as gains; `p=0.95` as the persistence of RBP."""
    gains: dict[float, float] = {}
    settings: dict[str, Any] = {}
    for part in parameters.split(","):
        level, _, value = part.partition("=")
        try:
            if level.isidentifier():
                settings[level] = _number(value)
            else:
                gains[_number(level)] = _number(value)
        except ValueError:
            raise TextError(f"{part!r} is not a pair like 1=3.5", text, at) from None
    return settings | ({"gains": gains} if gains else {})


def place(label: str) -> tuple[int, float]:
    """Where trec_eval prints a label: the place of its family, then the size of its cut-off."""
    for family in sorted(FAMILIES, key=len, reverse=True):
        if label == family or label.startswith(family + "_"):
            number = label[len(family) + 1 :]
            try:
                return ORDER[family], float(number or 0)
            except ValueError:
                return ORDER[family], 0.0
    return len(ORDER), 0.0


def label_of(name: str, settings: dict[str, Any]) -> str | None:
    """trec_eval's label for one of our measures, if it has one: AP is `map`, P@10 is `P_10`."""
    given = {key: value for key, value in settings.items() if key != "rel"}
    for family, row in FAMILIES.items():
        if row.name != name or family.endswith("_avgjg"):
            continue
        rest = {key: value for key, value in given.items() if key not in dict(row.fixed)}
        if any(given.get(key) != value for key, value in row.fixed):
            continue
        if not rest and row.kind not in {"cutoffs", "levels"}:
            return family
        if row.kind in {"cutoffs", "levels"} and set(rest) == {row.setting}:
            return _label(family, rest[row.setting])
    return None
