"""People's ratings, through the front door."""

from __future__ import annotations

import math
import sys

import numpy as np
import polars as pl
import pytest

from endoxa.errors import InstallError, JoinError, TextError
from endoxa.evaluations import ratings
from endoxa.studies import score_mapping as mappings
from endoxa.studies.agreement import agreement
from endoxa.studies.rater_calibration import calibrate
from endoxa.tables import Opinions, Run
from endoxa.verbs.inputs import opinions_of

COLUMNS = ["source", "query", "item", "grade"]


def opinions(rows: list[tuple], columns: list[str] | None = None, **constant: object) -> Opinions:
    frame = pl.DataFrame(rows, schema=columns or COLUMNS, orient="row")
    return Opinions.of(frame.with_columns(pl.lit(value).alias(name) for name, value in constant.items()))


def study(
    seed: int = 0, queries: int = 20, items: int = 6, people: int = 4, *, low: float = 1.0, high: float = 5.0
) -> tuple[Opinions, Run]:
    """Everybody rates everything, some severely; two systems, one that knows and one that does not."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(queries, items))
    middle, step = (low + high) / 2, (high - low) / 4
    rows, lists = [], []
    for q in range(queries):
        for i in range(items):
            pair = (f"q{q:02}", f"i{i}")
            for p in range(people):
                said = middle + step * (truth[q, i] * (0.6 + 0.3 * p) + 0.3 * rng.normal() + 0.5 * (p - 1.5))
                rows.append((f"p{p}", *pair, float(np.clip(round(said), low, high))))
            lists += [("good", *pair, truth[q, i] + 0.3 * rng.normal()), ("blind", *pair, rng.normal())]
    run = Run.of(pl.DataFrame(lists, schema=["system", "query", "item", "score"], orient="row"))
    return opinions(rows), run


@pytest.fixture(scope="module")
def found() -> ratings.Analysis:
    people, run = study()
    return ratings.analyse(people, run, methods=("isotonic", "ogive"), resamples=100, seed=3)


def test_the_parts_are_those_of_the_studies(found: ratings.Analysis) -> None:
    people, run = study()
    before = agreement(people, rng=np.random.default_rng(0))
    moved = calibrate(people).apply(people)
    after = agreement(moved, rng=np.random.default_rng(0))
    assert found.agreement.alpha == pytest.approx(before.alpha)
    assert found.after is not None
    assert found.after.alpha == pytest.approx(after.alpha)
    assert found.after.alpha > found.agreement.alpha
    means = moved.frame.group_by("query", "item").agg(pl.col("grade").mean())
    met = run.frame.filter(pl.col("system") == "good").join(means, on=["query", "item"])
    r = float(np.corrcoef(met["score"], met["grade"])[0, 1])
    good = {row["system"]: row for row in found.mappings["isotonic"].frame.iter_rows(named=True)}["good"]
    assert good["pearson"] == pytest.approx(r)
    assert good["held_out"] < good["in_sample"]
    assert (found.raters, found.pairs, found.queries, found.answers, found.undecided) == (4, 120, 20, 480, 0)


def test_the_maps_share_their_folds(found: ratings.Analysis) -> None:
    alone = ratings.analyse(*study(), methods=("ogive",), resamples=100, seed=3)
    assert alone.mappings["ogive"].frame.equals(found.mappings["ogive"].frame)


def test_shift_is_what_calibration_adds_to_the_mean(found: ratings.Analysis) -> None:
    people, _ = study()
    moved = calibrate(people).apply(people)
    for source, shift in found.per_rater.select("source", "shift").iter_rows():
        own = pl.col("source") == source
        change = moved.frame.filter(own)["grade"].mean() - people.frame.filter(own)["grade"].mean()  # type: ignore[operator]
        assert shift == pytest.approx(change)
    assert found.per_rater["shift"].is_sorted(descending=True)  # p0 is the severest


@pytest.mark.parametrize(("scale", "middle"), [("1-5", 3.0), ("0-10", 5.0), ("calibrated 1-9", 5.0), (None, 3.5)])
def test_the_threshold_is_the_middle_of_the_scale(scale: str | None, middle: float) -> None:
    people = opinions([("a", "q", "x", 2.0), ("a", "q", "y", 5.0)], scale=pl.Series([scale], dtype=pl.String)[0])
    found = ratings.analyse(people)
    assert found.threshold == middle
    assert ("range that was used" if scale is None else "answers name") in found.threshold_reason


def test_several_scales_are_a_warning() -> None:
    people = opinions([("a", "q", "x", 2.0, "1-5"), ("b", "q", "x", 9.0, "1-9")], [*COLUMNS, "scale"])
    found = ratings.analyse(people)
    assert "several scales (1 to 5, 1 to 9)" in found.warnings[0]
    assert found.threshold == 5.5


def test_trials_and_systems_never_count() -> None:
    people, run = study(queries=4)
    more = people.frame.select(COLUMNS).head(3)
    rows = [
        more.with_columns(pl.lit("z").alias("item"), pl.lit(role).alias("role"), pl.lit("person").alias("kind"))
        for role in ("practice", "attention", "gold")
    ]
    rows[0] = rows[0].with_columns(pl.col("item") + pl.int_range(3).cast(pl.String))
    rows[1] = rows[1].with_columns(pl.lit("y").alias("item"))
    votes = more.with_columns(
        pl.lit("bm25").alias("source"), pl.lit("main").alias("role"), pl.lit("system").alias("kind")
    )
    votes = votes.with_columns(pl.col("item") + pl.int_range(3).cast(pl.String))
    main = people.frame.select(*COLUMNS, "role", "kind")
    unjudged = main.head(1).with_columns(pl.lit("pooled").alias("item"), pl.lit(-1.0).alias("grade"))
    order = [*COLUMNS, "role", "kind"]
    mixed = Opinions.of(pl.concat([main, *(part.select(order) for part in (*rows, votes)), unjudged]))
    how = {"methods": ("isotonic",), "resamples": 100}
    clean, dirty = ratings.analyse(people, run, **how), ratings.analyse(mixed, run, **how)
    assert dirty.agreement.alpha == clean.agreement.alpha
    assert dirty.mappings["isotonic"].frame.equals(clean.mappings["isotonic"].frame)
    assert dirty.roles["practice"] == 3
    told = " | ".join(dirty.notes)
    assert "9 answers do not count: 3 of attention, 3 of gold, 3 of practice" in told
    assert "3 opinions are of systems" in told
    assert "1 grades are below 0" in told
    with pytest.raises(JoinError, match="give the answers of the main part"):
        ratings.analyse(Opinions.of(pl.concat([part.select(order) for part in rows])))


def test_yes_and_no_calibrated_below_zero_are_still_ratings() -> None:
    people, run = study(low=0.0, high=1.0)
    moved = calibrate(people).apply(people).frame
    assert moved["grade"].min() < 0  # type: ignore[operator]
    found = ratings.analyse(people, run, methods=("isotonic",), resamples=100)
    assert found.mappings["isotonic"].frame["pairs"].to_list() == [120, 120]
    means = moved.group_by("query", "item").agg(pl.col("grade").mean())
    assert found.points is not None
    assert found.points["rating"].min() == pytest.approx(means["grade"].min())
    table = found.mappings["isotonic"].maps["good"]
    assert table["mean"].min() >= means["grade"].min() - 1e-9  # type: ignore[operator]
    assert table["mean"].max() <= means["grade"].max() + 1e-9  # type: ignore[operator]


def test_one_rater_and_one_answer() -> None:
    found = ratings.analyse(opinions([("a", "q", "x", 2.0)]))
    assert math.isnan(found.agreement.alpha)
    assert found.after is None
    assert found.agreement.notes[0] == "one rater gave grades; agreement needs two"


def test_all_undecided() -> None:
    people = opinions([("a", "q", "x", None), ("b", "q", "x", None)])
    _, run = study(queries=2)
    found = ratings.analyse(people, run)
    assert found.undecided == 2
    assert found.mappings == {}
    assert found.uniformity is None
    assert "Nobody gave a rating: there is nothing to compare the runs with." in found.notes


def test_constant_ratings() -> None:
    people, run = study(queries=5)
    same = Opinions.of(people.frame.with_columns(pl.lit(3.0).alias("grade")))
    found = ratings.analyse(same, run, methods=("isotonic",), resamples=100)
    assert math.isnan(found.agreement.alpha)
    assert found.mappings["isotonic"].frame["held_out"].is_nan().all()
    assert any("every pair has the same rating" in note for note in found.remarks())


def test_a_run_of_other_pairs_is_refused_with_a_remedy() -> None:
    people, run = study(queries=3)
    other = Run.of(run.frame.with_columns(pl.col("item") + "x").select("system", "query", "item", "score"))
    with pytest.raises(JoinError, match=r"any of the 18 rated pairs .* called the same in both"):
        ratings.analyse(people, other)


def test_without_numba_the_rest_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    people, run = study(queries=6)

    def absent() -> None:
        raise InstallError("numba is not installed; pip install 'endoxa[studio]'")

    monkeypatch.setattr(mappings, "_monotone", absent)
    found = ratings.analyse(people, run, methods=("bayes", "isotonic"), resamples=100)
    assert list(found.mappings) == ["isotonic"]
    assert "no map by bayes: numba is not installed; pip install 'endoxa[studio]'" in found.notes


def test_the_front_door_needs_no_numba() -> None:
    import subprocess

    code = "import sys; sys.modules['numba'] = None; import endoxa.verbs.rate, endoxa.reports.pages.ratings"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_wrong_settings_are_refused() -> None:
    people, _ = study(queries=2)
    with pytest.raises(TextError, match="did you mean isotonic"):
        ratings.analyse(people, methods=("isotonc",))  # type: ignore[arg-type]
    with pytest.raises(TextError, match="take 40 or more"):
        ratings.analyse(people, resamples=20)
    with pytest.raises(TextError, match="between 0 and 1"):
        ratings.analyse(people, confidence=1.5)
    with pytest.raises(TextError, match="levels are nominal"):
        ratings.analyse(people, metric="odd")  # type: ignore[arg-type]


def test_names_are_not_calibrated() -> None:
    found = ratings.analyse(study()[0], metric="nominal", resamples=100)
    assert not found.calibrated
    assert any("nobody is calibrated" in note for note in found.notes)


def test_progress_is_told() -> None:
    seen: list[str] = []
    people, run = study(queries=4)
    ratings.analyse(
        people, run, methods=("isotonic",), resamples=100, progress=lambda name, done, whole: seen.append(name)
    )
    assert seen == ["agreement", "calibration", "map by isotonic", "selection", "dominance", "curves"]
    assert len(seen) == ratings.STEPS + 1


def test_selection_needs_systems_that_chose() -> None:
    people, run = study()
    chosen = people.frame.with_columns(
        pl.when(pl.col("item") < "i3").then(pl.lit("good")).otherwise(pl.lit("blind+good")).alias("selected_by")
    )
    found = ratings.analyse(Opinions.of(chosen), run, methods=("isotonic",), resamples=100)
    assert found.selection is not None
    assert found.selection.frame["pairs"].to_list() == [120, 60, 120, 60]
    assert ratings.analyse(people, run, methods=("isotonic",), resamples=100).selection is None


def test_curves_need_chances_and_a_lack_is_told() -> None:
    people, run = study()
    known = people.frame.with_columns(pl.lit(0.5).alias("propensity"))
    how = {"methods": ("isotonic",), "resamples": 100, "threshold": 3.0}
    found = ratings.analyse(Opinions.of(known), run, **how)
    assert found.curves is not None
    assert found.curves.threshold == 3.5  # calibrated ratings lie between grades: the cut does too
    moved = calibrate(people).apply(people).frame.group_by("query", "item").agg(pl.col("grade").mean())
    top = run.frame.filter((pl.col("system") == "good") & (pl.col("rank") <= 3)).join(moved, on=["query", "item"])
    got = found.curves.points.filter((pl.col("system") == "good") & (pl.col("cutoff") == 3))["precision"][0]
    assert got == pytest.approx((top["grade"] > 3.5).mean())  # equal chances: the plain share
    some = known.with_columns(pl.when(pl.col("item") != "i0").then("propensity").alias("propensity"))
    bare = ratings.analyse(Opinions.of(some), run, **how)
    assert bare.curves is None
    assert any(note.startswith("no curves of precision and recall: ") for note in bare.notes)


def test_a_belief_is_the_share_above_the_threshold() -> None:
    people = opinions([("a", "q", "x", 5.0), ("b", "q", "x", 4.0), ("c", "q", "x", 2.0), ("a", "q", "y", 3.0)])
    belief = ratings.believe(people, threshold=3, calibrated=False)
    assert belief.frame.select("item", "grade", "p").rows() == [("x", 1.0, pytest.approx(2 / 3)), ("y", 1.0, 0.0)]
    assert str(belief.notes[0]).startswith(
        "a rating above 3 is relevant (scale 2 to 5, the range that was used); ratings as"
    )


def test_calibration_moves_a_rater_over_the_threshold() -> None:
    # b says one less than a throughout: calibrated they say the same
    rows = [("a", "q", f"i{i}", float(g)) for i, g in enumerate((1, 2, 3, 4, 5, 4, 3, 2))]
    people = opinions([*rows, *(("b", q, i, g - 1) for _, q, i, g in rows)])
    plain = ratings.believe(people, threshold=3, calibrated=False).frame
    moved = ratings.believe(people, threshold=3, shrinkage=0)
    assert 0.5 in plain["p"].to_list()
    assert set(moved.frame["p"].to_list()) == {0.0, 1.0}
    assert "a shift and a stretch for each rater from 8 common pairs, shrinkage 0" in str(moved.notes[0])


def test_a_belief_by_a_rater_model() -> None:
    people, _ = study()
    belief = ratings.believe(people, threshold=3, model="dawid-skene", settings={"people": 0})
    assert belief.model == "dawid-skene"
    assert "calibrated" in str(belief.notes[0])
    assert belief.frame["grade"].unique().to_list() == [1.0]


def test_a_threshold_off_the_scale_is_a_warning() -> None:
    people = opinions([("a", "q", "x", 5.0), ("b", "q", "x", 4.0)])
    assert any(
        "! Every rating is at or below the threshold 5" in note.marked
        for note in ratings.believe(people, threshold=5).notes
    )
    assert any("Every rating is above" in str(note) for note in ratings.believe(people, threshold=0).notes)
    with pytest.raises(TextError, match="a threshold is a number"):
        ratings.believe(people, threshold=math.nan)


def test_a_belief_of_one_rater_is_taken_at_their_word() -> None:
    belief = ratings.believe(opinions([("a", "q", "x", 5.0), ("a", "q", "y", None)]), threshold=3)
    assert belief.model == "crisp"
    assert belief.frame.select("item", "grade").rows() == [("x", 1.0)]
    with pytest.raises(JoinError, match="no decided opinion"):
        ratings.believe(opinions([("a", "q", "y", None)]), threshold=3)


def test_files_of_ratings_are_joined(tmp_path) -> None:
    people, _ = study(queries=2)
    for name in ("p0", "p1"):
        people.frame.filter(pl.col("source") == name).select(COLUMNS).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "votes.qrels").write_text("q00 p9 i0 4\nq00 p8 i0 2\n")
    made = opinions_of([tmp_path / "p0.csv", tmp_path / "p1.csv", str(tmp_path / "votes.qrels")], assessors=True)
    assert made.sources == ["p0", "p1", "p8", "p9"]
    assert len(made) == 26
