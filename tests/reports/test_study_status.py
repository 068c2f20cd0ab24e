"""The state of a study in lines."""

from __future__ import annotations

import pytest

from endoxa.reports.study_status import counted, status_answer, status_lines


def test_lines_say_what_the_dashboard_shows() -> None:
    rater = {
        "nickname": "ana", "answers": 40, "median_seconds": 2.5, "correlation": None, "gold_asked": 4, "gold_right": 3,
        "flags": ["fast"],
    }  # fmt: skip
    status = {
        "study": {"name": "shapes", "screen": "stars", "state": "open", "title": "Shapes"},
        "progress": {"done": 40, "planned": 1200, "raters": 1, "answers": 40, "undecided": 2, "skipped": 0},
        "agreement": {"alpha": 0.5, "lo": None, "hi": 0.75, "level": "interval", "units": 12},
        "uniformity": {"shares": [{"grade": 1.0, "share": 0.25}], "normalised": 0.125},
        "raters": [rater],
        "verdict": {
            "systems": [{"system": "a", "mean": 3.0, "pairs": 1500}],
            "pairs": [{"sentence": "a and b cannot be told apart."}] * 12,
            "leads": ["The judges do not agree."],
            "estimand": "Compared is this.",
            "notes": ["one note"],
        },
    }
    lines = "\n".join(status_lines(status))
    assert "40 of 1,200 assignments (a task for one judge each) by 1 judges" in lines
    assert status_answer([status]) == (
        "40 of 1,200 assignments of shapes are done, by 1 judge. The judges do not agree. a and b cannot be told apart."
    )
    closed = status | {"study": status["study"] | {"state": "closed"}}  # type: ignore[operator]
    assert status_answer([closed]).startswith("shapes is closed: 40 of 1,200 assignments of shapes are done")
    assert "alpha 0.50 [–, 0.75]" in lines
    assert "1: 25%" in lines
    assert "ana: 40 answers, 2.5 s per item, correlation –, gold 3 of 4\n      ! fast" in lines
    assert "a: mean rating 3.00 over 1,500 rated pairs\n  The judges do not agree.\n  a and b cannot" in lines
    assert lines.count("cannot be told apart") == 10
    assert lines.endswith("  (2 more pairs of systems: -o json)\n  Compared is this.\n  one note")
    bare = status | {"agreement": None, "uniformity": None, "raters": [], "verdict": None}
    assert len(status_lines(bare)) == 2


@pytest.mark.parametrize(
    ("states", "text"),
    [
        (["open"], "There is 1 study, which is open."),
        (["closed"], "There is 1 study, which is not open."),
        (["open", "closed"], "There are 2 studies, 1 of them open."),
    ],
)
def test_studies_are_counted(states, text) -> None:
    assert counted(states) == text
