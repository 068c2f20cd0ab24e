"""ranx, reading with its own parsers."""

import json
import sys

from ranx import Qrels, Run, evaluate

NAMES = {"map": "AP", "ndcg@10": "nDCG@10", "mrr": "RR", "precision@10": "P@10", "recall@1000": "R@1000"}


def main(qrels: str, runs: list[str]) -> None:
    """One line of JSON per run."""
    judged = Qrels.from_file(qrels, kind="trec")
    for path in runs:
        found = evaluate(judged, Run.from_file(path, kind="trec"), list(NAMES), make_comparable=True)
        print(json.dumps({NAMES[name]: float(value) for name, value in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
