"""ranx's names for measures: `ndcg@10-l2`, `mrr@10`, `hit_rate@5`, `rbp.95`, `ndcg_burges@10`."""

from __future__ import annotations

import re
from typing import Any

from endoxa.measures.registry import REGISTRY

# ranx's name: ours with a cut-off, ours without one, fixed settings
NAMES: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "precision": ("P", "SetP", {}),
    "recall": ("R", "SetR", {}),
    "f1": ("F", "SetF", {}),
    "hit_rate": ("Success", None, {}),
    "r-precision": ("Rprec", "Rprec", {}),
    "mrr": ("RR", "RR", {}),
    "map": ("AP", "AP", {}),
    "dcg": ("DCG", "DCG", {}),
    "dcg_burges": ("DCG", "DCG", {"dcg": "exp-log2"}),
    "ndcg": ("nDCG", "nDCG", {}),
    "ndcg_burges": ("nDCG", "nDCG", {"dcg": "exp-log2"}),
    "bpref": ("Bpref", "Bpref", {}),
}
_FORM = re.compile(r"(?P<name>[a-z1][a-z_1-]*?)(?:@(?P<k>[0-9]{1,9}))?(?:-l(?P<level>[0-9]{1,2}))?")
_RBP = re.compile(r"rbp\.(?P<p>[0-9]{1,9})(?:-l(?P<level>[0-9]{1,2}))?")


def expand(text: str) -> tuple[str, dict[str, Any]] | None:
    """Our name and settings for one of ranx's; None if it is not one of its names.

    Its RBP sums raw grades; here it is binary at the level given.
    """
    rbp = _RBP.fullmatch(text)
    if rbp:
        return "RBP", {"p": float(f"0.{rbp['p']}"), "rel": int(rbp["level"] or 1)}
    form = _FORM.fullmatch(text)
    if not form or form["name"] not in NAMES:
        return None
    cut, whole, fixed = NAMES[form["name"]]
    name = cut if form["k"] else whole
    if name is None:
        return None
    settings = dict(fixed)
    if form["k"]:
        settings["k"] = int(form["k"])
    if form["level"]:
        level = int(form["level"])
        if "rel" not in REGISTRY[name].settings:  # no least relevant grade: grades below it gain nothing
            settings |= {"gains": dict.fromkeys(range(1, level), 0)} if level > 1 else {}
        else:
            settings["rel"] = level
    return name, settings
