"""endoxa words: predict words from regions, compare segmentations and features by them, annotate pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from endoxa.cli import groups as g
from endoxa.cli import output
from endoxa.verbs import words as verbs

if TYPE_CHECKING:
    from endoxa.reports.pages.annotations import Annotations
    from endoxa.reports.pages.word_studies import WordStudy

Form = Annotated[str, output.form_of("table", "csv", "tsv", "jsonl", "latex", "markdown", to_file=False)]


def print_study(study: WordStudy, *, form: Form = "table", to: Any) -> None:
    """Print the answer and a table of the contenders, or the summary in another form."""
    from endoxa.reports.pages.word_studies import answer, heads, lines

    if form != "table":
        output.table(study.lifts.summary, form, None, study.warnings)
        return
    output.say(answer(study))
    output.tell("")
    output.show_frame(output.frame_of(heads(study), lines(study)))
    output.tell(*(f"! {remark}" for remark in (*study.warnings, *study.notes)))
    output.tell_page(to)


def print_annotations(found: Annotations, *, form: Form = "table", to: Any) -> None:
    """Print the words of each picture."""
    from endoxa.reports.pages.annotations import answer

    if form != "table":
        output.table(found.words, form, None, found.warnings)
        return
    output.say(answer(found))
    output.tell("")
    output.show_frame(found.words)
    output.tell(*(f"! {remark}" for remark in (*found.warnings, *found.notes)))
    output.tell_page(to)


COMMANDS = (
    g.pictured("predict", verbs.predict, print_study, stages=3),
    g.pictured(
        "segmenters", verbs.segmenters, print_study, stages=3,
        more="The study of all ten takes long; what was done is kept, so that it goes on where it was stopped.",
    ),
    g.pictured("features", verbs.features, print_study, stages=3),
    g.pictured("annotate", verbs.annotate, print_annotations, stages=2),
)  # fmt: skip
