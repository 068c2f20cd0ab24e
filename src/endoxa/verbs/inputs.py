"""The input of every verb. Only here do paths, frames, dicts and rows become tables, references and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn

from endoxa.errors import CallError, EndoxaError, FileError, TableError, TextError, did_you_mean
from endoxa.evaluations.references import Reference, Referred
from endoxa.evaluations.settings import Settings
from endoxa.frozen import dataclass
from endoxa.io.native_files import DictRun
from endoxa.io.objects import are_rows, is_flat, sort_of
from endoxa.io.read import PLACES, is_there, kind_of, natively_judged, read
from endoxa.io.run_files import RunFiles
from endoxa.io.sources import Source, source_of
from endoxa.later import pl
from endoxa.measures.evaluate import Blocks
from endoxa.measures.preference_judgments import Preferences
from endoxa.native import core
from endoxa.policies import Ties
from endoxa.progress import Progress
from endoxa.tables import Answers, Belief, Bundle, Gradings, Labels, Opinions, Run, Taxonomy
from endoxa.verbs.parameters import Report

if TYPE_CHECKING:
    from endoxa.evaluations.evaluation import File

T = TypeVar("T")
TABLES = (Opinions, Preferences, Belief, Labels, Answers, Bundle)
NOT_ONE = "give one reference: judgments, preferences, a belief, labels, answers or a bundle"


# ---- settings -----------------------------------------------------------------------------------------


def settings_of(given: Mapping[str, Any], run: Any = None, *, scoring_only: bool = False) -> Settings:
    """Settings by name; a Run keeps the rule for ties that it was ranked by, a Spark frame where it is."""
    given = dict(given)
    if isinstance(run, Run):
        given = {"ties": run.ties} | given
    if is_frame(run):
        given = {"on": run.sparkSession} | given
    if given.get("on") is not None and not isinstance(given["on"], str):
        from endoxa.scale import spark

        given["on"] = spark.address_of(given["on"])
    return Settings.of(given, scoring_only=scoring_only)


def mapper_of(settings: Settings) -> Callable[..., Any]:
    """The map over queries: that of this machine, or of the Spark cluster that the settings name."""
    if settings.on is None:
        return map
    from endoxa.scale import spark

    return partial(spark.mapped, settings.on)


# ---- runs ---------------------------------------------------------------------------------------------


def _reading(settings: Settings) -> dict[str, Any]:
    """How runs are read."""
    blanks = settings.compat != "none"
    return {
        "name_from": settings.name_from, "ties": order_of(settings), "lenient": settings.lenient, "blanks": blanks
    }  # fmt: skip


def order_of(settings: Settings) -> Ties:
    """The rule by which a run is ranked when it is read."""
    return "input" if settings.ties == "input" else "trec"


def runs_of(
    source: Any, settings: Settings, *, progress: Progress | None = None, report: Report | None = None
) -> Run | Blocks | None:
    """A run, or what is read when it is scored: files, a dict, a Spark frame; None where none was given.

    Files are read where the settings say. A run that is in memory already is scored there.
    """
    if is_nothing(source):
        return None
    paths = paths_of(source)
    if paths:
        files = RunFiles(tuple(paths), **_reading(settings), progress=progress, report=report)
        return files if settings.on is None else _distributed(files, settings.on)
    if type(source) is dict and core() is not None:
        return DictRun(source, partial(run_of, source, settings), order_of(settings))
    return _frame_of(source, settings) if is_frame(source) else run_of(source, settings)


def is_frame(source: Any) -> bool:
    """Whether it is a frame of Spark."""
    return type(source).__module__.startswith("pyspark.sql.") and type(source).__name__ == "DataFrame"


def _distributed(files: RunFiles, on: str) -> Blocks:
    from endoxa.io.distributed import DistributedFiles

    return DistributedFiles(files, on)


def _frame_of(source: Any, settings: Settings) -> Blocks:
    from endoxa.io.distributed import DistributedFrame

    if settings.ties == "input":
        raise CallError("the rows of a Spark frame have no order: use ties=trec, or give files")
    return DistributedFrame(source)


def run_of(source: Any, settings: Settings | None = None) -> Run:
    """A Run from whatever holds one."""
    if isinstance(source, Run):
        return source
    settings = settings or Settings()
    if paths := paths_of(source):
        return RunFiles(tuple(paths), **_reading(settings)).whole()
    if is_frame(source):
        return _frame_of(source, settings).whole()
    if isinstance(source, TABLES):
        raise TableError(
            f"expected a run, got {type(source).__name__}", remedy="runs come before what they are scored against"
        )
    table = read(source, kind="run", ties=order_of(settings))
    if not isinstance(table, Run):
        raise TableError(f"expected a run, got {type(table).__name__}")
    return table


def paths_of(source: Any) -> list[Source]:
    """The files, where it is a path or a list of paths; else none. A path becomes a Source here, which is handed on."""
    if isinstance(source, Files):
        return list(source.kinds)
    parts = source if isinstance(source, list | tuple) else [source]
    return [source_of(part) for part in parts] if all(isinstance(part, PLACES) for part in parts) else []


def entered(source: Any) -> Any:
    """The same with Sources for paths, so that what is found out about a file is known wherever it is handed on."""
    if isinstance(source, PLACES):
        return source_of(source)
    return source if isinstance(source, Files) else paths_of(source) or source


# ---- which is the run? --------------------------------------------------------------------------------


def is_nothing(source: Any) -> bool:
    """Whether no reference, or no run, was given."""
    return source is None or (isinstance(source, list | tuple) and not source)


def holds_both(source: Any) -> bool:
    """Whether it is rows, or files of rows, that hold a run and judgments."""
    paths = paths_of(source)
    if paths:
        return all(kind_of(path) == "both" for path in paths)
    return not is_nothing(source) and not isinstance(source, Reference) and sort_of(source) == "both"


def is_swapped(run: Any, reference: Any, name: str) -> bool:
    """Whether what was given as the run is the reference, and the other way round; an error if nobody can tell."""
    if is_nothing(run) or is_nothing(reference) or isinstance(reference, Files | Reference):
        return False
    one = _sort(run)
    if one == "scores" and is_flat(reference):  # whatever its numbers are
        return False
    other = _sort(reference)
    if one == other == "run":
        raise CallError(
            "both arguments are runs", remedy="put all runs into the first, as a list or a dict {name: run}"
        )
    if one == other == "reference":
        raise CallError("both arguments are judgments, or another reference", remedy="give a run too")
    runs, references = {"run"}, {"reference"}
    if one in runs or other in references or "unknown" in {one, other} or "both" in {one, other}:
        return False
    if one in references or other in runs:
        return True
    if one == "grades" and other == "scores":
        warn("the arguments are swapped: the first holds grades, the second the scores of a run", stacklevel=4)
        return True
    if (one, other) in {("grades", "either"), ("either", "scores")}:
        raise CallError(
            "which of the two dicts is the run cannot be told from their numbers",
            remedy=f"name them: run=…, {name}=…, or read them with kind='run' and kind='qrels'",
        )
    return False


def _sort(source: Any) -> str:
    """Whether it holds a run or a reference; of files, what their content says."""
    if isinstance(source, Reference | Files):
        return "reference"
    paths = paths_of(source)
    if not paths:
        return sort_of(source)
    kinds = {_kind(path) for path in paths}
    return kinds.pop() if len(kinds) == 1 else "unknown"


def _kind(path: Source) -> str:
    if path.given == "-" or not is_there(path.given):
        return "unknown"
    try:
        kind = kind_of(path, strict=True)
    except EndoxaError:  # what is wrong is said when it is read
        return "unknown"
    return kind if kind in {"run", "both"} else "unknown" if kind in {"scores", "comparison"} else "reference"


# ---- references ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Files:
    """Files whose kinds were told apart already."""

    kinds: dict[Source, str]


def reference_of(
    source: Any, settings: Settings, *, taxonomy: Any = None, report: Report | None = None, graded: bool = True
) -> Reference:
    """What runs are scored against, from whatever holds it: nothing, a table, files, a frame, a dict, rows.

    The kind of a file is told by its content, of a frame by its columns; a dict {query: {item: number}} holds grades,
    {query: [item, …]} the relevant items. Of rows that hold a run and judgments, the judgments are meant. Files
    without any grade are refused, unless `graded` is False.
    """
    if isinstance(source, Reference):
        return source
    if is_nothing(source):
        return Reference.of(None, settings, _taxonomy(taxonomy))
    if isinstance(source, TABLES):
        return Reference.of(_preferred(source, settings), settings, _taxonomy(taxonomy))
    if paths := paths_of(source):
        kinds = source.kinds if isinstance(source, Files) else {path: kind_of(path) for path in paths}
        table, tree = _files(kinds, settings, report)
        if graded and isinstance(table, Opinions):
            _refuse_ungraded(table, paths)
        return Reference.of(_preferred(table, settings), settings, _taxonomy(taxonomy) or tree)
    found: Any = natively_judged(source) if type(source) is dict else None
    if found is None:
        judged = isinstance(source, Mapping) or sort_of(source) == "both"
        found = read(source, kind="qrels" if judged else "auto")
    if not isinstance(found, TABLES):
        raise TableError(f"expected something to score against, got {type(found).__name__}", remedy=NOT_ONE)
    return Reference.of(_preferred(found, settings), settings, _taxonomy(taxonomy))


def _refuse_ungraded(table: Opinions, paths: list[Source]) -> None:
    """Refuse files of judgments in which nothing is judged, such as a list of pairs that nobody has filled in."""
    if table.judged is None and table.frame["grade"].null_count() == table.frame.height:
        named = " and ".join(map(str, paths[:2]))
        raise FileError(named, "nothing is judged: every grade is empty", "fill in the column grade")


def _taxonomy(source: Any) -> Taxonomy | None:
    return source if source is None or isinstance(source, Taxonomy) else read(source, kind="taxonomy")


def _files(kinds: dict[Source, str], settings: Settings, report: Report | None) -> tuple[Referred, Taxonomy | None]:
    """The table in the files: one file, several files of opinions or labels, and a taxonomy beside them."""
    trees = [path for path, kind in kinds.items() if kind == "taxonomy"]
    rest = [path for path, kind in kinds.items() if kind != "taxonomy"]
    if not rest:
        raise TextError("a taxonomy alone holds no opinion", remedy="add a file of labels: source, item, category")
    listed = [path for path in rest if kinds[path] == "both"]
    if listed and len(listed) < len(rest):
        other = next(path for path in rest if path not in listed)
        raise TextError(
            f"judgments are given twice, in {other} and in {listed[0]}", remedy=f"name the run with --run {listed[0]}"
        )
    tables = [_file(path, kinds[path], settings, report) for path in rest]
    tree = read(trees[0], kind="taxonomy") if trees else None
    if len(tables) == 1:
        return tables[0], tree
    if listed:  # the rows of every system hold the same judgments
        return _agreed([table for table in tables if isinstance(table, Opinions)], listed), tree
    if all(isinstance(table, Opinions) for table in tables):
        _refuse_twice([table.frame for table in tables], rest)  # type: ignore[union-attr]
    for kind in (Opinions, Labels, Answers):
        if all(isinstance(table, kind) for table in tables):
            return kind.of(pl.concat([table.frame for table in tables])), tree  # type: ignore[union-attr]
    named = " and ".join(f"{path} ({kinds[path]})" for path in rest[:2])
    raise TextError(f"{named} cannot be joined", remedy=NOT_ONE)


def _agreed(tables: list[Opinions], paths: list[Source]) -> Opinions:
    """The judgments of several files of rows; one that differs between files is refused."""
    together = pl.concat([table.frame for table in tables]).unique(maintain_order=True)
    twice = together.filter(together.select("source", "query", "item").is_duplicated())
    if twice.height:
        query, item = twice["query"][0], twice["item"][0]
        raise TextError(
            f"item {item!r:.60} of query {query!r:.60} has different grades in {' and '.join(map(str, paths[:2]))}"
        )
    return Opinions.of(together)


def _refuse_twice(frames: list[pl.DataFrame], paths: list[Source]) -> None:
    """Refuse a pair that two files judge for the same person."""
    owned = zip(frames, paths, strict=True)
    owner = pl.concat([frame.select("source", "query", "item", file=pl.lit(path.label)) for frame, path in owned])
    twice = owner.filter(owner.select("source", "query", "item").is_duplicated())
    if twice.height:
        _, query, item, _ = twice.row(0)
        files = twice.filter((pl.col("query") == query) & (pl.col("item") == item))["file"].unique(maintain_order=True)
        raise FileError(
            files[-1], f"item {item!r:.60} of query {query!r:.60} is judged in {files[0]} too",
            "give the judgments once; if several people judged, name them in column 2 (--assessors mean)",
        )  # fmt: skip


def _file(path: Source, kind: str, settings: Settings, report: Report | None) -> Referred:
    if kind == "bundle":
        from endoxa.io.bundles import read_bundle

        return read_bundle(path, check_files=False)
    if settings.format in {"prefs", "qrels", "qrels_jg", "qrels_prefs"}:
        kind = "preferences" if settings.format == "prefs" else "qrels"
    if kind in {"run", "scores", "comparison"}:
        raise FileError(path.label, f"holds a {kind}", NOT_ONE)
    several = settings.assessors == "mean" or settings.model is not None
    several = several or settings.format in {"qrels_jg", "qrels_prefs"}
    if kind == "qrels" and not several and (judged := natively_judged(path)) is not None:
        return judged
    kind = "qrels" if kind == "both" else kind
    table = read(
        path, kind="auto" if path.given != "-" and kind not in {"qrels", "preferences"} else kind,  # type: ignore[arg-type]
        assessors=several, lenient=settings.lenient, blanks=settings.compat != "none", report=report,
    )  # fmt: skip
    if not isinstance(table, TABLES):
        raise FileError(path.label, f"holds {type(table).__name__}", NOT_ONE)
    return table


def _preferred(table: Any, settings: Settings) -> Any:
    """Grades as preferences, where trec_eval's format says so."""
    if settings.format == "qrels_prefs" and isinstance(table, Opinions):
        return Preferences.of_opinions(table, unjudged=settings.compat != "none")
    return table


def opinions_of(source: Any, *, assessors: bool = False, settings: Settings | None = None) -> Opinions:
    """Judgments or ratings from whatever holds them; anything else is refused."""
    settings = (settings or Settings()).changed(assessors="mean" if assessors else "one")
    source = entered(source)
    reference = reference_of(source, settings, graded=False)
    if isinstance(reference.table, Opinions):
        return reference.table
    if reference.judges is not None:
        return reference.judges.opinions
    if isinstance(reference.table, Labels):
        what, paths = "expected grades, found who filed what (source, item, category)", paths_of(source)
        remedy = (
            "endoxa categories FILING TREE says how far people agree, endoxa eval FILING TREE RUNS scores systems by "
            "them"
        )
        raise FileError(paths[0].label, what, remedy) if paths else TableError(what, remedy=remedy)
    if paths := paths_of(source):
        what = f"expected judgments, found a table of kind {reference.kind}: the column grade is missing"
        raise FileError(paths[0].label, what, "give a file with the columns query, item, grade")
    raise TableError(f"expected judgments or ratings (query, item, grade), got {_named(reference)}")


def _named(reference: Reference) -> str:
    return "nothing" if reference.table is None else type(reference.table).__name__


def rounds_of(source: Any) -> Opinions | None:
    """Labels of one or several rounds of judging as one table, the last round last; None where there are none."""
    if is_nothing(source):
        return None
    from endoxa.comparisons.rounds import rounds_of as together

    return together([_by_people(opinions_of(one)) for one in _rounds(source)])


def labels_of(source: Any) -> Opinions | None:
    """Labels of one or several files, rounds and judges as one table, each with its own propensity.

    Rows of several tables that name neither their round nor their judge are told apart by their table.
    """
    if is_nothing(source):
        return None
    from endoxa.comparisons.rounds import numbered

    return numbered([_by_people(opinions_of(one, assessors=True)) for one in _rounds(source)])


def _by_people(labels: Opinions) -> Opinions:
    """Labels, which are of people: machine judges would drown them."""
    if labels.by_machines:
        raise CallError(
            "the labels are grades of machine judges (kind judge), and labels are of people",
            remedy="give the file as --judge FILE (judges=)",
        )
    return labels


def _rounds(source: Any) -> list[Any]:
    """The tables of labels in a list of them; a list of rows is one table."""
    return list(source) if isinstance(source, list | tuple) and not are_rows(source) else [source]


def gradings_of(source: Any) -> Gradings | None:
    """Grades of machine judges, from files, tables, frames, rows or dicts; None where there are none.

    In a list, each table or file that names no judge is a judge of its own.
    """
    if is_nothing(source):
        return None
    source = entered(source)
    if paths := paths_of(source):
        from endoxa.io.judge_files import read_gradings

        return read_gradings(paths)
    parts = _rounds(source)
    numbers = [f" {place}" if len(parts) > 1 else "" for place in range(1, len(parts) + 1)]
    return Gradings.joined(
        [_graded(part, f"machine judge{number}") for part, number in zip(parts, numbers, strict=True)]
    )


def _graded(source: Any, name: str) -> Gradings:
    if isinstance(source, Gradings):
        return source
    if isinstance(source, Opinions):
        return Gradings.of_opinions(source)
    if isinstance(source, Mapping) and all(isinstance(items, Mapping) for items in source.values()):
        rows = [(query, item, grade) for query, items in source.items() for item, grade in items.items()]
        return Gradings.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"), judge=name)
    frame = source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    return Gradings.of(frame, judge=name)


def beside(
    reference: Reference, labels: Any, settings: Settings, judges: Any = None
) -> tuple[Reference, Opinions | None]:
    """The reference, and the labels and machine judges beside it.

    Beside runs alone, these are a reference of their own: relevance is learned from them. model=consensus keeps the
    consensus instead, and only makes the judged pairs certain.
    """
    labels = None if is_nothing(labels) else labels
    if same := {str(path) for path in paths_of(labels)} & {str(path) for path in paths_of(judges)}:
        raise CallError(f"{min(same)} is given as labels and as a machine judge", remedy="labels are of people")
    gradings = Gradings.joined([one for one in (reference.judges, gradings_of(judges)) if one is not None])
    if gradings is not None and reference.kind not in {"consensus", "sample"}:
        raise CallError(
            "machine judges stand beside runs, and judgments are given too",
            remedy="give the judgments as --labels, or leave the machine judges out",
        )
    if reference.kind not in {"consensus", "sample"}:
        return reference, rounds_of(labels)
    _refuse_model(settings, taught=labels is not None or gradings is not None, judged=gradings is not None)
    if gradings is None and (labels is None or settings.model == "consensus"):
        return reference, rounds_of(labels)
    found = labels_of(labels)
    if found is not None and (paths := paths_of(labels)):
        _refuse_ungraded(found, paths)
    return Reference("sample", found, judges=gradings), None


def _refuse_model(settings: Settings, *, taught: bool, judged: bool) -> None:
    """With runs alone there are two ways, both from labels; with machine judges there is one."""
    if settings.model is None or (settings.model == "learned" and taught):
        return
    if settings.model != "consensus" or not taught:
        raise CallError("with runs alone, model is learned or consensus, and needs labels: judged pairs (--labels)")
    if judged:
        raise CallError("the model consensus has no place for machine judges", remedy="leave the model out")


def foreign(settings: Settings, given: Iterable[str], reference: Reference) -> None:
    """Refuse what was given and does not apply to the reference."""
    settings.refuse_foreign(list(given), [reference.kind])


def files_of(run: Any, reference: Any, labels: Any = None, judges: Any = None) -> tuple[File, ...]:
    """Name, size and SHA-256 of every file that was read."""
    from endoxa.io.provenance import provenance

    given = {"judgments": reference, "labels": labels, "machine judge": judges, "run": run}
    kinds = [(path, kind) for kind, source in given.items() for path in paths_of(source)]
    return tuple(provenance(path, kind) for path, kind in kinds if path.given != "-" and is_there(path.given))


def votes_of_texts(source: Any, way: str, *, lines: bool = False, near: float | None = None) -> Opinions:
    """What systems extracted from documents, as votes: a bag of words, or words aligned in order.

    With `lines`, a line of a file is one word; `near` is the likeness from which misread words are aligned.
    """
    from endoxa.beliefs.alignment import aligned, bag_of_words
    from endoxa.io.texts import read_texts

    ways = ("bag", "align")
    if way not in ways:
        raise CallError(f"tokens is bag or align, not {way!r}", remedy=did_you_mean(way, ways))
    if near is not None and way == "bag":
        raise CallError(
            "near is for aligned words (tokens=align)", remedy="a bag of words compares them exactly. Remove it."
        )
    outputs = source if isinstance(source, Mapping) else read_texts(paths_of(source), lines=lines)
    return bag_of_words(outputs) if way == "bag" else aligned(outputs, near=near)
