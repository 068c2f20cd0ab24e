"""What all figures share: SVG, PNG, ids."""

from __future__ import annotations

import re
import subprocess
import sys

from evaluation_samples import sample_curves, sample_evaluation

from endoxa.reports.figures.dots import intervals
from endoxa.reports.figures.recall_curves import curves
from endoxa.reports.figures.style import limits_of, to_png, to_svg, wrapped


def test_png_is_a_png_of_the_size_asked_for() -> None:
    png = to_png(intervals(sample_evaluation(2).summary, "AP", width=5.0), dpi=100)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 500


def test_ids_of_two_figures_are_kept_apart() -> None:
    one, two = (to_svg(curves(sample_curves(["a", "b"]), width=width), apart=True) for width in (7.0, 6.0))
    ids = set(re.findall(r' id="([^"]+)"', one))
    assert ids
    assert not ids & set(re.findall(r' id="([^"]+)"', two))
    for reference in re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', one):
        assert reference in ids


def test_reading_reports_does_not_load_matplotlib_or_jinja() -> None:
    code = (
        "import sys, endoxa.reports.pages.evaluation, endoxa.reports.pages.ratings, endoxa.reports.figures; "
        "sys.exit(any(name.split('.')[0] in {'matplotlib', 'jinja2'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_axes_have_room_and_do_not_go_below_zero_without_need() -> None:
    assert limits_of([0.001, 1.0])[0] == 0
    assert limits_of([-1.0, 1.0])[0] < -1
    assert limits_of([]) == (-0.06, 1.06)
    assert wrapped(["", "a b"], 3.0) == ["a b"]
