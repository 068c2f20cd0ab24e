"""ir_measures, reading with its own parsers and choosing its own providers."""

import json
import sys

import ir_measures
from ir_measures import AP, RR, P, R, nDCG


def main(qrels: str, runs: list[str]) -> None:
    """One line of JSON per run."""
    measures = [AP, nDCG @ 10, RR, P @ 10, R @ 1000]
    evaluator = ir_measures.evaluator(measures, list(ir_measures.read_trec_qrels(qrels)))
    for path in runs:
        found = evaluator.calc_aggregate(ir_measures.read_trec_run(path))
        print(json.dumps({str(measure): value for measure, value in found.items()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
