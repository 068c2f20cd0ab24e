"""Scores as trec_eval writes them: name, query or `all`, value; so that a diff against its output is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from endoxa.later import np, pl
from endoxa.measures.grammar import Measure
from endoxa.measures.trec_names import FAMILIES, label_of, place, split_name
from endoxa.tables import Floats, Scores

UNKNOWN = -1e6  # what trec_eval prints for a z-score whose mean and deviation are not known
FLOOR = 1e-5  # of a value under a logarithm: gm_map, gm_bpref


def lines(
    scores: Scores, measures: Sequence[Measure], *, per_query: bool = False, summary: bool = True,
    zscores: Mapping[tuple[str, str], tuple[float, float]] | None = None,
) -> list[str]:  # fmt: skip
    """One line per value, system after system, queries in byte order, measures in trec_eval's order.

    `zscores` gives mean and standard deviation of a reference set of runs per (query, label); every value is
    then written in units of that deviation, as `-Z` does. A geometric mean of deviations is
    meaningless; trec_eval prints 0 for it, and so does this function.
    """
    labels = _labels(measures, scores.policy.compat)
    cells = {row[:3]: row[3] for row in scores.frame.select("system", "query", "measure", "value").iter_rows()}
    texts = {row[:3]: row[3] for row in scores.texts.iter_rows()} if scores.texts is not None else {}
    absent = set(scores.absent.iter_rows()) if scores.absent is not None else set()
    written: list[str] = []
    for system in scores.systems:
        queries = scores.frame.filter(pl.col("system") == system)["query"].unique().sort().to_list()
        values = {
            label: np.array([cells[system, query, str(m)] for query in queries])
            for label, m in labels
            if not m.definition.text
        }
        if zscores is not None:
            unknown = np.nan if scores.policy.compat == "none" else UNKNOWN
            values = {label: _in_deviations(values[label], queries, label, zscores, unknown) for label in values}
        mark = "" if zscores is None else "Z"
        if len(scores.systems) > 1 and summary and not any(label == "runid" for label, _ in labels):
            written.append(_line("runid", "all", system))  # so that the lines of several runs can be told apart
        if per_query:
            for at, query in enumerate(queries):
                # trec_eval 9 averages over missing topics under -c but does not print them
                if scores.policy.compat == "trec_eval-9" and (system, query) in absent:
                    continue
                for label, m in labels:
                    if m.name == "relstring":
                        written.append(_line(label, query, f"'{texts.get((system, query, str(m)), '')}'"))
                    elif label not in {"runid", "num_q"} and m.definition.aggregate != "geometric":
                        whole = m.definition.aggregate == "sum" and zscores is None
                        written.append(_line(mark + label, query, _shown(values[label][at], whole), mark))
        if summary:
            for label, m in labels:
                if label == "runid":
                    written.append(_line(label, "all", system))
                elif not m.definition.text:
                    way = m.definition.aggregate
                    total = float(len(queries)) if label == "num_q" else _joined(values[label], way)
                    if zscores is not None and way == "geometric":
                        total = 0.0
                    shown = _shown(total, way == "sum" and zscores is None)
                    written.append(_line(mark + label, "all", shown, mark))
    return written


def _labels(measures: Sequence[Measure], compat: str) -> list[tuple[str, Measure]]:
    """Labels in trec_eval's order; ours where it has none. Release 9 lacks some."""
    named = [(m.label or label_of(m.name, dict(m.settings)) or str(m), m) for m in measures]
    split = {label: split_name(label) for label, _ in named}
    if compat == "trec_eval-9":
        named = [(a, m) for a, m in named if not (split[a] and FAMILIES[split[a][0]].since > 9)]  # type: ignore[index]
    return sorted(named, key=lambda pair: place(pair[0]))


def _in_deviations(
    values: Floats, queries: list[str], label: str, zscores: Mapping[tuple[str, str], tuple[float, float]],
    unknown: float,
) -> Floats:  # fmt: skip
    shifted = []
    for value, query in zip(values, queries, strict=True):
        mean, deviation = zscores.get((query, label), (np.nan, 0.0))
        equal = 0.0 if value == mean else unknown
        shifted.append((value - mean) / deviation if deviation else equal)
    return np.array(shifted)


def _joined(values: Floats, way: str) -> float:
    known = values[~np.isnan(values)]
    if way == "sum":
        return float(known.sum())
    if not len(known):
        return float("nan")
    return float(np.exp(np.log(np.maximum(known, FLOOR)).mean()) if way == "geometric" else known.mean())


def _shown(value: float, whole: bool) -> str:
    return f"{value:.0f}" if whole else f"{value:6.4f}"


def _line(label: str, query: str, value: str, mark: str = "") -> str:
    return f"{label:{22 + len(mark)}}\t{query}\t{value}"
