"""make cluster: the same scores on a cluster, also where a worker is killed in the middle, and what it costs.

    make cluster [LINES=2000000]

Starts a Spark master and two workers of one core each from the package, on the loopback only; scores seven runs on
them, undisturbed and again while one worker is killed; and compares with the scores of this process, to the last bit.
Then measures local[1] and local[2] in turn, TRIALS processes with JOBS jobs each, and compares the medians. Exits with
1 where anything differs, or where the kill came too late to mean anything. With LINES=50000000 some five minutes, and
3 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.data import Shape, make

import endoxa
from endoxa.scale import spark

MEASURES = ["AP", "nDCG@10", "P@10", "RR"]
RUNS, DEPTH = 7, 1000
TRIALS, JOBS = 3, 5
AIM = 1.7  # local[2] against local[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master on the loopback, and its workers; each is a group of processes of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    address = f"spark://127.0.0.1:{free_port()}"
    settings = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}

    def start(name: str, kind: str, *words: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *words]
        with (folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(command, env=settings, stdout=log, stderr=log, start_new_session=True)

    master = start("master", "master.Master", "--port", address.rpartition(":")[2], "--webui-port", "0")
    started = [master]
    try:
        _await_port(address)
        for number in range(workers):
            work = ("--cores", "1", "--memory", "2g", "--webui-port", "0", "--work-dir", str(folder / f"work{number}"))
            started.append(start(f"worker{number}", "worker.Worker", *work, address))
        yield address, started[1:]
    finally:
        for process in started:
            _kill(process)


def _await_port(address: str) -> None:
    host, port = spark._masters(address)[0]
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the master did not start within a minute")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a group of processes that this script started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_in_the_middle(context: Any, victim: subprocess.Popen[bytes], seen: list[tuple[int, int]]) -> None:
    """Kill a worker when a quarter of the tasks of the next large stage are done."""
    tracker = context.statusTracker()
    for _ in range(60_000):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numTasks > 4 and info.numCompletedTasks * 4 >= info.numTasks:
                _kill(victim)
                seen.append((info.numCompletedTasks, info.numTasks))
                return
        time.sleep(0.01)


def timed(runs: list[str], qrels: str, on: str | None) -> tuple[float, endoxa.Scores]:
    start = time.perf_counter()
    scores = endoxa.measure(runs, qrels, MEASURES, on=on)
    return time.perf_counter() - start, scores


def processor_time(pid: int) -> float:
    """Seconds of processor time of a process and all its descendants that live (Linux)."""
    children: dict[int, list[int]] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(words[1]), []).append(int(entry.parent.name))
        used[int(entry.parent.name)] = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def total(one: int) -> float:
        return used.get(one, 0.0) + sum(map(total, children.get(one, [])))

    return total(pid)


def say(name: str, seconds: float, lines: int, more: str = "") -> None:
    print(f"{name:44} {seconds:8.1f} s {lines / seconds / 1e6:8.2f} million lines/s  {more}", flush=True)


def alone(on: str, qrels: str, runs: list[str]) -> dict[str, list[float]]:
    """Seconds of one address, in a process of its own: to start a session, of each job, and of processor time."""
    words = [sys.executable, "-m", "cluster.cluster", "--alone", on, qrels, *runs]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{on}: {result.stderr[-2000:]}")
    return dict(json.loads(result.stdout))


def _alone(on: str, qrels: str, runs: list[str]) -> None:
    start = time.perf_counter()
    made = spark.session(on)
    list(spark.mapped(on, _warm, range(8)))
    found: dict[str, list[float]] = {"start": [time.perf_counter() - start], "job": [], "driver": [], "workers": []}
    for _ in range(JOBS):
        all_before, own_before = processor_time(os.getpid()), time.process_time()
        found["job"].append(timed(runs, qrels, on)[0])
        found["driver"].append(time.process_time() - own_before)
        found["workers"].append(processor_time(os.getpid()) - all_before - found["driver"][-1])
    made.stop()
    print(json.dumps(found))


def _warm(item: int) -> int:
    """Load what a worker needs, in each of its processes."""
    import endoxa.io.distributed
    import endoxa.measures.evaluate  # noqa: F401

    time.sleep(0.5)
    return item


def main() -> int:
    """Run everything, and say what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=2_000_000)
    parser.add_argument("--alone", nargs="+")
    given = parser.parse_args()
    if given.alone:
        _alone(given.alone[0], given.alone[1], given.alone[2:])
        return 0
    queries = max(given.lines // (RUNS * DEPTH), 20)
    shape = Shape(f"cluster-{queries}", queries, DEPTH, 5, runs=RUNS)
    qrels, runs = (str(path) if isinstance(path, Path) else [str(one) for one in path] for path in make(shape))
    assert isinstance(qrels, str)
    size = sum(Path(run).stat().st_size for run in runs)
    print(f"{shape.lines:,} lines, {size / 1e6:,.0f} MB, {RUNS} runs of {queries:,} queries; {os.cpu_count()} cores")
    wrong = 0
    before = resource.getrusage(resource.RUSAGE_SELF)
    seconds, expected = timed(list(runs), qrels, None)
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    say("this process", seconds, shape.lines, f"{used:.1f} s of processor time")
    with tempfile.TemporaryDirectory(prefix="endoxa-cluster-") as folder, cluster(Path(folder)) as (address, workers):
        start = time.perf_counter()
        context = spark.session(address).sparkContext
        print(f"{'a session with a master and two workers':44} {time.perf_counter() - start:8.1f} s")
        killed: list[tuple[int, int]] = []
        for name in ("two workers", "two workers, again", "two workers, one killed", "one worker left"):
            if name.endswith("killed"):
                thread = threading.Thread(target=kill_in_the_middle, args=(context, workers[1], killed), daemon=True)
                thread.start()
            seconds, scores = timed(list(runs), qrels, address)
            same = scores.frame.equals(expected.frame) and scores.coverage.equals(expected.coverage)
            wrong += not same
            say(name, seconds, shape.lines, "same scores" if same else "OTHER SCORES")
        if killed:
            print(f"the worker was killed after {killed[0][0]} of {killed[0][1]} tasks")
        else:
            wrong += 1
            print("the kill came too late: give more lines")
        context.stop()
    tried: dict[str, list[dict[str, list[float]]]] = {"local[1]": [], "local[2]": []}
    for _ in range(TRIALS):
        for on, trials in tried.items():
            trials.append(alone(on, qrels, list(runs)))
    first, second = (
        {name: median(value for one in trials for value in one[name]) for name in trials[0]}
        for trials in tried.values()
    )
    for (on, trials), usual in zip(tried.items(), (first, second), strict=True):
        used = f"driver {usual['driver']:.1f} s, workers and Java {usual['workers']:.1f} s of processor time"
        say(f"{on} (session {usual['start']:.1f} s), median", usual["job"], shape.lines, used)
        print("  jobs: " + "; ".join(" ".join(f"{seconds:.1f}" for seconds in one["job"]) for one in trials))
    possible = (first["driver"] + first["workers"]) / (second["driver"] + second["workers"] / 2)
    print(
        f"local[2] is {first['job'] / second['job']:.2f} times as fast as local[1]; by processor time, on two free "
        f"cores, {possible:.2f} (the aim, on 50 million lines: {AIM})"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
