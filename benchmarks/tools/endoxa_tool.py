"""Endoxa, as its command line does it; `--intervals` adds the error bars that the others do not have."""

import json
import sys

import polars as pl

import endoxa


def main(qrels: str, runs: list[str]) -> None:
    """One line of JSON per run."""
    intervals = "--intervals" in runs
    paths = [path for path in runs if path != "--intervals"]
    scores = endoxa.measure(paths, qrels, ["AP", "nDCG@10", "RR", "P@10", "R@1000"])
    if intervals:
        frame = endoxa.summarise(scores)
    else:
        frame = scores.frame.group_by("system", "measure", maintain_order=True).agg(pl.col("value").mean())
    for _, rows in frame.group_by("system", maintain_order=True):
        print(json.dumps(dict(zip(rows["measure"], rows["value"], strict=True))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
