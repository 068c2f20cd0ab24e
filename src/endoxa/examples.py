"""Generates small example data: a collection with six systems and three assessors, and pictures for a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from endoxa.tables import Floats, Gradings, Opinions, Run

QUERIES, ITEMS, DEPTH, POOL = 60, 400, 100, 20

# For each system: the weight of the latent relevance in its scores, and their rounding step (0: not rounded).
SYSTEMS = {
    "hybrid": (1.35, 0.0), "dense": (1.15, 0.0), "dense-distilled": (1.1, 0.0), "bm25": (0.85, 0.0),
    "tf-idf": (0.7, 0.02), "random": (0.0, 0.0),
}  # fmt: skip

# For each assessor: the thresholds for grades 1 to 3, and the noise of the judgments.
ASSESSORS = {"ada": ((1.3, 1.9, 2.5), 0.35), "bob": ((1.0, 1.6, 2.4), 0.6), "cyd": ((1.6, 2.1, 2.6), 0.35)}
# A machine judge: how much of the dense systems' shared error it shares, its thresholds, and its noise.
GRADER, FAVOUR, LIMITS, NOISE = "grader-1", 0.4, (1.2, 1.8, 2.5), 0.5


def collection(*, rng: np.random.Generator) -> tuple[Run, Opinions]:
    """Return runs of six systems and the grades that three assessors gave to the pool of the first 20 items.

    The two dense systems share most of their errors, so that only a paired comparison can distinguish them. One system
    rounds its scores, which makes ties.
    """
    relevance, shared = _latent(rng)
    names = np.array([f"d{number:03d}" for number in range(ITEMS)])
    queries = np.array([f"q{number:02d}" for number in range(1, QUERIES + 1)])
    frames = []
    for system, (strength, step) in SYSTEMS.items():
        own = rng.standard_normal((QUERIES, ITEMS))
        error = 0.9 * shared + 0.436 * own if system.startswith("dense") else own
        score = np.round(strength * relevance + error, 6)
        if step:
            score = np.round(score / step) * step
        order = np.argsort(-score, axis=1, kind="stable")[:, :DEPTH]
        frames.append(
            pl.DataFrame(
                {
                    "system": [system] * order.size, "query": np.repeat(queries, DEPTH), "item": names[order.ravel()],
                    "score": np.take_along_axis(score, order, 1).ravel(),
                }
            )
        )  # fmt: skip
    run = Run.of(pl.concat(frames))
    pooled = run.frame.filter(pl.col("rank") <= POOL).select("query", "item").unique(maintain_order=True)
    place = {name: at for at, name in enumerate(queries)}, {name: at for at, name in enumerate(names)}
    rows = np.array([place[0][query] for query in pooled["query"]])
    columns = np.array([place[1][item] for item in pooled["item"]])
    judged = []
    for assessor, (limits, noise) in ASSESSORS.items():
        seen = relevance[rows, columns] + noise * rng.standard_normal(len(rows))
        grades = np.searchsorted(np.array(limits), seen, side="right").astype(float)
        judged.append(pooled.with_columns(pl.lit(assessor).alias("source"), pl.Series("grade", grades)))
    return run, Opinions.of(pl.concat(judged))


def machine_judge(run: Run, *, seed: int) -> Gradings:
    """Return the grades of a machine judge for the pool of the collection that was made with this seed.

    It shares errors of the dense systems, as a language model does that also ranks for them: it favours these.
    """
    relevance, shared = _latent(np.random.default_rng(seed))
    pooled = run.frame.filter(pl.col("rank") <= POOL).select("query", "item").unique().sort("query", "item")
    place = [pooled[name].str.slice(1).cast(pl.Int64).to_numpy() - first for name, first in (("query", 1), ("item", 0))]
    noise = NOISE * np.random.default_rng((seed, 1)).standard_normal(pooled.height)
    seen = relevance[*place] + FAVOUR * shared[*place] + noise
    grade = np.searchsorted(np.array(LIMITS), seen, side="right").astype(float)
    return Gradings.of(pooled.with_columns(pl.Series("grade", grade), scale=pl.lit("0-3")), judge=GRADER)


def _latent(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """[query, item] the relevance before it is cut into grades, and the error that the dense systems share."""
    relevance = rng.standard_normal((QUERIES, ITEMS)) + 0.3 * rng.standard_normal((QUERIES, 1))
    return relevance, rng.standard_normal((QUERIES, ITEMS))


SHAPES = ("circle", "square", "triangle", "star")
COLOURS = {
    "red": (206, 52, 52), "orange": (232, 140, 40), "green": (66, 150, 80), "blue": (52, 96, 196),
    "violet": (130, 72, 168), "grey": (120, 124, 130),
}  # fmt: skip
SIZES = {"small": 0.22, "large": 0.4}
ASKED = 12  # number of pictures that are also queries

STUDY = '''name = "shapes"
title = "Which pictures are alike?"
screen = "four-results"
items = "pictures"
queries = "queries.csv"
runs = ["*.run"]
practice = "practice.csv"
gold = "gold.csv"
instructions = """
Above you see a picture that somebody is looking for, below four results.

Give each result 1 (poor match) to 5 (good match). There is no right answer: we want to know what you think.
"""
tasks_per_query = 3
common = 4
overlap = 2
comments = true
task = "search"
licence = "CC0-1.0"
'''


def study(folder: Path, *, rng: np.random.Generator) -> Path:
    """Write an example study, and return the path of its study file.

    The pictures show shapes, and four systems compare colour, shape, both or nothing. The content of each picture is
    known, so that practice and gold tasks have expected answers: the same shape and colour is a good match.
    """
    from PIL import Image, ImageDraw

    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    kinds = [(shape, colour, size) for shape in SHAPES for colour in COLOURS for size in SIZES]
    names = [f"picture-{number:02d}" for number in range(len(kinds))]  # the name must not reveal the answer
    for name, (shape, colour, size) in zip(names, kinds, strict=True):
        canvas = Image.new("RGB", (480, 360), (250, 249, 246))
        x, y = (float(v) for v in rng.uniform((0.4, 0.4), (0.6, 0.6)) * (480, 360))
        _draw(ImageDraw.Draw(canvas), shape, COLOURS[colour], x, y, SIZES[size] * 360)
        canvas.save(pictures / f"{name}.png")
    at = dict(zip(names, kinds, strict=True))
    asked = [names[i] for i in rng.choice(len(names), ASKED, replace=False)]
    palette = np.array([COLOURS[colour] for _, colour, _ in kinds], dtype=float) / 255
    far = np.linalg.norm(palette[:, None] - palette[None], axis=2)
    other = np.array([[float(a[0] != b[0]) for b in kinds] for a in kinds])
    sized = np.array([[float(a[2] != b[2]) for b in kinds] for a in kinds])
    seen = {"colour": far, "shape": other, "both": far + other + 0.3 * sized, "blind": np.zeros_like(far)}
    for system, distance in seen.items():
        lines = []
        for query in asked:
            row = names.index(query)
            score = -(distance[row] + rng.normal(0, 0.12, len(names)))
            score[row] = -np.inf  # the query picture itself is not a result
            for rank, item in enumerate(np.argsort(-score, kind="stable")[:20], start=1):
                lines.append(f"{query} Q0 {names[item]} {rank} {score[item]:.5f} {system}")
        (folder / f"{system}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [(name, f"pictures/{name}.png") for name in asked]
    _csv(folder / "queries.csv", ("query", "file"), rows)
    _csv(folder / "practice.csv", ("query", "item", "expected"), _known(at, asked[:2], rng))
    _csv(folder / "gold.csv", ("query", "item", "expected"), _known(at, asked[2:6], rng))
    path = folder / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def _known(
    at: dict[str, tuple[str, str, str]], queries: list[str], rng: np.random.Generator
) -> list[tuple[str, str, str]]:
    """Return, for each query, one result that differs only in size, and one that differs in shape and colour."""
    rows = []
    for query in queries:
        shape, colour, size = at[query]
        alike = next(name for name, kind in at.items() if kind[:2] == (shape, colour) and kind[2] != size)
        unlike = [name for name, kind in at.items() if kind[0] != shape and kind[1] != colour]
        rows += [(query, alike, "5"), (query, unlike[int(rng.integers(len(unlike)))], "1")]
    return rows


def _csv(path: Path, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    pl.DataFrame(rows, schema=list(columns), orient="row").write_csv(path)


def _draw(pen: Any, shape: str, colour: tuple[int, int, int], x: float, y: float, r: float) -> None:
    if shape == "circle":
        pen.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    elif shape == "square":
        pen.rectangle((x - r, y - r, x + r, y + r), fill=colour)
    else:
        corners, inner = (3, 1.0) if shape == "triangle" else (10, 0.45)
        reach = [r if k % 2 == 0 or shape == "triangle" else inner * r for k in range(corners)]
        angles = [2 * np.pi * k / corners - np.pi / 2 for k in range(corners)]
        points = [(x + d * np.cos(a), y + d * np.sin(a)) for d, a in zip(reach, angles, strict=True)]
        pen.polygon(points, fill=colour)
