"""A provider that makes Endoxa available in ir_measures, and so in PyTerrier.

    import ir_measures
    from ir_measures import nDCG, AP
    from endoxa.provider import endoxa, install

    endoxa.calc_aggregate([nDCG @ 10, AP], qrels, run)    # calls Endoxa
    install()                                             # ir_measures prefers Endoxa from now on

Ties are broken in the same way for every measure (ir_measures' own providers differ), float grades are kept, and 0/0 is
left out of the mean instead of counted as 0. The beta of SetF is beta, not its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from endoxa.errors import InstallError
from endoxa.io.read import read
from endoxa.measures.evaluate import measure
from endoxa.measures.grammar import Measure, parse
from endoxa.policies import Policy

try:
    import ir_measures
    from ir_measures import measures as named
    from ir_measures import providers
    from ir_measures.providers.base import Any as Anything
except ImportError as error:
    raise InstallError("ir_measures is not installed", remedy="pip install ir-measures") from error

# measures whose settings mean the same in Endoxa and in ir_measures
PLAIN = "AP nDCG RR P R Rprec Bpref infAP RBP ERR SetP SetR SetF SetAP Success IPrec Judged NumQ NumRel NumRet".split()


def _supported() -> list[Any]:
    """Return these measures with any value of every setting."""
    kinds = [getattr(named, "_" + name) for name in PLAIN]
    return [kind(**{setting: Anything() for setting in kind.SUPPORTED_PARAMS}) for kind in kinds]


def ours(theirs: Any) -> tuple[Measure, bool]:
    """Return our measure for one of ir_measures', and whether only judged items count."""
    settings = dict(theirs.params)
    judged_only = bool(settings.pop("judged_only", False))
    gains = settings.get("gains")
    if gains:
        settings["gains"] = {float(grade): float(gain) for grade, gain in dict(gains).items()}
    if theirs.NAME == "ERR":
        settings.setdefault("max_rel", 4)  # as in gdeval, which ir_measures calls
    cutoff = settings.pop("cutoff", None)
    if theirs.NAME == "IPrec":
        cutoff = settings.pop("recall", cutoff)
    inside = ",".join(f"{name}={value!r}" for name, value in settings.items())
    behind = f"@{cutoff}" if cutoff is not None else ""
    return parse(f"{theirs.NAME}({inside}){behind}"), judged_only


class _Evaluator(providers.Evaluator):  # type: ignore[misc]
    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        measures = list(measures)
        self._opinions = read(ir_measures.util.QrelsConverter(qrels).as_pd_dataframe(), kind="qrels")
        super().__init__(measures, self._opinions.frame["query"].unique().to_list())
        self._ours = {theirs: ours(theirs) for theirs in measures}

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        table = read(ir_measures.util.RunConverter(run).as_pd_dataframe(), kind="run", name="run")
        for judged_only in (False, True):
            group = {theirs: ours for theirs, (ours, only) in self._ours.items() if only == judged_only}
            if not group:
                continue
            policy = Policy(unjudged="condensed" if judged_only else "nonrelevant")
            scores = measure(table, self._opinions, list(group.values()), policy)
            names = {theirs: str(ours) for theirs, ours in group.items()}
            values = {
                (query, name): value for query, name, value in scores.frame.select("query", "measure", "value").rows()
            }
            for query in scores.queries:
                for theirs, name in names.items():
                    yield ir_measures.Metric(query_id=query, measure=theirs, value=values[query, name])


class EndoxaProvider(providers.Provider):  # type: ignore[misc]
    """Computes ir_measures' measures by Endoxa."""

    NAME = "endoxa"
    SUPPORTED_MEASURES = _supported()

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> _Evaluator:
        return _Evaluator(measures, qrels)


endoxa = EndoxaProvider()
providers.register(endoxa)


def install() -> None:
    """Make Endoxa the first choice of ir_measures.calc, PyTerrier's Experiment and everything that uses them."""
    pipeline = ir_measures.DefaultPipeline.providers
    if endoxa not in pipeline:
        pipeline.insert(0, endoxa)
