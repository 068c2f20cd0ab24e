"""Bundles: what goes in comes out, the same bytes every time, and nothing strange is let in."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from endoxa.errors import FileError, TableError
from endoxa.io import bundles
from endoxa.io.bundles import read_bundle, write_bundle
from endoxa.io.formats import sniff
from endoxa.io.read import read
from endoxa.tables import Answers, Bundle, Labels, Opinions, Run, Taxonomy

CAT, DOG = b"the picture of a cat", b"the picture of a dog"
HASH = {name: hashlib.sha256(data).hexdigest() for name, data in (("cat", CAT), ("dog", DOG))}


def whole(**changes: Any) -> Bundle:
    """A bundle with every table, and with names and texts that a careless format would spoil."""
    items = pl.DataFrame(
        {
            "item": ["007", "a,b", 'say "x"', "ß"],
            "text": ["", None, "two\r\nlines", " blank "],
            "file": ["cats/1.JPG", "dog", None, None],
            "sha256": [HASH["cat"], HASH["dog"], None, None],
        }
    )
    queries = pl.DataFrame({"query": ["01", "q 2"], "text": ["a cat", None]})
    rows = {
        "source": ["mallory 1", "0", "0"],
        "query": ["01", "01", "q 2"],
        "item": ["007", "007", "a,b"],
        "grade": [4.0, None, 2.5],
        "scale": ["1-5"] * 3,
        "propensity": [0.25, 0.25, 1 / 3],
        "role": ["main", "common", "gold"],
        "at": [datetime(2026, 3, 1, 12, 30, tzinfo=UTC), None, None],
    }
    run = pl.DataFrame({"query": ["01"] * 3, "item": ["a,b", "007", "ß"], "score": [1.0, 1.0, 0.5]})
    parts: dict[str, Any] = {
        "opinions": Opinions.of(pl.DataFrame(rows)),
        "labels": Labels.of(pl.DataFrame({"source": ["x", "y"], "item": ["007", "ß"], "category": ["owl", "bird"]})),
        "answers": Answers.of(pl.DataFrame({"query": ["01", "01"], "item": ["ß", "007"], "rank": [2, 1]})),
        "taxonomy": Taxonomy.of_paths(["animals/birds/owls", "plants"]),
        "calibration": pl.DataFrame({"source": ["0"], "a": [1.5], "b": [-0.1], "n": [7], "flags": [["few", "odd"]]}),
        "draws": pl.DataFrame({"task": [3], "query": ["01"], "system": ["bm25"], "item": ["007"]}),
        "runs": Run.of(run, system="bm25", ties="input"),
    }
    said: dict[str, Any] = {
        "name": "pets", "title": "Pets, rated", "task": "search", "licence": "CC BY 4.0", "screen": "four-results",
        "scale": (1.0, 5.0), "threshold": 3.0, "made": "2026-03-01", "notes": ("pilot", "zwölf Leute"),
    }  # fmt: skip
    return Bundle(**(said | parts | {"items": items, "queries": queries} | changes))


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    write_bundle(whole(), tmp_path / "pets.zip")
    return tmp_path / "pets.zip"


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(path: Path, members: dict[str, bytes], /, **manifest: Any) -> Path:
    """A zip of these members whose hashes are right, with these changes to the manifest: an insider's work."""
    members = dict(members)
    said = json.loads(members.pop("bundle.json")) | {
        "members": {name: {"sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()}
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("bundle.json", json.dumps(said | manifest))
    return path


def test_every_table_and_setting_comes_back(packed: Path) -> None:
    made, given = read_bundle(packed), whole()
    for name in (*bundles.TEXTS, "scale", "threshold", "notes", "counts"):
        assert getattr(made, name) == getattr(given, name), name
    assert_frame_equal(made.items, given.items)
    assert_frame_equal(made.queries, given.queries)
    assert made.tables.keys() == given.tables.keys()
    for name, frame in given.tables.items():
        assert_frame_equal(made.tables[name], frame)
    assert made.runs is not None
    assert made.runs.ties == "input"
    assert made.runs.frame["item"].to_list() == ["a,b", "007", "ß"]


def test_a_bundle_may_hold_little(tmp_path: Path) -> None:
    few = dict.fromkeys(("labels", "answers", "taxonomy", "calibration", "draws", "runs"))
    write_bundle(whole(**few, notes=(), title=""), tmp_path / "few.zip")
    made = read_bundle(tmp_path / "few.zip")
    assert list(made.tables) == ["opinions"]
    assert (made.labels, made.runs, made.notes) == (None, None, ())


def test_the_same_bundle_gives_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    scattered = whole().opinions
    assert scattered is not None
    rows = [scattered.frame[place : place + 1] for place in range(len(scattered))]
    again = whole(opinions=Opinions(pl.concat(rows, rechunk=False)))
    write_bundle(again, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()
    write_bundle(read_bundle(packed), tmp_path / "third.zip")
    assert (tmp_path / "third.zip").read_bytes() == packed.read_bytes()
    code = (
        "import sys; from pathlib import Path; from endoxa.io.bundles import *; "
        "write_bundle(read_bundle(sys.argv[1]), sys.argv[2])"
    )
    other = tmp_path / "process.zip"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", code, packed, other], check=True, env=environment)
    assert other.read_bytes() == packed.read_bytes()


def test_others_can_read_it_without_endoxa(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        names = archive.namelist()
        assert names == sorted(names)
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    members = members_of(packed)
    assert pl.read_csv(members["opinions.csv"])["grade"].to_list() == [4.0, None, 2.5]
    assert pl.read_parquet(members["opinions.parquet"])["source"].to_list() == ["mallory 1", "0", "0"]
    assert pl.read_csv(members["calibration.csv"])["flags"].to_list() == ["few;odd"]
    assert members["LICENCE.txt"].decode() == "CC BY 4.0\n"
    assert "endoxa eval pets.zip new.run" in members["README.md"].decode()
    assert "zwölf Leute" in members["README.md"].decode()
    said = json.loads(members["bundle.json"])
    assert (said["version"], said["scale"], said["threshold"], said["counts"]["opinions"]) == (1, [1.0, 5.0], 3.0, 3)
    for name, entry in said["members"].items():
        assert entry == {"sha256": hashlib.sha256(members[name]).hexdigest(), "bytes": len(members[name])}
    assert said["members"].keys() == members.keys() - {"bundle.json"}


def test_files_go_in_only_when_given_and_only_if_unchanged(packed: Path, tmp_path: Path) -> None:
    assert not [name for name in members_of(packed) if name.startswith("files/")]
    (tmp_path / "1.jpg").write_bytes(CAT)
    (tmp_path / "d.png").write_bytes(DOG)
    given = {"cats/1.JPG": tmp_path / "1.jpg", HASH["dog"]: tmp_path / "d.png"}  # by name, or by hash
    write_bundle(whole(), tmp_path / "files.zip", files=given)
    members = members_of(tmp_path / "files.zip")
    assert members[f"files/{HASH['cat']}.jpg"] == CAT
    assert members[f"files/{HASH['dog']}.png"] == DOG
    assert_frame_equal(read_bundle(tmp_path / "files.zip").items, whole().items)
    (tmp_path / "1.jpg").write_bytes(CAT + b"!")
    with pytest.raises(FileError, match=r"1\.jpg: the SHA-256 is \w+, but the bundle has \w+; restore the file"):
        write_bundle(whole(), tmp_path / "changed.zip", files=given)
    with pytest.raises(FileError, match="nowhere: cannot be read: No such file"):
        write_bundle(whole(), tmp_path / "changed.zip", files={"cats/1.JPG": tmp_path / "nowhere"})
    with pytest.raises(TableError, match=r"file 'cats/1.jpg' belongs to no item .* did you mean cats/1.JPG"):
        write_bundle(whole(), tmp_path / "changed.zip", files={"cats/1.jpg": tmp_path / "1.jpg"})
    with pytest.raises(TableError, match="file 'dog' has no sha256"):
        bare = whole().items.with_columns(pl.lit(None, dtype=pl.String).alias("sha256"))
        write_bundle(whole(items=bare), tmp_path / "changed.zip", files={"dog": tmp_path / "d.png"})
    assert not (tmp_path / "changed.zip").exists()


def test_it_is_written_whole_or_not_at_all(packed: Path, tmp_path: Path) -> None:
    before = packed.read_bytes()
    with pytest.raises(FileError):
        write_bundle(whole(title="other"), packed, files={"cats/1.JPG": tmp_path / "nowhere"})
    assert packed.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["pets.zip"]
    with pytest.raises(FileError, match="cannot be written"):
        write_bundle(whole(), tmp_path / "no" / "such" / "folder.zip")


def test_a_member_that_was_changed_is_named(packed: Path, tmp_path: Path) -> None:
    members = members_of(packed)
    for name in ("opinions.csv", "opinions.parquet", "items.csv", "LICENCE.txt"):
        with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
            for each, data in members.items():
                archive.writestr(each, data + b" " if each == name else data)
        with pytest.raises(FileError, match=f"other.zip: member {name} does not match bundle.json: its SHA-256 is"):
            read_bundle(tmp_path / "other.zip")


def test_files_are_checked_too_unless_they_are_not_needed(tmp_path: Path) -> None:
    (tmp_path / "1.jpg").write_bytes(CAT)
    write_bundle(whole(), tmp_path / "pets.zip", files={"cats/1.JPG": tmp_path / "1.jpg"})
    data = (tmp_path / "pets.zip").read_bytes()
    (tmp_path / "pets.zip").write_bytes(data.replace(CAT, CAT[::-1]))
    with pytest.raises(FileError, match=rf"member files/{HASH['cat']}.jpg is damaged"):  # the zip's own check of bytes
        read_bundle(tmp_path / "pets.zip")
    assert read_bundle(tmp_path / "pets.zip", check_files=False).name == "pets"
    members = members_of_stored(tmp_path)
    with pytest.raises(FileError, match="is not named after its content"):
        read_bundle(repacked(tmp_path / "b.zip", members | {f"files/{HASH['dog']}.jpg": CAT}))


def members_of_stored(folder: Path) -> dict[str, bytes]:
    write_bundle(whole(), folder / "plain.zip")
    return members_of(folder / "plain.zip")


@pytest.mark.parametrize(
    "name", ["../evil.csv", "/etc/passwd.csv", "files/../../x", "a\\b.csv", "C:x.csv", "files/x.jpg", "sub/items.csv"]
)
def test_a_name_that_leaves_the_bundle_is_refused(packed: Path, tmp_path: Path, name: str) -> None:
    path = repacked(tmp_path / "evil.zip", members_of(packed) | {name: b"x"})
    with pytest.raises(FileError, match=r"evil.zip: member '.*' does not belong in a bundle"):
        read_bundle(path)


def test_members_that_are_missing_or_too_many(packed: Path, tmp_path: Path) -> None:
    members = members_of(packed)
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        for name, data in [*members.items(), ("more.csv", b"x")]:
            archive.writestr(name, data)
    with pytest.raises(FileError, match=r"member more.csv is not named in bundle.json"):
        read_bundle(tmp_path / "more.zip")
    with zipfile.ZipFile(tmp_path / "less.zip", "w") as archive:
        for name, data in members.items():
            if name != "opinions.csv":
                archive.writestr(name, data)
    with pytest.raises(FileError, match=r"member opinions.csv is not in the zip"):
        read_bundle(tmp_path / "less.zip")
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("items.csv", members["items.csv"])
    with pytest.raises(FileError, match=r"member items.csv occurs twice"):
        read_bundle(tmp_path / "twice.zip")
    with pytest.raises(FileError, match=r"has no member items.csv"):
        read_bundle(repacked(tmp_path / "none.zip", {k: v for k, v in members.items() if k != "items.csv"}))


def test_what_would_unpack_to_too_much_is_refused_unread(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members_of(packed).items():
            archive.writestr(name, data)
        archive.writestr("more.csv", b"0" * 5_000_000)
    assert bomb.stat().st_size < 50_000
    monkeypatch.setattr(bundles, "MOST_BYTES", 1_000_000)
    with pytest.raises(FileError, match=r"unpacked, it would take 5,\d{3},\d{3} bytes \(largest member: more.csv\)"):
        read_bundle(bomb)
    assert read_bundle(packed).name == "pets"
    monkeypatch.setattr(bundles, "MOST_ROWS", 2)
    with pytest.raises(
        FileError, match=r"member opinions.parquet: there are 3 rows; a table of a bundle has at most 2"
    ):
        read_bundle(packed)
    monkeypatch.setattr(bundles, "MOST_MEMBERS", 5)
    with pytest.raises(FileError, match="a bundle has at most 5"):
        read_bundle(packed)


def test_a_size_that_lies_does_not_unpack_more(packed: Path, tmp_path: Path) -> None:
    """The entry says 10 bytes, the stream holds a megabyte: what is beyond is never read, and the member is damaged."""
    lying = tmp_path / "lying.zip"
    with zipfile.ZipFile(lying, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members_of(packed).items():
            archive.writestr(name, data)
        archive.writestr("more.csv", b"0" * 1_000_000)
    data = lying.read_bytes()
    assert data.count((1_000_000).to_bytes(4, "little")) == 2  # in the local header and in the directory
    lying.write_bytes(data.replace((1_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with zipfile.ZipFile(lying) as archive, pytest.raises(FileError, match=r"member more.csv is damaged"):
        bundles._content(archive, archive.getinfo("more.csv"), None, "lying.zip")


def test_what_is_not_a_bundle(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("q1 0 d1 1\n")
    with pytest.raises(FileError, match=r"text.zip: the file is not a zip, or is damaged"):
        read_bundle(tmp_path / "text.zip")
    (tmp_path / "half.zip").write_bytes(packed.read_bytes()[:-200])
    with pytest.raises(FileError, match="the file is not a zip, or is damaged"):
        read_bundle(tmp_path / "half.zip")
    with pytest.raises(FileError, match="no such file"):
        read_bundle(tmp_path / "absent.zip")
    with pytest.raises(FileError, match="the path is a directory"):
        read_bundle(tmp_path)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(FileError, match=r"has no member bundle.json"):
        read_bundle(tmp_path / "other.zip")


def test_damage_anywhere_is_an_error_of_the_file_or_does_no_harm(packed: Path, tmp_path: Path) -> None:
    """Bytes changed, lost and added at random places; half of them in the directory at the end."""
    data, rng = packed.read_bytes(), np.random.default_rng(3)
    path, refused = tmp_path / "damaged.zip", 0
    cases = [spoilt(data, rng) for _ in range(150)]
    assert b"PK\x01\x02\x14\x03\x14" in data
    cases.append(data.replace(b"PK\x01\x02\x14\x03\x14", b"PK\x01\x02\x14\x03\xff"))  # a version that no zip has
    for case in cases:
        path.write_bytes(case)
        for act in (read_bundle, sniff):
            try:
                found = act(path)
            except FileError as error:
                assert str(error).startswith(str(path))
                refused += 1
            else:
                assert isinstance(found, str) or found.counts == whole().counts
    assert refused > 100


def spoilt(data: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(data)) if rng.random() < 0.5 else len(data) - rng.integers(1, 1800))
    size = int(rng.integers(1, 20))
    ways = (
        data[:at] + rng.bytes(1) + data[at + 1 :],
        data[:at] + data[at + size :],
        data[:at] + rng.bytes(size) + data[at:],
    )
    return ways[rng.integers(3)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "has version 2; expected version 1; install a newer Endoxa"),
        ({"version": None}, "version None"),
        ({"format": "zip"}, "does not have the format 'endoxa-bundle'"),
        ({"name": 3}, "'name' is missing or not a str"),
        ({"notes": "x"}, "'notes' is missing or not a list"),
        ({"scale": [1]}, "scale and threshold are not three numbers"),
        ({"threshold": "3"}, "scale and threshold are not three numbers"),
        ({"threshold": 7}, "the threshold 7 is outside the scale from 1 to 5"),
        ({"scale": [5, 1]}, "from the least to the greatest"),
        ({"task": "serch"}, "task of a bundle must be search or classification, not 'serch'; did you mean search"),
        ({"made": "yesterday"}, "made must be a date like 2026-03-01, not 'yesterday'"),
        ({"ties": "coin"}, "member runs.parquet: ties must be one of"),
        ({"counts": {"items": 9}}, "counts 9 rows of items, there are 4"),
        ({"members": []}, "'members' is missing or not a dict"),
    ],
)
def test_a_manifest_that_is_not_understood(packed: Path, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = repacked(tmp_path / "b.zip", members_of(packed), **change)
    with pytest.raises(FileError) as caught:
        read_bundle(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_manifest_that_is_no_json(packed: Path, tmp_path: Path) -> None:
    for text in (b"{", b"[]", b"[" * 100_000):
        with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
            archive.writestr("bundle.json", text)
        with pytest.raises(FileError, match=r"b.zip: member bundle.json"):
            read_bundle(tmp_path / "b.zip")


def test_a_table_that_is_not_one_is_the_member_s_fault(packed: Path, tmp_path: Path) -> None:
    members = members_of(packed)
    for data, said in (
        (b"PAR1 nonsense", "member opinions.parquet is damaged"),
        (parquet(pl.DataFrame({"query": ["01"], "item": ["007"]})), "needs a column 'grade'"),
        (parquet(pl.DataFrame({"query": ["01"], "item": ["x"], "grade": [1.0]})), "item 'x' of the opinions is not in"),
    ):
        with pytest.raises(FileError) as caught:
            read_bundle(repacked(tmp_path / "b.zip", members | {"opinions.parquet": data}))
        assert said in str(caught.value)
        assert "b.zip" in str(caught.value)
    with pytest.raises(FileError, match=r"b.zip: member bundle.json: a table of items needs a column 'item'"):
        read_bundle(repacked(tmp_path / "b.zip", members | {"items.csv": b"thing\nx\n"}))


def parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": " "}, "name of a bundle must be a text"),
        ({"scale": (1.0, float("inf"))}, "from the least to the greatest"),
        ({"items": pl.DataFrame({"item": ["a", "a"]})}, "item 'a' occurs twice in the table of items"),
        (
            {"items": pl.DataFrame({"item": ["a"], "sha256": ["xyz"]})},
            "sha256 in the table of items must be 64 hexadecimal digits",
        ),
        ({"items": pl.DataFrame({"item": ["a"], "file": ["/home/ada/a.jpg"]})}, "is outside the collection"),
        ({"items": pl.DataFrame({"item": ["a"], "file": ["x/../../a"]})}, "is outside the collection"),
        ({"items": pl.DataFrame({"item": ["a"], "file": ["C:\\a.jpg"]})}, "is outside the collection"),
        ({"items": pl.DataFrame({"item": ["007"]})}, "item 'a,b' of the opinions is not in the table of items"),
        ({"queries": pl.DataFrame({"query": ["01"]})}, "query 'q 2' of the opinions is not in the table of queries"),
        ({"opinions": None, "labels": None, "answers": None}, "so that runs can be scored"),
        ({"calibration": pl.DataFrame({"source": ["0"], "a": [1.0]})}, "needs a column 'b'"),
        ({"calibration": pl.DataFrame({"source": ["0"], "a": [-1.0], "b": [0.0]})}, "a above 0"),
        ({"calibration": pl.DataFrame({"source": ["0"] * 2, "a": [1.0] * 2, "b": [0.0] * 2})}, "calibrated twice"),
    ],
)
def test_a_bundle_that_makes_no_sense_is_not_made(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(TableError) as caught:
        whole(**changes)
    assert said in str(caught.value)


def test_it_is_told_from_other_files_by_content(packed: Path, tmp_path: Path) -> None:
    other = tmp_path / "named.txt"
    other.write_bytes(packed.read_bytes())
    assert sniff(other) == "bundle"
    with pytest.raises(
        FileError, match="the file is a bundle of several tables; score runs against it with endoxa eval"
    ):
        read(other)
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        archive.writestr("bm25.run", "q1 Q0 d1 1 3.5 bm25\n")
    with pytest.raises(FileError, match=r"the zip has no member bundle.json; unpack it"):
        sniff(tmp_path / "runs.zip")
    (tmp_path / "half.zip").write_bytes(packed.read_bytes()[:100])
    with pytest.raises(FileError, match="the zip is damaged or incomplete"):
        sniff(tmp_path / "half.zip")
    assert replace(whole(), title="x").title == "x"
