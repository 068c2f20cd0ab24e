"""endoxa images: pictures and the systems that search them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from endoxa.cli import options as o
from endoxa.cli import show
from endoxa.errors import InstallError

if TYPE_CHECKING:
    import polars as pl

    from endoxa.images.corpus import Corpus, Skipped

images = typer.Typer(
    name="images",
    help="Pictures: index a folder with classical and modern retrieval systems, run them, judge them, search.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
NAMED = 5  # pictures left out that are named before they are only counted

Where = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="A folder of pictures, a manifest (CSV, JSONL, Parquet: path, words, category …), or stamps, clipart: "
        "fetched from Debian's packages when first used.",
    ),
]
Engines = Annotated[
    list[str] | None, typer.Option("--engine", "-e", metavar="NAME", help="A system; several times. Without: all.")
]
Home = Annotated[
    str | None, typer.Option("--home", metavar="DIR", help="Where indexes lie; without: .endoxa in the corpus.")
]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PART", help="Leave out categories with this part in their path; several times."),
]
Workers = Annotated[int | None, typer.Option("--workers", help="Processes; without: one per core.", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="ENGINE.SETTING=VALUE", help="A setting of an engine: rwmm.components=200."),
]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        "--vectors", metavar="NAME=FILE", help="A further system: vectors of your own (.parquet, .npz, .npy)."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Enter the verb."""
    app.add_typer(images)


def pictures_verbs() -> Any:
    """The verbs; the parts that they need may not be installed."""
    try:
        import cv2  # noqa: F401
        import numba  # noqa: F401
        import PIL  # noqa: F401
        import skimage  # noqa: F401
    except ModuleNotFoundError as error:
        raise InstallError(f"{error.name} is not installed; pip install 'endoxa[images]'") from None
    from endoxa import pictures

    return pictures


def _open(corpus: str, without: list[str] | None = None) -> Corpus:
    pictures = pictures_verbs()
    with show.stages(1) as progress:
        opened: Corpus = pictures.open_corpus(corpus, without=without, progress=progress)
    return opened


def parsed(settings: list[str] | None) -> dict[str, dict[str, Any]]:
    """`rwmm.components=200` as {"rwmm": {"components": 200}}; values are JSON where they parse as it."""
    made: dict[str, dict[str, Any]] = {}
    for text in settings or []:
        left, equals, value = text.partition("=")
        engine, dot, name = left.partition(".")
        if not (equals and dot and engine and name):
            raise typer.BadParameter(f"--set {text!r}: expected ENGINE.SETTING=VALUE, like rwmm.components=200")
        try:
            plain = json.loads(value)
        except ValueError:
            plain = value
        made.setdefault(engine, {})[name.replace("-", "_")] = tuple(plain) if isinstance(plain, list) else plain
    return made


def named(vectors: list[str] | None) -> dict[str, str]:
    """`clip=vectors.npz` as {"clip": "vectors.npz"}."""
    made = {}
    for text in vectors or []:
        name, equals, path = text.partition("=")
        if not (equals and name and path):
            raise typer.BadParameter(f"--vectors {text!r}: expected NAME=FILE, like clip=vectors.npz")
        made[name] = path
    return made


def make_folder(folder: Path) -> None:
    """Make a folder to write to."""
    from endoxa.io.write import unwritten

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritten(folder, error) from None


def tell_skipped(skipped: tuple[Skipped, ...]) -> None:
    """Name the pictures that were left out, and why."""
    for one in skipped[:NAMED]:
        show.note(f"! {one.name} is left out: {one.why}")
    if len(skipped) > NAMED:
        show.note(f"! and {len(skipped) - NAMED:,} more")


@images.command("index")
def index(
    corpus: Where,
    engines: Engines = None,
    settings: Settings = None,
    vectors: Vectors = None,
    without: Without = None,
    train: Annotated[
        float | None,
        typer.Option("--train", help="Learn models from this share of the pictures and index only the others (TEST)."),
    ] = None,
    home: Home = None,
    workers: Workers = None,
    seed: o.Seed = 0,
) -> None:
    """Describe the pictures and build the indexes. What is known is not done again; a stopped run goes on.

    [bold]Examples[/bold]

      endoxa images index photos

      endoxa images index photos -e histograms -e rwmm --set rwmm.components=200

      endoxa images index photos --vectors clip=clip.npz
    """
    pictures = pictures_verbs()
    opened = _open(corpus, without)
    with show.stages(2) as progress:
        made = pictures.index(
            opened, engines or None, home=home, settings=parsed(settings), vectors=named(vectors), train=train,
            seed=seed, workers=workers, progress=progress,
        )  # fmt: skip
    tell_skipped(made.skipped)
    show.console().print(show.frame_table(_cost_table(made.costs.frame)))
    for note in made.notes:
        show.note(f"! {note}")
    counts = f"{len(made.items):,} pictures, {len(made.systems)} systems, {made.described:,} descriptions made now"
    print(f"\n{counts}; in {made.home}")


@images.command("run")
def run(
    corpus: Where,
    engines: Engines = None,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query", "-q", metavar="ITEM|FILE", help="A query: an item, or a picture's file; several times."
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", help="So many queries, drawn by the seed; without: every picture.", min=1)
    ] = None,
    texts: Annotated[
        str | None, typer.Option("--texts", metavar="FILE", help="Queries of words: a line each, name, tab, words.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="Items returned for a query.", min=1)] = 100,
    itself: Annotated[bool, typer.Option("--itself", help="Let a query retrieve itself.")] = False,
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the runs go, a file per system.")] = Path(
        "runs"
    ),
    without: Without = None,
    home: Home = None,
    seed: o.Seed = 0,
) -> None:
    """Run the indexed systems over queries; writes DIR/SYSTEM.run and DIR/costs.csv.

    [bold]Examples[/bold]

      endoxa images run photos --sample 60 --to runs && endoxa eval runs/*.run

      endoxa images run photos -q holiday/beach -q ~/new.jpg -e histograms
    """
    import polars as pl

    from endoxa import verbs
    from endoxa.io.texts import read_questions
    from endoxa.io.write import write_frame
    from endoxa.tables import Run

    pictures = pictures_verbs()
    opened = _open(corpus, without)
    asked = None if texts is None else read_questions(texts)
    with show.stages(1) as progress:
        made = pictures.run(
            opened, engines or None, queries=queries, sample=sample, texts=asked, depth=depth, itself=itself,
            home=home, seed=seed, progress=progress,
        )  # fmt: skip
    before = {path.stem for path in to.glob("*.run")} if to.is_dir() else set()
    make_folder(to)
    for system in made.run.systems:
        verbs.write(Run(made.run.frame.filter(pl.col("system") == system)), to / f"{system}.run")
    write_frame(made.costs.frame, to / "costs.csv")
    show.console().print(show.frame_table(_cost_table(made.costs.frame)))
    for note in made.notes:
        show.note(f"! {note}")
    older = sorted(before - set(made.run.systems))
    if older:
        show.note(f"! {to} holds other runs from before: {', '.join(older)}")
    paths = [str(to / f"{system}.run") for system in made.run.systems] if older else [f"{to}/*.run"]
    votes = max(1, min(20, len(opened) // 5))  # who votes for all pictures of a small corpus says nothing
    several = "1 run" if len(made.run.systems) == 1 else f"{len(made.run.systems)} runs"
    print(f"\n{several} in {to}; judge without labels: endoxa eval {' '.join(paths)} --depth {votes}")


@images.command("search")
def search(
    corpus: Where,
    query: Annotated[str, typer.Argument(metavar="ITEM|FILE|WORDS", help="What is looked for.")],
    engine: Annotated[
        str | None, typer.Option("--engine", "-e", metavar="NAME", help="The system that answers.")
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Results.", min=1)] = 10,
    to: Annotated[str | None, typer.Option("--to", metavar="PAGE.html", help="A page with the pictures.")] = None,
    without: Without = None,
    home: Home = None,
) -> None:
    """Look for pictures: like an item, like a file, or by words.

    [bold]Examples[/bold]

      endoxa images search photos holiday/beach

      endoxa images search photos ~/new.jpg -e integrated-regions --to found.html

      endoxa images search photos "red flower" -e rwmm
    """
    import polars as pl

    pictures = pictures_verbs()
    opened = _open(corpus, without)
    found = pictures.search(opened, query, engine, count=count, home=home)
    shown = found.frame.select("rank", "item", "score", pl.col("words").list.join(", "), "category")
    show.console().print(show.frame_table(shown))
    print(f"\nsystem: {found.system}")
    if to is not None:
        _write_gallery(opened, found.run, to, title=f"{query}: found by {found.system}", depth=count)


@images.command("gallery")
def gallery(
    corpus: Where,
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Runs over the corpus, of any system.")],
    believe: Annotated[
        str | None, typer.Option("--belief", metavar="FILE", help="Judgments or a belief, shown under the pictures.")
    ] = None,
    queries: Annotated[int, typer.Option("--queries", help="Queries shown at most.", min=1)] = 30,
    depth: Annotated[int, typer.Option("--depth", help="Results of each system.", min=1)] = 8,
    to: Annotated[str, typer.Option("--to", metavar="PAGE.html", help="The page.")] = "gallery.html",
    title: Annotated[str, typer.Option("--title", help="Its heading.")] = "",
) -> None:
    """A page of what systems returned: each query and the first results of every system, side by side.

    [bold]Examples[/bold]

      endoxa images gallery photos runs/*.run --belief qrels.txt --to gallery.html
    """
    from endoxa import doubt
    from endoxa.io.read import run_of
    from endoxa.reports.pages.gallery import probabilities_of

    opened = _open(corpus)
    held = None if believe is None else {"relevant": (f"held by {believe}", probabilities_of(doubt.believe(believe)))}
    _write_gallery(opened, run_of(list(runs)), to, title=title, beliefs=held, queries=queries, depth=depth)


def _write_gallery(opened: Corpus, run: Any, to: str, *, title: str, beliefs: Any = None, **how: Any) -> None:
    from endoxa import __version__
    from endoxa.contests import shown
    from endoxa.reports.pages.layout import render

    made = shown(opened, run, beliefs or {}, **how)
    heading = (
        title or f"{', '.join(run.systems[:3])}{' …' if len(run.systems) > 3 else ''} over {len(opened):,} pictures"
    )
    systems, queries = len(run.systems), run.frame["query"].n_unique()
    facts = [
        f"{len(opened):,} pictures",
        "1 system" if systems == 1 else f"{systems} systems",
        "1 query" if queries == 1 else f"{queries:,} queries",
    ]
    command = shlex.join(["endoxa", *sys.argv[1:]])
    provenance = {"Endoxa": __version__, "Command": command}
    page = render(title=heading, sections=[], facts=facts, provenance=provenance, gallery=made)
    show.emit(page, to)
    print(f"The page: {Path(to).resolve().as_uri()}")


@images.command("contest")
def contest(
    corpus: Where,
    engines: Engines = None,
    settings: Settings = None,
    vectors: Vectors = None,
    without: Without = None,
    sample: Annotated[int, typer.Option("--sample", help="Queries, drawn by the seed.", min=2)] = 120,
    worlds: o.Worlds = 400,
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "",
    to: Annotated[str, typer.Option("--to", metavar="PAGE.html", help="The page.")] = "contest.html",
    home: Home = None,
    workers: Workers = None,
    seed: o.Seed = 0,
) -> None:
    """The whole way: index, run every system, judge by consensus and by the folders, write a page with a gallery.

    [bold]Examples[/bold]

      endoxa images contest photos --to contest.html
    """
    opened = _open(corpus, without)
    command = shlex.join(["endoxa", *sys.argv[1:]])
    hold(
        opened, engines or None, Path(to), title=title, sample=sample, worlds=worlds, home=home, workers=workers,
        seed=seed, settings=parsed(settings), vectors=named(vectors), command=command,
    )  # fmt: skip


def hold(opened: Corpus, names: list[str] | None, page: Path, **how: Any) -> None:
    """Hold a contest: write its page, and print the verdicts."""
    from endoxa.contests import contest as made_of
    from endoxa.io.write import replacing
    from endoxa.reports.pages import contest as reports

    with show.stages(6) as progress:
        made, _ = made_of(opened, names, progress=progress, **how)
    text = reports.page(made)
    make_folder(page.parent)
    with replacing(page) as part:
        part.write_text(text, encoding="utf-8")
    console = show.console()
    found = made.verdicts
    console.print(f"\n[bold]{made.title}: {found.measure}[/bold]")
    console.print(show.frame_table(_standings(found.standings)))
    for way, meaning in made.meanings.items():
        print(show.wrapped(f"{way}: {meaning}"))
    for a, b, t in found.agreement.iter_rows():
        print(f"Kendall's tau, {a} and {b}: {t:.2f}")
    print()
    more = [f"and {len(made.warnings) - NAMED:,} more, on the page"] if len(made.warnings) > NAMED else []
    for remark in (*made.warnings[:NAMED], *more, *made.remarks):
        print(show.wrapped(f"! {remark}"))
    print(f"The page: {page.resolve().as_uri()}")


def _standings(frame: pl.DataFrame) -> pl.DataFrame:
    """Systems down, ways across: mean, interval and place."""
    import polars as pl

    told = [
        f"{value:.3f} [{lo:.3f}, {hi:.3f}] #{place}"
        for value, lo, hi, place in frame.select("value", "lo", "hi", "place").iter_rows()
    ]
    return frame.with_columns(pl.Series("told", told)).pivot("way", index="system", values="told", maintain_order=True)


def _cost_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Costs in units that people read."""
    import polars as pl

    return frame.select(
        "system",
        "phase",
        "items",
        pl.col("seconds").round(2),
        (pl.col("bytes") / 1e6).round(2).alias("MB"),
        (1000 * pl.col("median")).round(2).alias("median ms"),
        (1000 * pl.col("p95")).round(2).alias("p95 ms"),
    )


@images.command("compose")
def compose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the scenes go.")],
    count: Annotated[int, typer.Option("--count", "-n", help="Scenes.", min=1)] = 200,
    cutouts: Annotated[
        str | None, typer.Option("--from", metavar="CORPUS", help="Cut-outs to paste: stamps, or pictures with alpha.")
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Make captioned scenes whose regions and words are known exactly: drawn, or pasted from cut-outs.

    [bold]Examples[/bold]

      endoxa images compose scenes --count 500

      endoxa images compose collage --count 500 --from stamps
    """
    pictures_verbs()
    from endoxa.io.scenes import write_scenes

    pasted = None if cutouts is None else _open(cutouts)
    with show.stages(1) as progress:
        tell = None if progress is None else lambda done, whole: progress("composing", done, whole)
        write_scenes(folder, count, seed=seed, cutouts=pasted, progress=tell)
    print(f"{count:,} scenes in {folder}; look at them with: endoxa images contest {folder}")


@images.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(metavar="stamps|clipart", help="Tux Paint's stamps, or Open Clip Art.")],
) -> None:
    """Fetch a corpus from Debian's packages into the cache, without root. Others fetch it when they first need it.

    [bold]Examples[/bold]

      endoxa images fetch stamps
    """
    opened = _open(name)
    print(f"{len(opened):,} pictures in {opened.root}")
