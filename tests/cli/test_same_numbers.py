"""Every command gives the numbers of its verb in the library, on the same data and seed.

The test walks the commands that the command line registers: a command without a case here fails.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import endoxa
from endoxa import cli
from endoxa.examples import collection
from endoxa.formatting import chance, number
from endoxa.tables import Opinions, Run


class Here:
    """The command line in this process, and the files of a small collection."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = sorted(str(path) for path in (folder / "runs").glob("*.run"))
        self.qrels, self.three, self.labels = (str(folder / name) for name in ("qrels.txt", "three.csv", "labels.csv"))
        self.scenes = folder  # of the commands on pictures

    def __call__(self, *words: object, typed: str = "", code: int = 0) -> str:
        """What the command prints."""
        ran = command_line.endoxa(*words, typed=typed)
        assert ran.exit_code == code, ran.output
        return ran.stdout

    def frame(self, *words: object) -> pl.DataFrame:
        """The table that the command prints as JSON lines."""
        return pl.read_ndjson(io.StringIO(self(*words, "-o", "jsonl")), infer_schema_length=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve queries, four systems, judgments of one and of three people, and a few labels."""
    folder = tmp_path_factory.mktemp("same")
    run, opinions = collection(rng=np.random.default_rng(5))
    queries = run.frame["query"].unique().sort()[:12]
    systems = run.systems[:4]
    (folder / "runs").mkdir()
    for system in systems:
        own = (pl.col("system") == system) & pl.col("query").is_in(queries) & (pl.col("rank") <= 40)
        endoxa.write(Run(run.frame.filter(own)), folder / "runs" / f"{system}.run")
    kept = opinions.frame.filter(pl.col("query").is_in(queries))
    endoxa.write(Opinions(kept), folder / "three.csv")
    one = kept.filter(pl.col("source") == "ada").with_columns(pl.lit("qrels").alias("source"))
    endoxa.write(Opinions(one), folder / "qrels.txt")
    paths = sorted(map(str, (folder / "runs").glob("*.run")))
    pairs = endoxa.choose(paths, None, 200, measures=["P@10"], seed=1)
    grades = {(q, d): float(g > 0) for q, d, g in one.select("query", "item", "grade").iter_rows()}
    labelled = pairs.with_columns(
        pl.Series("grade", [grades.get(pair, 0.0) for pair in pairs.select("query", "item").iter_rows()])
    )
    columns = ("query", "item", "grade", "propensity", "selected_by", "draw", "draw_depth")
    endoxa.write(Opinions.of(labelled.select(columns)), folder / "labels.csv")
    return folder


@pytest.fixture
def here(folder: Path) -> Here:
    return Here(folder)


def same(printed: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Equal in every column that both have; JSON has no NaN, and a column of nulls is not printed."""
    plain = expected.with_columns(
        pl.col(name).fill_nan(None) for name, kind in expected.schema.items() if kind.is_float()
    )
    shared = [name for name in plain.columns if name in printed.columns]
    lost = [name for name in plain.columns if name not in shared and plain[name].null_count() < plain.height]
    assert not lost, f"the command does not print {lost}"
    kinds = {name: plain.schema[name] for name in shared}
    assert_frame_equal(printed.select(shared).cast(kinds), plain.select(shared), rel_tol=1e-12, abs_tol=1e-12)  # type: ignore[arg-type]


FEW = ("--worlds", 30, "--seed", 3)
SETTINGS: dict[str, Any] = {"worlds": 30, "seed": 3}


def _evaluate(here: Here, tmp_path: Path) -> None:
    """Judgments, nobody, people, a belief, labels: summary and every query."""
    belief = str(tmp_path / "belief.parquet")
    endoxa.write(endoxa.believe(here.three, "dawid-skene", people=5), belief)
    for reference, words, settings in (
        (here.qrels, ("--seed", 3), {"seed": 3}),
        (here.three, ("--assessors", "mean", "--confidence", 0.9), {"assessors": "mean", "confidence": 0.9}),
        (here.three, ("--model", "votes", *FEW), {"model": "votes"} | SETTINGS),
        (belief, FEW, SETTINGS),
        (None, ("--depth", 10, "--weights", "equal", *FEW), {"depth": 10, "weights": "equal"} | SETTINGS),
    ):
        given = [here.runs, *([] if reference is None else [[reference]])]
        files = [path for part in given for path in part]
        result = endoxa.evaluate(here.runs, reference, ["nDCG@10", "P@10"], **settings)
        same(here.frame("eval", *files, "nDCG@10", "P@10", *words), result.summary)
        assert result.scores is not None
        same(here.frame("eval", *files, "nDCG@10", "P@10", "-q", *words), result.scores.frame)
    taught = endoxa.evaluate(here.runs, None, ["P@10", "RR"], labels=here.labels, **SETTINGS)
    assert taught.kind == "sample"
    same(here.frame("eval", *here.runs, "P@10", "RR", "--labels", here.labels, *FEW), taught.summary)
    printed = here.frame("eval", *here.runs, "P@10", "--labels", here.labels, "--model", "consensus", *FEW)
    result = endoxa.evaluate(here.runs, None, ["P@10"], labels=here.labels, model="consensus", **SETTINGS)
    same(printed, result.summary)
    estimates = result.tables["estimates"]
    kept = printed.filter(pl.col("labels_estimate").is_not_null())
    assert kept["labels_estimate"].to_list() == pytest.approx(estimates["estimate"].to_list(), rel=1e-12)


def _compare(here: Here, tmp_path: Path) -> None:
    for reference, words, settings in (
        (here.qrels, ("--test", "t", "--seed", 3), {"test": "t", "seed": 3}),
        (here.three, ("--model", "votes", *FEW), {"model": "votes"} | SETTINGS),
        (None, FEW, SETTINGS),
    ):
        files = [*here.runs, *([] if reference is None else [reference])]
        pairs = endoxa.compare(here.runs, reference, ["P@10", "AP"], **settings)
        same(here.frame("compare", *files, "P@10", "AP", *words), pairs.frame)
        scores = endoxa.measure(
            here.runs, reference, ["P@10", "AP"], **{k: v for k, v in settings.items() if k != "test"}
        )
        more = {name: value for name, value in settings.items() if name in {"test", "seed"}}
        if reference is not None:  # values of runs alone are modelled, and have no draws to compare
            assert_frame_equal(endoxa.compare(scores, **more).frame, pairs.frame)
        assert_frame_equal(
            endoxa.evaluate(here.runs, reference, ["P@10", "AP"], **settings).comparison.frame, pairs.frame
        )  # type: ignore[union-attr]
    taught = endoxa.compare(here.runs, None, ["P@10", "AP"], labels=here.labels, seed=3)
    same(here.frame("compare", *here.runs, "P@10", "AP", "--labels", here.labels, "--seed", 3), taught.frame)
    assert_frame_equal(
        endoxa.evaluate(here.runs, None, ["P@10", "AP"], labels=here.labels, seed=3).comparison.frame, taught.frame
    )  # type: ignore[union-attr]
    two = endoxa.compare(here.runs, None, ["P@10"], between=("dense", "bm25"), **SETTINGS)
    same(here.frame("compare", *here.runs, "P@10", "--between", "dense", "bm25", *FEW), two.frame)


def _measure(here: Here, tmp_path: Path) -> None:
    same(here.frame("measure", here.qrels, *here.runs, "AP"), endoxa.measure(here.runs, here.qrels, ["AP"]).frame)
    same(here.frame("measure", *here.runs, "AP", *FEW), endoxa.measure(here.runs, None, ["AP"], **SETTINGS).frame)
    taught = endoxa.measure(here.runs, None, ["AP"], labels=here.labels)
    same(here.frame("measure", *here.runs, "AP", "--labels", here.labels), taught.frame)


def _report(here: Here, tmp_path: Path) -> None:
    beside = ("--labels", here.labels)
    for reference, words, settings in (
        ([here.qrels], (), {}), ([], FEW, SETTINGS), ([], beside, {"labels": here.labels}),
    ):  # fmt: skip
        target = tmp_path / f"report{len(reference)}{len(words)}.json"
        here("report", *reference, *here.runs, "nDCG@10", "AP", *words, "--to", target)
        written = endoxa.read(target)
        expected = endoxa.report(here.runs, reference or None, ["nDCG@10", "AP"], **settings)
        assert_frame_equal(written.summary, expected.summary)
        assert_frame_equal(written.comparison.frame, expected.comparison.frame)  # type: ignore[union-attr]
        assert list(written.tables) == list(expected.tables)
        for name, table in expected.tables.items():
            assert_frame_equal(written.tables[name], table)
        assert (written.warnings, written.notes) == (expected.warnings, expected.notes)


def _decide(here: Here, tmp_path: Path) -> None:
    """What a judge at the terminal is told is the verdict from the labels that are written at the end."""
    told = tmp_path / "told.csv"
    words = ("--terminal", "--home", tmp_path / "home", "--to", told, "AP")
    printed = here("decide", *here.runs, *words, typed="y\nn\nz\nn\ns\ny\nu\nn\nq\n")
    row = endoxa.decide(here.runs, str(told)).tables["verdict"].row(0, named=True)
    assert row["labels"] == 4
    last = [line for line in printed.splitlines() if "is the best with probability" in line][-1]
    assert f"{row['leader']} is the best with probability {chance(row['chance'])}, by the model and 4 labels." in last
    sure = tmp_path / "sure.csv"
    words = ("--terminal", "--guarantee", "--home", tmp_path / "sure", "--to", sure, "P@5")
    assert "Not settled with a guarantee: " in here("decide", *here.runs, *words, typed="y\ns\nn\nu\nq\n")
    assert endoxa.decide(here.runs, str(sure), "P@5", guarantee=True).tables["verdict"]["left"][0] == len(here.runs)
    summary = endoxa.decide(here.runs, str(told)).summary
    same(here.frame("eval", *here.runs, "--labels", told), summary)


def _choose(here: Here, tmp_path: Path) -> None:
    expected = endoxa.choose(here.runs, None, 40, measures=["P@5"], seed=4)
    same(here.frame("next", *here.runs, "P@5", "-n", 40, "--seed", 4), expected.drop("order", "influence"))
    for about, words in (("best", "best"), (("bm25", "dense"), "bm25,dense")):
        expected = endoxa.choose(here.runs, None, 20, judged=here.labels, about=about, mixing=0.3, seed=4)
        given = ("--labels", here.labels, "--about", words, "--mixing", 0.3, "-n", 20, "--seed", 4)
        same(here.frame("next", *here.runs, *given), expected.drop("order", "influence"))


def _estimate(here: Here, tmp_path: Path) -> None:
    expected = endoxa.estimate(here.runs, None, here.labels, ["P@10"])
    same(here.frame("estimate", *here.runs, "P@10", "--labels", here.labels), expected.frame)
    same(here.frame("estimate", *here.runs, "P@10", "--labels", here.labels, "--pairs"), expected.pairs)


def _backtest(here: Here, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "labels": (0, 5),
        "draws": 2,
        "fields": 1,
        "size": 3,
        "courses": 2,
        "most": 75,
        "seed": 3,
    }
    found = endoxa.backtest(here.runs, here.qrels, ["P@5", "AP"], **settings)
    words = (here.qrels, *here.runs, "P@5", "AP", "--labels", "0,5", "--draws", 2, "--fields", 1, "--size", 3,
             "--courses", 2, "--most", 75, "--seed", 3)  # fmt: skip
    assert {"statements", "reliability", "best", "leaders", "settled", "courses", "forecast"} < set(found.tables)
    for name, table in found.tables.items():
        if not table.height:  # prints nothing
            continue
        same(here.frame("backtest", *words, "--table", name), table)
    plain = found.plain()
    printed = json.loads(here("backtest", *words, "-o", "json"))
    assert printed.pop("provenance").pop("Seed") == plain.pop("provenance").pop("Seed")
    assert printed == json.loads(json.dumps(plain))


def _believe(here: Here, tmp_path: Path) -> None:
    for files, words, settings in (
        ([here.three], ("--model", "dawid-skene", "--people", 3), {"model": "dawid-skene", "people": 3}),
        (here.runs, ("--depth", 10, "--weights", "redundancy"), {"depth": 10, "weights": "redundancy"}),
        ([here.three], ("--threshold", 1), {"threshold": 1.0}),
        (here.runs, ("--model", "learned", "--labels", here.labels), {"model": "learned", "labels": here.labels}),
    ):
        here("believe", *files, *words, "--seed", 2, "--to", tmp_path / "belief.parquet")
        written, expected = endoxa.read(tmp_path / "belief.parquet"), endoxa.believe(files, seed=2, **settings)
        assert_frame_equal(written.frame, expected.frame)
        assert (written.model, written.notes) == (expected.model, expected.notes)


def _rate(here: Here, tmp_path: Path) -> None:
    words = (here.three, *here.runs, "--method", "isotonic", "--resamples", 60, "--seed", 2)
    expected = endoxa.rate(here.three, here.runs, methods=["isotonic"], resamples=60, seed=2)
    same(here.frame("ratings", *words), expected.tables["figures"])


def _filing(here: Here, tmp_path: Path) -> None:
    filed = {"a": "owl bird owl", "b": "owl owl tree", "c": "tree bird tree"}
    rows = [(f"s{n}", item, name) for item, names in filed.items() for n, name in enumerate(names.split())]
    labels = pl.DataFrame(rows, schema=["source", "item", "category"], orient="row")
    tree = pl.DataFrame({"category": ["all", "bird", "owl", "tree"], "parent": ["", "all", "bird", "all"]})
    labels.write_csv(tmp_path / "filing.csv")
    tree.write_csv(tmp_path / "tree.csv")
    files = (tmp_path / "filing.csv", tmp_path / "tree.csv")
    expected = endoxa.categories(labels, tree)
    same(here.frame("categories", *files), expected.shares)
    same(here.frame("categories", *files, "-q", "b"), expected.of("b"))
    told = here("categories", *files)
    assert expected.answer == told.splitlines()[0]
    for size, alpha in expected.tree.select("size", "alpha").iter_rows():
        assert f"{size:.4f}" in told
        assert number(alpha, minus="-") in told
    again = endoxa.categories(*map(str, files))
    assert_frame_equal(again.tree, expected.tree)
    assert_frame_equal(endoxa.categories(labels.to_dicts(), tree.to_dicts()).tree, expected.tree)


def _pool(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.pool import pool_states

    pairs = endoxa.pool(here.runs, 10)
    same(here.frame("pool", *here.runs, "--depth", 10), pairs.with_columns(pl.col("by").list.join(" ")))
    same(here.frame("pool", here.qrels, *here.runs, "--depth", 10), pool_states(here.runs, here.qrels, 10))
    left = endoxa.leave_out_uniques(here.runs, here.qrels, "AP", depth=10)
    same(here.frame("pool", here.qrels, *here.runs, "--depth", 10, "--leave-out-uniques"), left.frame)


def _generality(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.generality import generality

    asked = ("--at", 0.5, "--draws", 3, "--seed", 2)
    expected = generality(here.runs, here.qrels, levels=[0.5], draws=3, seed=2)
    same(here.frame("generality", here.qrels, *here.runs, *asked), expected.curves)


def _judge(here: Here, tmp_path: Path) -> None:
    """A command that grades by the length of the item; the file keeps what both say."""
    pairs = tmp_path / "pairs.csv"
    endoxa.choose(here.runs, None, 30, seed=1).select("query", "item").write_csv(pairs)
    names = pl.read_csv(pairs)
    for name in ("query", "item"):
        texts = names.select(name, pl.format("{} {}", name, "item").alias("text")).unique(name)
        texts.write_csv(tmp_path / f"{name}.csv")
    given = {"queries": tmp_path / "query.csv", "items": tmp_path / "item.csv"}
    program = "mine=sh -c 'echo $((${2#d} % 4))' x {query} {item}".replace("${2#d}", "1${2##* d}")
    found = endoxa.judge(pairs, **given, program=program, repeats=2, to=tmp_path / "python.jsonl")
    words = ("--queries", given["queries"], "--items", given["items"], "--with", program, "--repeats", 2)
    here("judge", pairs, *words, "--to", tmp_path / "typed.jsonl")
    typed = pl.read_ndjson(tmp_path / "typed.jsonl", infer_schema_length=None).sort("query", "item", "repeat")
    assert found.gradings.frame["grade"].n_unique() == 4
    same(typed.drop("at"), found.replies.drop("at", "tokens_in", "tokens_out").sort("query", "item", "repeat"))


def _fuse(here: Here, tmp_path: Path) -> None:
    for words, settings in (
        ((), {}),
        (("--method", "sum", "--norm", "zmuv", "--depth", 7), {"method": "sum", "norm": "zmuv", "depth": 7}),
        (("--method", "fitted", "--labels", here.qrels), {"method": "fitted", "labels": here.qrels}),
        (("--method", "belief", "--labels", here.labels), {"method": "belief", "labels": here.labels}),
    ):
        here("fuse", *here.runs, *words, "--to", tmp_path / "fused.parquet")
        assert_frame_equal(endoxa.read(tmp_path / "fused.parquet").frame, endoxa.fuse(here.runs, **settings).frame)


def _check(here: Here, tmp_path: Path) -> None:
    for files, judgments in (((here.qrels, *here.runs), here.qrels), (here.runs, None)):
        _, *printed = here("check", *files).splitlines()
        assert [line[2:] for line in printed] == [one.text for one in endoxa.check(here.runs, judgments)]


def _explain(here: Here, tmp_path: Path) -> None:
    assert here("explain", "nDCG") == endoxa.explain("nDCG") + "\n"
    assert here("explain").split("\n", 1)[1] == endoxa.explain() + "\n"


def _read(here: Here, tmp_path: Path) -> None:
    same(here.frame("read", here.runs[0]), endoxa.read(here.runs[0]).frame)


def _write(here: Here, tmp_path: Path) -> None:
    here("write", here.runs[0], tmp_path / "one.parquet")
    endoxa.write(endoxa.read(here.runs[0]), tmp_path / "two.parquet")
    assert_frame_equal(endoxa.read(tmp_path / "one.parquet").frame, endoxa.read(tmp_path / "two.parquet").frame)


def _demo(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.demo import demo_documents

    printed = here("demo", "documents", "--to", tmp_path / "one", "--seed", 2)
    found = demo_documents(tmp_path / "two", seed=2)
    assert f"{found.tau:.2f}" in printed
    for name in ("qrels.txt", "runs/bm25.run"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


# ---- pictures and people ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve drawn scenes, indexed by two systems."""
    from endoxa.verbs.compose import compose
    from endoxa.verbs.index import index

    folder = tmp_path_factory.mktemp("pictures") / "scenes"
    compose(folder, 12, seed=4)
    index(folder, ["keywords", "histograms"], workers=1)
    return folder


ENGINES = ("-e", "keywords", "-e", "histograms")


def _compose(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.compose import compose

    here("images", "compose", tmp_path / "one", "--count", 3, "--seed", 2)
    compose(tmp_path / "two", 3, seed=2)
    files = [sorted(path.name for path in (tmp_path / name).rglob("*.jpg")) for name in ("one", "two")]
    assert files[0] == files[1] != []
    for name in files[0]:
        one, two = (next((tmp_path / part).rglob(name)).read_bytes() for part in ("one", "two"))
        assert one == two


def _index(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.compose import compose
    from endoxa.verbs.index import index
    from endoxa.verbs.run import run

    runs = []
    for name in ("one", "two"):
        compose(tmp_path / name, 6, seed=4)
    here("images", "index", tmp_path / "one", *ENGINES, "--workers", 1)
    index(tmp_path / "two", ["keywords", "histograms"], workers=1)
    for name in ("one", "two"):
        runs.append(run(tmp_path / name).run.frame)
    assert_frame_equal(*runs)


def _run(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.run import run

    here("images", "run", here.scenes, *ENGINES, "--sample", 5, "--seed", 3, "--to", tmp_path / "runs")
    expected = run(here.scenes, ["keywords", "histograms"], sample=5, seed=3).run
    for system in expected.systems:
        own = expected.frame.filter(pl.col("system") == system).drop("score")
        assert_frame_equal(endoxa.read(tmp_path / "runs" / f"{system}.run").frame.drop("score"), own)


def _find(here: Here, tmp_path: Path) -> None:
    from endoxa.io.opening import open_corpus
    from endoxa.verbs.find import find

    item = open_corpus(here.scenes).items[0]
    printed = here("images", "search", here.scenes, item, "-e", "histograms", "-n", 4)
    for name, score in find(here.scenes, item, "histograms", count=4).frame.select("item", "score").iter_rows():
        assert name in printed
        assert f"{score:.4f}" in printed


def _gallery(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.gallery import gallery
    from endoxa.verbs.run import run

    run(here.scenes, ["keywords", "histograms"], sample=3, to=tmp_path)
    files = [str(tmp_path / f"{name}.run") for name in ("keywords", "histograms")]
    here("images", "gallery", here.scenes, *files, "--title", "x", "--to", tmp_path / "page.html")
    expected = gallery(here.scenes, files, title="x")
    strips = [page[page.index("<main") : page.index("Provenance")] if "Provenance" in page else page[: len(page) // 2]
              for page in ((tmp_path / "page.html").read_text(), expected)]  # fmt: skip
    assert strips[0] == strips[1]


def _contest(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.contest import contest

    words = (*ENGINES, "--sample", 5, "--worlds", 30, "--seed", 3, "--workers", 1)
    printed = here("images", "contest", here.scenes, *words, "--cutoffs", 3, "--to", tmp_path / "page.html")
    found, _ = contest(here.scenes, ["keywords", "histograms"], sample=5, worlds=30, seed=3, workers=1, cutoffs=3)
    for value, lo, hi in found.verdicts.standings.select("value", "lo", "hi").iter_rows():
        assert (f"{value:.3f} #" if np.isnan(lo) else f"{value:.3f} [{lo:.3f}, {hi:.3f}]") in printed
    assert found.course is not None
    near = "the best, or within .01 of it," if found.course.margin else "the best"
    assert f"{found.course.leader} is {near} with probability {chance(found.course.chance)}" in printed
    for tau in found.verdicts.agreement["tau"]:
        assert f"{tau:.2f}" in printed
    assert found.cutoffs is not None
    for value in found.cutoffs.values["value"]:
        assert number(value, 3) in printed


def _trials(here: Here, tmp_path: Path) -> None:
    from endoxa.reports.pages.trials import answer, lines
    from endoxa.verbs.trials import trials

    words = ("-l", "kernel", "-l", "rocchio", "--sessions", 4, "--size", 2, "--seed", 3, "--workers", 1)
    printed = here("search", "contest", here.scenes, *words, "--home", tmp_path, "--to", tmp_path / "page.html")
    asked = {"sessions": 4, "size": 2, "seed": 3, "workers": 1, "home": tmp_path}
    found = trials(here.scenes, ["kernel", "rocchio"], **asked)
    assert printed.startswith(answer(found).split(" (median")[0])
    for trial in found.trials:
        for row in lines(trial):
            assert f"{row[1].text} {row[1].small}" in printed
    assert (tmp_path / "page.html").read_text().count("<figure>") == len(found.trials)


def _visual(here: Here, tmp_path: Path) -> None:
    from vector_samples import write_vectors

    from endoxa.io.opening import open_corpus
    from endoxa.reports.pages.visual_words import answer, lines
    from endoxa.verbs.visual import visual

    items, look = open_corpus(here.scenes).items, tmp_path / "look.npz"
    write_vectors(look, items, np.random.default_rng(0).normal(size=(len(items), 4)))
    words = ("--least", 3, "--components", 6, "--draws", 19, "-s", "grid", "--vectors", look, "--seed", 3)
    asked: dict[str, Any] = {"least": 3, "components": 6, "draws": 19, "segmenter": "grid", "vectors": look, "seed": 3}
    found = visual(here.scenes, home=tmp_path, **asked)
    same(here.frame("words", "visual", here.scenes, *words, "--home", tmp_path), found.frame)
    printed = here("words", "visual", here.scenes, *words, "--home", tmp_path)
    assert printed.startswith(answer(found))
    for row in lines(found):
        assert f"{row[4].text} {row[4].small}".strip() in printed


def _words(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs.words import annotate, features, predict, segmenters

    shared = ("--resamples", 2, "--share", 1, "--components", 6, "--seed", 3, "--workers", 1, "--home", tmp_path)
    asked: dict[str, Any] = {"resamples": 2, "share": 1, "components": 6, "seed": 3, "workers": 1, "home": tmp_path}
    found = predict(here.scenes, ["masks"], least=2, **asked)
    same(here.frame("words", "predict", here.scenes, "-s", "masks", "--least", 2, *shared), found.lifts.summary)
    found = segmenters(here.scenes, ["masks"], regions=[2, 4], whiten=False, **asked)
    words = ("-s", "masks", "--regions", "2,4", "--plain", *shared)
    same(here.frame("words", "segmenters", here.scenes, *words), found.lifts.summary)
    found = features(here.scenes, ["base", "base,rgs"], segmenter="grid", **asked)
    words = ("-s", "grid", "--set", "base", "--set", "base,rgs", *shared)
    same(here.frame("words", "features", here.scenes, *words), found.lifts.summary)
    picture = str(next(here.scenes.rglob("*.jpg")))
    named = annotate(here.scenes, [picture], count=2, segmenter="grid", components=6, seed=3, workers=1, home=tmp_path)
    words = (picture, "-n", 2, "-s", "grid", *shared[4:])
    same(here.frame("words", "annotate", here.scenes, *words), named.words)


def _fetch(here: Here, tmp_path: Path) -> None:
    """Without a network both refuse, with the same words."""
    from endoxa.verbs.fetch import fetch

    with pytest.raises(endoxa.EndoxaError) as refused:
        fetch("stamp")
    here("images", "fetch", "stamp", code=1)
    assert "stamps" in str(refused.value)


def _study(here: Here, tmp_path: Path) -> None:
    from endoxa.verbs import study

    home = str(tmp_path / "studies")
    items = pl.DataFrame({"item": endoxa.read(here.runs).frame["item"].unique().sort()})
    endoxa.write(items.with_columns(pl.col("item").alias("text")), tmp_path / "items.csv")
    given = ("--screen", "yes-no", "--items", tmp_path / "items.csv", "--home", home)
    here("study", "new", "one", *here.runs, *given, "--set", "seed=3")
    study.new("two", runs=here.runs, screen="yes-no", items=tmp_path / "items.csv", settings={"seed": 3}, home=home)
    one, two = study.status("one", home=home)[0], study.status("two", home=home)[0]
    assert one["progress"] == two["progress"]
    assert "one" in here("study", "status", "one", "--home", home)
    here("study", "edit", "one", "--title", "A title", "--home", home)
    study.edit("two", title="A title", home=home)
    assert study.studies(home=home)["title"].to_list() == ["A title"] * 2
    listed = here("study", "list", "--home", home)
    assert all(str(row["planned"]) in listed for row in study.studies(home=home).iter_rows(named=True))


def _search(here: Here, tmp_path: Path) -> None:
    from stored_search_samples import stored_search

    from endoxa.verbs import search

    home, name = stored_search(tmp_path, here.scenes)
    assert here("search", "replay", name, "--home", home) == f"{name} {search.replayed(name, home=home)}.\n"
    for part in search.PARTS:
        here("search", "export", name, "--part", part, "--to", tmp_path / "one.csv", "--home", home)
        search.export(name, tmp_path / "two.csv", part=part, home=home)
        assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert name in here("search", "list", "--home", home)


def _pages(here: Here, tmp_path: Path) -> None:
    """Pages that are composed, read by a command, and studied: the same files, the same numbers."""
    from endoxa.reports.pages.page_study import tables
    from endoxa.verbs import pages

    here("pages", "compose", tmp_path / "one", "--count", 2, "--seed", 2)
    pages.compose(tmp_path / "two", 2, seed=2)
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    (tmp_path / "read.sh").write_text('case "$1" in *1.png) echo at Salem;; *) cksum < "$1"; echo in Boston;; esac\n')
    ocr, names = f"fake=sh {tmp_path / 'read.sh'} {{page}}", ("otsu", "wolf", "grey")
    chosen = [word for name in names for word in ("-b", name)]
    given = ("--ocr", ocr, "--find", "words")
    here("pages", "read", tmp_path / "one", "--to", tmp_path / "out", *chosen, *given)
    found = pages.read(tmp_path / "one", tmp_path / "again", binarise=names, ocr=[ocr], find="words")
    texts = {path.relative_to(tmp_path / "out"): path.read_text() for path in (tmp_path / "out").glob("*/*.txt")}
    assert len(texts) == 6
    assert texts == {
        Path(name) / f"{page}.txt": "".join(f"{item}\n" for item in items)
        for name, own in found.outputs.items()
        for page, items in own.items()
    }
    study = pages.study(tmp_path / "one", texts=tmp_path / "out", find="words", seed=3).study
    asked = ("--texts", tmp_path / "out", "--find", "words", "--seed", 3, "--to", tmp_path / "study.html")
    printed = here("pages", "study", tmp_path / "one", *asked).split()
    for measure in tables(study).values():
        for row in measure.iter_rows():
            assert all(word in printed for cell in row for word in cell.split())
    summary = here.frame("eval", "--tokens", "bag", "--lines", "--plugin", *sorted((tmp_path / "out").iterdir()))
    assert dict(summary.filter(pl.col("measure") == "GradedP").select("system", "value").iter_rows()) == pytest.approx(
        study.means("Method I", "precision") | {"⊤": summary.filter(pl.col("system") == "⊤")["value"][0]}
    )


PICTURES = {"index", "run", "find", "gallery", "contest", "compose", "fetch", "search", "trials", "words", "visual"}
CASES: dict[str, Callable[[Here, Path], None]] = {
    "evaluate": _evaluate, "compare": _compare, "measure": _measure, "report": _report, "choose": _choose,
    "judge": _judge,
    "decide": _decide, "estimate": _estimate, "backtest": _backtest, "believe": _believe, "rate": _rate, "pool": _pool,
    "filing": _filing,
    "fuse": _fuse, "check": _check, "generality": _generality,
    "explain": _explain, "read": _read, "write": _write, "demo": _demo, "study": _study, "compose": _compose,
    "index": _index, "run": _run, "find": _find, "gallery": _gallery, "contest": _contest, "fetch": _fetch,
    "search": _search, "trials": _trials, "pages": _pages, "words": _words, "visual": _visual,
}  # fmt: skip


@pytest.mark.parametrize("command", [module.__name__.rpartition(".")[2] for module in cli.commands()])
def test_a_command_gives_the_numbers_of_its_verb(
    command: str, here: Here, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert command in CASES, f"endoxa {command} has no case here: compare its numbers with those of its verb"
    if command in PICTURES:
        here.scenes = request.getfixturevalue("scenes")
    CASES[command](here, tmp_path)


def test_p_better_is_the_same_everywhere(here: Here) -> None:
    """The defect that began the redesign: .158 in Python and .289 on the command line."""
    printed = here.frame("compare", *here.runs, "P@10", "--worlds", 50, "--seed", 1)
    evaluation = endoxa.evaluate(here.runs, None, ["P@10"], worlds=50, seed=1)
    verdict = endoxa.decide(here.runs, None, ["P@10"], seed=1)
    for frame in (evaluation.comparison.frame, verdict.comparison.frame):  # type: ignore[union-attr]
        same(printed, frame)
