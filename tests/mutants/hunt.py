"""make mutants: change the code a little, 300 times, and see whether the tests of the module notice.

A mutant is tried against the tests that call the changed function: first those of the module's own test files, the
quickest first, and where all pass, the whole of these files and those of the package. The tree that people edit is not
touched: the changed module is compiled from memory in a process of its own. Survivors are listed; those that cannot be
told from the original stand in equivalent.toml, with a reason.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from mutants.operators import Mutant, mutants, mutated
from mutants.trial import ROOT, SOURCE, started, tested, traced

PACKAGES = ("statistics", "comparisons", "pools", "beliefs")
KERNELS = ("gains", "graded", "ranked", "sets", "unjudged")  # of measures
HOME = ROOT / ".mutants"
HERE = Path(__file__).parent
LOADED = (
    "numpy", "polars", "scipy.stats", "scipy.optimize", "scipy.special", "scipy.sparse", "hypothesis",
    "pandas", "pyarrow", "rich.console", "ir_measures", "polars.testing", "hypothesis.extra.numpy",
)  # fmt: skip
SIMULATIONS = {"tests/comparisons/test_coverage.py"}  # too long to be run for every survivor
LEAST = 0.95


@dataclass(frozen=True)
class Calls:
    """What the tests of a file call, and how long each takes."""

    shared: frozenset[str]
    tests: dict[str, tuple[float, frozenset[str]]]

    def reaching(self, mutant: Mutant) -> list[str]:
        """The tests that call the changed function, all if it is called where tests share it, the quickest first."""
        place = f"{mutant.module}:{mutant.first}"
        everybody = not mutant.first or place in self.shared
        found = {name: seconds for name, (seconds, calls) in self.tests.items() if everybody or place in calls}
        return sorted(found, key=found.__getitem__)


@dataclass
class Trial:
    """A mutant that is being tried."""

    mutant: Mutant
    stage: int = 0
    outcome: str = ""


@dataclass
class Hunt:
    """All trials, and the processor time that they took."""

    jobs: int
    seconds: float = 0.0
    known: dict[str, Calls] = field(default_factory=dict)

    def learn(self, files: Iterable[str]) -> None:
        """Run test files as they are, once for every version of them, to learn what each test calls."""
        sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCE.rglob("*.py")))).hexdigest()
        waiting, running = [], {}
        HOME.mkdir(exist_ok=True)
        for file in sorted(set(files) - set(self.known)):
            version = hashlib.sha256((sources + (ROOT / file).read_text()).encode()).hexdigest()[:16]
            waiting.append((file, HOME / f"{Path(file).stem}-{version}.json"))
        missing = [(file, target) for file, target in waiting if not target.exists()]
        while missing or running:
            while missing and len(running) < self.jobs:
                file, target = missing.pop()
                log = HOME / f"{Path(file).stem}.log"
                running[started(partial(traced, file, target), 1200, log)] = (file, log)
            pid, status, used = os.wait4(next(iter(running)), 0)  # not -1: trials may be running too
            self.seconds += used.ru_utime + used.ru_stime
            file, log = running.pop(pid)
            if status:
                sys.exit(f"{file} fails as it is ({os.waitstatus_to_exitcode(status)}):\n{log.read_text()[-2000:]}")
        for file, target in waiting:
            read = json.loads(target.read_text())
            tests = {name: (one["seconds"], frozenset(one["calls"])) for name, one in read["tests"].items()}
            self.known[file] = Calls(frozenset(read["shared"]), tests)

    def run(self, chosen: list[Mutant]) -> list[Trial]:
        """Try the mutants, a few at a time; every trial with its outcome."""
        trials = [Trial(one) for one in chosen]
        waiting, running = list(reversed(trials)), {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                trial = waiting.pop()
                if (pid := self.start(trial)) is None:
                    trial.outcome = "survived"
                    print(f"survived: {trial.mutant}\n    {line_of(trial.mutant)}", flush=True)
                else:
                    running[pid] = trial
            if not running:
                continue
            pid, status, used = os.wait4(-1, 0)
            self.seconds += used.ru_utime + used.ru_stime
            trial = running.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            if code in {0, 5}:  # all passed, or there was no test
                trial.stage += 1
                waiting.append(trial)
            else:
                trial.outcome = "killed" if code > 0 else "endless"
        return trials

    def start(self, trial: Trial) -> int | None:
        """Start the next stage of a trial; None if there is none."""
        mutant = trial.mutant
        own = own_tests(mutant.module)
        for stage in range(trial.stage, 2):
            trial.stage = stage
            files = own if stage == 0 else [*own, *sorted(set(package_tests(mutant.module)) - set(own) - SIMULATIONS)]
            self.learn(files)
            wanted = [name for file in files for name in self.known[file].reaching(mutant)]
            if stage == 1:  # a test may meet the function through what an earlier test has computed
                wanted = [*(name for file in own for name in self.known[file].tests), *wanted]
            wanted = list(dict.fromkeys(wanted))
            if not wanted:
                continue
            used = {name.partition("::")[0] for name in wanted}
            seconds = {name: seconds for file in files for name, (seconds, _) in self.known[file].tests.items()}
            limit = 20 + 4 * sum(seconds[name] for name in wanted)
            tree = mutated(SOURCE / mutant.module, mutant.number)
            log = HOME / f"{len(used)}.log"
            return started(partial(tested, sorted(used), wanted, mutant.module, tree), limit, log)
        return None


def line_of(mutant: Mutant) -> str:
    """The line of the file that is changed."""
    return (SOURCE / mutant.module).read_text().splitlines()[mutant.line - 1].strip()


# ---- what belongs together ----------------------------------------------------------------------------


def modules() -> Iterator[str]:
    """The modules that are mutated: `statistics/bootstrap.py` …"""
    for package in PACKAGES:
        yield from (f"{package}/{path.name}" for path in sorted((SOURCE / package).glob("*.py")))
    yield from (f"measures/{name}.py" for name in KERNELS)


def own_tests(module: str) -> list[str]:
    """The test files of a module: that of its name, or the one that covered.toml names."""
    package, name = module.removesuffix(".py").split("/")
    covered = tomllib.loads((ROOT / "tests" / "architecture" / "covered.toml").read_text())
    names = {f"test_{name}", f"test_{package}_{name}", f"test_{name}_{package}", f"test_{package.rstrip('s')}_{name}"}
    found = [path for path in sorted((ROOT / "tests" / package).glob("test_*.py")) if path.stem in names]
    listed = [ROOT / "tests" / covered[f"{package}.{name}"]] if f"{package}.{name}" in covered else []
    return [path.relative_to(ROOT).as_posix() for path in [*found, *listed]]


def package_tests(module: str) -> list[str]:
    """The test files of the package of a module."""
    folder = ROOT / "tests" / module.partition("/")[0]
    return [path.relative_to(ROOT).as_posix() for path in sorted(folder.glob("test_*.py"))]


def equivalents() -> dict[tuple[str, str, str], str]:
    """{(module, function, change): the reason why no test can tell the mutant from the original}."""
    rows = tomllib.loads((HERE / "equivalent.toml").read_text())["mutant"]
    return {(row["module"], row["function"], row["change"]): row["reason"] for row in rows}


def sample(count: int, seed: int, only: str = "") -> list[Mutant]:
    """Mutants drawn from all modules, in the order of the files. Each has its own lot: others stay if one goes."""
    found = [one for module in modules() for one in mutants(SOURCE / module, module) if only in module]
    drawn = sorted(
        found, key=lambda one: hashlib.sha256(f"{seed} {one.module} {one.function} {one.key}".encode()).digest()
    )
    return sorted(drawn[:count], key=lambda one: (one.module, one.number))


def main() -> int:
    """Hunt, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the name of modules: statistics/, bootstrap")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="only those that survived the last hunt")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "CI": "1"}
    for name in LOADED:  # once, before the processes are forked; Endoxa itself is loaded anew in each
        importlib.import_module(name)
    begun, kept = time.monotonic(), HOME / "survivors.json"
    same = equivalents()
    chosen = sample(options.count, options.seed, options.only)
    if options.again:
        last = set(json.loads(kept.read_text()))
        chosen = [one for one in chosen if str(one) in last]
    tried = [one for one in chosen if (one.module, one.function, one.key) not in same]
    hunt = Hunt(options.jobs)
    hunt.learn({file for one in tried for file in own_tests(one.module)})
    print(
        f"{len(tried)} mutants of {len({one.module for one in tried})} modules, {len(chosen) - len(tried)} equivalent"
    )
    trials = hunt.run(tried)
    survivors = [trial.mutant for trial in trials if trial.outcome == "survived"]
    endless = sum(trial.outcome == "endless" for trial in trials)
    score = 1 - len(survivors) / max(len(tried), 1)
    kept.write_text(json.dumps([str(one) for one in survivors]))
    print(
        f"score {score:.3f}: {len(tried) - len(survivors)} of {len(tried)} mutants are noticed ({endless} by the time "
        f"limit), {len(survivors)} survive; {hunt.seconds:,.0f} s of the processor, {time.monotonic() - begun:,.0f} s"
    )
    return 0 if score >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
