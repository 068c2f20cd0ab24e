"""trec_eval's names of measures: parsing of the names, and the labels that trec_eval prints.

Examples are `map`, `P_10`, `P.5,10`, `ndcg_cut.10`, `iprec_at_recall..25` and `ndcg.1=3,2=9`. The nicknames are
`official`, `set`, `all_trec`, `qrels_jg`, `prefs` and `all_prefs`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from endoxa.errors import TextError
from endoxa.frozen import dataclass
from endoxa.measures.pairs import PREFERENCES

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
LEVELS = tuple(i / 10 for i in range(11))
MULTIPLES = tuple(i / 5 for i in range(1, 11))

Named = tuple[str, str, dict[str, Any]]  # trec_eval's label, our name, settings


@dataclass(frozen=True)
class Family:
    """A family of trec_eval measures: Endoxa's name for it, and the meaning of its parameters.

    kind     `none`: no parameters. `cutoffs` and `levels`: each parameter gives a measure with that `setting`.
             `pairs` and `numbers`: all parameters together give one measure
    default  the parameters if none are given
    since    the major version of trec_eval that introduced the family
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
    """The measures that a trec_eval name stands for; None if trec_eval has no such name.

    A nickname omits the families in `given`, which the user requested separately with parameters.
    """
    if text in NICKNAMES:
        families = (family for family in NICKNAMES[text] if family not in given)
        return [named for family in families for named in _members(family, "", text)]
    split = split_name(text)
    return None if split is None else _members(*split, text)


def split_name(text: str) -> tuple[str, str] | None:
    """Split `P.5,10` or `P_10` into family and parameters; None if trec_eval has no such family."""
    for family in sorted(FAMILIES, key=len, reverse=True):
        rest = text[len(family) :]
        if text.startswith(family) and (not rest or rest[0] in "._"):
            if rest[:1] == "_" and not (rest[1:2].isdigit() or rest[1:2] in {".", "-"}):
                continue
            return family, rest[1:]
    return None


def _members(family: str, parameters: str, text: str) -> list[Named]:
    row, at = FAMILIES[family], len(family) + 1
    fixed = dict(row.fixed)
    if not parameters and row.kind not in {"cutoffs", "levels"}:
        return [(family, row.name, fixed)]
    if row.kind == "none":
        raise TextError(f"{family} takes no parameters", text, len(family))
    if row.kind == "pairs":
        return [(f"{family}_{parameters}", row.name, fixed | _pairs(parameters, text, at))]
    values = _numbers(parameters, text, at) if parameters else list(row.default)
    if row.kind == "numbers" and row.numbers is not None:
        try:
            return [(f"{family}_{parameters}", row.name, fixed | row.numbers(values))]
        except ValueError as error:
            raise TextError(str(error), text, at) from None
    if row.kind == "cutoffs":
        values = [int(value) for value in values]  # trec_eval reads 23.4 as 23
    return [(_label(family, value), row.name, fixed | {row.setting: value}) for value in sorted(set(values))]


def _label(family: str, value: float) -> str:
    if FAMILIES[family].kind == "levels":
        return f"{family}_{value:.2f}"
    return family if family == "relstring" and value == 10 else f"{family}_{int(value)}"


def _number(text: str) -> float:
    """Parse a finite decimal number; `1_0`, `nan` and `inf`, which Python accepts, are refused."""
    if not re.fullmatch(r"\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]{1,2})?\s*", text, re.IGNORECASE):
        raise ValueError(text)
    return float(text)


def _numbers(parameters: str, text: str, at: int) -> list[float]:
    try:
        return [_number(part) for part in parameters.split(",")]
    except ValueError:
        raise TextError(f"{parameters!r} is not a list of numbers like 5,10,20", text, at) from None


def _pairs(parameters: str, text: str, at: int) -> dict[str, Any]:
    """Parse `1=3,2=9` into gains by grade, and `p=0.95` into the persistence of RBP."""
    gains: dict[float, float] = {}
    settings: dict[str, Any] = {}
    for part in parameters.split(","):
        key, _, value = part.partition("=")
        try:
            if key.isidentifier():
                settings[key] = _number(value)
            else:
                gains[_number(key)] = _number(value)
        except ValueError:
            raise TextError(f"{part!r} is not a pair like 1=3.5", text, at) from None
    return settings | ({"gains": gains} if gains else {})


def place(label: str) -> tuple[int, float]:
    """The sort key of a label in trec_eval's output: the number of its family, then its cut-off."""
    for family in sorted(FAMILIES, key=len, reverse=True):
        if label == family or label.startswith(family + "_"):
            try:
                return ORDER[family], float(label[len(family) + 1 :] or 0)
            except ValueError:
                return ORDER[family], 0.0
    return len(ORDER), 0.0


def label_of(name: str, settings: dict[str, Any]) -> str | None:
    """trec_eval's label of one of Endoxa's measures, if it has one: AP is `map`, P@10 is `P_10`."""
    given = {key: value for key, value in settings.items() if key != "rel"}
    for family, row in FAMILIES.items():
        same = row.name == name and all(given.get(key) == value for key, value in row.fixed)
        if not same or family.endswith("_avgjg"):
            continue
        rest = {key: value for key, value in given.items() if key not in dict(row.fixed)}
        if row.kind in {"cutoffs", "levels"}:
            if set(rest) == {row.setting}:
                return _label(family, rest[row.setting])
        elif not rest:
            return family
    return None
