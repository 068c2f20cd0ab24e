"""What 95 % intervals cover: populations × 10, 25, 50, 100 queries × the intervals of the literature.

    python -m benchmarks.coverage            prints the tables
    python -m benchmarks.coverage --write    writes them into docs/intervals.md

Everything is drawn from fixed seeds: the same numbers come out again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.tried_intervals import CHOSEN, TRIED, Ends
from endoxa.tables import Floats

PAGE = Path(__file__).parent.parent / "docs" / "intervals.md"
MARK = "<!-- made by python -m benchmarks.coverage -->\n"
SIZES = (10, 25, 50, 100)
SAMPLES, MANY = 2_000, 4_000_000  # samples of each size; values behind a true mean

Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]

RANKS = np.arange(1, 11)
RECIPROCAL = np.append(1 / RANKS, 0.0)
SHARES = np.append(0.55 * 0.35 * 0.65 ** (RANKS - 1), 0.0)
SHARES[-1] = 1 - SHARES.sum()


def skewed(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """AP where nine of ten queries are hard: mean .08, median .02."""
    return np.where(rng.random(size) < 0.9, rng.beta(0.5, 12, size), rng.beta(1.5, 2, size))


def reciprocal(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """RR: 46 % of the queries fail, the others find their item at rank 1, 2, …, 10."""
    return rng.choice(RECIPROCAL, p=SHARES, size=size)


def _logits(p: Floats) -> Floats:
    kept = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(kept / (1 - kept)))


def pair(first: Draw, noise: float, gain: float) -> Draw:
    """Differences of two systems on queries of the same difficulty: each has noise in log-odds, one a gain too."""

    def draw(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
        middle = _logits(first(rng, size))
        better = 1 / (1 + np.exp(-middle - rng.normal(gain, noise, size)))
        return np.asarray(better - 1 / (1 + np.exp(-middle - rng.normal(0, noise, size))))

    return draw


def precision_pair(rng: np.random.Generator, size: tuple[int, ...]) -> Floats:
    """Differences of P@5: a third of them 0."""
    p = rng.beta(0.6, 2, size)
    return np.asarray((rng.binomial(5, np.minimum(1.2 * p, 1)) - rng.binomial(5, p)) / 5)


MEANS: dict[str, Draw] = {
    "strongly skewed AP": skewed,
    "80 % zeros, the rest uniform": lambda rng, size: (rng.random(size) < 0.2) * rng.random(size),
    "nearly symmetric nDCG": lambda rng, size: rng.beta(2.5, 2, size),
    "near 1": lambda rng, size: rng.beta(6, 0.4, size),
    "ties: reciprocal rank": reciprocal,
    "ties: P@5": lambda rng, size: rng.binomial(5, rng.beta(0.6, 2, size)) / 5,
}
DIFFERENCES: dict[str, Draw] = {
    "two systems, strongly skewed AP": pair(skewed, 0.5, 0.15),
    "80 % of the queries do not differ, the rest gains": MEANS["80 % zeros, the rest uniform"],
    "two systems, nDCG": pair(MEANS["nearly symmetric nDCG"], 0.5, 0.2),
    "two systems near 1": pair(MEANS["near 1"], 0.5, 0.2),
    "two systems, P@5": precision_pair,
    "one system finds nothing, the other has skewed AP": skewed,
}


@dataclass(frozen=True)
class Figures:
    """Of the samples of one population and size: how often the mean is in the interval, above or below it; its mean
    length within the range; how often an end is infinite, outside the range, or equal to the other."""

    covered: float
    above: float
    below: float
    length: float
    wild: float

    def __str__(self) -> str:
        wild = f", {self.wild:.0%} wild" if self.wild >= 0.005 else ""
        return f"**{_short(self.covered)}** ({_short(self.above)} {_short(self.below)}) {self.length:.2f}{wild}"


def _short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")


def figures(ends: Ends, mean: float, low: float, high: float) -> Figures:
    """What the intervals of many samples did."""
    lo, hi = ends
    above, below = float((hi < mean - 1e-12).mean()), float((lo > mean + 1e-12).mean())
    length = float((np.minimum(hi, high) - np.maximum(lo, low)).mean())
    wild = float(((lo < low - 1e-9) | (hi > high + 1e-9) | (lo == hi)).mean())
    return Figures(1 - above - below, above, below, length, wild)


def tables(populations: dict[str, Draw], low: float, kind: str) -> Iterator[str]:
    """A table per population: a row per interval, a column per number of queries."""
    intervals = {f"*Endoxa, {kind}*": CHOSEN[kind]} | TRIED
    for name, draw in populations.items():
        mean = float(draw(np.random.default_rng(99), (MANY,)).mean())
        yield f"\n**{name[0].upper()}{name[1:]}** (mean {mean:.3f})\n\n"
        yield f"| interval | {' | '.join(f'{size} queries' for size in SIZES)} |\n|---|{'---|' * len(SIZES)}\n"
        samples = [draw(np.random.default_rng(size), (SAMPLES, size)) for size in SIZES]
        for label, interval in intervals.items():
            cells = [str(figures(interval(x, low, 1.0), mean, low, 1.0)) for x in samples]
            yield f"| {label} | {' | '.join(cells)} |\n"


def made() -> Iterator[str]:
    """All tables, piece by piece."""
    yield "\n### Means\n"
    yield from tables(MEANS, 0.0, "means")
    yield "\n### Differences\n"
    yield from tables(DIFFERENCES, -1.0, "differences")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    if parser.parse_args().write:
        text = PAGE.read_text()
        PAGE.write_text(text[: text.index(MARK) + len(MARK)] + "".join(made()))
    else:
        for line in made():
            print(line, end="", flush=True)
