"""endoxa pages: pipelines that read pages of text, compared without a true text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import groups as g
from endoxa.cli import options as o
from endoxa.cli import output
from endoxa.errors import CallError

if TYPE_CHECKING:
    from endoxa.verbs.pages import Studied

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of pictures of pages; PAGE.txt beside PAGE.png is its true text.")
]
Binarise = Annotated[
    list[str] | None,
    typer.Option(
        "--binarise", "-b", metavar="NAME",
        help="otsu, sauvola, wolf, niblack, nick, phansalkar, mean, grey (as it is), or a command: "
        "'[NAME=]mytool {page} {out}'; may be repeated. Default: otsu, sauvola, wolf.",
    ),
]  # fmt: skip
Ocr = Annotated[
    list[str] | None,
    typer.Option(
        "--ocr", metavar="NAME",
        help="tesseract, rapidocr, or a command that prints the text: '[NAME=]mytool {page}'; may be repeated. "
        "Default: tesseract.",
    ),
]  # fmt: skip
Find = Annotated[
    str | None,
    typer.Option(
        "--find", metavar="entities|words",
        help="What is looked for in the text; also spacy:MODEL, or a command that prints items: 'mytool {text}'. "
        "Default: entities.",
    ),
]  # fmt: skip
Window = Annotated[int, typer.Option("--window", min=3, help="Pixels of the side of a local binariser's window.")]
Layout = Annotated[
    int, typer.Option("--psm", min=0, max=13, help="Tesseract's layout: 6 one block, 3 pages of books, 4 receipts.")
]
Resolution = Annotated[int, typer.Option("--dpi", min=10, help="Pixels per inch of the pages, for Tesseract.")]
Language = Annotated[str, typer.Option("--language", "-l", help="Tesseract's languages: eng, deu, eng+deu …")]
Seconds = Annotated[float, typer.Option("--seconds", min=0.1, help="Time limit for one page.")]


def add_to(_app: typer.Typer) -> None:
    """Register the commands."""
    for command in (compose, read, study):
        g.pages.command(command.__name__)(command)


def compose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the letters.")],
    count: Annotated[int, typer.Option("--count", "-n", help="Number of letters.", min=1)] = 12,
    level: Annotated[
        str, typer.Option("--level", metavar="FROM,TO", help="Damage, from 0 (new) to 1 (hardly legible).")
    ] = "0.2,0.75",
    seed: o.Seed = 0,
) -> None:
    """Make letters whose text is known exactly, damaged like old ones: blur, fading, stains, ink of the back page.

    [bold]Examples[/bold]

      endoxa pages compose letters --count 60 --level .2,.75
    """
    from endoxa.verbs.pages import compose as verb

    with output.stages(1) as progress:
        paths = verb(folder, count, level=_levels(level), seed=seed, progress=progress)
    output.say(f"{len(paths):,} letters with their texts are in {folder} (study them: endoxa pages study {folder}).")


def _levels(text: str) -> tuple[float, float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in {1, 2}:
        raise CallError(f"--level {text!r}: expected one number or two, like 0.5 or 0.2,0.75")
    return numbers[0], numbers[-1]


def read(
    folder: Folder,
    to: Annotated[Path, typer.Option("--to", metavar="OUT", help="Folder of the texts: OUT/PIPELINE/PAGE.txt.")],
    binarise: Binarise = None, ocr: Ocr = None, find: Find = None, window: Window = 41, layout: Layout = 6,
    resolution: Resolution = 150, language: Language = "eng", seconds: Seconds = 60.0, workers: g.Workers = None,
) -> None:  # fmt: skip
    """Read pages by every binariser and every OCR: OUT/PIPELINE/PAGE.txt, one item per line.

    What was read before with the same settings is kept. A page that fails, or takes too long, is named and left out.

    [bold]Examples[/bold]

      endoxa pages read scans --to out -b otsu -b sauvola --find words

      endoxa pages read scans --to out --ocr tesseract --ocr 'mine=mytool {page}'

      endoxa eval --tokens bag --lines --plugin out/*
    """
    from endoxa.verbs.pages import described
    from endoxa.verbs.pages import read as verb

    with output.stages(1) as progress:
        found = verb(
            folder, to, window=window, layout=layout, resolution=resolution, language=language,
            seconds=seconds, workers=workers, progress=progress, **_stages(binarise, ocr, find),
        )  # fmt: skip
    counts = [len(own) for own in found.outputs.values()]
    output.say(
        f"{sum(counts):,} texts of {len(counts)} pipelines are in {to}, {found.read:,} of them read now (compare the "
        f"pipelines: endoxa pages study {folder} --texts {to})."
    )
    _print_failures([described(one) for one in found.failures])


def _stages(binarise: list[str] | None, ocr: list[str] | None, find: str | None) -> dict[str, Any]:
    """The stages that were named; the library has the default ones."""
    named = {"binarise": binarise, "ocr": ocr, "find": find}
    return {stage: given for stage, given in named.items() if given}


def study(
    folder: Folder,
    to: Annotated[Path, typer.Option("--to", metavar="PAGE.html", help="The page to write.")] = Path("pages.html"),
    texts: Annotated[
        Path | None,
        typer.Option(
            "--texts", metavar="OUT", help="Read nothing; compare what is in OUT/PIPELINE/PAGE.txt. Needs no OCR."
        ),
    ] = None,
    binarise: Binarise = None, ocr: Ocr = None, find: Find = None, window: Window = 41, layout: Layout = 6,
    resolution: Resolution = 150, language: Language = "eng", seconds: Seconds = 60.0,
    near: Annotated[
        float, typer.Option("--near", metavar="SHARE", help="Method II aligns misread words that share this part.")
    ] = 0.8,
    weights: Annotated[
        str, typer.Option("--weights", metavar="equal|cluster|redundancy", help="Weights of the pipelines' votes.")
    ] = "cluster",
    confidence: Annotated[float, typer.Option("--confidence", help="Confidence level of the intervals.")] = 0.95,
    shown: Annotated[int, typer.Option("--shown", min=0, help="Number of pages that the page shows.")] = 12,
    home: Annotated[
        str | None,
        typer.Option("--home", metavar="DIR", help="Folder of what is read. Default: .endoxa/pages in DIR."),
    ] = None,
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "",
    workers: g.Workers = None, seed: o.Seed = 0,
) -> None:  # fmt: skip
    """Compare pipelines that read pages: by their consensus, and by truth where a transcription lies beside a page.

    [bold]Examples[/bold]

      endoxa pages study scans -b otsu -b sauvola -b wolf --to study.html

      endoxa pages study scans --texts out
    """
    from endoxa.verbs.pages import study as verb

    with output.stages(2) as progress:
        studied = verb(
            folder, texts=texts, window=window, layout=layout, resolution=resolution, language=language,
            seconds=seconds, near=near, weights=weights, confidence=confidence, shown=shown, home=home, title=title,
            command=o.command_line(), to=to, workers=workers, seed=seed, progress=progress,
            **_stages(binarise, ocr, find),
        )  # fmt: skip
    print_study(studied, to)


def print_study(studied: Studied, page: Path) -> None:
    """Print the answer, a table per measure, tau, the warnings and the address of the page."""
    from endoxa.formatting import number
    from endoxa.reports.pages.page_study import answer, tables

    found = studied.study
    output.say(answer(found))
    for measure, table in tables(found).items():
        output.show([f"\n[bold]{measure.capitalize()}, mean over pages[/bold]"])
        output.show_frame(table)
    for way, measure, tau, lo, hi in found.taus.iter_rows():
        output.tell(f"Kendall's tau, {way} and truth, {measure}: {number(tau, 2)} [{number(lo, 2)}, {number(hi, 2)}]")
    output.tell("")
    _print_failures(studied.reported.failures)
    output.tell(*(f"! {warning}" for warning in found.warnings), f"The page: {page.resolve().as_uri()}")


def _print_failures(failures: Any) -> None:
    output.tell(*(f"! {line}" for line in failures[: g.NAMED]))
    if len(failures) > g.NAMED:
        output.tell(f"! and {len(failures) - g.NAMED:,} more")
