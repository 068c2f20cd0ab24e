"""The studies behind docs/sources.md that read the checking data: what is kept is what they give.

The others fetch packages and take minutes; `make sources` runs them all and says which results are new.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sources import kept
from sources.studies import STUDIES


@pytest.mark.parametrize("name", [name for name, study in STUDIES.items() if study.needs_data])
def test_kept_results_are_what_the_study_gives(data: Path, name: str) -> None:
    found, known = kept.rounded(STUDIES[name].run(data)), kept.read()[name].result
    assert shape(found) == shape(known)
    numbers = list(zip(flat(found), flat(known), strict=True))
    print(f"\n{name}: {len(numbers)} numbers, the largest difference {max(abs(a - b) for a, b in numbers):.1e}")
    assert all(a == pytest.approx(b, abs=1e-4) for a, b in numbers)


def flat(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for one in value.values() for number in flat(one)]
    if isinstance(value, list):
        return [number for one in value for number in flat(one)]
    return [float(value)] if isinstance(value, int | float) else []


def shape(value: object) -> object:
    """The same without numbers: names and sizes."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value]
    return value if isinstance(value, str) else None
