"""Corpora: what a folder or a manifest says is found, and whatever is left out is named."""

import gzip
import json
import os

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from endoxa.errors import EndoxaError, FileError
from endoxa.io.corpora import pictures_below, read_corpus


def tree(folder, files):
    """Files by their paths. Nothing is decoded, so that a picture may be empty."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def skipped(corpus):
    return {one.name: one.why for one in corpus.skipped}


# ---- folders --------------------------------------------------------------------------------------------------


def test_a_tree_of_pictures(tmp_path):
    tree(tmp_path / "zoo", {
        "top.JPG": "", "birds/owl.png": "", "birds/owl.txt": "An owl at night.\nIt hoots.\n", "birds/notes.txt": "x",
        "birds/of prey/kite.webp": "", "drawing.svg": "", ".hidden.png": "", ".git/a.png": "", "birds/.x/b.png": "",
    })  # fmt: skip
    told = []
    corpus = read_corpus(tmp_path / "zoo", progress=lambda *step: told.append(step))
    assert corpus.name == "zoo"
    assert corpus.root == str(tmp_path / "zoo")
    assert corpus.frame["path"].to_list() == ["birds/of prey/kite.webp", "birds/owl.png", "top.JPG"]
    assert corpus.items == ["birds/of_prey/kite", "birds/owl", "top"]
    assert corpus.frame["category"].to_list() == ["birds/of prey", "birds", None]
    assert corpus.frame["caption"].to_list() == [None, "An owl at night.", None]
    assert corpus.words == ((), ("owl", "night"), ())
    assert corpus.skipped == ()
    assert told == [("zoo", 1, 3), ("zoo", 2, 3), ("zoo", 3, 3)]


def test_captions_of_tux_paint_in_any_language(tmp_path):
    text = "\ufeffAn owl.\nde.utf8=Eine Eule.\nja.utf8=フクロウ\nel.utf8=\nde_AT.utf8=nicht diese\n"
    tree(tmp_path, {"owl.png": "", "owl.txt": text, "kite.png": "", "kite.txt": "Орёл Ψαρι"})
    for language, wanted in {
        "": "An owl.",
        "de": "Eine Eule.",
        "ja": "フクロウ",
        "el": "An owl.",
        "xx": "An owl.",
    }.items():
        corpus = read_corpus(tmp_path, language=language)
        assert corpus.frame["caption"].to_list() == ["Орёл Ψαρι", wanted]
    assert read_corpus(tmp_path, language="ja").words == (("орёл", "ψαρι"), ("フクロウ",))


def test_a_long_caption_is_cut_and_one_that_is_not_text_is_named(tmp_path):
    tree(
        tmp_path,
        {"a.png": "", "a.txt": "x" + "é" * 200_000, "b.png": "", "b.txt": b"caf\xe9", "c.png": "", "c.txt": ""},
    )
    (tmp_path / "d.png").touch()
    (tmp_path / "d.txt").mkdir()
    corpus = read_corpus(tmp_path)
    assert len(corpus) == 4
    assert corpus.frame["caption"][0].startswith("xéé")
    assert corpus.frame["caption"][1:].to_list() == [None, None, None]
    assert skipped(corpus) == {
        "b.txt": "is not UTF-8 text; its picture has no caption", "d.txt": "cannot be read: Is a directory"
    }  # fmt: skip


def test_masks_go_with_their_pictures(tmp_path):
    tree(tmp_path, {"a/b.jpg": "", "c.png": "", "masks/a/b.png": "", "masks/lost.png": "", "a/masks/venice.png": ""})
    corpus = read_corpus(tmp_path)
    assert corpus.frame["path"].to_list() == ["a/b.jpg", "a/masks/venice.png", "c.png"]
    assert corpus.frame["mask"].to_list() == ["masks/a/b.png", None, None]
    assert skipped(corpus) == {"masks/lost.png": "is a mask without a picture"}


def test_names_to_be_left_out_and_pictures_that_nothing_decodes(tmp_path):
    tree(tmp_path, {"a.png": "", "a_mirror.png": "", "a_mirror_flip.png": "", "phone.HEIC": "", "mirror.png": ""})
    corpus = read_corpus(tmp_path, leave_out=("*_mirror*", "*_flip*"))
    assert corpus.items == ["a", "mirror"]
    assert skipped(corpus) == {
        "a_mirror.png": "its name matches a pattern to leave out",
        "a_mirror_flip.png": "its name matches a pattern to leave out",
        "phone.HEIC": "HEIC is not read here; save it as JPEG",
    }
    assert len(read_corpus(tmp_path)) == 4


def test_links(tmp_path):
    tree(tmp_path, {"in/a/one.png": "", "out/two.png": ""})
    (tmp_path / "in/again.png").symlink_to("a/one.png")
    (tmp_path / "in/two.png").symlink_to("../out/two.png")
    (tmp_path / "in/lost.png").symlink_to("nowhere.png")
    (tmp_path / "in/a/loop").symlink_to("..")
    (tmp_path / "linked").symlink_to("in")
    for place in ("in", "linked"):
        corpus = read_corpus(tmp_path / place)
        assert corpus.items == ["a/one", "two"]
        assert skipped(corpus) == {
            "again.png": "is a link to a/one.png, which is in the corpus",
            "lost.png": "is a link that cannot be followed to a file",
        }


def test_names_that_are_not_text_and_things_that_are_no_files(tmp_path):
    tree(tmp_path, {"a.png": "", "grün/ж.png": ""})
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    with open(os.fsencode(tmp_path) + b"/caf\xe9.png", "wb"):  # noqa: PTH123
        pass
    corpus = read_corpus(tmp_path)
    assert corpus.items == ["a", "grün/ж"]
    assert skipped(corpus) == {"caf?.png": "its name is not UTF-8; rename it", "pipe.png": "is not a file"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_listed(tmp_path):
    tree(tmp_path, {"a.png": "", "shut/b.png": ""})
    (tmp_path / "shut").chmod(0)
    try:
        assert skipped(read_corpus(tmp_path)) == {"shut": "cannot be listed: Permission denied"}
    finally:
        (tmp_path / "shut").chmod(0o755)


def test_folders_without_pictures(tmp_path):
    with pytest.raises(FileError, match=r"there is no picture in it; expected \.jpg"):
        read_corpus(tmp_path)
    tree(tmp_path, {"a.heic": "", "b.txt": ""})
    with pytest.raises(FileError, match=r"no picture in it \(1 left out, a\.heic: HEIC is not read here"):
        read_corpus(tmp_path)


def test_two_pictures_of_one_name(tmp_path):
    tree(tmp_path, {"a.png": "", "a.jpg": "", "b c.png": ""})
    assert read_corpus(tmp_path).items == ["a.jpg", "a.png", "b_c"]
    tree(tmp_path, {"b_c.png": ""})
    with pytest.raises(FileError, match=r"b c\.png and b_c\.png are both called 'b_c'; rename one"):
        read_corpus(tmp_path)


def test_places_that_are_no_corpus(tmp_path):
    tree(tmp_path, {"a.png": "", "b.pdf": ""})
    with pytest.raises(FileError, match=r"a\.png: is a picture, not a corpus; name a folder"):
        read_corpus(tmp_path / "a.png")
    with pytest.raises(FileError, match=r"b\.pdf: is not a manifest"):
        read_corpus(tmp_path / "b.pdf")
    with pytest.raises(FileError, match=r"none: no such file"):
        read_corpus(tmp_path / "none")
    with pytest.raises(FileError, match=r"c\.csv: no such file"):
        read_corpus(tmp_path / "c.csv")


NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES, min_size=1, max_size=6, unique_by=lambda name: name.casefold()))
def test_names_in_any_script(tmp_path_factory, names):
    folder = tmp_path_factory.mktemp("names")
    for name in names:
        (folder / f"x{name}.png").touch()
    try:
        corpus = read_corpus(folder)
    except FileError as error:
        assert "are both called" in str(error)
        return
    assert sorted(corpus.frame["path"]) == sorted(f"x{name}.png" for name in names)
    assert not any(item != "".join(item.split()) for item in corpus.items)


# ---- manifests ------------------------------------------------------------------------------------------------

ROWS = [
    {
        "path": "in/a.png",
        "words": "Polar bear; snow,ice",
        "category": "/animals//bears/",
        "mask": None,
        "item": "first",
    },
    {"path": "./in/../b.jpg", "words": None, "category": None, "mask": "in/m.png", "item": None},
    {"path": "in/lost.png", "words": "x", "category": "y", "mask": None, "item": None},
]


def manifest(folder, form, rows):
    tree(folder, {"in/a.png": "", "b.jpg": "", "in/m.png": ""})
    path = folder / f"list.{form}"
    if form == "parquet":
        pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    elif form == "jsonl":
        path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    elif form == "csv.gz":
        path.write_bytes(gzip.compress(pl.DataFrame(rows).write_csv().encode()))
    else:
        pl.DataFrame(rows, infer_schema_length=None).write_csv(path, separator="\t" if form == "tsv" else ",")
    return path


@pytest.mark.parametrize(
    ("form", "where"),
    [("csv", "line 4"), ("tsv", "line 4"), ("csv.gz", "line 4"), ("jsonl", "line 5"), ("parquet", "row 3")],
)
def test_a_manifest(tmp_path, form, where):
    rows = [
        {**row, "caption": caption} for row, caption in zip(ROWS, ["Of bears.", "Ein Bär, weiß", None], strict=True)
    ]
    told = []
    corpus = read_corpus(manifest(tmp_path, form, rows), progress=lambda *step: told.append(step[1:]))
    assert corpus.root == str(tmp_path)
    assert corpus.items == ["first", "b"]
    assert corpus.frame["path"].to_list() == ["in/a.png", "b.jpg"]
    assert corpus.words == (("polar", "bear", "snow", "ice"), ("ein", "bär", "weiss"))
    assert corpus.frame["category"].to_list() == ["animals/bears", None]
    assert corpus.frame["mask"].to_list() == [None, "in/m.png"]
    assert corpus.frame["caption"].to_list() == ["Of bears.", "Ein Bär, weiß"]
    assert skipped(corpus) == {"in/lost.png": f"{where}: no such file"}
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_words_in_a_list_stay_as_they_are(tmp_path, form):
    rows = [
        {"path": "b.jpg", "words": [" Polar  Bear", "leaf_3", "of", "", "Ｃ++", "leaf_3"]},
        {"path": "in/a.png", "words": []},
    ]
    corpus = read_corpus(manifest(tmp_path, form, rows))
    assert corpus.words == (("polar bear", "leaf_3", "of", "c++"), ())


@pytest.mark.parametrize("words", [7, {"a": 1}, ["a", 3]])
def test_words_that_are_none(tmp_path, words):
    with pytest.raises(FileError, match=r"list\.jsonl:1: words are .*; expected a text, or a list of texts"):
        read_corpus(manifest(tmp_path, "jsonl", [{"path": "b.jpg", "words": words}]))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../b.jpg", "in/../../b.jpg", "..", "C:\\b.jpg", "\\\\host\\b.jpg", "~/b.jpg", "b\0.jpg"]
)
@pytest.mark.parametrize("column", ["path", "mask"])
def test_paths_that_lead_out_are_refused(tmp_path, path, column):
    rows = [{"path": "b.jpg", "mask": None}, {"path": "in/a.png", "mask": None, column: path}]
    with pytest.raises(FileError, match=r"list\.jsonl:3: '.*' leads out of the manifest's folder") as caught:
        read_corpus(manifest(tmp_path, "jsonl", rows))
    assert repr(path) in str(caught.value)


def test_a_missing_mask(tmp_path):
    rows = [{"path": "b.jpg", "mask": "no.png"}, {"path": "in/a.png", "mask": "in/m.png"}]
    assert skipped(read_corpus(manifest(tmp_path, "csv", rows))) == {"b.jpg": "line 2: its mask no.png does not exist"}


def test_all_missing(tmp_path):
    with pytest.raises(FileError, match=r"none of its 2 pictures exists, x\.png to begin with; paths are relative"):
        read_corpus(manifest(tmp_path, "csv", [{"path": "x.png", "item": 1}, {"path": "in", "item": 2}]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "contains no rows"), ("path,words\n", "contains no rows"),
        ("file\nb.jpg\n", r"csv:2: has the columns file"),
        ("path,words\nb.jpg\n", r"csv:2: 1 columns"), ("path,words\n,x\n", r"csv:2: a row has no path"),
        ("path,item\nb.jpg,x\n\nin/a.png,x\n", r"csv:4: b\.jpg and in/a\.png are both called 'x'"),
        ("path,item\nb.jpg,\nb.jpg,\n", r"csv:3: b\.jpg and b\.jpg are both called"),
    ],
)  # fmt: skip
def test_manifests_that_are_wrong(tmp_path, text, said):
    tree(tmp_path, {"b.jpg": "", "in/a.png": "", "list.csv": text})
    with pytest.raises(FileError, match=said):
        read_corpus(tmp_path / "list.csv")


def test_manifests_that_are_damaged(tmp_path):
    tree(
        tmp_path, {"a.csv": b"path\nb\xe9.jpg\n", "b.jsonl": "{", "c.parquet": "PAR1", "d.jsonl": '{"path": "\\ud800"}'}
    )
    for name, said in {
        "a.csv": "a.csv:2: byte 0xe9",
        "b.jsonl": "b.jsonl:1",
        "c.parquet": "damaged",
        "d.jsonl": "none of",
    }.items():
        with pytest.raises(FileError, match=said):
            read_corpus(tmp_path / name)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(
        ("path", "words", "mask", "category", "item", "caption"),
        st.one_of(st.none(), st.integers(), st.text(max_size=5), st.lists(st.text(max_size=3)), st.just("b.jpg")),
    )), max_size=4),
)  # fmt: skip
def test_any_rows_are_read_or_named(tmp_path, rows):
    try:
        corpus = read_corpus(manifest(tmp_path, "jsonl", rows))
    except EndoxaError as error:
        assert "list.jsonl" in str(error)
    else:
        assert len(corpus) + len(corpus.skipped) == len(rows)


def test_the_order_does_not_depend_on_the_file_system(tmp_path):
    names = ["b/a.png", "a.png", "a/z.png", "a/b/c.png", "B.png", "ä.png", "a-b.png"]
    tree(tmp_path, dict.fromkeys(names, ""))
    assert pictures_below(tmp_path)[0] == sorted(names)
