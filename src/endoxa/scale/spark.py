"""The map over many blocks on Spark.

What is mapped is pickled and broadcast once; a task gets an item (the name of a file, a query) and gives back a result.
A task that is lost with its worker is run again by Spark, on another one. Errors of a task travel as values, so that
they are raised here as they would be on one machine.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import polars as pl

from endoxa.errors import CallError, EndoxaError, InstallError
from endoxa.extras import need

VERSION = version("endoxa")
Item = TypeVar("Item")
Result = TypeVar("Result")
JAVA = 17  # the oldest Java that Spark 4 runs on
TOGETHER = 4  # tasks per core, where many small items share a task
ROWS = 500_000  # rows that are worked on at a time, at least, where rows come from Spark
ANSWER, WORKERS = 5.0, 60.0  # seconds that a master has to answer, and its workers to take the job
ADDRESS = re.compile(r"local(\[(\d+|\*)\])?|spark://[^,/]+:\d+(,[^,/]+:\d+)*")
ADDRESSES = "local[2] (two cores of this machine), local[*] (all of them) or spark://HOST:PORT (a cluster)"
# A task uses one core. Polars and BLAS would take all.
ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def address_of(session: Any) -> str:
    """The address of a Spark session."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        raise CallError(f"on is {ADDRESSES}, or a Spark session, not a {type(session).__name__}")
    return str(context.master)


# ---- sessions -----------------------------------------------------------------------------------------


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what PySpark warns of that does not concern its user: it has not been tried with the newest pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@_quiet()
def session(address: str) -> Any:
    """The Spark session at this address: the one that runs in this program, or a new one that stays until its end."""
    need("spark")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context  # there is no public way to ask without starting one
    if running is not None and running._jsc is not None:
        if running.master != address:
            raise CallError(
                f"this program runs Spark at {running.master}, and a program can run it only once",
                remedy=f"use on={running.master!r}, or stop that session first",
            )
        return SparkSession.builder.getOrCreate()
    if not ADDRESS.fullmatch(address):
        raise CallError(f"{address!r} is not an address of Spark", remedy=f"give {ADDRESSES}, or in Python a session")
    _require_java()
    _require_answer(address)
    made = _started(address)
    if not address.startswith("local"):
        _require_workers(made, address)
    return made


def _started(address: str) -> Any:
    """A new session. What its Java process has to say goes to a file, and is read where it fails."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.app.name": "endoxa", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.maxResultSize": "0", "spark.driver.memory": "2g",
        **{f"spark.executorEnv.{name}": "1" for name in ONE_THREAD},
    }  # fmt: skip
    if hasattr(socket, "AF_UNIX"):  # through TCP, Java and Python wait 40 ms for each other in every task
        options["spark.python.unix.domain.socket.enabled"] = "true"
    if _is_loopback(address):
        options |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf(loadDefaults=False).setMaster(address).setAll(list(options.items()))
    with tempfile.TemporaryFile() as log:  # the process keeps it open when it is closed here
        try:
            if SparkContext._gateway is None:  # else Java runs already, from a session that was stopped
                gateway = launch_gateway(conf, {"stderr": log, "stdout": log})
                SparkContext._ensure_initialized(gateway=gateway, conf=conf)
            return SparkSession.builder.config(conf=conf).getOrCreate()
        except (Py4JError, PySparkException) as error:
            log.seek(0)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if " ERROR " in line]
            reason = lines[0].partition(" ERROR ")[2].strip() if lines else first_words(str(error))
            raise CallError(f"Spark did not start at {address}: {reason[:300]}") from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    remedy = f"install Java {JAVA} or newer (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME"
    if java is None:
        where = f"JAVA_HOME ({home})" if home else "the PATH"
        raise InstallError(f"Spark needs Java, and there is none in {where}", remedy=remedy)
    words = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', words.stderr + words.stdout)
    if found is None or int(found[1]) < JAVA:
        version = f"Java {found[1]}" if found else "no version that can be read"
        raise InstallError(f"Spark needs Java {JAVA} or newer, and {java} is {version}", remedy=remedy)


def _masters(address: str) -> list[tuple[str, int]]:
    if not address.startswith("spark://"):
        return []
    pairs = (part.rpartition(":") for part in address.removeprefix("spark://").split(","))
    return [(host.strip("[]"), int(port)) for host, _, port in pairs]


def _is_loopback(address: str) -> bool:
    return all(host == "localhost" or host.startswith("127.") for host, _ in _masters(address))


def _require_answer(address: str) -> None:
    """Refuse an address at which nobody listens: Spark itself would try for minutes."""
    reasons = []
    for host, port in _masters(address):
        try:
            with socket.create_connection((host, port), timeout=ANSWER):
                return
        except (OSError, OverflowError) as error:
            reasons.append(f"{host}:{port}: {error}")
    if reasons:
        raise CallError(
            f"no Spark master answers at {address} ({'; '.join(reasons)})",
            remedy="start one with: spark-class org.apache.spark.deploy.master.Master",
        )


def _require_workers(made: Any, address: str) -> None:
    """Wait until a worker has taken the job. Spark itself would wait for ever."""
    deadline = time.monotonic() + WORKERS
    while len(made.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) < 2:  # the first one is this program
        if time.monotonic() > deadline:
            made.stop()
            raise CallError(
                f"no worker of {address} took the job within {WORKERS:.0f} s",
                remedy="start a worker, or wait until one has a free core and 1 GB of free memory",
            )
        time.sleep(0.1)


# ---- the map ------------------------------------------------------------------------------------------


def cores(address: str) -> int:
    """How many tasks run at the same time."""
    return int(session(address).sparkContext.defaultParallelism)


def mapped(
    address: str, function: Callable[[Item], Result], items: Iterable[Item], *, apart: bool = False
) -> Iterator[Result]:
    """Results of the function in the order of the items, like `map`. With `apart` every item is a task of its own."""
    every = list(items)
    if not every:
        return iter(())
    context = session(address).sparkContext
    tasks = len(every) if apart else min(len(every), TOGETHER * context.defaultParallelism)
    with _Shipped(context, function) as shipped:
        return _results(
            lambda: context.parallelize(every, tasks).mapPartitions(partial(_worked, shipped, VERSION)).collect()
        )


@_quiet()
def mapped_rows(frame: Any, function: Callable[[pl.DataFrame], Result], order: Sequence[str] = ()) -> Iterator[Result]:
    """Results of the function for frames of whole queries, from a Spark frame with a column `query`, in any order.

    The rows are shuffled by query and sorted by query and `order`.
    """
    context = frame.sparkSession.sparkContext
    tasks = TOGETHER * context.defaultParallelism
    with _Shipped(context, function) as shipped:

        def worked(batches: Iterator[Any]) -> Iterator[Any]:
            return _worked_rows(shipped, VERSION, batches)

        moved = frame.repartition(tasks, "query").sortWithinPartitions("query", *order)
        return _results(lambda: [pickle.loads(row[0]) for row in moved.mapInArrow(worked, "result binary").collect()])


@_quiet()
def rows_of(address: str, function: Callable[[Item], pl.DataFrame], items: Iterable[Item], schema: str) -> Any:
    """A Spark frame of the rows of all items; every item is a task of its own, which waits until rows are needed."""
    every = list(items)
    made = session(address)
    shipped = _Shipped(made.sparkContext, (function, every))

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        function, every = shipped.content()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from function(every[number]).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    numbers = made.sparkContext.parallelize([(number,) for number in range(len(every))], len(every))
    return made.createDataFrame(numbers, "number long").mapInArrow(read, schema)


class _Shipped:
    """A value on its way to every worker: pickled once here, unpickled once in each process there."""

    def __init__(self, context: Any, value: Any) -> None:
        from pyspark import cloudpickle

        self.token = uuid4().hex
        self.broadcast = context.broadcast(cloudpickle.dumps(value))

    def __enter__(self) -> _Shipped:
        return self

    def __exit__(self, *_: object) -> None:
        self.broadcast.unpersist()

    def content(self) -> Any:
        """The value, in a worker."""
        if self.token not in _UNPACKED:
            _UNPACKED.clear()
            gc.unfreeze()
            _UNPACKED[self.token] = pickle.loads(self.broadcast.value)
            gc.collect()
            gc.freeze()  # PySpark looks for garbage after every task; what stays is looked at only here
        return _UNPACKED[self.token]


_UNPACKED: dict[str, Any] = {}  # the last value that this process of a worker unpacked
Outcome = tuple[EndoxaError | None, Any]


def _worked(shipped: _Shipped, wanted: str, items: Iterable[Any]) -> Iterator[Outcome]:
    """In a worker: the function of every item, or the error that the user can correct."""
    if wanted != VERSION:
        where = socket.gethostname()
        remedy = f"install the same on all: pip install endoxa=={wanted}"
        yield InstallError(f"the worker {where} has endoxa {VERSION}, and this is {wanted}", remedy=remedy), None
        return
    function = shipped.content()
    for item in items:
        try:
            yield None, function(item)
        except EndoxaError as error:
            yield error, None


def _worked_rows(shipped: _Shipped, wanted: str, batches: Iterable[Any]) -> Iterator[Any]:
    """In a worker: the same for rows in Arrow's batches, which are sorted by query; the outcomes are pickled."""
    import pyarrow as pa

    for outcome in _worked(shipped, wanted, _whole_queries(batches)):
        yield pa.RecordBatch.from_pydict({"result": pa.array([pickle.dumps(outcome)], pa.binary())})


def _whole_queries(batches: Iterable[Any]) -> Iterator[pl.DataFrame]:
    """Frames of whole queries with about ROWS rows each."""
    waiting: list[pl.DataFrame] = []
    for batch in batches:
        rows = pl.DataFrame(pl.from_arrow(batch))
        if sum(part.height for part in waiting) >= ROWS:
            begins = (rows["query"] != waiting[-1]["query"][-1]).arg_true()
            if len(begins):
                yield pl.concat([*waiting, rows[: begins[0]]])
                waiting, rows = [], rows[begins[0] :]
        waiting.append(rows)
    if any(part.height for part in waiting):
        yield pl.concat(waiting)


def _results(job: Callable[[], list[Outcome]]) -> Iterator[Any]:
    """Run a job. The first error is raised, and what goes wrong on the side of Spark is said in one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        outcomes = job()
    except (Py4JError, PySparkException) as error:
        raise _plain(str(error)) from None
    for wrong, _ in outcomes:
        if wrong is not None:
            raise wrong
    return iter([result for _, result in outcomes])


def _plain(text: str) -> EndoxaError:
    """The message of Spark, which has hundreds of lines, in one."""
    missing = re.search(r"No module named '(\w+)", text)
    if missing is not None:
        return InstallError(
            f"a worker has no {missing[1]}",
            remedy="install the same on all workers, in the Python that they run "
            f"(PYSPARK_PYTHON={os.environ.get('PYSPARK_PYTHON', 'python3')}): pip install 'endoxa[spark]=={VERSION}'",
        )
    absent = re.search(r'Cannot run program "([^"]+)"', text)
    if absent is not None:
        return InstallError(
            f"a worker has no program {absent[1]}: set PYSPARK_PYTHON to the Python of the workers that has endoxa"
        )
    versions = re.search(r"different (?:minor )?version.*?(\d\.\d+).*?(\d\.\d+)", text)
    if versions is not None:
        return InstallError(
            f"the workers run Python {versions[1]} and this is {versions[2]}: set PYSPARK_PYTHON to the same version"
        )
    lost = "ExecutorLost" in text or "SparkContext was shut down" in text or "stopped SparkContext" in text
    lines = [line.strip() for line in text.splitlines() if re.match(r"[\w.]*(Error|Exception)\b", line.strip())]
    reason = lines[-1] if lines else first_words(text)
    what = "Spark lost its workers, and the job with them" if lost else "the job failed on Spark"
    return CallError(f"{what}: {reason[:300]}")


def first_words(text: str) -> str:
    """The first line with content."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason was given")
