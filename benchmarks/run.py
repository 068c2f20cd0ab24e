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
from dataclasses import dataclass
from pathlib import Path

from benchmarks import doubt, fusion, labels, no_judgments, pictures, search, visualness, words
from benchmarks.data import SHAPES, Shape, make

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"


TREC_EVAL = os.environ.get("TREC_EVAL", "")
LABELS = {"map": "AP", "ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "P_10": "P@10", "recall_1000": "R@1000"}


@dataclass(frozen=True)
class Tool:
    """A tool: what to call it, its script, the Python that has it, more words; a command alone has no Python."""

    name: str
    script: str
    python: str = ""
    words: tuple[str, ...] = ()
    packed: bool = True  # whether it is compared on gzip

    def command(self, qrels: Path, runs: list[Path]) -> list[str]:
        """The command that evaluates the runs."""
        if not self.python:
            return ["sh", "-c", self.script, "sh", str(qrels), *map(str, runs)]
        return [self.python, str(HERE / "tools" / self.script), str(qrels), *map(str, runs), *self.words]


ASKED = "-m map -m ndcg_cut.10 -m recip_rank -m P.10 -m recall.1000"
TREC = f"qrels=$1; shift; for run; do {TREC_EVAL} {ASKED} $qrels $run"
TOOLS = [
    Tool("endoxa", "endoxa_tool.py", sys.executable),
    Tool("endoxa + intervals", "endoxa_tool.py", sys.executable, ("--intervals",)),
    Tool("endoxa, pure Python", "endoxa_tool.py", sys.executable, ("--pure",)),
    Tool("pytrec_eval", "pytrec.py", str(PEERS)),
    *([Tool("trec_eval", f"{TREC}; done", packed=False)] if TREC_EVAL else []),
    Tool("ir_measures", "irmeasures.py", str(PEERS), packed=False),
    Tool("ranx", "ranx_tool.py", str(PEERS), packed=False),
    Tool("(wc -l)", 'shift; wc -l "$@" > /dev/null'),  # what reading the files costs at least
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
    command = tool.command(qrels, runs)
    environment = os.environ | {"ENDOXA_NATIVE": "0" if "--pure" in tool.words else "1"}
    timed = [sys.executable, "-S", "-E", str(HERE / "tools" / "timed.py"), *(one for one in command if one != "--pure")]
    done = subprocess.run(timed, capture_output=True, text=True, check=False, env=environment)
    status, seconds, processor, memory = json.loads(done.stderr.splitlines()[-1])
    if status:
        raise SystemExit(f"{tool.name} failed: {' '.join(command)}\n{done.stderr}")
    return Trial(seconds, processor, memory, _values(tool, done.stdout))


def _values(tool: Tool, printed: str) -> list[dict[str, float]]:
    """The means of each run: a line of JSON, or five lines of trec_eval."""
    if tool.python:
        return [json.loads(line) for line in printed.splitlines()]
    rows = [line.split() for line in printed.splitlines()]
    means = [(LABELS[name], float(value)) for name, _, value in rows]
    return [dict(means[first : first + len(LABELS)]) for first in range(0, len(means), len(LABELS))]


def compare(shape: Shape, times: int) -> None:
    """All tools on one collection."""
    qrels, runs = make(shape)
    tools = [tool for tool in TOOLS if tool.packed or not shape.packed]
    tools = tools if shape.runs == 1 else [tool for tool in tools if tool.name in {"endoxa", "pytrec_eval", "(wc -l)"}]
    trials: dict[str, list[Trial]] = {tool.name: [] for tool in tools}
    for _ in range(times):
        for tool in tools:
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
                    # trec_eval keeps scores in single precision, where 59.491162 and 59.491161 tie
                    if abs(mine[measure] - value) > (1e-4 if name == "trec_eval" else 1e-5):
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


SIZES = ((50, 1000, 200), (50, 100, 20))


def dictionaries(times: int) -> None:
    """From dictionaries in one process, as in a validation loop."""
    print(f"\ndictionaries: one process, AP nDCG@10 RR P@10 R@1000, {times} processes of 30 evaluations each")
    for size in SIZES:
        found: dict[str, list[float]] = {"endoxa": [], "pytrec_eval": []}
        for _ in range(times):
            for tool, python in (("endoxa", sys.executable), ("pytrec_eval", str(PEERS))):
                command = [python, str(HERE / "tools" / "dicts_tool.py"), tool, *map(str, size)]
                milliseconds, _value = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
                found[tool].append(milliseconds)
        mine, theirs = (statistics.median(found[tool]) for tool in found)
        shape = f"{size[0]} queries x {size[1]} items, {size[2]} judged"
        print(f"{shape:40} endoxa {mine:6.2f} ms, pytrec_eval {theirs:6.2f} ms: {theirs / mine:.1f}x")


def start(times: int) -> None:
    """What a command costs before it does anything."""
    qrels, runs = make(SHAPES["small"])
    files = f"{qrels} {runs[0]}"
    print(f"\nstart: {times} trials\n{'command':28} {'median s':>9} {'cpu s':>7} {'peak MB':>8}")
    for name, line in {
        "python -c pass": "-c pass", "endoxa --help": "-m endoxa --help", "endoxa eval --help": "-m endoxa eval --help",
        "endoxa explain AP": "-m endoxa explain AP", "endoxa eval qrels run (small)": f"-m endoxa eval {files}",
    }.items():  # fmt: skip
        tool = Tool(name, f"{sys.executable} {line} > /dev/null")
        some = [once(tool, qrels, runs) for _ in range(times)]
        figures = zip(*((trial.seconds, trial.processor, trial.memory) for trial in some), strict=True)
        middle = [statistics.median(values) for values in figures]
        print(f"{name:28} {middle[0]:9.3f} {middle[1]:7.3f} {middle[2]:8.0f}")


def main() -> None:
    """Everything, or the collections named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = [*SHAPES, "dictionaries", "start", "doubt", "no-judgments", "labels", "fusion", "search", "words"]
    parts += ["visualness", "pictures"]
    parser.add_argument("shapes", nargs="*", help=f"of {', '.join(parts)}; all by default")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--without", action="append", default=[], metavar="TOOL", help="leave a tool out: ranx")
    asked = parser.parse_args()
    TOOLS[:] = [tool for tool in TOOLS if tool.name not in asked.without]
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
        elif name == "dictionaries":
            dictionaries(asked.times)
        elif name == "start":
            start(asked.times)
        elif name == "many":
            growth(asked.times)
            compare(SHAPES[name], asked.times)
        else:
            compare(SHAPES[name], asked.times)


if __name__ == "__main__":
    main()
