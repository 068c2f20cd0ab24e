"""A benchmark in one file: what was asked, what people said, how it was drawn, under which licence.

A bundle is a zip. `bundle.json` says what is inside, with the SHA-256 of every member; tables stand twice, as Parquet
(which is read) and as CSV (for everybody else). The same bundle gives the same bytes. The hashes find damage and
careless edits; they are no signature, for whoever rewrites the zip can rewrite them too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import polars as pl

from endoxa.errors import FileError, TableError, TextError, did_you_mean
from endoxa.io.formats import MANIFEST, first_line
from endoxa.io.write import replacing
from endoxa.tables import Answers, Bundle, Labels, Opinions, Run, Table, Taxonomy
from endoxa.tables.bundle import SHA256, TEXTS

FORMAT, VERSION = "endoxa-bundle", 1
MOST_BYTES = 4 << 30  # of all tables together, unpacked
MOST_FILE_BYTES = 64 << 30  # of all images and texts together
MOST_MEMBERS = 1_000_000
MOST_ROWS = 100_000_000  # of one table: Parquet packs equal rows to nothing
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name: the same in every bundle
CHUNK = 1 << 20
MEMBER = re.compile(r"[A-Za-z0-9_-]+\.(csv|parquet|json|md|txt)|files/[0-9a-f]{64}(\.[a-z0-9]{1,10})?")
SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
TABLES: dict[str, Callable[[pl.DataFrame], Table]] = {
    "opinions": Opinions.of, "labels": Labels.of, "answers": Answers.of, "taxonomy": Taxonomy.of,
}  # fmt: skip
FRAMES = ("calibration", "draws")  # kept as they are
AGAIN = "fetch or make the bundle again"


# ---- writing ------------------------------------------------------------------------------------------


def write_bundle(bundle: Bundle, path: str | os.PathLike[str], *, files: Mapping[str, Path] | None = None) -> None:
    """Write a bundle as one zip, whole or not at all; the same bundle gives the same bytes.

    `files` says where the files lie, each by its name in a column `file` or by its hash; they are copied into the zip
    as `files/<sha256><suffix>`, and must be what their hash says. Without it the zip holds hashes only.
    """
    members: dict[str, bytes | Path] = dict(_members(bundle))
    members |= _files(bundle, files or {})
    hashes = {name: _digest(content) for name, content in members.items()}
    for name, (digest, _) in hashes.items():
        if name.startswith("files/") and name[6:70] != digest:
            source = members[name]
            raise FileError(str(source), f"SHA-256 is {digest}, the bundle says {name[6:70]}", "has the file changed?")
    members[MANIFEST] = _manifest(bundle, hashes)
    target = Path(path)
    with replacing(target) as part, zipfile.ZipFile(part, "w") as archive:
        for name in sorted(members):
            content = members[name]
            info = zipfile.ZipInfo(name, EPOCH)
            packed = isinstance(content, Path) or name.endswith(".parquet")  # images and Parquet are dense already
            info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            info.create_system, info.external_attr = 3, 0o644 << 16
            info.file_size = hashes[name][1] if name in hashes else 0
            with archive.open(info, "w") as stream:
                for chunk in _chunks(content):
                    stream.write(chunk)


def _members(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    yield "items.csv", _csv(bundle.items)
    yield "queries.csv", _csv(bundle.queries)
    for name, frame in bundle.tables.items():
        yield f"{name}.parquet", _parquet(frame)
        yield f"{name}.csv", _csv(frame)
    yield "LICENCE.txt", ((bundle.licence or "No licence was given: ask the makers before you use it.") + "\n").encode()
    yield "README.md", _readme(bundle).encode()


def _csv(frame: pl.DataFrame) -> bytes:
    """Text for any tool. A list in a cell becomes its entries with semicolons between."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    stream = io.BytesIO()
    frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(";") for name in lists).write_csv(stream)
    return stream.getvalue()


def _parquet(frame: pl.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.rechunk().write_parquet(stream)  # one chunk: how a frame was put together must not show
    return stream.getvalue()


def _files(bundle: Bundle, files: Mapping[str, Path]) -> dict[str, bytes | Path]:
    """Where the bytes of each member `files/…` lie."""
    rows = pl.concat([bundle.items.select("file", "sha256"), bundle.queries.select("file", "sha256")])
    hashes = dict(rows.filter(pl.col("file").is_not_null()).iter_rows()) | {name: name for name in rows["sha256"]}
    found: dict[str, bytes | Path] = {}
    for name, place in sorted(files.items()):
        if name not in hashes:
            known = filter(None, hashes)
            raise TableError(f"file {name!r} is neither an item's nor a query's{did_you_mean(name, known)}")
        if hashes[name] is None:
            raise TableError(f"file {name!r} has no sha256 in the table; give it, so that others can check it")
        suffix = (PurePosixPath(name).suffix or Path(place).suffix).lower()
        found[f"files/{hashes[name]}{suffix if SUFFIX.fullmatch(suffix) else ''}"] = Path(place)
    return found


def _chunks(content: bytes | Path) -> Iterator[bytes]:
    """The bytes in pieces; a file that cannot be read is named."""
    if isinstance(content, bytes):
        yield content
        return
    try:
        with content.open("rb") as file:
            yield from iter(lambda: file.read(CHUNK), b"")
    except OSError as error:
        raise FileError(str(content), f"cannot be read: {error.strerror or error}") from None


def _digest(content: bytes | Path) -> tuple[str, int]:
    """SHA-256 and size."""
    made, size = hashlib.sha256(), 0
    for chunk in _chunks(content):
        made.update(chunk)
        size += len(chunk)
    return made.hexdigest(), size


def _manifest(bundle: Bundle, hashes: Mapping[str, tuple[str, int]]) -> bytes:
    said: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    said |= {name: getattr(bundle, name) for name in TEXTS}
    said |= {"scale": [float(end) for end in bundle.scale], "threshold": float(bundle.threshold)}
    said |= {"notes": list(bundle.notes), "counts": bundle.counts}
    if bundle.runs is not None:
        said["ties"] = bundle.runs.ties
    said["members"] = {name: {"sha256": digest, "bytes": size} for name, (digest, size) in sorted(hashes.items())}
    return (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()


INSIDE = {
    "items": "what can be returned: item, text, file, sha256",
    "queries": "what is asked: query, text, file, sha256",
    "opinions": "who said what of which pair: grade (empty: undecided), propensity (the chance that the pair was "
    "drawn; weight by 1/propensity), role (practice, gold and attention rows do not count)",
    "labels": "who filed which item in which category",
    "answers": "each subject's own ranked answer",
    "taxonomy": "the categories and what they lie under",
    "calibration": "per rater a and b: a rating x is worth a·x + b",
    "draws": "how the pairs were drawn",
    "runs": "what the systems at collection time returned",
}


def _readme(bundle: Bundle) -> str:
    """What is inside and how to score a run, for whoever unpacks it."""
    lo, hi = bundle.scale
    counted = "\n".join(f"| {name} | {rows:,} | {INSIDE[name]} |" for name, rows in bundle.counts.items())
    notes = "".join(f"\n- {note}" for note in bundle.notes)
    relevant = f"Ratings go from {lo:g} to {hi:g}; above {bundle.threshold:g} is relevant. " if bundle.opinions else ""
    return f"""# {bundle.title or bundle.name}

A benchmark for {bundle.task}, made {bundle.made} with the screen "{bundle.screen}". {relevant}Licence: LICENCE.txt.

## Score a run

    endoxa eval {bundle.name}.zip new.run

A run has six columns: query Q0 item rank score system. It need not have been there when people were asked: what share
of its results they saw is told with every number.

## What is inside

| table | rows | |
|---|---|---|
{counted}

Tables stand as .csv (UTF-8, first line names) and as .parquet; bundle.json has every setting and the SHA-256 of each
member. `files/` holds files by their SHA-256, where they could be given; elsewhere the hash tells that a file is the
same. Raters go by the names under which they were entered.
{f"{chr(10)}## Notes{chr(10)}{notes}{chr(10)}" if notes else ""}"""


# ---- reading ------------------------------------------------------------------------------------------


def read_bundle(path: str | os.PathLike[str], *, check_files: bool = True) -> Bundle:
    """Read a bundle: version, member names, sizes, hashes and tables are checked; nothing is unpacked to disk.

    check_files=False leaves the bytes under `files/` alone: scoring needs the tables only.
    """
    label = os.fspath(path)
    with _opened(label) as archive:
        infos = _infos(archive, label)
        said = _said(archive, infos, label)
        hashes = _hashes(said, infos, label)
        for name in sorted(infos):
            if name.startswith("files/") and check_files:
                _check(archive, infos[name], hashes[name], label)
        contents = {name: _content(archive, infos[name], hashes.get(name), label) for name in infos if "/" not in name}
    return _made(said, contents, label)


@contextmanager
def _opened(label: str) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(label)
    except (zipfile.BadZipFile, NotImplementedError):  # of a version that no zip has
        raise FileError(label, "is not a zip, or not a whole one", AGAIN) from None
    except FileNotFoundError:
        raise FileError(label, "no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FileError(label, f"cannot be opened: {reason}") from None
    with archive:
        yield archive


def _infos(archive: zipfile.ZipFile, label: str) -> dict[str, zipfile.ZipInfo]:
    """The members by name; refused before anything is unpacked if a name or a size is not a bundle's."""
    found: dict[str, zipfile.ZipInfo] = {}
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS:
        raise FileError(label, f"{len(entries):,} members", f"a bundle has at most {MOST_MEMBERS:,}")
    for info in entries:
        name = info.orig_filename  # as it stands in the zip: filename is cut at a NUL
        if name == "files/":  # some tools enter folders
            continue
        if not MEMBER.fullmatch(name):
            raise FileError(label, f"member {name!r:.80} is not a bundle's", "expected tables and files/<sha256>")
        if name in found:
            raise FileError(label, f"member {name} stands in it twice", AGAIN)
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
            raise FileError(label, f"member {name} is packed in an unusual way, or encrypted", AGAIN)
        found[name] = info
    for files, most in ((False, MOST_BYTES), (True, MOST_FILE_BYTES)):
        size = sum(info.file_size for name, info in found.items() if ("/" in name) == files)
        if size > most:
            largest = max((name for name in found if ("/" in name) == files), key=lambda name: found[name].file_size)
            raise FileError(
                label, f"unpacked it would take {size:,} bytes (the most: member {largest})",
                f"at most {most:,} are read; make a smaller bundle",
            )  # fmt: skip
    return found


def _said(archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], label: str) -> dict[str, Any]:
    """The manifest, if it is one and of a version that is understood."""
    if MANIFEST not in infos:
        raise FileError(label, f"has no member {MANIFEST}", "a bundle is written by endoxa.io.bundles.write_bundle")
    try:
        said = json.loads(_content(archive, infos[MANIFEST], None, label))
    except (ValueError, RecursionError):
        raise FileError(label, f"member {MANIFEST} is not JSON", AGAIN) from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise FileError(label, f"member {MANIFEST} does not say format {FORMAT!r}", "give a bundle")
    if said.get("version") != VERSION:
        raise FileError(
            label, f"member {MANIFEST}: version {said.get('version')!r:.20}; this Endoxa reads version {VERSION}",
            "take an Endoxa as new as the bundle",
        )  # fmt: skip
    kinds: dict[str, type] = dict.fromkeys(TEXTS, str) | {"scale": list, "notes": list, "counts": dict, "members": dict}
    for key, kind in kinds.items():
        if not isinstance(said.get(key), kind):
            raise FileError(label, f"member {MANIFEST}: {key!r} is missing or not a {kind.__name__}", AGAIN)
    ends = [*said["scale"], said.get("threshold")]
    if len(ends) != 3 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        raise FileError(label, f"member {MANIFEST}: scale and threshold are not three numbers", AGAIN)
    return said


def _hashes(said: dict[str, Any], infos: dict[str, zipfile.ZipInfo], label: str) -> dict[str, str]:
    """The hash of each member, as the manifest says; every member is named there and there are no others."""
    members = said["members"]
    for name in sorted(infos.keys() ^ {MANIFEST} ^ members.keys()):
        what = "is not in the zip" if name in members else f"is not named in {MANIFEST}"
        raise FileError(label, f"member {name:.80} {what}", AGAIN)
    for name, entry in members.items():
        digest = entry.get("sha256") if isinstance(entry, dict) else None
        if not isinstance(digest, str) or not SHA256.fullmatch(digest):
            raise FileError(label, f"member {MANIFEST}: {name:.80} has no sha256", AGAIN)
        if name.startswith("files/") and name[6:70] != digest:
            raise FileError(label, f"member {name:.80} is not named after its content", AGAIN)
    return {name: entry["sha256"] for name, entry in members.items()}


def _pieces(archive: zipfile.ZipFile, info: zipfile.ZipInfo, label: str) -> Iterator[bytes]:
    """The bytes of a member; never more than its entry says, for that is what was counted."""
    try:
        with archive.open(info) as stream:
            yield from iter(lambda: stream.read(CHUNK), b"")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise FileError(label, f"member {info.filename} is damaged ({first_line(error)})", AGAIN) from None


def _refuse_other(made: str, digest: str, name: str, label: str) -> None:
    if made != digest:
        raise FileError(label, f"member {name} is not what {MANIFEST} says: its SHA-256 is {made}", AGAIN)


def _check(archive: zipfile.ZipFile, info: zipfile.ZipInfo, digest: str, label: str) -> None:
    """Hash a member without keeping it."""
    made = hashlib.sha256()
    for piece in _pieces(archive, info, label):
        made.update(piece)
    _refuse_other(made.hexdigest(), digest, info.filename, label)


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo, digest: str | None, label: str) -> bytes:
    content = b"".join(_pieces(archive, info, label))
    if digest is not None:
        _refuse_other(hashlib.sha256(content).hexdigest(), digest, info.filename, label)
    return content


def _made(said: dict[str, Any], contents: dict[str, bytes], label: str) -> Bundle:
    """The bundle of the manifest and the tables; what they do not allow is the file's fault."""
    tables: dict[str, Any] = {}
    for name in ("items", "queries"):
        if f"{name}.csv" not in contents:
            raise FileError(label, f"has no member {name}.csv", AGAIN)
        with _blamed(label, f"{name}.csv"):
            tables[name] = pl.read_csv(contents[f"{name}.csv"], infer_schema=False)
    for name in (*TABLES, *FRAMES, "runs"):
        member = f"{name}.parquet"
        if member not in contents:
            continue
        with _blamed(label, member):
            frame = _rows(io.BytesIO(contents[member]))
            if name == "runs":
                tables[name] = Run.of(frame, ties=said.get("ties", "trec"))
            else:
                tables[name] = TABLES[name](frame) if name in TABLES else frame
    with _blamed(label, MANIFEST):
        bundle = Bundle(
            **{name: said[name] for name in TEXTS}, **tables, scale=(said["scale"][0], said["scale"][1]),
            threshold=said["threshold"], notes=tuple(map(str, said["notes"])),
        )  # fmt: skip
    if said["counts"] != bundle.counts:
        wrong = next(
            name for name in [*bundle.counts, *said["counts"]] if said["counts"].get(name) != bundle.counts.get(name)
        )
        raise FileError(
            label, f"member {MANIFEST} counts {said['counts'].get(wrong)!r:.20} rows of {wrong:.40}, "
            f"there are {bundle.counts.get(wrong)}", AGAIN,
        )  # fmt: skip
    return bundle


def _rows(stream: BinaryIO) -> pl.DataFrame:
    """The rows of a Parquet member, unless there are absurdly many."""
    rows = pl.scan_parquet(stream).select(pl.len()).collect().item()
    if rows > MOST_ROWS:
        raise TableError(f"{rows:,} rows; a bundle's table has at most {MOST_ROWS:,}")
    stream.seek(0)
    return pl.read_parquet(stream)


@contextmanager
def _blamed(label: str, member: str) -> Iterator[None]:
    """What a table refuses inside is an error of this member."""
    try:
        yield
    except (TableError, TextError) as error:
        raise FileError(label, f"member {member}: {error}", AGAIN) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise FileError(label, f"member {member} is damaged ({first_line(error)})", AGAIN) from None
