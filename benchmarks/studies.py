"""How often a study's verdict is wrong: simulated studies whose truth is known.

    python -m benchmarks.studies             prints the table (about five minutes)
    python -m benchmarks.studies --few       the same over a tenth of the studies

A simulated study has queries, items with a quality and a style, systems that rank the items by quality, style and
noise, and judges with their own severity, taste for a style, and noise. Two systems are *equal* if nothing but the
sign of the style that they prefer tells them apart: over all queries and judges their mean ratings are the same. In
one study they differ nevertheless: by the queries that were drawn, by the tasks that were asked, and by the taste of
the few judges who answered. A verdict that forgets one of the three calls an equal system better.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from endoxa.studies.comparison import PAIRS, Comparison, attempted
from endoxa.studies.sampling import plan
from endoxa.studies.verdict import verdict
from endoxa.tables import Floats, Opinions, Run

GRADES = (1.0, 5.0)
FIRST = 10  # the truth is the mean rating of that many first results
LOOKS = (0.2, 0.4, 0.7, 1.0)  # shares of the assignments at which one looks


@dataclass(frozen=True)
class World:
    """What studies are drawn from. Standard deviations are in grades, of a scale from 1 to 5."""

    queries: int = 30
    judges: int = 4
    systems: int = 2
    items: int = 40
    depth: int = 25  # length of a list
    gain: float = 0.0  # the noise of the first system's scores is lower by this share
    severity: float = 0.5
    taste: float = 0.3  # how much a judge's grades follow the style of an item
    lean: float = 0.7  # how much the systems' scores do, each other one in the other direction
    noise: float = 0.8
    quality: float = 0.9  # how much the grades follow the quality of an item
    overlap: int = 1
    common: int = 5
    tasks_per_query: int = 3


@dataclass(frozen=True)
class Simulated:
    """One study: what was planned, and every answer in the order in which it was given."""

    run: Run
    draws: pl.DataFrame
    tasks: pl.DataFrame
    rows: pl.DataFrame  # of opinions, with `task` and `assignment`
    order: list[int]
    assignments: int

    def at(self, share: float) -> tuple[pl.DataFrame, list[int]]:
        """The answers to the first assignments, as an export has them, and the tasks in the order of their answers."""
        done = max(1, round(share * self.assignments))
        rows = self.rows.filter(pl.col("assignment") < done)
        reached = rows["task"].unique(maintain_order=True).to_list()
        part = len(reached) / self.tasks["task"].n_unique()
        return rows.with_columns(pl.col("propensity") * part), reached


def lists(world: World, rng: np.random.Generator, queries: int) -> tuple[Floats, Floats, Floats]:
    """Quality and style of items, [query, item], and ranks from 1, [system, query, item] (0: not returned)."""
    shape = (queries, world.items)
    quality, style = rng.normal(size=shape), rng.normal(size=shape)
    side = np.where(np.arange(world.systems) % 2 == 0, 1.0, -1.0)[:, None, None]
    spread = np.ones(world.systems)
    spread[0] -= world.gain
    noise = rng.normal(size=(world.systems, *shape)) * spread[:, None, None]
    scores = quality + side * world.lean * style + noise
    ranks = (-scores).argsort(axis=-1).argsort(axis=-1) + 1
    return quality, style, np.where(ranks <= world.depth, ranks, 0)


def graded(world: World, quality: Floats, style: Floats, severity: Floats, taste: Floats, noise: Floats) -> Floats:
    """The grades that judges give."""
    return np.clip(np.round(3 + world.quality * quality + severity + taste * style + noise), *GRADES)


def truth(world: World, *, queries: int = 40_000, seed: int = 99) -> Floats:
    """The mean rating of each system's first results, over all queries and judges."""
    rng = np.random.default_rng(seed)
    quality, style, ranks = lists(world, rng, queries)
    draw = (rng.normal(size=quality.shape) * sd for sd in (world.severity, world.taste, world.noise))
    grades = graded(world, quality, style, *draw)
    first = (ranks > 0) & (ranks <= FIRST)
    return np.array([grades[one].mean() for one in first])


def simulate(world: World, rng: np.random.Generator) -> Simulated:
    """A study, planned as `endoxa study new` plans it, with all its answers."""
    quality, style, ranks = lists(world, rng, world.queries)
    system, query, item = np.nonzero(ranks)
    names = np.array([f"s{m}" for m in range(world.systems)])
    frame = pl.DataFrame({
        "system": names[system], "query": [f"q{q:03}" for q in query], "item": [f"d{i:03}" for i in item],
        "score": -ranks[system, query, item].astype(np.float64),
    })  # fmt: skip
    run = Run.of(frame)
    made = plan(run, per_task=4, tasks_per_query=world.tasks_per_query, rng=rng)
    number = made.tasks["task"].n_unique()
    common = rng.choice(number, size=min(world.common, number), replace=False)
    given = list(_given_out(world, number, common.tolist(), rng))
    severity, taste = (rng.normal(size=world.judges) * sd for sd in (world.severity, world.taste))
    asked = pl.DataFrame(given, schema={"assignment": pl.Int64, "judge": pl.Int64, "task": pl.Int64}, orient="row")
    rows = asked.join(made.tasks.select("task", "query", "item", "propensity", "selected_by"), on="task")
    rows = rows.sort("assignment", maintain_order=True)
    at = rows["query"].str.slice(1).cast(pl.Int64).to_numpy(), rows["item"].str.slice(1).cast(pl.Int64).to_numpy()
    who = rows["judge"].to_numpy()
    noise = rng.normal(size=rows.height) * world.noise
    grades = graded(world, quality[at], style[at], severity[who], taste[who], noise)
    is_common = pl.col("task").is_in(common.tolist())
    rows = rows.with_columns(
        pl.Series("grade", grades), pl.format("judge {}", "judge").alias("source"),
        pl.when(is_common).then(pl.lit("common")).otherwise(pl.lit("main")).alias("role"),
        pl.lit("rate 1-5").alias("scale"),
    )  # fmt: skip
    return Simulated(run, made.draws, made.tasks, rows, rows["task"].unique(maintain_order=True).to_list(), len(given))


def _given_out(
    world: World, number: int, common: list[int], rng: np.random.Generator
) -> Iterator[tuple[int, int, int]]:
    """Who gets which task, in the order of time: common tasks first, then the next task that needs a judge."""
    speed = rng.uniform(0.3, 1, world.judges)
    left = {judge: list(common) for judge in range(world.judges)}
    open_tasks = {task: min(world.overlap, world.judges) for task in range(number) if task not in set(common)}
    did: list[set[int]] = [set() for _ in range(world.judges)]
    idle: set[int] = set()
    count = 0
    while len(idle) < world.judges:
        judge = int(rng.choice(world.judges, p=speed / speed.sum()))
        if left[judge]:
            task = left[judge].pop(0)
        else:
            found = next((task for task, wanted in open_tasks.items() if wanted and task not in did[judge]), None)
            if found is None:
                idle.add(judge)
                continue
            task = found
            open_tasks[task] -= 1
            if not open_tasks[task]:
                del open_tasks[task]
        did[judge].add(task)
        yield count, judge, task
        count += 1


@dataclass(frozen=True)
class Record:
    """What verdicts said of studies at any look, and at the last.

    wrong       share of the studies in which a pair was called different at some look though it is not, or the other
                way round
    missed      share in which an interval missed the true difference at some look
    zero        share in which an interval had no width
    right       share in which the better system was called so at the end
    reach       mean half width at the end
    """

    studies: int
    wrong: float
    missed: float
    zero: float
    right: float
    reach: float


Verdict = Callable[[Simulated, pl.DataFrame, list[int]], pl.DataFrame]  # system, baseline, lo, hi, decided


def planned_tasks(study: Simulated, rows: pl.DataFrame, order: list[int]) -> pl.DataFrame:
    """The verdict of Endoxa until November 2026: only the doubt about tasks that are not answered yet."""
    first = rows.unique(["query", "item"], keep="first", maintain_order=True).select("query", "item", "grade")
    return verdict(study.draws, order, first, scale=GRADES).pairs


def three_doubts(study: Simulated, rows: pl.DataFrame, _: list[int]) -> pl.DataFrame:
    """The comparison as every surface shows it."""
    found = attempted(study.run, Opinions.of(rows.drop("assignment", "judge", "task")), scale=GRADES, first=FIRST)
    return found.pairs if isinstance(found, Comparison) else pl.DataFrame(schema=PAIRS)


def record(
    world: World, method: Verdict, *, studies: int, seed: int = 0, looks: tuple[float, ...] = LOOKS
) -> Record:  # fmt: skip
    """Simulate studies, look at each several times, and compare what is said with the truth."""
    is_equal = world.gain == 0
    means = np.zeros(world.systems) if is_equal else truth(world)
    rng = np.random.default_rng(seed)
    wrong, missed, zero, right, reach = (np.zeros(studies) for _ in range(5))
    for number in range(studies):
        study = simulate(world, rng)
        for share in looks:
            for row in method(study, *study.at(share)).iter_rows(named=True):
                true = means[int(row["system"][1:])] - means[int(row["baseline"][1:])]
                lo, hi = row["lo"], row["hi"]
                says = 0.0 if not row["decided"] else float(np.sign(lo + hi))
                wrong[number] += bool(says) and says != np.sign(true)
                missed[number] += lo > true + 1e-9 or hi < true - 1e-9
                zero[number] += hi - lo < 1e-9
                if share == looks[-1]:
                    right[number] += bool(says) and says == np.sign(true)
                    reach[number] += (hi - lo) / 2
    pairs = world.systems * (world.systems - 1) / 2
    return Record(
        studies, float((wrong > 0).mean()), float((missed > 0).mean()), float((zero > 0).mean()),
        float((right > 0).mean()), float(np.nanmean(reach)) / pairs,
    )  # fmt: skip


USUAL = World()
WORLDS = {
    "4 judges, 30 queries": USUAL,
    "3 judges with strong tastes": replace(USUAL, judges=3, taste=1.0),
    "judges who do not agree": replace(USUAL, judges=6, quality=0.0, noise=1.2),
    "2 judges": replace(USUAL, judges=2),
    "1 judge": replace(USUAL, judges=1),
    "5 queries": replace(USUAL, judges=6, queries=5, tasks_per_query=10),
    "4 systems": replace(USUAL, systems=4, judges=6),
    "10 judges, every pair by 3": replace(USUAL, judges=10, queries=60, overlap=3),
    "5 judges with strong tastes, 100 queries": replace(USUAL, judges=5, taste=1.0, queries=100),
}


def table(studies: int) -> Iterator[str]:
    """The record of today's verdict and of the one before, as rows of Markdown."""
    yield from (
        "| equal systems | 'better' before | no width before | 'better' now | misses now | no width now | half width |",
        "|---|---|---|---|---|---|---|",
    )
    for name, world in WORLDS.items():
        old = record(world, planned_tasks, studies=max(studies // 10, 20), looks=(0.2, 0.5, 1.0))
        new = record(world, three_doubts, studies=studies)
        yield (
            f"| {name} | {old.wrong:.2f} | {old.zero:.2f} | {new.wrong:.3f} | {new.missed:.3f} | {new.zero:.3f} | "
            f"{new.reach:.2f} |"
        )
    yield from ("", "| the first system is better by | 'better' | the other 'better' | misses |", "|---|---|---|---|")
    for judges, queries in ((5, 60), (10, 200), (20, 400)):
        world = replace(USUAL, gain=0.9, judges=judges, queries=queries, quality=1.5)
        apart = truth(world)
        new = record(world, three_doubts, studies=max(studies // 5, 20))
        yield (
            f"| {apart[0] - apart[1]:.2f}; {judges} judges, {queries} queries | {new.right:.2f} | {new.wrong:.3f} | "
            f"{new.missed:.3f} |"
        )


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--few", action="store_true", help="50 studies of each kind instead of 500")
    for line in table(50 if options.parse_args().few else 500):
        print(line, flush=True)


if __name__ == "__main__":
    main()
