"""The layout of pages: cells, sections, escaping, light and dark."""

from __future__ import annotations

from evaluation_samples import HOSTILE, read, sample_evaluation

from endoxa.evaluations.evaluation import File
from endoxa.reports.figures.dots import intervals
from endoxa.reports.pages import cells
from endoxa.reports.pages.layout import Grid, Section, chart, render


def test_a_page_of_sections_is_escaped_and_whole() -> None:
    summary = sample_evaluation(3).summary
    grid = Grid(HOSTILE, ("system", HOSTILE), [[cells.name(HOSTILE, virtual=True), cells.number(0.5)]], note=HOSTILE)
    drawing = chart(
        lambda width: intervals(summary, "AP", width=width), heading=HOSTILE, label=HOSTILE, caption=HOSTILE, grid=grid
    )
    long = Grid("all rows", ("a",), [[cells.number(float(n))] for n in range(30)])
    section = Section("one", HOSTILE, HOSTILE, [HOSTILE], [grid], [drawing, drawing], below=long, small=[HOSTILE])
    html = render(
        title=HOSTILE,
        sections=[section],
        aside=HOSTILE,
        facts=[HOSTILE],
        warnings=[HOSTILE],
        policies=[f"a: {HOSTILE}"],
        notes=[HOSTILE],
        definitions=[(HOSTILE, HOSTILE)],
        provenance={"Command": HOSTILE},
        files=[File(HOSTILE, 1, "00")],
    )
    reader = read(html)
    assert (reader.errors, reader.open) == ([], [])
    assert "<script>alert" not in html
    assert "all rows: all 30" in "".join(reader.text)
    assert 'class="virtual"' in html
    assert "var(--ink)" in drawing.wide
    assert drawing.narrow


def test_a_section_without_a_name_is_not_listed_and_a_cell_can_link_to_it() -> None:
    row = [cells.Cell("to it", numeric=False, link="quiet")]
    grid = Grid("all", ("where",), [row])
    html = render(title="t", sections=[Section("first", "First", "First", grids=[grid]), Section("quiet", "", "Quiet")])
    listed = html[html.index("<nav") : html.index("</nav>")]
    assert 'href="#first"' in listed and "#quiet" not in listed
    assert '<a href="#quiet">to it</a>' in html and '<h2 id="quiet">' in html
