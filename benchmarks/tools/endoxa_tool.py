"""Endoxa as a library; `--intervals` adds the error bars that the others do not have."""

import json
import sys

import endoxa


def main(qrels: str, runs: list[str]) -> None:
    """One line of JSON per run."""
    paths = [path for path in runs if path != "--intervals"]
    scores = endoxa.measure(paths, qrels, ["AP", "nDCG@10", "RR", "P@10", "R@1000"])
    if "--intervals" in runs:
        for _, rows in endoxa.summarise(scores).group_by("system", maintain_order=True):
            print(json.dumps(dict(zip(rows["measure"], rows["value"], strict=True))))
        return
    for queries in scores.to_dict().values():
        rows = queries.values()
        print(json.dumps({name: sum(row[name] for row in rows) / len(rows) for name in scores.measures}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
