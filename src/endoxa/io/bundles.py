"""Reads and writes bundles: benchmarks in one file, with queries, items, judgments, sampling and licence.

A bundle is a zip. `bundle.json` lists the members with their SHA-256. Each table is stored twice: as Parquet, which is
read, and as CSV, for other tools. The same bundle gives the same bytes. The hashes detect damage and careless edits;
they are not a signature, because anybody who rewrites the zip can rewrite them too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from endoxa.errors import FileError, TableError, TextError, did_you_mean
from endoxa.io import faults
from endoxa.io.faults import first_line
from endoxa.io.formats import MANIFEST
from endoxa.io.limits import refuse_cells, refuse_content
from endoxa.io.missing_files import unreadable
from endoxa.io.parquet import parquet_rows
from endoxa.io.sources import Where, source_of
from endoxa.io.spreadsheets import escaped, unescaped
from endoxa.io.write import replacing
from endoxa.tables import Answers, Bundle, Labels, Opinions, Run, Table, Taxonomy
from endoxa.tables.bundle import SHA256, TEXTS

FORMAT, VERSION = "endoxa-bundle", 1
MOST_BYTES = 4 << 30  # all tables together, unpacked
MOST_FILE_BYTES = 64 << 30  # all images and texts together
MOST_MEMBERS = 1_000_000
MOST_ROWS = 100_000_000  # rows of one table; Parquet compresses equal rows to almost nothing
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can store; the same in every bundle
CHUNK = 1 << 20
MEMBER = re.compile(r"[A-Za-z0-9_-]+\.(csv|parquet|json|md|txt)|files/[0-9a-f]{64}(\.[a-z0-9]{1,10})?")
SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
TABLES: dict[str, Callable[[pl.DataFrame], Table]] = {
    "opinions": Opinions.of, "labels": Labels.of, "answers": Answers.of, "taxonomy": Taxonomy.of,
}  # fmt: skip
FRAMES = ("calibration", "draws")  # frames that are not checked
READ = {"items.csv", "queries.csv", *(f"{name}.parquet" for name in (*TABLES, *FRAMES, "runs"))}
AGAIN = "download or create the bundle again"


# ---- writing ------------------------------------------------------------------------------------------


def write_bundle(bundle: Bundle, path: str | os.PathLike[str], *, files: Mapping[str, Path] | None = None) -> None:
    """Write a bundle as one zip, completely or not at all; the same bundle gives the same bytes.

    `files` gives the path of each file, by its name in the column `file` or by its hash. The files are copied into the
    zip as `files/<sha256><suffix>` and must match their hash. Without `files`, the zip contains only hashes.
    """
    members: dict[str, bytes | Path] = dict(_members(bundle))
    members |= _files(bundle, files or {})
    hashes = {name: _digest(content) for name, content in members.items()}
    for name, (digest, _) in hashes.items():
        if name.startswith("files/") and name[6:70] != digest:
            what = f"the SHA-256 is {digest}, but the bundle has {name[6:70]}"
            raise FileError(str(members[name]), what, "restore the file, or make the bundle again")
    members[MANIFEST] = _manifest(bundle, hashes)
    with replacing(Path(path)) as part, zipfile.ZipFile(part, "w") as archive:
        for name in sorted(members):
            content = members[name]
            info = zipfile.ZipInfo(name, EPOCH)
            packed = isinstance(content, Path) or name.endswith(".parquet")  # images and Parquet are already compressed
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
        stream = io.BytesIO()
        frame.rechunk().write_parquet(stream)  # one chunk, so that equal frames give equal bytes
        yield f"{name}.parquet", stream.getvalue()
        yield f"{name}.csv", _csv(frame)
    licence = bundle.licence or "No licence was given. Ask the authors before you use this benchmark."
    yield "LICENCE.txt", f"{licence}\n".encode()
    yield "README.md", _readme(bundle).encode()


def _csv(frame: pl.DataFrame) -> bytes:
    """Return CSV for other tools. A list in a cell becomes its entries, separated by semicolons."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    stream = io.BytesIO()
    escaped(frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(";") for name in lists)).write_csv(
        stream
    )
    return stream.getvalue()


def _files(bundle: Bundle, files: Mapping[str, Path]) -> dict[str, bytes | Path]:
    """Return the path of each member `files/…`."""
    rows = pl.concat([bundle.items.select("file", "sha256"), bundle.queries.select("file", "sha256")])
    hashes = dict(rows.filter(pl.col("file").is_not_null()).iter_rows()) | {name: name for name in rows["sha256"]}
    found: dict[str, bytes | Path] = {}
    for name, place in sorted(files.items()):
        if name not in hashes:
            known = filter(None, hashes)
            raise TableError(f"file {name!r} belongs to no item and no query", remedy=did_you_mean(name, known))
        if hashes[name] is None:
            raise TableError(
                f"file {name!r} has no sha256 in its table", remedy="add it, so that others can check the file"
            )
        suffix = (PurePosixPath(name).suffix or Path(place).suffix).lower()
        found[f"files/{hashes[name]}{suffix if SUFFIX.fullmatch(suffix) else ''}"] = Path(place)
    return found


def _chunks(content: bytes | Path) -> Iterator[bytes]:
    """Yield the bytes in pieces; an error names the file that cannot be read."""
    if isinstance(content, bytes):
        yield content
        return
    try:
        with content.open("rb") as file:
            yield from iter(lambda: file.read(CHUNK), b"")
    except OSError as error:
        raise unreadable(str(content), error) from None


def _digest(content: bytes | Path) -> tuple[str, int]:
    """Return SHA-256 and size."""
    digest, size = hashlib.sha256(), 0
    for chunk in _chunks(content):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _manifest(bundle: Bundle, hashes: Mapping[str, tuple[str, int]]) -> bytes:
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    manifest |= {name: getattr(bundle, name) for name in TEXTS}
    manifest |= {"scale": [float(end) for end in bundle.scale], "threshold": float(bundle.threshold)}
    manifest |= {"notes": list(bundle.notes), "counts": bundle.counts}
    if bundle.runs is not None:
        manifest["ties"] = bundle.runs.ties
    manifest["members"] = {name: {"sha256": digest, "bytes": size} for name, (digest, size) in sorted(hashes.items())}
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()


INSIDE = {
    "items": "items that a system can return: item, text, file, sha256",
    "queries": "queries: query, text, file, sha256",
    "opinions": "grades that people gave to pairs of query and item: grade (empty means undecided), propensity (the "
    "probability that the pair was drawn; weight by 1/propensity), role (rows of practice, gold and attention are not "
    "counted)",
    "labels": "categories that people gave to items",
    "answers": "each subject's own ranked answer",
    "taxonomy": "the categories and their parents",
    "calibration": "a and b of each rater: a rating x is mapped to a·x + b",
    "draws": "how the pairs were drawn",
    "runs": "runs of the systems that existed when the judgments were collected",
}


def _readme(bundle: Bundle) -> str:
    """Return the README of the zip: its content, and how to score a run."""
    lo, hi = bundle.scale
    counted = "\n".join(f"| {name} | {rows:,} | {INSIDE[name]} |" for name, rows in bundle.counts.items())
    notes = "".join(f"\n- {note}" for note in bundle.notes)
    rule = f"Ratings go from {lo:g} to {hi:g}; a rating above {bundle.threshold:g} is relevant. "
    relevant = rule if bundle.opinions else ""
    return f"""# {bundle.title or bundle.name}

This is a benchmark for {bundle.task}, made on {bundle.made} with the screen "{bundle.screen}". {relevant}The licence is
in LICENCE.txt.

## Score a run

    endoxa eval {bundle.name}.zip new.run

A run has six columns: query Q0 item rank score system. The system may be newer than the judgments; every number comes
with the share of the system's results that people judged.

## What is inside

| table | rows | |
|---|---|---|
{counted}

Each table is stored as .csv (UTF-8, with column names in the first line) and as .parquet. bundle.json has every setting
and the SHA-256 of each member. `files/` has the files that may be distributed, named by their SHA-256; for the others,
the hash shows whether your copy is the same. Raters have the names under which they were entered.
{f"{chr(10)}## Notes{chr(10)}{notes}{chr(10)}" if notes else ""}"""


# ---- reading ------------------------------------------------------------------------------------------


def read_bundle(path: Where, *, check_files: bool = True) -> Bundle:
    """Read a bundle. Version, member names, sizes, hashes and tables are checked; nothing is unpacked to disk.

    check_files=False does not check the files under `files/`, because scoring needs only the tables.
    """
    source = source_of(path)
    label = source.label
    try:
        archive = zipfile.ZipFile(source.path)
    except faults.ZIP:
        raise FileError(label, "the file is not a zip, or is damaged", AGAIN) from None
    with archive:
        infos = _infos(archive, label)
        manifest = _read_manifest(archive, infos, label)
        hashes = _hashes(manifest, infos, label)
        contents = {}
        for name, info in infos.items():
            if name in READ:
                contents[name] = _content(archive, info, hashes[name], label)
            elif check_files or "/" not in name:
                _content(archive, info, hashes.get(name), label, keep=False)
    return _bundle_of(manifest, contents, label)


def _infos(archive: zipfile.ZipFile, label: str) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name; refuse unexpected names and sizes before anything is unpacked."""
    found: dict[str, zipfile.ZipInfo] = {}
    entries = archive.infolist()
    if len(entries) > MOST_MEMBERS:
        raise FileError(label, f"the zip has {len(entries):,} members", f"a bundle has at most {MOST_MEMBERS:,}")
    for info in entries:
        name = info.orig_filename  # the full name: `filename` is cut at a NUL
        if name == "files/":  # some tools add folders
            continue
        if not MEMBER.fullmatch(name):
            what = f"member {name!r:.80} does not belong in a bundle"
            raise FileError(label, what, "expected tables and files/<sha256>")
        if name in found:
            raise FileError(label, f"member {name} occurs twice", AGAIN)
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
            raise FileError(label, f"member {name} is encrypted or has an unsupported compression", AGAIN)
        refuse_content(label, info.compress_size, info.file_size, f"member {name}")
        found[name] = info
    for files, most in ((False, MOST_BYTES), (True, MOST_FILE_BYTES)):
        size = sum(info.file_size for name, info in found.items() if ("/" in name) == files)
        if size > most:
            largest = max((name for name in found if ("/" in name) == files), key=lambda name: found[name].file_size)
            what = f"unpacked, it would take {size:,} bytes (largest member: {largest})"
            raise FileError(label, what, f"the limit is {most:,}; make a smaller bundle")
    return found


def _read_manifest(archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], label: str) -> dict[str, Any]:
    """Return the manifest, after a check of its format and version."""
    if MANIFEST not in infos:
        raise FileError(label, f"the zip has no member {MANIFEST}", "give a bundle, as endoxa study bundle writes it")
    try:
        manifest = json.loads(_content(archive, infos[MANIFEST], None, label))
    except faults.JSON:
        raise FileError(label, f"member {MANIFEST} is not JSON", AGAIN) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(label, f"member {MANIFEST} does not have the format {FORMAT!r}", "give a bundle")
    if manifest.get("version") != VERSION:
        what = f"member {MANIFEST} has version {manifest.get('version')!r:.20}"
        raise FileError(label, what, f"expected version {VERSION}; install a newer Endoxa")
    kinds: dict[str, type] = dict.fromkeys(TEXTS, str) | {"scale": list, "notes": list, "counts": dict, "members": dict}
    for key, kind in kinds.items():
        if not isinstance(manifest.get(key), kind):
            raise FileError(label, f"member {MANIFEST}: {key!r} is missing or not a {kind.__name__}", AGAIN)
    ends = [*manifest["scale"], manifest.get("threshold")]
    if len(ends) != 3 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in ends):
        raise FileError(label, f"member {MANIFEST}: scale and threshold are not three numbers", AGAIN)
    return manifest


def _hashes(manifest: dict[str, Any], infos: dict[str, zipfile.ZipInfo], label: str) -> dict[str, str]:
    """Return the hash of each member from the manifest, which must name exactly the members of the zip."""
    members = manifest["members"]
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


def _content(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, digest: str | None, label: str, *, keep: bool = True
) -> bytes:
    """Return the content of a member with this hash; with keep=False, only check the hash, in bounded memory."""
    found, kept = hashlib.sha256(), []
    try:
        with archive.open(info) as stream:  # it gives no more bytes than the entry states, on which the limits rest
            for piece in iter(lambda: stream.read(CHUNK), b""):
                found.update(piece)
                kept += [piece] if keep else []
    except faults.ZIP as error:
        raise FileError(label, f"member {info.filename} is damaged ({first_line(error)})", AGAIN) from None
    if digest is not None and found.hexdigest() != digest:
        what = f"member {info.filename} does not match {MANIFEST}: its SHA-256 is {found.hexdigest()}"
        raise FileError(label, what, AGAIN)
    return b"".join(kept)


def _bundle_of(manifest: dict[str, Any], contents: dict[str, bytes], label: str) -> Bundle:
    """Return the bundle of the manifest and the tables; refuse what they do not allow with a FileError."""
    tables: dict[str, Any] = {}
    for name in ("items", "queries"):
        if f"{name}.csv" not in contents:
            raise FileError(label, f"the zip has no member {name}.csv", AGAIN)
        with _blamed(label, f"{name}.csv"):
            text = contents[f"{name}.csv"]
            columns = text.partition(b"\n")[0].count(b",") + 1
            refuse_cells(f"{label}: member {name}.csv", len(text), text.count(b"\n"), columns)
            tables[name] = unescaped(pl.read_csv(text, infer_schema=False), text)
    for name in (*TABLES, *FRAMES, "runs"):
        member = f"{name}.parquet"
        if member not in contents:
            continue
        with _blamed(label, member):
            frame = parquet_rows(contents[member], f"{label}: member {member}", most=MOST_ROWS)
            if name == "runs":
                tables[name] = Run.of(frame, ties=manifest.get("ties", "trec"))
            else:
                tables[name] = TABLES[name](frame) if name in TABLES else frame
    with _blamed(label, MANIFEST):
        bundle = Bundle(
            **{name: manifest[name] for name in TEXTS}, **tables, scale=(manifest["scale"][0], manifest["scale"][1]),
            threshold=manifest["threshold"], notes=tuple(map(str, manifest["notes"])),
        )  # fmt: skip
    if manifest["counts"] != bundle.counts:
        stated, counts = manifest["counts"], bundle.counts
        wrong = next(name for name in [*counts, *stated] if stated.get(name) != counts.get(name))
        what = f"counts {stated.get(wrong)!r:.20} rows of {wrong:.40}, there are {counts.get(wrong)}"
        raise FileError(label, f"member {MANIFEST} {what}", AGAIN)
    return bundle


@contextmanager
def _blamed(label: str, member: str) -> Iterator[None]:
    """Turn an error of a table into a FileError that names the member."""
    try:
        yield
    except (TableError, TextError) as error:
        raise FileError(label, f"member {member}: {error}", AGAIN) from None
    except faults.PARQUET as error:
        raise FileError(label, f"member {member} is damaged ({first_line(error)})", AGAIN) from None
