"""Speed over pictures: each part beside the plainest NumPy way to do the same, in the same run."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SCENES = HERE / "data" / "scenes"
REGIONS, FEATURES, COMPONENTS, AN_IMAGE, WORDS = 40_000, 40, 500, 8, 4
ITEMS = 10_000


def timed(work: Callable[[], object]) -> float:
    """Seconds by the wall."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def said(what: str, goal: str, ours: float, plain: float, unit: float = 1.0, name: str = "s", more: str = "") -> None:
    """A line: ours, the goal, the plain way, and the ratio."""
    print(
        f"  {what}: {ours * unit:.4g} {name} (asked for: {goal}); plain NumPy {plain * unit:.4g} {name}: "
        f"{plain / ours:.1f}x{more}"
    )


def features(times: int) -> None:
    """Regions of a 384×256 picture with all groups of features, SLIC included, on one core."""
    import cv2

    from endoxa.images import Picture
    from endoxa.images.features import Regions
    from endoxa.images.scenes import draw
    from endoxa.images.segment import segment

    cv2.setNumThreads(1)
    pictures = [draw(number, 1).picture for number in range(8)]
    descriptor = Regions(segmenter="slic")
    descriptor.describe(pictures[0])
    ours = statistics.median(timed(lambda p=p: descriptor.describe(p)) for p in pictures for _ in range(times))  # type: ignore[misc]

    def plain(picture: Picture) -> list[Any]:
        """Means and variances of colours, region by region: a part of the work, with masks over the whole picture."""
        labels = segment(picture, "slic")
        found = []
        for region in range(int(labels.max()) + 1):
            inside = labels == region
            colours = picture.pixels[inside].astype(float)
            rows, columns = np.nonzero(inside)
            found.append((colours.mean(0), colours.var(0), rows.mean(), columns.mean(), inside.mean()))
        return found

    loop = statistics.median(timed(lambda p=p: plain(p)) for p in pictures)  # type: ignore[misc]
    print("\nFeatures of a 384x256 picture, one core (the plain way: SLIC, colour and place of regions only, by masks)")
    said("SLIC and all groups", "under 120 ms", ours, loop, 1000, "ms")


def mixtures(times: int) -> None:
    """One EM step of ROMM and RWMM at the size of the source."""
    from endoxa.statistics.mixtures import Images, MixtureModel, Rules, refine

    rng = np.random.default_rng(0)
    centres = rng.standard_normal((COMPONENTS, FEATURES)) * 2
    rows = (centres[rng.integers(COMPONENTS, size=REGIONS)] + rng.standard_normal((REGIONS, FEATURES))).astype(
        np.float64
    )
    pictures, vocabulary = REGIONS // AN_IMAGE, 150
    spoken = [sorted(set(rng.integers(vocabulary, size=WORDS).tolist())) for _ in range(pictures)]
    images = Images.of(np.full(pictures, AN_IMAGE), spoken, vocabulary)
    table = rng.random((COMPONENTS, vocabulary)) + 0.5
    start: dict[str, Any] = {
        "p_l": np.full(COMPONENTS, 1 / COMPONENTS), "means": rows[rng.choice(REGIONS, COMPONENTS, replace=False)],
        "variances": np.ones((COMPONENTS, FEATURES)),
    }  # fmt: skip
    print(f"\nAn EM step: {REGIONS:,} regions x {FEATURES} features x {COMPONENTS} components, float32")
    for name, goal, of, words in (
        ("ROMM", "under 0.5 s", None, np.zeros((COMPONENTS, 0))),
        ("RWMM, four words an image", "under 1 s", images, table / table.sum(1, keepdims=True)),
    ):
        model = MixtureModel(words=words, objective=np.nan, history=np.zeros(0), **start)

        def steps(count: int, of: Any = of, model: Any = model) -> Any:
            return refine(model, rows, of, rules=Rules(iterations=count, tolerance=0.0))

        steps(1)
        many, few = (statistics.median(timed(lambda n=n: steps(n)) for _ in range(max(1, times // 2))) for n in (11, 1))  # type: ignore[misc]
        history = steps(11).history
        falls = float(np.max(-np.diff(history) / np.abs(history[1:]), initial=0.0))
        begun = time.perf_counter()
        plain_step(rows, start, words, spoken if of is not None else None)
        plain = time.perf_counter() - begun
        said(name, goal, (many - few) / 10, plain, more=f"; greatest fall of the objective {falls:.1e} (relative)")


def plain_step(rows: Any, start: dict[str, Any], words: Any, spoken: list[list[int]] | None) -> None:
    """The E- and M-step of docs/methods/pictures.md, Region mixtures: image by image, in float64."""
    p_l, means, variances = start["p_l"], start["means"], start["variances"]
    total, first, second = np.zeros(len(p_l)), np.zeros_like(means), np.zeros_like(means)
    tables = np.zeros_like(words)
    for image, at in enumerate(range(0, len(rows), AN_IMAGE)):
        own = rows[at : at + AN_IMAGE]
        logs = np.log(p_l) - 0.5 * (
            ((own[:, None] - means) ** 2 / variances).sum(2) + np.log(2 * np.pi * variances).sum(1)
        )
        joint = np.exp(logs - logs.max())
        share = np.exp(logs - logs.max(1, keepdims=True))
        weight = share / share.sum(1, keepdims=True)
        for word in spoken[image] if spoken is not None else ():
            tau = words[:, word] * joint
            tau /= tau.sum()
            weight = weight + tau
            tables[:, word] += tau.sum(0)
        total += weight.sum(0)
        first += weight.T @ own
        second += weight.T @ own**2


def ranking(times: int) -> None:
    """One query against 10,000 pictures: histograms, integrated regions."""
    from endoxa.engines import Material
    from endoxa.engines.registry import engine

    rng = np.random.default_rng(0)
    items, words = tuple(f"i{number}" for number in range(ITEMS)), ((),) * ITEMS
    print(f"\nRanking, one query against {ITEMS:,} pictures")
    counts = rng.multinomial(255, np.ones(166) / 166, size=ITEMS).astype(np.uint8)
    bands = rng.multinomial(255, np.ones(120) / 120, size=ITEMS).astype(np.uint8)
    blocks = rng.integers(166, size=(ITEMS, 340), dtype=np.uint8)
    textures = rng.integers(10, size=(ITEMS, 3072), dtype=np.uint8)
    columns = {
        "colour_histogram": counts, "colour_blocks": blocks, "texture_histogram": bands, "texture_blocks": textures
    }  # fmt: skip
    index = engine("histograms").build(Material(items, words, columns, np.ones(ITEMS, np.int64)))
    query = index.material.take([3])
    index.engine.score(index, query)
    ours = statistics.median(timed(lambda: index.engine.score(index, query)) for _ in range(3 * times))

    def plain_histograms() -> Any:
        """The same four groups by comparing arrays, with weights of matching blocks."""
        weights = rng.random(3412)
        same = np.concatenate([blocks == blocks[3], textures == textures[3]], axis=1)
        return np.minimum(counts, counts[3]).sum(1) + np.minimum(bands, bands[3]).sum(1) + (same * weights).sum(1)

    said("histograms", "under 50 ms", ours, statistics.median(timed(plain_histograms) for _ in range(3)), 1000, "ms")

    each = rng.integers(3, 12, size=ITEMS)
    rows = int(each.sum())
    area = rng.random(rows).astype(np.float32)
    owner = np.repeat(np.arange(ITEMS), each)
    area /= np.bincount(owner, weights=area)[owner].astype(np.float32)
    described = {
        "features": rng.random((rows, 9)).astype(np.float32), "area": area, "textured": np.zeros(ITEMS, bool)[owner]
    }  # fmt: skip
    index = engine("integrated-regions").build(Material(items, words, described, each.astype(np.int64)))
    query = index.material.take([3])
    index.engine.score(index, query)
    ours = statistics.median(timed(lambda: index.engine.score(index, query)) for _ in range(times))

    def plain_regions(some: int) -> None:
        """Most similar, highest priority: distances in NumPy, the greedy assignment in Python."""
        offsets = np.concatenate([[0], np.cumsum(each)])
        own, mine = query.columns["features"], query.columns["area"]
        for item in range(some):
            at = slice(offsets[item], offsets[item + 1])
            far = np.sqrt(((own[:, None] - described["features"][None, at]) ** 2).sum(2))
            left, right = mine.astype(float).copy(), area[at].astype(float).copy()
            for pair in np.argsort(far, axis=None):
                i, j = divmod(int(pair), far.shape[1])
                taken = min(left[i], right[j])
                left[i] -= taken
                right[j] -= taken

    plain = timed(lambda: plain_regions(500)) * ITEMS / 500
    said("integrated regions", "under 1 s", ours, plain, 1000, "ms", more=" (plain: 500 pictures, scaled up)")


def indexing(_: int) -> None:
    """10,000 composed scenes from files to three indexes, each size in a process of its own: time and peak memory."""
    from endoxa.io.scene_files import write_scenes

    begun = time.perf_counter()
    manifest = write_scenes(SCENES, ITEMS, seed=1)
    print(f"\nIndexing drawn scenes ({time.perf_counter() - begun:.0f} s to draw {ITEMS:,}, or to find them there)")
    script = str(HERE / "tools" / "index_scenes.py")
    for count in (ITEMS // 10, ITEMS):
        with tempfile.TemporaryDirectory() as home:
            begun = time.perf_counter()
            command = [sys.executable, script, str(manifest), str(count), home]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds = time.perf_counter() - begun
        own, worker = done.stdout.split()[-2:]
        each = f"{1000 * seconds / count:.1f} ms each"
        print(f"  {count:,} scenes: {seconds:.0f} s, {each}; peak {own} MB, a worker {worker} MB")


def main(times: int) -> None:
    """All parts."""
    print(
        f"\npictures ({times} trials; peak so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB)"
    )
    features(times)
    mixtures(times)
    ranking(times)
    indexing(times)
