"""What an organiser hands in: read whole, or refused with the place and the remedy."""

import contextlib

import polars as pl
import pytest
from PIL import Image

from endoxa.errors import EndoxaError, FileError
from endoxa.io.read import read
from endoxa.io.study_files import read_any, read_known, read_pairs, read_shown, read_study, rows_shown, sources_of

PLAIN = 'name = "pets"\nscreen = "one-result"\n'


def study_file(folder, text):
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def file(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def picture(folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), "red").save(path)
    return path


def test_a_study_file_says_it_all(tmp_path):
    for name in ("a.run", "b.run", "gold.csv"):
        file(tmp_path, name, "x")
    (tmp_path / "photos").mkdir()
    path = study_file(
        tmp_path, PLAIN + 'items = "photos"\nruns = ["*.run"]\ngold = "gold.csv"\noverlap = 3\ntitle = "Pets é"\n'
    )
    settings, sources = read_study(path)
    assert (settings.name, settings.overlap, settings.title) == ("pets", 3, "Pets é")
    assert sources.items == tmp_path / "photos" and sources.gold == tmp_path / "gold.csv"
    assert sources.runs == (tmp_path / "a.run", tmp_path / "b.run")
    assert sources.queries is None and sources.taxonomy is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a name"),
        ('name = "x"', "needs a screen"),
        ('name = "x"\nscreen = "wheel of fortune"', "no screen is called 'wheel of fortune'"),
        ('name = "x"\nscreen = "rank-its"', "did you mean rank-it"),
        (PLAIN + "overlaps = 2", "no setting 'overlaps'; did you mean overlap"),
        (PLAIN + 'item = "photos"', "no setting 'item'; did you mean items"),
        (PLAIN + 'overlap = "two"', "overlap is a whole number, not 'two'"),
        (PLAIN + "items = 5", "items is a path, not 5"),
        (PLAIN + "runs = [1, 2]", "runs is a path or a list of paths"),
        (PLAIN + 'items = "nowhere"', "items: there is no nowhere; paths are relative to the study file"),
        (PLAIN + 'runs = ["*.none"]', r"runs: there is no \*\.none"),
        (PLAIN + 'runs = "/nowhere/*.run"', "there is no /nowhere"),
        (PLAIN + 'items = ["study.toml", "study.toml"]', "items is one path, not 2"),
        (PLAIN + "overlap = ", "is not TOML"),
        (PLAIN + "[table]\nx = 1", "no setting 'table'"),
        (PLAIN + "overlap = 1\noverlap = 2", "is not TOML"),
        (PLAIN + "floor = nan", "floor is a share"),
    ],
)
def test_study_files_that_are_wrong(tmp_path, text, message):
    path = study_file(tmp_path, text)
    with pytest.raises(FileError, match=message) as wrong:
        read_study(path)
    assert str(path) in str(wrong.value)


def test_a_study_file_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"none\.toml: cannot be read: No such file"):
        read_study(tmp_path / "none.toml")
    with pytest.raises(FileError, match="cannot be read"):
        read_study(tmp_path)
    with pytest.raises(FileError, match="not UTF-8"):
        read_study(file(tmp_path, "latin.toml", 'name = "é"'.encode("latin-1")))


def test_sources_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file(tmp_path, "a.run", "x")
    assert len(sources_of({"runs": ["a.run", str(tmp_path / "a.run")]}, tmp_path, "endoxa").runs) == 2


def test_a_folder_of_pictures_and_texts(tmp_path):
    folder = tmp_path / "things"
    picture(folder, "cats/one.png")
    file(folder, "cats/one.txt", "  a caption é\n")
    picture(folder, "two.JPG")
    file(folder, "two.txt", "another")
    file(folder, "three.md", "words")
    file(folder, ".hidden.txt", "no")
    file(folder, ".cache/thumb.txt", "no")
    file(folder, "notes.pdf", "no")
    frame = read_shown(folder, "item", tmp_path / "kept")
    assert frame.select("item", "text").rows() == [("cats/one", "a caption é"), ("three", "words"), ("two", "another")]
    assert frame["file"].is_not_null().to_list() == [True, False, True]
    assert len(list((tmp_path / "kept").glob("*.jpg"))) == 2  # both are the same picture: large and small


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_table_of_texts_and_pictures(tmp_path, suffix):
    picture(tmp_path, "pictures/a.png")
    frame = pl.DataFrame({"item": ["007", "b"], "text": ["first", None], "file": [None, "pictures/a.png"]})
    path = tmp_path / f"items.{suffix}"
    {
        "csv": frame.write_csv, "tsv": lambda p: frame.write_csv(p, separator="\t"), "jsonl": frame.write_ndjson,
        "parquet": frame.write_parquet,
    }[suffix](path)  # fmt: skip
    found = read_shown(path, "item", tmp_path / "kept")
    assert found.select("item", "text").rows() == [("007", "first"), ("b", None)]
    assert found["file"].is_null().to_list() == [True, False]


def test_other_names_of_the_columns(tmp_path):
    assert read_shown(file(tmp_path, "a.csv", "docid,text\nd1,words\n"), "item", tmp_path)["item"].to_list() == ["d1"]
    assert read_shown(file(tmp_path, "b.csv", "id,text\nq1,words\n"), "query", tmp_path)["query"].to_list() == ["q1"]


def test_progress_is_told(tmp_path):
    told = []
    read_shown(file(tmp_path, "a.csv", "item,text\na,x\nb,y\n"), "item", tmp_path, lambda *what: told.append(what))
    assert told == [("a.csv", 1, 2), ("a.csv", 2, 2)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "item,text\na,x\na,y\n", "item 'a' occurs twice"),
        ("a.csv", "item,text\na,\n", "item 'a' has neither text nor a picture"),
        ("a.csv", 'item,text\na,"  "\n', "item 'a' has neither text nor a picture"),
        ("a.csv", "item,text\n,x\n", "row 1 has no item"),
        ("a.csv", "item,text\n", "the file has no rows"),
        ("a.csv", "", "the file has no rows"),
        ("a.csv", "words,more\na,x\n", "has the columns words, more; expected item, and text or file"),
        ("a.csv", "item,file\na,none.png\n", r"1 of 1 pictures cannot be shown.*\n.*none\.png: cannot be read"),
        ("a.csv", "item,text\na,bad \x00 byte\n", "'a' contains a NUL, which cannot be stored"),
        ("a.jsonl", '{"item": "a", "text": \n', "is not a JSON object"),
        ("a.parquet", "no parquet", "damaged Parquet data"),
        ("a.xlsx", "x", "not a table of a known form"),
        ("a", "x", "not a table of a known form"),
    ],
)
def test_items_that_are_wrong(tmp_path, name, content, message):
    path = file(tmp_path, name, content)
    with pytest.raises(FileError, match=message) as wrong:
        read_shown(path, "item", tmp_path / "kept")
    assert str(path) in str(wrong.value)


def test_folders_that_are_wrong(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileError, match="contains no item"):
        read_shown(empty, "item", tmp_path)
    with pytest.raises(FileError, match="no such file"):
        read_shown(tmp_path / "none.csv", "item", tmp_path)
    twice = tmp_path / "twice"
    picture(twice, "a.png")
    picture(twice, "a.jpg")
    with pytest.raises(FileError, match="item 'a' occurs twice"):
        read_shown(twice, "item", tmp_path)
    latin = file(tmp_path / "latin", "a.txt", "é".encode("latin-1"))
    with pytest.raises(FileError, match=r"a\.txt: is not UTF-8 text"):
        read_shown(latin.parent, "item", tmp_path)


def test_all_broken_pictures_are_named_at_once(tmp_path):
    folder = tmp_path / "photos"
    for number in range(13):
        file(folder, f"{number:02d}.png", "no picture")
    picture(folder, "fine.png")
    with pytest.raises(FileError, match="13 of 14 pictures") as wrong:
        read_shown(folder, "item", tmp_path / "kept")
    said = str(wrong.value)
    assert all(str(folder / f"{number:02d}.png") in said for number in range(10))
    assert "(and 3 more)" in said and "fine.png" not in said


def test_known_answers(tmp_path):
    path = file(tmp_path, "gold.csv", "topic,docid,grade\nq1,d1,4\nq1,d2,3\n")
    assert read_known(path, has_query=True).rows() == [("q1", "d1", "4"), ("q1", "d2", "3")]
    path = file(tmp_path, "filed.csv", "item,category\nd1,cats\n")
    assert read_known(path, has_query=False).rows() == [(None, "d1", "cats")]
    with pytest.raises(FileError, match="the file has no rows"):
        read_known(file(tmp_path, "none.csv", "query,item,expected\n"), has_query=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,item\nq,d\n", "expected query, item and expected"),
        ("item,expected\nd,4\n", "expected query, item and expected"),
        ("query,item,expected\nq,d,\n", "row 1 has no expected"),
        ("query,item,expected\nq,d,4\n,d,4\n", "row 2 has no query"),
        ("query,item,expected\nq,d,4\nq,e,4\nq,d,5\n", "row 3: 'd' occurs twice"),
    ],
)
def test_known_answers_that_are_wrong(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read_known(file(tmp_path, "gold.csv", text), has_query=True)


def test_pairs(tmp_path):
    path = file(tmp_path, "pairs.csv", "query,item,pi,selected_by,more\nq,007,0.5,next,x\nr,d,1,,\n")
    frame = read_pairs(path)
    assert frame.select("query", "item").rows() == [("q", "007"), ("r", "d")]
    if "propensity" in frame.columns:
        assert frame["propensity"].to_list() == [0.5, 1.0]
    frame = read_pairs(file(tmp_path, "drawn.csv", "query,item,selected_by,draw,draw_depth\nq,d,next,2,20\n"))
    assert frame.rows() == [("q", "d", "next", "2", "20")]  # `pairs_plan` checks them
    frame = read_pairs(file(tmp_path, "named.csv", "query,item,propensity\nq,d,0.25\n"))
    assert frame.rows() == [("q", "d", 0.25)]
    with pytest.raises(FileError, match="expected query and item"):
        read_pairs(file(tmp_path, "wrong.csv", "query,words\nq,d\n"))
    with pytest.raises(FileError, match="propensity is not a number"):
        read_pairs(file(tmp_path, "words.csv", "query,item,propensity\nq,d,often\n"))


@pytest.mark.parametrize(
    ("text", "message"), [("category,parent\na,b\nb,c\nc,a\n", "a|b|c"), ("category,parent\na,a\n", "a")]
)
def test_a_taxonomy_with_a_cycle(tmp_path, text, message):
    path = file(tmp_path, "tree.csv", text)
    with pytest.raises(EndoxaError, match=message) as wrong:
        read(str(path), kind="taxonomy")
    assert "circle" in str(wrong.value) or "cycle" in str(wrong.value) or "itself" in str(wrong.value)


def test_numbers_that_name_something_stay_texts(tmp_path):
    assert read_any(file(tmp_path, "a.csv", "item,n\n007,1e3\n")).rows() == [("007", "1e3")]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_brackets_in_a_path_are_no_pattern(tmp_path, form):
    """Polars takes `items[1]` for a pattern, which another file matches."""
    for name, item in (("items[1]", "right"), ("items1", "wrong")):
        frame, path = pl.DataFrame({"item": [item], "text": ["words"]}), tmp_path / f"{name}.{form}"
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[form](path)
    assert read_any(tmp_path / f"items[1].{form}")["item"].to_list() == ["right"]


@pytest.mark.parametrize("name", ["gold.parquet", "items.parquet"])
def test_damaged_parquet_is_one_line(tmp_path, name):
    frame = pl.DataFrame({"query": ["q"], "item": ["a"], "text": ["t"], "expected": ["1"]})
    frame.write_parquet(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for at in range(4, len(whole) - 8, 7):
        broken = file(tmp_path, name, whole[:at] + b"\xff" * 4 + whole[at + 4 :])
        with contextlib.suppress(FileError):
            read_known(broken, has_query=True) if name.startswith("gold") else read_shown(broken, "item", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'name = "a"\nseed = {"1" * 5000}\n', r"is not TOML: Exceeds the limit .*; correct the study file"),
        (f"name = {'[' * 100_000}\n", r"is not TOML: .*; correct the study file"),
        (PLAIN + 'runs = "**x.run"\n', r"runs: \*\*x.run is not a pattern \(.*\); use \* within a name, or \*\* alone"),
        (f'{PLAIN}items = "{"a" * 300}"\n', "items: there is no aaa"),
    ],
)
def test_study_files_that_would_break_a_parser(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read_study(file(tmp_path, "study.toml", text))


@pytest.mark.parametrize("where", ["../secret.png", "{root}/secret.png", "sub/../../secret.png"])
def test_a_table_names_files_below_its_folder_only(tmp_path, monkeypatch, where):
    picture(tmp_path, "secret.png")
    (tmp_path / "study" / "sub").mkdir(parents=True)
    table = file(tmp_path / "study", "items.csv", f"item,file\na,{where.format(root=tmp_path)}\n")
    with pytest.raises(FileError, match=r"names '.*secret.png', which is not below .* ENDOXA_TRUST_FILES=1 if"):
        read_shown(table, "item", tmp_path / "kept")
    monkeypatch.setenv("ENDOXA_TRUST_FILES", "1")
    assert read_shown(table, "item", tmp_path / "kept").height == 1


def test_texts_of_a_collection_of_beir(tmp_path):
    (tmp_path / "beir").mkdir()
    corpus = '{"_id": "d1", "title": "Owls", "text": "They fly."}\n{"_id": "d2", "title": "", "text": "Cats."}\n'
    (tmp_path / "beir/corpus.jsonl").write_text(corpus)
    (tmp_path / "beir/queries.jsonl").write_text('{"_id": "q1", "text": "what flies?", "metadata": {}}\n')
    for place in (tmp_path / "beir", tmp_path / "beir/corpus.jsonl"):
        shown = read_shown(place, "item", tmp_path / "kept")
        assert shown.select("item", "text").rows() == [("d1", "Owls\nThey fly."), ("d2", "Cats.")]
    queries = read_shown(tmp_path / "beir", "query", tmp_path / "kept")
    assert queries.select("query", "text").rows() == [("q1", "what flies?")]


def test_rows_of_some_items_only_and_their_pictures_as_they_are(tmp_path):
    (tmp_path / "t.csv").write_text("item,text,file\na,one,\nb,,p.png\nc,,\n")
    assert rows_shown(tmp_path / "t.csv", "item", {"a", "b"}) == [("a", "one", None), ("b", None, tmp_path / "p.png")]
    with pytest.raises(FileError, match="item 'c' has neither text nor a picture"):
        rows_shown(tmp_path / "t.csv", "item")
