"""`make judge-model`: real models grade pairs through `endoxa judge`, and are compared with grades by hand.

A language model behind a server, asked in two ways, and an embedding model as a command. Both are small, and come
inside packages. This shows that the command works with real models, not that these are worth asking.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import socket

import numpy as np
import polars as pl
from judge_model import samples
from scipy.stats import kendalltau

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-judge" / "bin" / "python"
MODEL = "SmolLM2-135M-Instruct"
SHORT = """\
Question: {query}

Text: {item}

How well does the text answer the question? 0: not at all. 1: hardly. 2: in part. 3: completely.
Reply with one digit.
"""
# Cosines of all-MiniLM-L6-v2 for "That is a happy person", so that a change of the model or of the NumPy code is seen.
KNOWN = {"That is a happy dog": 0.695, "That is a very happy person": 0.943, "Today is a sunny day": 0.257}


@contextmanager
def served() -> Iterator[str]:
    """The address of the language model."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [PYTHON, HERE / "serve.py", str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address, "the server did not start"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        process.wait(30)


def card(grades: Sequence[float], labels: Sequence[int]) -> str:
    """How the judge's grades order the labels: tau-b, and the chance that a relevant pair (2, 3) is above another."""
    given, known = np.array(grades), np.array(labels)
    above = given[known >= 2][:, None] - given[known < 2][None]
    auc = (above > 0).mean() + (above == 0).mean() / 2
    means = ", ".join(f"{given[known == label].mean():.2f} for {label}" for label in sorted(set(labels)))
    return f"AUC {auc:.2f}, tau-b {kendalltau(given, known).statistic:.2f}; mean grade {means}"


def write_runs(home: Path) -> list[Path]:
    """Three simple systems that order the passages of each question: by shared words, by length, by name."""
    queries, items = samples.queries(), samples.items()
    scores = {
        "words": lambda query, item: float(len({*queries[query].split()} & {*items[item].lower().split()})),
        "length": lambda query, item: float(len(items[item])),
        "name": lambda query, item: float(int(item[1:3])),
    }
    paths = []
    for system, score in scores.items():
        rows = [(query, item, score(query, item)) for query, item, _ in samples.pairs()]
        paths.append(home / f"{system}.csv")
        pl.DataFrame(rows, schema=["query", "item", "score"], orient="row").write_csv(paths[-1])
    return paths


def check_known() -> None:
    """The embedding model in NumPy gives the known numbers."""
    for text, cosine in KNOWN.items():
        call = [PYTHON, HERE / "similar.py", "That is a happy person", text]
        found = float(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
        assert abs(found - cosine) < 0.001, (text, found, cosine)


def main() -> None:
    """Grade in every way; each twice, the second time from the file."""
    check_known()
    rows = samples.pairs()
    truth = {(query, item): grade for query, item, grade in rows}
    with tempfile.TemporaryDirectory() as folder, served() as url:
        home = Path(folder)
        pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row").drop("grade").write_csv(home / "pairs.csv")
        for name, texts in (("query", samples.queries()), ("item", samples.items())):
            pl.DataFrame({name: list(texts), "text": list(texts.values())}).write_csv(home / f"{name}.csv")
        (home / "short.txt").write_text(SHORT)
        runs, labels_file = write_runs(home), home / "labels.csv"
        hand = pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row")
        hand.with_columns(grade=(pl.col("grade") >= 2).cast(pl.Int64)).write_csv(labels_file)
        model = ("--url", url, "--model", MODEL, "--workers", "1")
        first = ("--prompt", home / "short.txt", "--probabilities", "--set", "max_tokens=1")
        similar = f"minilm='{PYTHON}' '{HERE / 'similar.py'}' {{query}} {{item}}"
        ways = {
            f"{MODEL}, the usual prompt, JSON by a schema": model,
            f"{MODEL}, a short prompt, probabilities of the first token": (*model, *first),
            "all-MiniLM-L6-v2 as a command, scale 0-1": ("--with", similar, "--scale", "0-1"),
        }
        print(f"{len(rows)} pairs graded by hand")
        for number, (way, words) in enumerate(ways.items()):
            to = home / f"{number}.jsonl"
            files = ("--queries", home / "query.csv", "--items", home / "item.csv", "--to", to)
            call = [sys.executable, "-m", "endoxa", "judge", home / "pairs.csv", *files, *words]
            begun = time.monotonic()
            answer = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
            took = time.monotonic() - begun
            kept = pl.read_ndjson(to, infer_schema_length=None)
            assert kept.height == len(rows)
            again = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]
            assert again == answer and pl.read_ndjson(to, infer_schema_length=None).equals(kept)
            known = kept.filter(pl.col("grade").is_not_null())
            labels = [truth[pair] for pair in known.select("query", "item").rows()]
            print(f"\n{way} ({took:.0f} s)\n  {answer}\n  {card(known['grade'].to_list(), labels)}", flush=True)
            call = [sys.executable, "-m", "endoxa", "eval", *runs, "AP", "--judge", to, "--labels", labels_file]
            told = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
            shown = told.partition("Machine judges beside people\n")[2].partition("\n\n")[0]
            print("\n".join(f"  {line}" for line in (shown or told.partition("\n")[0]).splitlines()), flush=True)


if __name__ == "__main__":
    main()
