"""Beliefs, labels, taxonomies and answers: there and back, told apart, and what is said of a bad row."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_samples import any_text

from endoxa import believe
from endoxa.errors import EndoxaError, FileError, TableError
from endoxa.io.formats import COLUMNS, kinds_of, sniff
from endoxa.io.read import read
from endoxa.io.write import write
from endoxa.measures.uncertain import measure_belief
from endoxa.tables import Answers, Belief, Labels, Opinions, Run, Table, Taxonomy

TEXTS = [".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.zst", ".jsonl.gz"]
SUFFIXES = [*TEXTS, ".parquet"]
SEEDS = sorted((Path(__file__).parent / "seeds").glob("*.bin"))
shares = st.floats(0, 1)
some_text = any_text.filter(bool)


def saved(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def there_and_back(table: Any, suffix: str, kind: str = "auto") -> Any:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / f"f{suffix}"
        write(table, path)
        return read(path, kind=kind)  # type: ignore[arg-type]


def same(found: Table, meant: Table) -> None:
    assert type(found) is type(meant)
    assert found.frame.schema == meant.frame.schema
    assert found.frame.rows() == meant.frame.rows()


# ---- any table ----------------------------------------------------------------------------------------


@st.composite
def beliefs(draw: st.DrawFn) -> Belief:
    """Beliefs; weights are quarters that sum to 1, so that they are the same numbers after a second division."""
    queries = draw(st.lists(any_text, min_size=1, max_size=3, unique=True))
    rows: list[tuple[str, str, float, str, float, float]] = []
    for query in queries:
        weights = draw(st.sampled_from([[1.0], [0.25, 0.75], [0.5, 0.5], [0.25, 0.25, 0.5], [1.0, 0.0]]))
        readings = draw(st.lists(any_text, min_size=len(weights), max_size=len(weights), unique=True))
        for reading, weight in zip(readings, weights, strict=True):
            for item in draw(st.lists(any_text, min_size=1, max_size=3, unique=True)):
                first, second = draw(st.tuples(shares, shares).filter(lambda pair: sum(pair) <= 1))
                rows += [(query, reading, weight, item, 1.0, first), (query, reading, weight, item, 2.5, second)]
    frame = pl.DataFrame(rows, schema=["query", "reading", "weight", "item", "grade", "p"], orient="row")
    return Belief.of(
        frame,
        unmentioned=draw(st.sampled_from(["irrelevant", "unknown", 0.125, 0.1, 0, 1])),
        model=draw(any_text),
        notes=draw(st.lists(any_text, max_size=2)),
    )


def labels() -> st.SearchStrategy[Labels]:
    rows = st.lists(st.tuples(any_text, any_text, some_text), min_size=1, max_size=6)
    return rows.map(lambda rows: Labels.of(pl.DataFrame(rows, schema=["source", "item", "category"], orient="row")))


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    names = draw(st.lists(some_text.filter(lambda name: name != Taxonomy.ROOT), min_size=1, max_size=6, unique=True))
    rows: list[tuple[str, str | None]] = []
    for place, name in enumerate(names):  # parents stand before their children, so nothing goes in a circle
        parents = draw(st.lists(st.sampled_from(names[:place]), max_size=2, unique=True)) if place else []
        rows += [(name, parent) for parent in parents] or [(name, None)]
    schema = {"category": pl.String, "parent": pl.String}
    return Taxonomy.of(pl.DataFrame(rows, schema=schema, orient="row"))


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    rows: list[tuple[str, str, str, int, float]] = []
    for source, query in draw(st.lists(st.tuples(any_text, any_text), min_size=1, max_size=3, unique=True)):
        items = draw(st.lists(any_text, min_size=1, max_size=4, unique=True))
        falling = sorted(draw(st.lists(shares, min_size=len(items), max_size=len(items))), reverse=True)
        rows += [(source, query, item, rank, falling[rank]) for rank, item in enumerate(items)]
    columns = ["source", "query", "item", "rank", "relevance"]
    return Answers.of(pl.DataFrame(rows, schema=columns, orient="row"))


@settings(max_examples=40)
@given(beliefs(), st.sampled_from(SUFFIXES), st.sampled_from(["auto", "belief"]))
def test_beliefs(belief: Belief, suffix: str, kind: str) -> None:
    found = there_and_back(belief, suffix, kind)
    same(found, belief)
    kept = (found.unmentioned, found.model, found.notes)
    if suffix == ".parquet":
        assert kept == (belief.unmentioned, belief.model, belief.notes)
    else:
        assert kept == ("irrelevant", "given", ())


@settings(max_examples=40)
@given(labels(), st.sampled_from(SUFFIXES), st.sampled_from(["auto", "labels"]))
def test_labels(table: Labels, suffix: str, kind: str) -> None:
    same(there_and_back(table, suffix, kind), table)


@settings(max_examples=40)
@given(taxonomies(), st.sampled_from(SUFFIXES), st.sampled_from(["auto", "taxonomy"]))
def test_taxonomies(table: Taxonomy, suffix: str, kind: str) -> None:
    found = there_and_back(table, suffix, kind)
    same(found, table)
    assert found.root == table.root
    assert found.ancestors == table.ancestors


@settings(max_examples=40)
@given(answers(), st.sampled_from(SUFFIXES), st.sampled_from(["auto", "answers"]))
def test_answers(table: Answers, suffix: str, kind: str) -> None:
    same(there_and_back(table, suffix, kind), table)


def test_people_stay_in_parquet(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"query": ["b", "a"], "item": ["x", "y"], "p": [0.5, 1.0]}).with_columns(
        people=pl.Series(rng.random((2, 5)).astype(np.float32), dtype=pl.Array(pl.Float32, 5)),
        people_weight=pl.Series(np.ones((2, 5)), dtype=pl.Array(pl.Float64, 5)),
    )
    belief = Belief.of(frame, unmentioned="unknown", model="votes", notes=["asked 5 people"])
    write(belief, tmp_path / "b.parquet")
    found = read(tmp_path / "b.parquet")
    same(found, belief)
    assert found.frame["people"].dtype == pl.Array(pl.Float32, 5)
    assert found.lines() == belief.lines()
    for suffix in TEXTS:
        plain = there_and_back(belief, suffix)
        assert plain.frame.equals(belief.frame.drop("people", "people_weight"))


def test_weights_that_are_thirds_stay_nearly_what_they_were() -> None:
    frame = pl.DataFrame({"query": ["q"] * 3, "reading": list("abc"), "weight": [1, 1, 1], "item": ["x"] * 3})
    belief = Belief.of(frame.with_columns(p=pl.lit(0.5)))
    for suffix in SUFFIXES:
        assert there_and_back(belief, suffix).frame["weight"].to_list() == pytest.approx([1 / 3] * 3, rel=1e-15)


# ---- told apart by their columns ----------------------------------------------------------------------

KINDS: list[tuple[str, str, type[Table]]] = [
    ("query,item,p\nq,d,0.5\n", "belief", Belief),
    ("qid\tdocno\tp\nq\td\t0.5\n", "belief", Belief),
    ("query,item,grade,p\nq,d,2,0.5\n", "belief", Belief),
    ("query,item,relevance,p\nq,d,2,0.5\n", "belief", Belief),
    ('{"query": "q", "reading": null, "weight": 1, "item": "d", "p": 0.5}\n', "belief", Belief),
    ("item,category\nd,owls\n", "labels", Labels),
    ("rater,doc_id,category\nann,d,owls\n", "labels", Labels),
    ("category,parent\nowls,birds\nbirds,\n", "taxonomy", Taxonomy),
    ("category\tparent\titem\nowls\tbirds\td\nbirds\t\td\n", "taxonomy", Taxonomy),
    ('{"category": "birds", "parent": null}\n', "taxonomy", Taxonomy),
    ("source,query,item,rank,relevance\nann,q,d,1,0.5\n", "answers", Answers),
    ("qid,docid,rank,relevance\nq,d,1,0.5\n", "answers", Answers),
    # neither of the new kinds
    ("query,item,relevance\nq,d,1\n", "opinions", Opinions),
    ("query,item,rank,grade\nq,d,1,1\n", "opinions", Opinions),
    ("query,item,rank,score\nq,d,1,2.5\n", "run", Run),
    ("query,item,score,p\nq,d,1,0.5\n", "run", Run),
    ("query,item,grade,category\nq,d,1,owls\n", "opinions", Opinions),
    ("query,item,score,category,parent\nq,d,1,owls,birds\n", "run", Run),
]


@pytest.mark.parametrize(("text", "kind", "table"), KINDS)
def test_columns_tell(tmp_path: Path, text: str, kind: str, table: type[Table]) -> None:
    path = saved(tmp_path / "f", text)
    assert sniff(path) == kind
    assert isinstance(read(path), table)
    assert isinstance(read(path, kind=kind), table)  # type: ignore[arg-type]
    packed = saved(tmp_path / "f.gz", gzip.compress(text.encode()))
    assert isinstance(read(packed), table)


@pytest.mark.parametrize(
    "columns", ["query,item,score,grade", "query,item,score,rank,relevance", "query,item,p,rank,relevance"]
)
def test_what_may_be_two_things_is_refused(tmp_path: Path, columns: str) -> None:
    numbers = columns.count(",") - 1
    path = saved(tmp_path / "f.csv", f"{columns}\nq,d{',1' * numbers}\n")
    with pytest.raises(FileError, match=r"may be .* or "):
        read(path)
    with pytest.raises(TableError, match=r"may be .* or "):
        read(pl.DataFrame({name: ["1"] for name in columns.split(",")}))


def test_every_kind_is_told_by_its_own_columns() -> None:
    assert {kind: kinds_of(columns) for kind, columns in COLUMNS.items()} == {kind: [kind] for kind in COLUMNS}


def test_the_reader_may_say_what_it_is(tmp_path: Path) -> None:
    graded = saved(tmp_path / "f.csv", "query,item,grade,p\nq,d,2,0.5\n")
    assert isinstance(read(graded, kind="opinions"), Opinions)
    filed = saved(tmp_path / "g.csv", "item,category,parent\nd,owls,birds\n")
    assert read(filed, kind="labels").frame.rows() == [("labels", "d", "owls")]
    for columns in ("query,item,rank", "query,item,relevance", "query,item,grade", "query,item,rank,score"):
        text = columns + "\nq,a" + ",1" * (columns.count(",") - 1) + "\n"
        found = read(saved(tmp_path / "h.csv", text), kind="answers")
        assert found.frame.rows() == [("subject", "q", "a", 1, 1.0)]
    with pytest.raises(FileError, match="expected belief, found opinions"):
        read(saved(tmp_path / "i.csv", "query,item,grade\nq,d,1\n"), kind="belief")
    with pytest.raises(FileError, match="a run needs a column 'score'"):
        read(saved(tmp_path / "j.csv", "query,item,place\nq,d,1\n"), kind="run")


def test_votes_of_systems_read_well(tmp_path: Path) -> None:
    path = saved(tmp_path / "v.csv", "source,kind,query,item,grade\nbm25,system,q,a,1\ndense,system,q,a,0\n")
    found = read(path)
    assert isinstance(found, Opinions)
    assert found.frame.select("source", "kind", "item", "grade").rows() == [
        ("bm25", "system", "a", 1.0),
        ("dense", "system", "a", 0.0),
    ]
    same(there_and_back(found, ".csv"), found)


# ---- frames, rows, dicts ------------------------------------------------------------------------------


def test_frames_and_rows() -> None:
    rows: list[tuple[dict[str, Any], type[Table]]] = [
        ({"qid": "q", "docno": "d", "p": 0.5}, Belief),
        ({"worker": "ann", "item": "d", "category": "owls"}, Labels),
        ({"category": "owls", "parent": "birds"}, Taxonomy),
        ({"source": "ann", "query": "q", "item": "d", "rank": 1, "relevance": 1.0}, Answers),
    ]
    import pandas as pd

    for row, table in rows:
        kind = table.__name__.lower()
        for made in (pl.DataFrame([row]), pl.DataFrame([row]).to_arrow(), pd.DataFrame([row]), [row]):
            assert type(read(made)) is table
            assert type(read(made, kind=kind)) is table  # type: ignore[arg-type]
    assert isinstance(read(pl.DataFrame([{"query": "q", "item": "d", "relevance": 1}])), Opinions)
    assert isinstance(read(pl.DataFrame([{"query": "q", "item": "d", "relevance": 1}]), kind="answers"), Answers)


def test_a_dict_of_probabilities() -> None:
    found = read({"q": {"a": 0.5, "b": 1}}, kind="belief")
    assert found.frame.select("query", "item", "grade", "p").rows() == [("q", "a", 1.0, 0.5), ("q", "b", 1.0, 1.0)]
    with pytest.raises(TableError, match="is 2; a probability must be between 0 and 1"):
        read({"q": {"a": 2}}, kind="belief")
    with pytest.raises(TableError, match="is a run, not belief"):
        read({"s": {"q": {"a": 1}}}, kind="belief")


def test_bad_frames() -> None:
    with pytest.raises(TableError, match="'people' of the belief holds Int64, expected an array"):
        read(pl.DataFrame({"query": ["q"], "item": ["d"], "p": [0.5], "people": [5]}))
    with pytest.raises(TableError, match="a belief needs a column 'p'"):
        read(pl.DataFrame({"query": ["q"], "item": ["d"]}), kind="belief")
    with pytest.raises(TableError, match="there is no score, grade, p"):
        read(pl.DataFrame({"query": ["q"], "item": ["d"]}))


# ---- a taxonomy of paths ------------------------------------------------------------------------------

PATHS = "\ufeff# what lives\nanimals/birds/owl\r\n\nanimals/birds/ barn owl \nanimals/fish/\n"


@pytest.mark.parametrize("pack", [str.encode, lambda text: gzip.compress(text.encode())])
def test_paths(tmp_path: Path, pack: Callable[[str], bytes]) -> None:
    found = read(saved(tmp_path / "t.txt", pack(PATHS)), kind="taxonomy")
    assert found.root == "animals"
    assert found.frame.rows() == [
        ("animals", None),
        ("animals/birds", "animals"),
        ("animals/birds/owl", "animals/birds"),
        ("animals/birds/barn owl", "animals/birds"),
        ("animals/fish", "animals"),
    ]
    same(there_and_back(found, ".csv"), found)


@settings(max_examples=25)
@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=4).map("/".join), min_size=1))
def test_paths_are_read_as_they_are_made(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        same(read(saved(Path(directory) / "t", "\n".join(paths)), kind="taxonomy"), Taxonomy.of_paths(paths))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a/b\n //\n", ":2: ' //' is not a path; expected categories"),
        ("a/b\nc/\0\n", ":2: 'c/\\x00' is not a path"),
        (b"a/b\nc/\xff\n", ":2: byte 0xff is not UTF-8"),
        (
            "",
            ": the file is empty; expected a table with the columns category, parent, or lines like animals/birds/owls",
        ),
        ("# a/b\n", ": no line is a path; expected lines like animals/birds/owls"),
        ("q1 Q0 d1 1 2.5 t\n", ": no line is a path; expected lines like animals/birds/owls"),
        ("(all)/a\nb\n", ": several categories have no parent, and '(all)' is the name of a category; rename it"),
    ],
)
def test_bad_paths(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = saved(tmp_path / "t", text)
    with pytest.raises(FileError) as caught:
        read(path, kind="taxonomy")
    assert str(caught.value).startswith(f"{path}{said}")


# ---- bad rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "line", "what"),
    [
        ("belief", "query,item,p\nq,a,1\nq,b,x\n", 3, "p 'x' is not a number"),
        ("belief", "query,item,p\nq,a,1\n\nq,b,\n", 4, "p is missing"),
        ("belief", "query,item,p\nq,a,1\nq,b,1.5\n", 3, "p of item 'b' in query 'q' is 1.5; a probability must"),
        ("belief", "query,item,p\nq,a,1\nr,a,-1\n", 3, "p of item 'a' in query 'r' is -1; a probability must"),
        ("belief", "query,item,grade,p\nq,a,1,0\nq,a,2,NaN\n", 3, "p of item 'a' in query 'q' is nan; a probability"),
        ("belief", "qid,docno,weight,p\nq,a,-2,1\n", 2, "weight of item 'a' in query 'q' is -2; a weight must"),
        ("belief", "query,item,rel,p\nq,a,1,1\nq,b,inf,0\n", 3, "grade of item 'b' in query 'q' is inf; a grade"),
        ("belief", "query,item,p\nq,a,1\nq,b,1\nq,a,0\n", 4, "query 'q', reading '': item 'a' has grade 1 twice"),
        (
            "belief",
            "query,reading,item,grade,p\nq,r,a,1,.5\nq,r,a,2,.1\nq,r,a,2,.2\nq,r,a,3,.2\n",
            4,
            "query 'q', reading 'r': item 'a' has grade 2 twice; give it one p",
        ),
        (
            "belief",
            "query,item,grade,p\nq,a,1,.5\nq,a,2,.6\nq,b,2,.6\n",
            3,
            "query 'q', reading '': the probabilities of the grades of item 'a' sum to 1.1; they must",
        ),
        (
            "belief",
            "query,reading,weight,item,p\nq,r,1,a,1\nq,r,2,b,1\n",
            None,
            "reading 'r' of query 'q' has two weights; give it one",
        ),
        ("belief", 'query,item,p\nq,"it\'s ""b""",2\n', 2, """p of item 'it\\'s "b"' in query 'q' is 2; a prob"""),
        ("labels", "source,item,category\nann,a,x\n,b,x\n", 3, "source is missing"),
        ("labels", "item,category\na,\n", None, "there are no labels; expected rows of item and category"),
        ("taxonomy", "category,parent\na,\n,a\n", 3, "category is missing"),
        ("taxonomy", "category,parent\na,b\nb,a\n", None, "the taxonomy has no root: "),
        ("taxonomy", "category,parent\nr,\na,r\na,b\nb,a\n", None, "the taxonomy is not acyclic: "),
        ("answers", "query,item,rank,relevance\nq,a,1,1\nq,b,second,1\n", 3, "rank 'second' is not a number"),
        ("answers", "query,item,rank,relevance\nq,a,1,1\nr,a,1,2\n", 3, "relevance of item 'a' is 2; it must"),
        ("answers", "query,item,rank,relevance\nq,a,1,1\nq,b,2,1\nq,a,3,1\n", 4, "'subject' lists item 'a' of query"),
        (
            "answers",
            "source,query,item,rank,relevance\nann,q,b,2,1\nbob,q,b,2,1\nbob,q,a,1,.5\n",
            3,
            "'bob', query 'q': item 'b' has a higher relevance than the item ranked above it; relevance must decrease",
        ),
        (
            "answers",
            "source,query,item,rank,relevance\nann,q,b,1,1\nann,q,a,1,.5\n",
            None,
            "'ann', query 'q': two items at rank 1 have different relevance; give them the same",
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, kind: str, text: str, line: int | None, what: str) -> None:
    path = saved(tmp_path / "f.csv", text)
    assert sniff(path) == kind
    with pytest.raises(FileError) as caught:
        read(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: {what}" if line else f"{path}: {what}")


def test_a_bad_row_in_json_and_parquet(tmp_path: Path) -> None:
    text = '{"query": "q", "item": 1, "p": 0}\n\n{"query": "q", "item": 2, "p": 7}\n'
    with pytest.raises(FileError, match=r"f\.jsonl:3: p of item '2' in query 'q' is 7"):
        read(saved(tmp_path / "f.jsonl", text))
    pl.DataFrame({"query": ["q"], "item": ["a"], "p": [7.0]}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(FileError, match=r"f\.parquet: p of item 'a' in query 'q' is 7"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize(
    ("key", "words"), [("unmentioned", "[1]"), ("unmentioned", "perhaps"), ("model", "{"), ("notes", '"one"')]
)
def test_metadata_that_nobody_understands(tmp_path: Path, key: str, words: str) -> None:
    frame = pl.DataFrame({"query": ["q"], "item": ["a"], "p": [0.5]})
    frame.write_parquet(tmp_path / "f.parquet", metadata={f"endoxa.{key}": words})
    with pytest.raises(
        FileError, match=rf"f\.parquet: the metadata {key} = .* is not understood; write the file again"
    ):
        read(tmp_path / "f.parquet")
    frame.write_parquet(tmp_path / "f.parquet", metadata={"endoxa.unmentioned": '"perhaps"'})
    with pytest.raises(FileError, match="unmentioned must be irrelevant, unknown or a probability, not 'perhaps'"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("kind", ["belief", "labels", "answers"])
def test_these_have_no_plain_text(tmp_path: Path, kind: str) -> None:
    with pytest.raises(FileError, match=f"the first line is 'q1 0 d1 1'; expected a table of {kind} with a header"):
        read(saved(tmp_path / "f", "q1 0 d1 1\n"), kind=kind)  # type: ignore[arg-type]
    with pytest.raises(FileError, match="is empty; expected a table with the columns "):
        read(saved(tmp_path / "f", ""), kind=kind)  # type: ignore[arg-type]
    belief = Belief.of(pl.DataFrame({"query": ["q"], "item": ["a"], "p": [0.5]}))
    with pytest.raises(FileError, match="Belief cannot be written as TREC text"):
        write(belief, tmp_path / "f.txt")
    with pytest.raises(FileError, match=r"Belief is not written as \.json"):
        write(belief, tmp_path / "f.json")


def test_a_count_of_people_is_no_resample(tmp_path: Path) -> None:
    """In a text the column cannot be ours; like every column that nobody asked for, it is passed over."""
    found = read(saved(tmp_path / "f.csv", "query,item,p,people\nq,a,0.5,12\n"))
    assert found.frame.columns == ["query", "reading", "weight", "item", "grade", "p"]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
@pytest.mark.parametrize("kind", ["belief", "labels", "taxonomy", "answers"])
def test_whatever_the_bytes(seed: Path, kind: str) -> None:
    """A table or an EndoxaError in one line; nothing else comes out."""
    try:
        assert isinstance(read(seed, kind=kind), Table)  # type: ignore[arg-type]
    except EndoxaError as error:
        assert "\n" not in str(error)


def test_possible_worlds_lie_beside_the_scores(tmp_path: Path) -> None:
    run = Run.of(pl.DataFrame([(s, q, d, -n) for s in "ab" for q in "xy" for n, d in enumerate("uvw")],
                              schema=["system", "query", "item", "score"], orient="row"))  # fmt: skip
    belief = Belief.of(pl.DataFrame({"query": ["x", "x", "y"], "item": ["u", "v", "w"], "p": [0.5, 0.2, 0.9]}))
    scores = measure_belief(run, belief, ["AP", "P@2"], worlds=5)
    write(scores, tmp_path / "scores.parquet")
    back = read(tmp_path / "scores.parquet")
    assert back.frame.equals(scores.frame)
    assert np.array_equal(back.draws.truth, scores.draws.truth, equal_nan=True)
    assert (back.draws.measures, back.draws.systems, back.draws.queries) == (["AP", "P@2"], ["a", "b"], ["x", "y"])
    assert back.draws.lines == scores.draws.lines
    (tmp_path / "scores.draws.parquet").unlink()
    with pytest.raises(FileError, match="possible worlds"):
        read(tmp_path / "scores.parquet")


def test_a_belief_remembers_its_files(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.run").write_text(f"q Q0 x 1 2 {name}\nq Q0 {name} 2 1 {name}\n")
    held = believe([str(tmp_path / "a.run"), str(tmp_path / "b.run")])
    assert [line.split()[0] for line in held.files] == ["a.run", "b.run"]
    write(held, tmp_path / "belief.parquet")
    back = read(tmp_path / "belief.parquet")
    assert (back.files, back.notes, back.model) == (held.files, held.notes, held.model)
    assert "sha256" in back.files[0]
