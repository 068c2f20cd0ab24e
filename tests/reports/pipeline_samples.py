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


def ways(systems: list[str], count: int = 3) -> pl.DataFrame:
    """Values of systems by several ways, falling from system to system."""
    rows = [
        (f"way {number}", system, 0.9 - 0.08 * place - 0.02 * number, 0.7 - 0.08 * place, 1.0 - 0.08 * place)
        for number in range(1, count + 1)
        for place, system in enumerate(systems)
    ]
    return pl.DataFrame(rows, schema=["way", "system", "value", "lo", "hi"], orient="row")
