"""pytrec_eval (trec_eval 9.0.8 inside), reading with its own parsers."""

import gzip
import json
import sys

import pytrec_eval

NAMES = {"map": "AP", "ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "P_10": "P@10", "recall_1000": "R@1000"}


def main(qrels: str, runs: list[str]) -> None:
    """One line of JSON per run."""
    with open(qrels) as file:
        judged = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut.10", "recip_rank", "P.10", "recall.1000"})
    for path in runs:
        with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as file:
            run = pytrec_eval.parse_run(file)
        found = evaluator.evaluate(run)
        print(json.dumps({NAMES[name]: sum(row[name] for row in found.values()) / len(found) for name in NAMES}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
