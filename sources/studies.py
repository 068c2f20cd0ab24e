"""The studies on open data that stand in for data that is gone. Each gives plain numbers, which `kept.json` keeps.

Those with `needs_data` read the checking data of `make real`, which is not published with the project.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import endoxa
from endoxa.beliefs import categories
from endoxa.measures import distributions
from endoxa.measures.curves import curve_measures
from endoxa.studies.sampling import plan
from endoxa.tables import DRAW, Labels, Opinions, Run, Taxonomy
from sources import adaptive

HOME = Path("demo/sources")  # descriptions and indexes, so that a second run is quick
SEED = 0


@dataclass(frozen=True)
class Study:
    """A study: the command that shows the same numbers, and the function that gives them."""

    command: str
    run: Callable[[Path], Any]
    needs_data: bool = False


# ---- Lamiroy and Sun: symbols


def symbols(_: Path) -> dict[str, Any]:
    """Five recognisers over open electrical symbols, by folders and by consensus, at cut-offs 1 to 10."""
    from endoxa.io.opening import open_corpus
    from endoxa.verbs.contest import contest

    corpus = open_corpus("symbols")
    held, _run = contest(corpus, home=HOME / "symbols", worlds=20, seed=SEED)
    found = held.cutoffs
    assert found is not None
    turned = found.turned.filter((pl.col("measure") == "precision") & (pl.col("k") == found.shown))
    return {
        "symbols": len(corpus), "queries": found.queries,
        "values": found.values.select("way", "measure", "k", "system", "value", "lo", "hi").rows(),
        "taus": found.taus.to_dicts(), "turned": turned.to_dicts(), "alone": found.alone.to_dicts(),
    }  # fmt: skip


# ---- Gimel'farb: feedback


def feedback(_: Path) -> dict[str, Any]:
    """Interactive search over photographs with simulated people who think in categories."""
    from endoxa.verbs.trials import trials

    names = ["none", "rocchio", "reweighting", "kernel"]
    held = trials("stamps", names, people=["class"], size=20, home=HOME / "search", seed=SEED)
    learners: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for one in held.trials:
        main = one.scores.measures[0]
        for row in one.summary.filter(pl.col("measure") == main).iter_rows(named=True):
            learners[row["system"]][one.setting.task] = [row["value"], row["lo"], row["hi"]]
    setting = held.trials[0].setting
    pictures = int(held.facts[0].split()[0].replace(",", ""))
    return {"pictures": pictures, "sessions": setting.sessions, "learners": learners}


# ---- Quénot: pooling


def pooling(data: Path) -> dict[str, Any]:
    """Twelve systems of TREC 2003 Robust: what each owes to the pool, and whether the order stays."""
    runs = endoxa.read(sorted(map(str, (data / "robust03" / "runs").iterdir())))
    qrels = endoxa.read(data / "robust03" / "qrels.txt.gz", kind="qrels")
    found = endoxa.leave_out_uniques(runs, qrels, "AP", depth=10)
    columns = ("system", "relevant_uniques", "value", "value_without", "place", "place_without", "tau")
    return {"depth": 10, "rows": found.frame.select(columns).rows()}


# ---- Santini: people who file pictures in categories


def drawings(data: Path) -> dict[str, Any]:
    """Ten people and five networks file 160 edge drawings in 16 categories."""
    frame = pl.read_csv(data / "edges" / "votes.csv.gz").filter(pl.col("experiment") == "edge-experiment")
    people = frame.filter((pl.col("kind") == "human") & (pl.col("response") != "undecided"))
    names = sorted(frame["gold"].unique())
    labels = Labels.of(people.select(pl.col("rater").alias("source"), "item", pl.col("response").alias("category")))
    edges = [("all", None), *((name, "all") for name in names)]
    tree = Taxonomy.of(pl.DataFrame(edges, schema=["category", "parent"], orient="row"))
    rolled = categories.roll_up(labels, tree)
    share = {
        (name, item): float(rolled.rolled[at, of])
        for at, name in enumerate(rolled.categories)
        for of, item in enumerate(rolled.items)
    }
    truth = dict(frame.select("item", "gold").unique().iter_rows())
    largest = rolled.direct[1:].max(0)
    rows = []
    networks = frame.filter(pl.col("kind") == "system")
    for (network,), own in networks.sort("rater").group_by("rater", maintain_order=True):
        means, deviations, right = [], [], []
        for (name,), filed in own.group_by("response", maintain_order=True):
            items = filed["item"].to_list()
            found = distributions.precision(np.array([share.get((name, item), 0.0) for item in items]))
            means.append(found.mean)
            deviations.append(found.sd)
            right.append(float(np.mean([truth[item] == name for item in items])))
        rows.append((network, *(float(np.mean(values)) for values in (means, deviations, right))))
    return {
        "pictures": len(rolled.items), "people": people["rater"].n_unique(), "categories": len(names),
        "unanimous": float(np.mean(largest > 1 - 1e-9)), "majority": float(np.mean(largest > 0.5)), "rows": rows,
    }  # fmt: skip


# ---- Barnard and others: ratings


def calibration(data: Path) -> dict[str, Any]:
    """Three open sets of ratings, before and after calibration, in sample and on held-out pairs."""
    where = data / "ratings"
    faces = pl.read_csv(where / "facesim_1_9.csv.gz").filter(pl.col("batch") != 2747741)  # a pilot of three raters
    faces = faces.group_by(pl.col("rater").alias("source"), pl.col("pair").alias("item"), maintain_order=True).agg(
        pl.col("response").mean().alias("grade")
    )
    words = pl.read_csv(where / "wordsim353_set1.csv.gz").unique(
        ["Word 1", "Word 2"], keep="first", maintain_order=True
    )
    raters = [name for name in words.columns if name.isdigit()]
    words = words.unpivot(raters, index=["Word 1", "Word 2"], variable_name="source", value_name="grade")
    captions = pl.read_csv(where / "flickr8k_expert.csv.gz").unpivot(
        ["e1", "e2", "e3"], index=["image", "caption_id"], variable_name="source", value_name="grade"
    )
    sets = {
        "faces (1–9)": faces.with_columns(pl.lit("faces").alias("query")),
        "pairs of words (0–10)": words.rename({"Word 1": "query", "Word 2": "item"}),
        "pictures and captions (1–4)": captions.rename({"image": "query", "caption_id": "item"}),
    }
    return {name: _calibrated(frame) for name, frame in sets.items()}


def _calibrated(frame: pl.DataFrame) -> list[float]:
    """Raters, pairs; mean variance of standardised ratings before and after; alpha before, after, held out."""
    found = endoxa.rate(Opinions.of(frame), resamples=100, seed=SEED).details
    maps = dict(
        zip(found.calibration.frame["source"], found.calibration.frame.select("a", "b").iter_rows(), strict=True)
    )
    known = frame.with_columns(pl.col("source").cast(pl.String))
    sides = pl.DataFrame([(name, *ab) for name, ab in maps.items()], schema=["source", "a", "b"], orient="row")
    both = known.join(sides, on="source").with_columns((pl.col("a") * pl.col("grade") + pl.col("b")).alias("after"))
    spread = []
    for column in ("grade", "after"):
        standard = (pl.col(column) - pl.col(column).mean()) / pl.col(column).std(ddof=0)
        values = (
            both.with_columns(standard.alias("z")).group_by("query", "item").agg(pl.col("z").var())["z"].drop_nulls()
        )
        spread.append(float(values.mean()))  # type: ignore[arg-type]
    after = math.nan if found.after is None else found.after.alpha
    return [found.raters, found.pairs, *spread, found.agreement.alpha, after, found.benefit_of("held out")]


def mapping(data: Path) -> dict[str, Any]:
    """Ten systems' scores of 800 pictures made from texts, mapped onto the ratings of two people by three methods."""
    frame = pl.read_csv(data / "ratings" / "tifa_scores.csv.gz")
    frame = frame.rename({"text_id": "query", "image_path": "item"}).drop("system")
    pair = ["query", "item"]
    names = [
        name for name in frame.columns if name not in {*pair, "h1", "h2", "human_avg"} and frame[name].dtype.is_float()
    ]
    people = frame.unpivot(["h1", "h2"], index=pair, variable_name="source", value_name="grade")
    scores = frame.unpivot(names, index=pair, variable_name="system", value_name="score")
    opinions = Opinions.of(people.with_columns(pl.lit("1-5").alias("scale")))
    found = endoxa.rate(opinions, Run.of(scores), calibrated=False, input="raw", resamples=200, seed=SEED).details
    rows: dict[str, dict[str, list[float]]] = {}
    for method, made in found.mappings.items():
        for row in made.frame.iter_rows(named=True):
            rows.setdefault(row["system"], {})[method] = [row["in_sample"], row["held_out"], row["se"], row["null"]]
    return {"pairs": found.pairs, "systems": rows}


# ---- Barnard and others: nine retrieval systems, with the folders of open photographs in the place of people

CALIBRATION = ("histograms", "integrated-regions", "romm", "keywords")  # GIFT, SIMPLIcity, ROMM-CALIB, Keywords
SYSTEMS = (*CALIBRATION, "rwmm", "histograms-colour", "histograms-texture", "embeddings", "random")
Grade = Callable[[str, str], float]  # of a query and an item


def retrieval(_: Path) -> dict[str, Any]:
    """Barnard's first study on photographs with folders: uniformity, correlations, precision and recall."""
    from endoxa.io.opening import open_corpus

    corpus = open_corpus("stamps")
    grades = _by_folders(dict(corpus.frame.select("item", "category").iter_rows()))
    whole, apart = _ran(corpus, None), _ran(corpus, 0.5)
    drawn = plan(_only(whole, CALIBRATION), tasks_per_query=4, rng=np.random.default_rng(SEED))
    rated = _graded(drawn.tasks, grades)
    inside = set(apart.frame["query"])
    rest = rated.filter(pl.col("query").is_in(inside) & pl.col("item").is_in(inside))
    return {
        "pictures": len(corpus),
        "pairs": rated.height,
        "uniformity": _uniformity(_only(whole, CALIBRATION), grades),
        "correlations": _correlations(whole, rated),
        "tested": _correlations(apart, rest),
        "curves": _curves(whole, grades),
    }


def _uniformity(run: Run, grades: Grade) -> dict[str, float]:
    """How evenly grades are used by pairs of all queries, drawn in four ways: the mean of four seeds."""
    each = [
        adaptive.deviations(
            run, lambda tasks: _graded(tasks, grades).select("query", "item", "grade"), floor=0.2, seed=s
        )
        for s in range(4)
    ]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def _ran(corpus: Any, train: float | None) -> Run:
    """All systems over all pictures, every other picture ranked."""
    from endoxa.verbs.index import index
    from endoxa.verbs.run import run

    home = HOME / ("retrieval" if train is None else "retrieval-test")
    index(corpus, SYSTEMS, home=home, train=train, seed=SEED)
    return run(corpus, home=home, depth=len(corpus), seed=SEED).run


def _only(run: Run, systems: Sequence[str]) -> Run:
    return Run(run.frame.filter(pl.col("system").is_in(systems)), run.ties)


def _by_folders(category: Mapping[str, str]) -> Grade:
    """A rating from 1 to 5 in the place of a person's: 5 in the same folder, less the earlier the paths part."""

    def grade(query: str, item: str) -> float:
        one, other = category[query].split("/"), category[item].split("/")
        shared = next(
            (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
        )
        return 1.0 + round(4 * shared / max(len(one), len(other)))

    return grade


def _graded(tasks: pl.DataFrame, grade: Grade) -> pl.DataFrame:
    rows = tasks.select("query", "item", "propensity", "selected_by", *DRAW)
    values = [grade(query, item) for query, item in rows.select("query", "item").iter_rows()]
    return rows.with_columns(
        pl.Series("grade", values), pl.lit("folders").alias("source"), pl.lit("1-5").alias("scale")
    )


def _complete(run: Run, rated: pl.DataFrame) -> Run:
    """The scores of the rated pairs; a pair that keywords did not return shares no word and has score 0."""
    pairs = rated.select("query", "item")
    rows = run.frame.select("system", "query", "item", "score").join(pairs, on=["query", "item"])
    lacking = pairs.join(rows.filter(pl.col("system") == "keywords"), on=["query", "item"], how="anti")
    zeros = lacking.select(pl.lit("keywords").alias("system"), "query", "item", pl.lit(0.0).alias("score"))
    return Run.of(pl.concat([rows, zeros.cast(rows.schema)]))


def _correlations(run: Run, rated: pl.DataFrame) -> dict[str, list[float]]:
    """For each system the correlation of its mapped scores in sample and on held-out queries, and its error."""
    scores = _complete(run, rated)
    found = endoxa.rate(Opinions.of(rated), scores, methods=["isotonic"], input="raw", resamples=200, seed=SEED).details
    rows = found.mappings["isotonic"].frame.select("system", "in_sample", "held_out", "se").iter_rows()
    return {system: values for system, *values in rows}


def _curves(run: Run, grade: Grade) -> dict[str, list[float]]:
    """Interpolated precision at eleven recalls; relevant is a rating above 3, as in the source's Figure 1."""
    items = run.frame["query"].unique(maintain_order=True).to_list()
    rows = [(query, item, float(grade(query, item) > 3)) for query in items for item in items if item != query]
    qrels = Opinions.of(pl.DataFrame(rows, schema=["query", "item", "grade"], orient="row"))
    measures = list(map(str, curve_measures(11)))
    summary = endoxa.summarise(endoxa.measure(run, qrels, measures))
    found: dict[str, list[float]] = {}
    for system in run.systems:
        own = dict(summary.filter(pl.col("system") == system).select("measure", "value").iter_rows())
        found[system] = [own[name] for name in measures]
    return found


# ---- Lamiroy and Sun: documents


def pages(_: Path) -> dict[str, Any]:
    """Three binarisers before one OCR, over composed letters whose text is known."""
    from endoxa.verbs.pages import compose, study

    folder = HOME / "letters"
    compose(folder, LETTERS, level=(0.2, 0.75), seed=SEED)
    found = study(folder, binarise=["otsu", "sauvola", "wolf"], weights="equal", seed=SEED).study
    ways: dict[str, dict[str, list[float]]] = {}
    for way, measure, name, value in found.values.select("way", "measure", "pipeline", "value").iter_rows():
        if measure in {"precision", "recall"}:
            ways.setdefault(WAYS[way], {}).setdefault(name.capitalize(), [0.0, 0.0])[measure == "recall"] = value
    return {"pages": len(found.pages), **ways}


LETTERS = 60
WAYS = {"truth": "truth", "Method I": "bag", "Method II": "align"}


# ---- Barnard and others: words


def _lifts(study: Any) -> dict[str, dict[str, list[float]]]:
    """Of every contender: the lift and its corrected standard error by part."""
    found: dict[str, dict[str, list[float]]] = {}
    for arm, part, lift, error in study.lifts.summary.select("arm", "part", "lift", "se").iter_rows():
        found.setdefault(arm, {})[part] = [lift, error]
    return found


def words_features(_: Path) -> dict[str, Any]:
    """Word prediction over open emoji by the eleven sets of features."""
    from endoxa.verbs.words import features

    study = features("emoji", home=HOME / "emoji", seed=SEED)
    return {"corpus": "emoji", "resamples": RESAMPLES, "sets": _lifts(study)}


def words_segmenters(_: Path) -> dict[str, Any]:
    """Word prediction over open emoji by ten segmenters and 2 to 12 regions."""
    from endoxa.verbs.words import segmenters

    found: dict[str, dict[str, Any]] = {}
    for arm, parts in _lifts(segmenters("emoji", home=HOME / "emoji", seed=SEED)).items():
        name, count = arm.rsplit(", ", 1)
        found.setdefault(name, {})[count] = parts
    return {"corpus": "emoji", "resamples": RESAMPLES, "segmenters": found}


RESAMPLES = 10


def words_visual(_: Path) -> dict[str, Any]:
    """The visualness of the words of open emoji."""
    from scipy import stats

    from endoxa.verbs.visual import visual

    found = visual("emoji", least=LEAST, iterated=True, home=HOME / "emoji", seed=SEED)
    rows = found.frame.select(
        "word", "call", "n", "V", "half", "A", "B", "D", "p", "q", "excess_z", "E", "selected_E"
    )  # fmt: skip
    goes = float(stats.spearmanr(rows["E"], rows["n"]).statistic)
    words = rows.rename({"n": "pictures", "E": "entropy", "selected_E": "selected"}).to_dicts()
    return {"corpus": "emoji", "null": found.null, "words": words, "colours": COLOURS, "entropy_size": goes}


LEAST = 10  # pictures of a word; half of the default, because emoji are few
COLOURS = ["red", "orange", "yellow", "green", "blue", "purple", "brown", "black", "white", "grey", "pink"]


STUDIES: dict[str, Study] = {
    "symbols": Study("endoxa images contest symbols", symbols),
    "feedback": Study(
        "endoxa search contest stamps -l none -l rocchio -l reweighting -l kernel --people class", feedback
    ),
    "retrieval": Study("python -m sources.run --fresh --only barnard-table-4", retrieval),
    "adaptive": Study("python -m sources.run --fresh --only barnard-adaptive-choice", adaptive.simulated),
    "drawings": Study("python -m sources.run --fresh --only santini-example", drawings, needs_data=True),
    "pooling": Study("endoxa pool qrels.txt.gz runs/* --leave-out-uniques --depth 10", pooling, needs_data=True),
    "calibration": Study("endoxa ratings RATINGS", calibration, needs_data=True),
    "mapping": Study("endoxa ratings RATINGS SCORES --no-calibrate", mapping, needs_data=True),
    "pages": Study("endoxa pages compose letters --count 60; endoxa pages study letters --weights equal", pages),
    "words-features": Study("endoxa words features emoji", words_features),
    "words-segmenters": Study("endoxa words segmenters emoji", words_segmenters),
    "words-visual": Study("endoxa words visual emoji --least 10 --iterated", words_visual),
}
