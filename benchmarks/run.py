"""`make bench`: each tool in a cold process of its own, interleaved, median and spread, ratios and peak memory.

Every tool reads the same files and gives AP, nDCG@10, RR, P@10 and R@1000; reading is included. The values must agree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import doubt, fusion, labels, no_judgments, pictures, search, visualness, words
from benchmarks.data import SHAPES, Shape, make

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"


@dataclass(frozen=True)
class Tool:
    """A tool: what to call it, its script, the Python that has it, more words."""

    name: str
    script: str
    python: str
    words: tuple[str, ...] = ()


TOOLS = [
    Tool("endoxa", "endoxa_tool.py", sys.executable),
    Tool("endoxa + intervals", "endoxa_tool.py", sys.executable, ("--intervals",)),
    Tool("pytrec_eval", "pytrec.py", str(PEERS)),
    Tool("ir_measures", "irmeasures.py", str(PEERS)),
    Tool("ranx", "ranx_tool.py", str(PEERS)),
    Tool("(reading bytes)", "bytes_tool.py", sys.executable),
]


@dataclass(frozen=True)
class Trial:
    """One cold process: seconds by the wall and by the processor, peak memory in MB, what it printed."""

    seconds: float
    processor: float
    memory: float
    values: list[dict[str, float]]


def once(tool: Tool, qrels: Path, runs: list[Path]) -> Trial:
    """Run a tool once, from nothing."""
    command = [tool.python, str(HERE / "tools" / tool.script), str(qrels), *map(str, runs), *tool.words]
    with tempfile.TemporaryFile("w+") as out:
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begun
        if status:
            raise SystemExit(f"{tool.name} failed: {' '.join(command)}")
        out.seek(0)
        values = [json.loads(line) for line in out]
    return Trial(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, values)


def compare(shape: Shape, times: int) -> None:
    """All tools on one collection."""
    qrels, runs = make(shape)
    trials: dict[str, list[Trial]] = {tool.name: [] for tool in TOOLS}
    for _ in range(times):
        for tool in TOOLS:
            trials[tool.name].append(once(tool, qrels, runs))
    _agree(trials)
    reference = statistics.median(trial.seconds for trial in trials["endoxa"])
    size = f"{shape.queries:,} queries x {shape.depth:,} items, {shape.judged:,} judgments each"
    print(f"\n{shape.name}: {size}, {times} trials; time and memory beside endoxa")
    print(f"{'tool':20} {'median s':>9} {'min-max':>13} {'cpu s':>7} {'peak MB':>8} {'time':>9} {'memory':>9}")
    memory = statistics.median(trial.memory for trial in trials["endoxa"])
    for name, some in trials.items():
        seconds = [trial.seconds for trial in some]
        median, peak = statistics.median(seconds), statistics.median(trial.memory for trial in some)
        processor = statistics.median(trial.processor for trial in some)
        print(
            f"{name:20} {median:9.2f} {min(seconds):6.2f}-{max(seconds):5.2f} {processor:7.2f} {peak:8.0f} "
            f"{median / reference:8.2f}x {peak / memory:8.2f}x"
        )


def _agree(trials: dict[str, list[Trial]]) -> None:
    """Every tool must give the same means, or the comparison is void."""
    reference = trials["pytrec_eval"][0].values
    for name, some in trials.items():
        if name.startswith("("):
            continue
        for trial in some:
            for mine, theirs in zip(trial.values, reference, strict=True):
                for measure, value in theirs.items():
                    if abs(mine[measure] - value) > 1e-6:
                        raise SystemExit(f"{name} gives {measure} = {mine[measure]}, pytrec_eval {value}")


def growth(times: int) -> None:
    """Cost and memory as the number of runs grows: linear, and bounded by the largest run."""
    shape = SHAPES["many"]
    qrels, runs = make(shape)
    tool = TOOLS[0]
    print(f"\n{shape.name}: {shape.runs} runs of {shape.queries * shape.depth:,} lines, {shape.lines:,} in all")
    print(f"{'runs':>5} {'lines':>10} {'median s':>9} {'s / million lines':>18} {'peak MB':>8}")
    for count in (1, 5, 10, 20):
        some = [once(tool, qrels, runs[:count]) for _ in range(times)]
        lines = count * shape.queries * shape.depth
        median = statistics.median(trial.seconds for trial in some)
        peak = statistics.median(trial.memory for trial in some)
        print(f"{count:5} {lines:10,} {median:9.2f} {median / lines * 1e6:18.3f} {peak:8.0f}")


def main() -> None:
    """Everything, or the collections named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = [*SHAPES, "doubt", "no-judgments", "labels", "fusion", "search", "words", "visualness", "pictures"]
    parser.add_argument("shapes", nargs="*", help=f"of {', '.join(parts)}; all by default")
    parser.add_argument("--times", type=int, default=5)
    asked = parser.parse_args()
    for name in asked.shapes or parts:
        if name == "doubt":
            doubt.main(asked.times)
        elif name == "no-judgments":
            no_judgments.main(asked.times)
        elif name == "labels":
            labels.main(asked.times)
        elif name == "fusion":
            fusion.main()
        elif name == "search":
            search.main()
        elif name == "visualness":
            visualness.main()
        elif name == "words":
            words.main(asked.times)
        elif name == "pictures":
            pictures.main(asked.times)
        elif name == "many":
            growth(asked.times)
        else:
            compare(SHAPES[name], asked.times)


if __name__ == "__main__":
    main()
