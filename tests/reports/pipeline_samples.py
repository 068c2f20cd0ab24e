"""A study of invented pipelines, for tests of pages and figures."""

from __future__ import annotations

import numpy as np
import polars as pl

from endoxa.evaluations.pipelines import PipelineStudy, compare_pipelines


def sample_study(*, typed: bool = True) -> PipelineStudy:
    """Three pipelines on eight pages of six words; `best` errs least, `worst` most."""
    rng = np.random.default_rng(5)
    truth = {f"p{page}": [f"{name}{page}" for name in "kmnrst"] for page in range(8)}
    errors = {"worst": 0.6, "middle": 0.3, "best": 0.05}
    found = {
        name: {
            page: [word if rng.random() > share else f"{name}{number}" for number, word in enumerate(words)]
            for page, words in truth.items()
        }
        for name, share in errors.items()
    }
    return compare_pipelines(found, truth if typed else None)


def sample_of_a_wrong_consensus() -> PipelineStudy:
    """Twelve pages of ten words. `short` reads the first four or five words and nothing wrong; `long` and `other` read
    all words, and each misreads two in its own way. So `short` is most precise by every way, and worst in F1 by truth.
    """
    truth = {f"p{page:02}": [f"{letter}{page}" for letter in "abcdefghij"] for page in range(12)}

    def misread(words: list[str], own: str, places: tuple[int, int]) -> list[str]:
        return [f"{own}{word}" if place in places else word for place, word in enumerate(words)]

    found = {
        "long": {page: misread(words, "x", (at % 4, 4 + at % 5)) for at, (page, words) in enumerate(truth.items())},
        "other": {
            page: misread(words, "y", ((at + 2) % 4, 4 + (at + 1) % 5))
            for at, (page, words) in enumerate(truth.items())
        },
        "short": {page: words[: 4 + at % 2] for at, (page, words) in enumerate(truth.items())},
    }
    return compare_pipelines(found, truth)


def ways(systems: list[str], count: int = 3) -> pl.DataFrame:
    """Values of systems by several ways, falling from system to system."""
    rows = [
        (f"way {number}", system, 0.9 - 0.08 * place - 0.02 * number, 0.7 - 0.08 * place, 1.0 - 0.08 * place)
        for number in range(1, count + 1)
        for place, system in enumerate(systems)
    ]
    return pl.DataFrame(rows, schema=["way", "system", "value", "lo", "hi"], orient="row")
