"""What tests of verbs on pictures share."""

from __future__ import annotations

FAST = ["keywords", "histograms", "random"]
SMALL = {
    "rwmm": {"components": 4, "restarts": 1, "iterations": 5},
    "romm": {"components": 4, "restarts": 1, "iterations": 5},
}
