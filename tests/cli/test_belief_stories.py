"""Stories where the truth is in doubt, through the command line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import command_line
import numpy as np
import polars as pl
import pytest

from endoxa.beliefs import models
from endoxa.errors import CallError, TextError
from endoxa.examples import collection
from endoxa.notes import texts
from endoxa.tables import Run
from endoxa.verbs.believe import believe
from endoxa.verbs.read import read
from endoxa.verbs.write import write

FEW = ("--worlds", "40")


def endoxa(*words: object) -> command_line.Ran:
    """The command on a wide terminal."""
    return command_line.endoxa(*words, COLUMNS="200")


def done(*words: object) -> str:
    """What it prints, if all is well."""
    result = endoxa(*words)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Judgments of three assessors on 15 queries, and the runs of six systems."""
    folder = tmp_path_factory.mktemp("doubt")
    run, opinions = collection(rng=np.random.default_rng(5))
    queries = run.frame["query"].unique().sort()[:15]
    write(type(opinions)(opinions.frame.filter(pl.col("query").is_in(queries))), folder / "three.txt")
    paths = []
    for system in run.systems:
        paths.append(folder / f"{system}.run")
        own = run.frame.filter((pl.col("system") == system) & pl.col("query").is_in(queries))
        write(Run(own), paths[-1])
    return folder / "three.txt", paths


def test_a_newcomer_has_runs_and_nothing_else(files) -> None:
    _, runs = files
    told = done("eval", *runs, *FEW, "-v")
    assert re.match(r"Best guess without judgments: hybrid \(P\(best\) 0\.\d\d of 6 systems, by modelled AP\)\.", told)
    assert "Nothing is settled" in told and "endoxa decide RUNS" in told
    assert "AP within this consensus" in told
    assert "MAP" not in told
    assert re.search(r"hybrid +0\.\d{4} +0\.\d{4} +0\.\d{4} +0\.\d\d +\d+%", told)
    assert "interval" not in told.splitlines()[3]
    assert re.search(r"^Baseline ⊤, which returns everything in random order: AP 0\.\d{4}", told, re.MULTILINE)
    assert not re.search(r"^⊤ ", told, re.MULTILINE)
    assert "without own vote" in told
    assert "rank ≤ 100 (--depth)" in told
    assert "It cannot show how good a system is" in told
    assert re.search(r"10 +[01]\.\d{4}", told)  # the order at depth 10
    again = command_line.process("eval", *runs, *FEW, "-v", COLUMNS="200")  # other hashes of strings
    assert told == again.stdout


def test_depth_and_weights_change_the_consensus(files) -> None:
    _, runs = files
    one, other = (
        done("eval", *runs, "P@10", *FEW, "-o", "tsv", *more)
        for more in ((), ("--depth", "10", "--weights", "redundancy", "--prior", "2,1"))
    )
    assert one.splitlines()[0].split("\t")[:5] == ["system", "measure", "value", "lo", "hi"]
    assert one != other
    named = done(
        "eval",
        *runs,
        "P@10",
        *FEW,
        "-o",
        "tsv",
        "--weights",
        "random=0",
        "--group",
        "bm25=lexical",
        "--group",
        "tf-idf=lexical",
    )
    assert len(named.splitlines()) == 8
    assert done("eval", *runs, "P@10", *FEW, "-q", "-n", "--group", "auto").count("P@10") >= 6 * 15


def test_pairs_and_one_pair_without_its_votes(files, tmp_path) -> None:
    _, runs = files
    told = done("compare", *runs, "P@10", *FEW)
    assert "P(better)" in told
    assert "possible worlds" not in told
    rows = list(csv.DictReader(done("compare", *runs, "P@10", *FEW, "-o", "tsv").splitlines(), delimiter="\t"))
    assert {row["doubt"] for row in rows} == {"all"}
    assert all(max(float(row["p_better"]), 1 - float(row["p_better"])) <= 0.95 for row in rows)
    two = done("compare", *runs, "P@10", *FEW, "--between", "dense", "random", "-o", "tsv")
    assert "dense\trandom" in two or "random\tdense" in two
    target = tmp_path / "pairs.parquet"
    done("compare", *runs, "P@10", *FEW, "-b", "random", "-o", "parquet", "--to", target)
    assert read(target).frame["baseline"].unique().to_list() == ["random"]


@pytest.mark.parametrize("form", ["table", "frame", "pandas", "rows", "dict", "path", "text of a path"])
@pytest.mark.parametrize("name", ["gold", "labels"])
def test_known_grades_in_any_form_teach_dawid_skene_the_same(name: str, form: str, files, tmp_path) -> None:
    three, _ = files
    path = tmp_path / "gold.txt"
    path.write_text("".join(f"{line}\n" for line in three.read_text().splitlines()[:30] if " ada " in line))
    table = read(path)
    frame = table.frame.select("query", "item", "grade")
    grades = {query: dict(rows.select("item", "grade").iter_rows()) for (query,), rows in frame.group_by("query")}
    forms = {
        "table": table, "frame": frame, "pandas": frame.to_pandas(), "rows": frame.to_dicts(), "dict": grades,
        "path": path, "text of a path": str(path),
    }  # fmt: skip
    source = read(three, assessors=True)
    expected = models.believe(source, "dawid-skene", gold=table, people=0)
    found = believe(source, "dawid-skene", people=0, **{name: forms[form]})
    assert f"{frame.height:,} pairs are known (gold)" in texts(found.notes)
    assert found.frame.equals(expected.frame)
    assert not found.frame.equals(believe(source, "dawid-skene", people=0).frame)


def test_labels_and_gold_are_one_thing(files) -> None:
    three, _ = files
    with pytest.raises(CallError, match="labels and gold mean the same to the model dawid-skene; give one of them"):
        believe(three, "dawid-skene", gold=three, labels=three)
    with pytest.raises(TextError, match="the model votes has no setting 'gold'"):
        believe(three, "votes", gold=three)


def test_people_who_disagree(files, tmp_path) -> None:
    three, runs = files
    told = done("believe", three, "--model", "dawid-skene", "--to", tmp_path / "belief.parquet", "-v")
    assert "belief=dawid-skene" in told
    gold = tmp_path / "gold.txt"
    gold.write_text("".join(f"{line}\n" for line in three.read_text().splitlines()[:30] if " ada " in line))
    told = done("believe", three, "--model", "dawid-skene", "--labels", gold, "--people", "0", "-v")
    assert "pairs are known (gold)" in told
    under = done("eval", tmp_path / "belief.parquet", *runs, "AP", *FEW, "-v")
    assert "AP under this belief" in under
    assert "dawid-skene: prior informed" in under
    for model in ("votes", "subjects"):
        assert "under this belief" in done("eval", three, *runs[:2], "P@10", "--model", model, *FEW)


def test_judge_a_few_and_come_back(files, tmp_path) -> None:
    three, runs = files
    target = tmp_path / "judge.csv"
    result = endoxa("next", *runs, "-n", "300", "-o", "csv", "--to", target)
    assert result.exit_code == 0
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert len(rows) == 300
    assert {(row["selected_by"], row["draw"], row["draw_depth"]) for row in rows} == {("next", "1", "20")}
    truth = {(q, d): g for q, who, d, g in (line.split() for line in three.read_text().splitlines()) if who == "ada"}
    for row in rows:
        row["grade"] = str(int(int(truth.get((row["query"], row["item"]), 0)) > 0))
    with target.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    taught = done("eval", *runs, "P@10", "AP", "--labels", target, "-v")
    assert taught.startswith("Based on 300 labels, ")
    assert "pairs of systems are decided" in taught
    assert "learned from 300 labels" in taught
    for verb in ("eval", "decide"):
        refused = endoxa(verb, *runs, "--labels", target, target)
        assert refused.exit_code != 0
        assert "--labels A --labels B" in " ".join(refused.stderr.replace("│", " ").split())
    pinned = ("--model", "consensus", "--labels", target)
    told = done("eval", *runs, "P@10", "AP", *FEW, *pinned, "-v")
    assert told.startswith("Within this consensus ")  # somebody judged
    assert "judged pairs are certain" in told
    assert "Design-based estimates" in told
    assert "Spiegelhalter" in told
    assert re.search(r"hybrid +P@10 +0\.\d{4} +\[-?0\.\d{3}, \d\.\d{3}\]", told)
    assert "No valid interval" in done("eval", *runs, "AP", *FEW, *pinned)
    few = tmp_path / "few.csv"
    few.write_text("\n".join(target.read_text().splitlines()[:20]))
    assert "No interval:" in done("eval", *runs, "P@10", *FEW, "--model", "consensus", "--labels", few)
    assert "no design-based interval" in done("eval", *runs, "P@10", "--labels", few, "-v")
    further = endoxa("next", *runs, "-n", "50", "--labels", target, "--about", "best", "-o", "tsv")
    assert further.exit_code == 0
    assert "\tnext\t2\t20\t" in further.stdout
    pairs = {tuple(line.split("\t")[:2]) for line in further.stdout.splitlines()[1:]}
    assert not pairs & {(row["query"], row["item"]) for row in rows}


VOTES = {"S1": "1245", "S2": "123", "S3": "126"}


def test_the_tables_of_lamiroy_and_sun(tmp_path) -> None:
    lines = [f"{s},system,q,δ{d},{int(d in items)}" for s, items in VOTES.items() for d in "1234567"]
    (tmp_path / "votes.csv").write_text("\n".join(["source,kind,query,item,grade", *lines]))
    told = done("eval", tmp_path / "votes.csv", "--plugin", "-o", "tsv")
    rows = {
        (row["system"], row["measure"]): float(row["value"])
        for row in csv.DictReader(told.splitlines(), delimiter="\t")
    }
    printed = {"⊤": (0.49, 1), "S1": (0.6, 0.71), "S2": (0.67, 0.59), "S3": (0.67, 0.59)}
    for system, (pr, rc) in printed.items():
        assert (round(rows[system, "GradedP"], 2), round(rows[system, "GradedR"], 2)) == (pr, rc)
    assert rows["⊤", "GradedF"] == pytest.approx(0.653846, abs=5e-7)
    expected = done("eval", tmp_path / "votes.csv", *FEW, "-o", "tsv")
    rows = {
        (row["system"], row["measure"]): float(row["value"])
        for row in csv.DictReader(expected.splitlines(), delimiter="\t")
    }
    assert rows["S1", "SetR"] == pytest.approx(0.727021, abs=5e-7)
    assert rows["S2", "SetR"] == pytest.approx(0.616719, abs=5e-7)


def test_texts_of_three_pipelines(tmp_path) -> None:
    texts = ["John Smith visited Paris", "John Smlth visited Paris France", "John Smith visted Paris"]
    paths = [tmp_path / f"{name}.txt" for name in ("otsu", "sauvola", "wolf")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    for how in ("bag", "align"):
        told = done("eval", "--tokens", how, *paths, "--plugin", "-o", "tsv")
        rows = {
            (row["system"], row["measure"]): float(row["value"])
            for row in csv.DictReader(told.splitlines(), delimiter="\t")
        }
        assert [rows[path.stem, "GradedP"] for path in paths] == pytest.approx([0.7, 0.6, 0.65])
        assert [rows[path.stem, "GradedR"] for path in paths] == pytest.approx([0.7, 0.75, 0.65])
    assert endoxa("eval", "--tokens", "soup", *paths).exit_code == 2


def test_images_filed_in_a_tree(tmp_path) -> None:
    edges = ("people,all", "crowd,people", "portrait,people", "outdoor,all", "city,outdoor", "landscape,outdoor")
    (tmp_path / "tree.csv").write_text("\n".join(["category,parent", *edges]))
    filed = {
        "q": "people people crowd city city",
        "r1": "people portrait crowd city people",
        "r2": "city city crowd city landscape",
        "r3": "portrait people people people city",
        "r4": "landscape landscape landscape city landscape",
    }
    rows = [f"s{n},{item},{category}" for item, some in filed.items() for n, category in enumerate(some.split())]
    (tmp_path / "labels.csv").write_text("\n".join(["source,item,category", *rows]))
    run = tmp_path / "a.run"
    run.write_text("".join(f"q Q0 {item} {n} {-n} a\n" for n, item in enumerate(["r1", "r2", "r3"])))
    for mix, mean in (("assigned", 0.4), ("subject", 0.6)):
        belief = tmp_path / f"{mix}.parquet"
        done("believe", tmp_path / "labels.csv", tmp_path / "tree.csv", "--mix", mix, "--to", belief)
        told = done("eval", belief, run, "SetP", *FEW, "-q", "-n", "-o", "jsonl")
        row = next(line for line in told.splitlines() if '"query": "q"' in line or '"query":"q"' in line)
        assert float(re.search(r'"value": ?([0-9.]+)', row)[1]) == pytest.approx(mean, abs=5e-7)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("category,parent\na,b\nb,a\n")
    result = endoxa("believe", tmp_path / "labels.csv", wrong)
    assert result.exit_code == 1
    assert "is under" in result.stderr


def test_each_subjects_own_answer(tmp_path) -> None:
    (tmp_path / "answers.csv").write_text(
        "source,query,item,rank,relevance\n"
        + "".join(f"{s},{q},d{n},{n},{1 - n / 10}\n" for s in ("ann", "bob") for q in ("q1", "q2") for n in range(1, 6))
    )
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    good.write_text("".join(f"{q} Q0 d{n} {n} {-n} good\n" for q in ("q1", "q2") for n in range(1, 6)))
    bad.write_text("".join(f"{q} Q0 d{n} {n} {n} bad\n" for q in ("q1", "q2") for n in range(1, 6)))
    told = done("eval", tmp_path / "answers.csv", good, bad, "-N", "20", "-v")
    assert re.search(r"good +1\.0000", told)
    assert told.index("good") < told.index("bad")
    assert "rule=uniform" in told


HAND = """source,query,item,rank,relevance
ann,q1,x,1,1
ann,q1,y,2,.9
ann,q1,z,3,.7
bob,q1,y,1,1
bob,q1,x,2,.5
bob,q2,x,1,1
"""


def test_individual_values_come_before_the_mean(tmp_path) -> None:
    """Golden: worked by hand; w^A = 1·2 + .9·1, and z, at best at rank 6, adds .7·3."""
    (tmp_path / "answers.csv").write_text(HAND)
    run = tmp_path / "A.run"
    run.write_text("".join(f"q1 Q0 {item} {n} {-n} A\n" for n, item in enumerate("ykxlm", 1)))
    call = ("eval", tmp_path / "answers.csv", run, "-N", "100", "--rule", "optimist", "--scale", "raw", "-q")
    told = done(*call)
    single, mean = re.search(r"q1 +ann .*", told), re.search(r"q1 +A +2 .*", told)
    assert single is not None
    assert mean is not None
    assert single[0].split() == ["q1", "ann", "A", "2.9000", "2.1000", "5.0000", "0.1667", "0.6667"]
    assert single.start() < told.index("Mean over subjects, with its standard deviation") < mean.start()
    assert mean[0].split()[3:5] == ["2.7500", "3.1820"]  # of 5.0 and 0.5
    rows = done(*call, "--power", "2", "-o", "csv").splitlines()
    assert rows[0] == "query,subject,system,w_A,w_B,w,quality,returned"
    assert float(rows[1].split(",")[6]) == pytest.approx(1 / 36)
    falls = done(*call, "--quality", "exponential", "--rate", ".1", "-o", "csv").splitlines()
    assert float(falls[1].split(",")[6]) == pytest.approx(0.6065306597)
    wrong = endoxa("eval", tmp_path / "answers.csv", run, "--rule", "incremental")
    assert wrong.exit_code == 1
    assert "'A' did not return item 'z' of 'ann', query 'q1'" in wrong.stderr


def test_people_as_systems(tmp_path) -> None:
    (tmp_path / "answers.csv").write_text(HAND)
    run = tmp_path / "A.run"
    run.write_text("q1 Q0 y 1 2 A\nq1 Q0 x 2 1 A\n")
    told = done("eval", tmp_path / "answers.csv", run, "-N", "9", "--subjects-as-systems", "-v")
    assert re.search(r"People agree with each other to 0\.\d\d on order; A reaches 0\.\d\d: \d+ % of that\.", told)
    assert re.search(r"person ann +0\.\d", told)
    assert "queries that one subject alone answered are left out (1)" in told
    assert "'bob' answered query 'q2', which no run has" in told


def test_the_page_without_judgments(files, tmp_path) -> None:
    _, runs = files
    page = tmp_path / "page.html"
    result = endoxa("report", *runs, "AP", *FEW, "--to", page, "--figures", tmp_path / "figures")
    assert result.exit_code == 0, result.stderr
    text = page.read_text()
    assert "within this consensus" in text
    assert "6 systems on 15 queries" in text
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == {"better-AP"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["eval", "{first}"], 1, "two systems or more"),
        (["eval", "{first}", "{second}", "--weights", "x=y"], 2, "NAME=NUMBER"),
        (["eval", "{first}", "{second}", "--prior", "1"], 2, "two numbers"),
        (["eval", "{first}", "{second}", "-o", "trec"], 2, "trec_eval's lines are for judgments"),
        (["eval", "{first}", "{second}", "--weights", "eqal"], 1, "did you mean equal"),
        (["eval", "{three}", "{first}", "--model", "oracle"], 1, "no model is called 'oracle'"),
        (["believe", "{three}", "--model", "taxonomy"], 1, "takes Labels"),
        (["believe", "{three}", "--model", "votes", "--mix", "subject"], 1, "no setting 'mix'"),
        (["compare", "{first}", "{second}", "--between", "a", "b"], 1, "no system is called 'a'"),
        (["next", "{three}"], 2, "no run was given"),
        (["report", "{first}", "--to", "x.html"], 1, "two systems or more"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(files, words, code, said, tmp_path) -> None:
    three, runs = files
    known = {"first": runs[0], "second": runs[1], "three": three}
    result = endoxa(*(word.format(**known) for word in words))
    assert result.exit_code == code, result.stderr
    assert said in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("command", ["eval", "compare", "next", "measure", "report", "decide"])
def test_a_measure_of_grades_above_1_needs_more_than_votes(command: str, files, tmp_path: Path) -> None:
    _, runs = files
    more = {"report": ("--to", tmp_path / "r.html"), "decide": ("--terminal", "--home", tmp_path / "home")}
    for measure in ("AP(rel=2)", "P(rel=2)@10"):
        result = endoxa(command, *runs, measure, *more.get(command, ()))
        assert result.exit_code == 2 and result.stdout == ""
        assert re.fullmatch(r"endoxa: .* no grade above 1; take (AP|P@10), or .*\n", result.stderr)
