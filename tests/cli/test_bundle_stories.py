"""Stories: somebody scores a new system against a benchmark that others made."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command_line import endoxa

from endoxa.examples import collection
from endoxa.io.bundles import write_bundle
from endoxa.studies import sampling
from endoxa.tables import Answers, Bundle, Labels, Opinions, Run, Taxonomy
from endoxa.verbs.write import write


def bundle_of(name: str, items: pl.Series, queries: pl.Series, **parts: Any) -> Bundle:
    said: dict[str, Any] = {
        "name": name, "title": "", "task": "search", "licence": "CC BY 4.0", "screen": "five-levels",
        "scale": (0.0, 4.0), "threshold": 1.0, "made": "2026-03-01",
    }  # fmt: skip
    frames = {"items": items.unique().sort().to_frame("item"), "queries": queries.unique().sort().to_frame("query")}
    return Bundle(**(said | frames | parts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged pool, a sample of it, labels, answers; and the run of a system that was not there."""
    folder = tmp_path_factory.mktemp("benchmark")
    run, opinions = collection(rng=np.random.default_rng(5))
    items = run.frame["item"]
    known = Run(run.frame.filter(pl.col("system").is_in(["bm25", "tf-idf", "random"])))
    for system in ("hybrid", "dense"):
        write(Run(run.frame.filter(pl.col("system") == system)), folder / f"{system}.run")
    pool = known.frame.filter(pl.col("rank") <= 10).select("query", "item").unique()
    judged = Opinions(opinions.frame.join(pool, on=["query", "item"], how="semi"))
    write_bundle(bundle_of("pets", items, run.frame["query"], opinions=judged, runs=known), folder / "pets.zip")
    write(Opinions(judged.frame.filter(pl.col("source") == "ada")), folder / "qrels.txt")
    plan = sampling.plan(known, per_task=3, tasks_per_query=6, rng=np.random.default_rng(2)).tasks
    drawn = plan.select("query", "item", "propensity").join(
        opinions.frame.filter(pl.col("source") == "ada").select("source", "query", "item", "grade"),
        on=["query", "item"], how="left", maintain_order="left",
    )  # fmt: skip
    drawn = drawn.with_columns(pl.col("source").fill_null("ada"), pl.col("grade").fill_null(0.0))
    sample = bundle_of("drawn", items, run.frame["query"], opinions=Opinions.of(drawn), title="A sample")
    write_bundle(sample, folder / "drawn.zip")
    return folder


def test_a_new_system_meets_a_judged_pool(folder: Path) -> None:
    runs = [folder / "hybrid.run", folder / "dense.run"]
    done = endoxa("eval", folder / "pets.zip", *runs, "P@10", "nDCG@10", "-v", COLUMNS="200")
    assert done.exit_code == 0, done.stderr
    assert re.search(
        r"hybrid: 1\d of the first 100 results per query were judged at collection time \(\d\d% of", done.stdout
    )
    assert re.search(r"hybrid +0\.\d{4} \[0\.\d{3}, 0\.\d{3}\] +0\.\d{4}", done.stdout)
    assert "bundle pets: search; licence: CC BY 4.0" in done.stdout
    assert "relevant: rated above 1 on the scale from 0 to 4" in done.stdout
    assert "votes of 3 sources" in done.stdout


def test_a_new_system_meets_a_sample(folder: Path) -> None:
    done = endoxa("eval", folder / "drawn.zip", folder / "hybrid.run", COLUMNS="200")
    assert done.exit_code == 0, done.stderr
    assert "the judged pairs are a random sample with known probabilities, effective sample size" in done.stdout
    assert "Estimated from the pairs that were drawn" in done.stdout
    assert re.search(r"P@10 +0\.\d{4}", done.stdout)
    assert re.search(r"rating@100 +\d\.\d{4} \[\d\.\d{3}, \d\.\d{3}\]", done.stdout)


def test_the_order_of_words_and_the_name_of_the_zip_do_not_matter(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "benchmark.txt"
    other.write_bytes((folder / "pets.zip").read_bytes())
    run = folder / "hybrid.run"
    one = endoxa("eval", folder / "pets.zip", run, "P@5", "-o", "tsv")
    assert one.exit_code == 0, one.stderr
    again = endoxa("eval", "P@5", run, "-o", "tsv", other)
    named = endoxa("eval", "--qrels", other, "--run", run, "-m", "P@5", "-o", "tsv")
    assert one.stdout == again.stdout == named.stdout
    head, row = (line.split("\t") for line in one.stdout.splitlines())
    told = dict(zip(head, row, strict=True))
    assert (told["system"], told["measure"], told["by"]) == ("hybrid", "P@5", "opinions")
    assert 0 < float(told["first_10"]) < 1
    assert "results per query were judged" in one.stderr


def test_every_form(folder: Path, tmp_path: Path) -> None:
    words = ("eval", folder / "drawn.zip", folder / "hybrid.run", "P@10")
    for form, sign in (("jsonl", '"measure":'), ("latex", r"\begin{tabular}"), ("markdown", "| system |")):
        done = endoxa(*words, "-o", form)
        assert done.exit_code == 0, done.stderr
        assert sign in done.stdout.replace('"measure" :', '"measure":')
        assert "licence: CC BY 4.0" in done.stderr
    done = endoxa(*words, "-o", "parquet", "--to", tmp_path / "scores.parquet")
    assert done.exit_code == 0, done.stderr
    frame = pl.read_parquet(tmp_path / "scores.parquet")
    assert frame["measure"].to_list() == ["P@10", "rating@10"]
    assert frame["effective"][0] > 0
    written = endoxa(*words, "-o", "markdown", "--to", tmp_path / "scores.md")
    assert "| hybrid |" in (tmp_path / "scores.md").read_text()
    assert written.stdout.startswith("hybrid has P@10 0.") and written.stdout.count("\n") == 1


def test_the_same_seed_gives_the_same_table(folder: Path) -> None:
    words = ("eval", folder / "pets.zip", folder / "hybrid.run", "AP", "-o", "tsv", "--worlds", 50)
    first, again, other = endoxa(*words), endoxa(*words), endoxa(*words, "--seed", 3)
    assert first.stdout == again.stdout
    assert first.stdout != other.stdout


def test_systems_can_be_called_after_their_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.run").write_bytes((folder / "hybrid.run").read_bytes())
    done = endoxa("eval", folder / "pets.zip", tmp_path / "mine.run", "P@5", "-o", "tsv", "--name-from", "file")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("mine\t")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["pets.zip", "drawn.zip", "hybrid.run"],
            "pets.zip (bundle) and drawn.zip (bundle) cannot be joined; give one reference",
        ),
        (["pets.zip", "qrels.txt", "hybrid.run"], "pets.zip (bundle) and qrels.txt (qrels) cannot be joined"),
        (["qrels.txt", "pets.zip", "hybrid.run"], "qrels.txt (qrels) and pets.zip (bundle) cannot be joined"),
        (["--qrels", "qrels.txt", "pets.zip", "hybrid.run"], "cannot be joined"),
        (["--qrels", "pets.zip", "qrels.txt", "hybrid.run"], "cannot be joined"),
        (["drawn.zip", "hybrid.run", "nDCG@10"], "nDCG@10 cannot be estimated from a sample of pairs"),
        (["--run", "pets.zip", "qrels.txt"], "is a bundle of several tables"),
        (["other.run", "pets.zip"], "share no query: the run has 301"),
        (["other.zip", "hybrid.run"], "other.zip: the zip has no member bundle.json"),
        (["bad.zip", "hybrid.run"], "bad.zip: member opinions.csv does not match bundle.json"),
    ],
)
def test_what_does_not_go_together(folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str) -> None:
    monkeypatch.chdir(folder)
    (folder / "other.run").write_text("301 Q0 d001 1 2.5 other\n")
    with zipfile.ZipFile(folder / "other.zip", "w") as archive:
        archive.writestr("bm25.run", "q1 Q0 d1 1 3.5 bm25\n")
    with zipfile.ZipFile(folder / "pets.zip") as good, zipfile.ZipFile(folder / "bad.zip", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name) + (b" " if name == "opinions.csv" else b""))
    done = endoxa("eval", *words)
    assert done.exit_code == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "trec"], "trec_eval's lines are for judgments"),
        (["-q"], "-q: an evaluation against bundle has no values per query"),
        (["--model", "votes"], "model does not apply to a benchmark bundle"),
        (["-c"], "missing does not apply to a benchmark bundle"),
        (["--ties", "average"], "ties must be trec or input for a benchmark bundle"),
        (["--to", "x.foo"], "--to takes the form from the suffix"),
        (["--confidence", "2"], "confidence must lie between 0 and 1"),
        (["pest.zip"], "'pest.zip' is neither a file nor a measure: no such file"),
    ],
)
def test_a_call_that_makes_no_sense(folder: Path, words: list[str], said: str) -> None:
    done = endoxa("eval", folder / "pets.zip", folder / "hybrid.run", *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_bundle_without_a_run(folder: Path) -> None:
    done = endoxa("eval", folder / "pets.zip")
    assert done.exit_code == 2
    assert "no run was given" in done.stderr


@pytest.mark.parametrize("verb", ["compare", "pool", "report"])
def test_other_verbs_say_where_bundles_go(folder: Path, verb: str) -> None:
    done = endoxa(verb, folder / "pets.zip", folder / "hybrid.run", folder / "dense.run")
    assert done.exit_code == 2
    assert "bundle" in done.stderr


def test_check_names_a_bundle(folder: Path) -> None:
    done = endoxa("check", folder / "pets.zip", folder / "hybrid.run")
    assert done.exit_code == 0
    assert "pets.zip: Bundle" in done.stdout


def test_filed_items_and_answers(tmp_path: Path) -> None:
    rows = [("u", "x", "birds/owls"), ("v", "x", "birds"), ("u", "y", "fish"), ("v", "y", "fish")]
    labels = Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row"))
    items, none = pl.Series(["x", "y"]), pl.Series([], dtype=pl.String)
    taxonomy = Taxonomy.of_paths(["birds/owls", "fish"])
    filed = bundle_of("filed", items, none, labels=labels, taxonomy=taxonomy, task="classification", licence="")
    write_bundle(filed, tmp_path / "filed.zip")
    (tmp_path / "new.run").write_text("x Q0 birds 1 2 new\nx Q0 fish 2 1 new\ny Q0 fish 1 2 new\n")
    done = endoxa("eval", tmp_path / "filed.zip", tmp_path / "new.run", "P@1")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"P@1 +1\.0000", done.stdout)
    assert "bundle filed: classification; licence: none given" in done.stdout
    answers = Answers.of(pl.DataFrame({"query": ["q"] * 2, "item": ["x", "y"], "rank": [1, 2]}))
    write_bundle(bundle_of("order", items, pl.Series(["q"]), answers=answers), tmp_path / "order.zip")
    (tmp_path / "own.run").write_text("q Q0 x 1 2 new\nq Q0 y 2 1 new\n")
    done = endoxa("eval", tmp_path / "order.zip", tmp_path / "own.run", "-N", 20)
    assert done.exit_code == 0, done.stderr
    assert re.search(r"order +1\.0000", done.stdout)
    assert "2 of the first 2 results per query were in some subject's answer" in done.stdout
