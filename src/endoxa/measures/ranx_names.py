"""The names of ranx for measures, `ndcg@10-l2`, `mrr@10`, `hit_rate@5`, `rbp.95`, and those of MTEB, `ndcg_at_10`."""

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
    "hitrate": ("Success", None, {}),
    "hits": ("Success", None, {}),
    "hit": ("Success", None, {}),
    "success": ("Success", None, {}),
    "r-precision": ("Rprec", "Rprec", {}),
    "mrr": ("RR", "RR", {}),
    "map": ("AP", "AP", {}),
    "dcg": ("DCG", "DCG", {}),
    "dcg_burges": ("DCG", "DCG", {"dcg": "exp-log2"}),
    "ndcg": ("nDCG", "nDCG", {}),
    "ndcg_burges": ("nDCG", "nDCG", {"dcg": "exp-log2"}),
    "bpref": ("Bpref", "Bpref", {}),
}
_FORM = re.compile(r"(?P<name>[a-z1][a-z_1-]*?)(?:@(?P<k>[0-9]{1,9}))?(?:-l(?P<rel>[0-9]{1,2}))?")
_AT = re.compile(r"_at_(?=[0-9]+\Z)", re.IGNORECASE)
_RBP = re.compile(r"rbp\.(?P<p>[0-9]{1,9})(?:-l(?P<rel>[0-9]{1,2}))?")


def expand(text: str) -> tuple[str, dict[str, Any]] | None:
    """Our name and settings for one of these names, or None. RBP, which sums raw grades in ranx, is binary here.

    Letter case matters only where the name is one of ours: `HitRate@5` is Success@5, `P@5` is ours.
    """
    text = _AT.sub("@", text)
    if text.partition("@")[0] not in REGISTRY:
        text = text.lower()
    if rbp := _RBP.fullmatch(text):
        return "RBP", {"p": float(f"0.{rbp['p']}"), "rel": int(rbp["rel"] or 1)}
    form = _FORM.fullmatch(text)
    cut, whole, fixed = NAMES.get(form["name"], (None, None, {})) if form else (None, None, {})
    name = cut if form and form["k"] else whole
    if form is None or name is None:
        return None
    settings = fixed | ({"k": int(form["k"])} if form["k"] else {})
    if rel := int(form["rel"] or 0):
        if "rel" in REGISTRY[name].settings:
            settings["rel"] = rel
        elif rel > 1:  # there is no least relevant grade: lower grades gain nothing
            settings["gains"] = dict.fromkeys(range(1, rel), 0)
    return name, settings
