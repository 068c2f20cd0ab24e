"""In one process, from dictionaries: the median milliseconds of an evaluation by endoxa or pytrec_eval."""

import json
import random
import statistics
import sys
import time


def main(tool: str, queries: int, depth: int, judged: int) -> None:
    """Milliseconds and the mean of AP."""
    rng = random.Random(3)
    run = {f"q{q}": {f"doc{rng.randrange(10**7)}": rng.random() * 30 for _ in range(depth)} for q in range(queries)}
    qrels = {query: {item: rng.randrange(3) for item in list(items)[:judged]} for query, items in run.items()}
    if tool == "endoxa":
        import endoxa

        def once() -> float:
            found = endoxa.measure(run, qrels, ["AP", "nDCG@10", "RR", "P@10", "R@1000"]).to_dict()["run"]
            return sum(row["AP"] for row in found.values()) / len(found)
    else:
        import pytrec_eval

        def once() -> float:
            wanted = {"map", "ndcg_cut.10", "recip_rank", "P.10", "recall.1000"}
            found = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
            return sum(row["map"] for row in found.values()) / len(found)

    value, times = once(), []
    for _ in range(30):
        begun = time.process_time()
        once()
        times.append(1000 * (time.process_time() - begun))
    print(json.dumps([statistics.median(times), value]))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
