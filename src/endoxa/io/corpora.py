"""Reading a corpus: a folder tree of pictures with captions, or a manifest that lists them.

Nothing is decoded here: a file with the suffix of a picture is in the corpus; whether it can be decoded is found when
it is described. Files that are left out are listed in `Corpus.skipped`, with the reason.

    animals/birds/rosella.jpg    the item animals/birds/rosella of the category animals/birds
    animals/birds/rosella.txt    its caption in the first line; a line `de.utf8=…` has the caption in German
    masks/animals/birds/…        masks of the true regions, with the names of the pictures
"""

from __future__ import annotations

import os
import posixpath
import stat
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PureWindowsPath
from typing import Any
from unicodedata import normalize

import polars as pl

from endoxa.errors import FileError, TableError
from endoxa.images.corpus import Corpus, Progress, Skipped, items_of, words_of
from endoxa.io.decoding import is_picture
from endoxa.io.formats import FORMATS, Format
from endoxa.io.sources import Source, source_of, text_of
from endoxa.io.table_files import lines_of, rows_of

MASKS = "masks"
ABROAD = {".heic": "HEIC", ".heif": "HEIF", ".avif": "AVIF", ".jxl": "JPEG XL"}  # pictures that cannot be decoded here
CAPTION = 1 << 18  # bytes of a caption file that are read
COLUMNS: dict[str, Any] = {
    "item": pl.String, "path": pl.String, "words": pl.List(pl.String), "category": pl.String, "mask": pl.String,
    "caption": pl.String,
}  # fmt: skip


def read_corpus(
    place: Path, *, language: str = "", leave_out: Sequence[str] = (), progress: Progress | None = None
) -> Corpus:
    """The pictures below a folder, or those that a manifest (CSV, TSV, JSONL, Parquet) lists.

    Folder: if it contains a manifest (manifest.csv, .jsonl, …), the manifest is read. Otherwise every picture is an
    item, sorted by path. `language` selects a line in captions of Tux Paint. Hidden files, files whose name matches
    `leave_out` (`*_mirror*`) and links to pictures of the same tree are left out.

    Manifest: the column `path`, relative to the manifest, and any of item, words, category, mask, caption. Words are
    a list of words, or a text that is split like a caption, so that only a list can contain `polar bear` as one word.
    A missing picture is left out and reported with its line. A path out of the manifest's folder is refused: a
    manifest from elsewhere must not reveal other files on this machine.
    """
    if place.is_dir():
        found = next((one for suffix in FORMATS if (one := place / f"manifest{suffix}").is_file()), None)
        if found is None:
            return _in_folder(place, language, leave_out, progress)
        place = found
    form = FORMATS.get(place.with_suffix("").suffix if place.suffix in {".gz", ".zst"} else place.suffix.lower())
    if form is None and place.exists():
        what = "is a picture, not a corpus" if is_picture(place) else "is not a manifest"
        raise FileError(str(place), what, "name a folder of pictures, or a .csv, .tsv, .jsonl or .parquet")
    source = source_of(place)
    return _in_manifest(source, form or "csv", place, progress)


# ---- folders --------------------------------------------------------------------------------------------------


def pictures_below(folder: Path, leave_out: Sequence[str] = ()) -> tuple[list[str], list[Skipped]]:
    """The sorted paths of the pictures of a tree, and the files that are left out."""
    skipped: list[Skipped] = []
    found: list[str] = []
    links: list[tuple[str, str]] = []
    for path in _files(folder, skipped):
        name = path.rpartition("/")[2]
        suffix = posixpath.splitext(name)[1].lower()
        if suffix in ABROAD:
            skipped.append(Skipped(path, f"{ABROAD[suffix]} is not read here; save it as JPEG"))
        elif not is_picture(Path(name)):
            continue
        elif any(fnmatchcase(name, pattern) for pattern in leave_out):
            skipped.append(Skipped(path, "its name matches a pattern to leave out"))
        elif (folder / path).is_symlink():
            links.append((path, os.path.realpath(folder / path)))
        elif not (folder / path).is_file():
            skipped.append(Skipped(path, "is not a file"))
        else:
            found.append(path)
    own = set(found)
    root = os.path.realpath(folder)
    for path, target in links:
        inside = posixpath.relpath(target, root)
        if inside in own:
            skipped.append(Skipped(path, f"is a link to {inside}, which is in the corpus"))
        elif not Path(target).is_file():
            skipped.append(Skipped(path, "is a link that cannot be followed to a file"))
        else:
            found.append(path)
    return sorted(found), sorted(skipped, key=lambda one: one.name)


def _files(folder: Path, skipped: list[Skipped]) -> Iterator[str]:
    """Paths below a folder that are not hidden and are valid UTF-8."""

    def unlisted(error: OSError) -> None:
        where = os.path.relpath(error.filename, folder)
        skipped.append(Skipped(_shown(where), f"cannot be listed: {error.strerror}"))

    for place, folders, names in os.walk(folder, onerror=unlisted):
        folders[:] = [name for name in folders if not name.startswith(".")]
        within = os.path.relpath(place, folder)
        for name in names:
            if not name.startswith("."):
                path = name if within == "." else f"{within}/{name}"
                if path != _shown(path):
                    skipped.append(Skipped(_shown(path), "its name is not UTF-8; rename it"))
                else:
                    yield path


def _shown(path: str) -> str:
    """A text in valid UTF-8: other bytes become question marks."""
    return path.encode("utf-8", "replace").decode()


def _in_folder(folder: Path, language: str, leave_out: Sequence[str], progress: Progress | None) -> Corpus:
    paths, skipped = pictures_below(folder, leave_out)
    masks = {posixpath.splitext(path)[0]: path for path in paths if path.startswith(f"{MASKS}/")}
    paths = [path for path in paths if not path.startswith(f"{MASKS}/")]
    if not paths:
        others = f" ({len(skipped)} left out, {skipped[0].name}: {skipped[0].why})" if skipped else ""
        raise FileError(str(folder), f"there is no picture in it{others}", "expected .jpg, .png, … at any depth")
    rows = []
    for at, path in enumerate(paths, start=1):
        bare = posixpath.splitext(path)[0]
        caption = caption_of(folder, f"{bare}.txt", language, skipped)
        mask = masks.pop(f"{MASKS}/{bare}", None)
        rows.append({"path": path, "category": posixpath.dirname(path) or None, "mask": mask, "caption": caption})
        if progress is not None:
            progress(folder.name, at, len(paths))
    skipped += [Skipped(mask, "is a mask without a picture") for mask in masks.values()]
    return _corpus(rows, str(folder), source_of(folder, str(folder)), folder.name, skipped)


def caption_of(folder: Path, path: str, language: str, skipped: list[Skipped]) -> str | None:
    """The caption in a text file: its first line, or the line of a language; None if there is none."""
    try:
        with (folder / path).open("rb") as file:
            raw = file.read(CAPTION)
        # The last character of a truncated text may be incomplete.
        text = getincrementaldecoder("utf-8-sig")().decode(raw, len(raw) < CAPTION)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        skipped.append(Skipped(path, f"cannot be read: {error.strerror}"))
        return None
    except UnicodeDecodeError:
        skipped.append(Skipped(path, "is not UTF-8 text; its picture has no caption"))
        return None
    lines = text.splitlines()
    translated = [line.partition("=")[2] for line in lines if language and line.startswith(f"{language}.utf8=")]
    return next((line.strip() for line in [*translated, *lines[:1]] if line.strip()), None)


# ---- manifests ------------------------------------------------------------------------------------------------


def _in_manifest(source: Source, form: Format, place: Path, progress: Progress | None) -> Corpus:
    rows: list[dict[str, Any]] = []
    skipped: list[Skipped] = []
    count, numbered = _numbered(source, form)
    for at, (line, row) in enumerate(numbered, start=1):
        where = f"row {line}" if form == "parquet" else f"line {line}"
        if "path" not in row:
            raise FileError(source.label, f"has the columns {', '.join(row)}", "expected path, a picture per row", line)
        entry: dict[str, Any] = {
            "line": line,
            "item": _text(row.get("item")),
            "path": _inside(source, _text(row["path"]), line),
            "mask": _inside(source, mask, line) if (mask := _text(row.get("mask"))) else None,
            "category": "/".join(part for part in (_text(row.get("category")) or "").split("/") if part) or None,
            "caption": _text(row.get("caption")),
            "words": _words(source, row.get("words"), line),
        }
        files = (entry["path"], entry["mask"])
        missing = next((name for name in files if name and not _is_file(place.parent / name)), "")
        if missing:
            what = "no such file" if missing == entry["path"] else f"its mask {missing} does not exist"
            skipped.append(Skipped(entry["path"], f"{where}: {what}"))
        else:
            rows.append(entry)
        if progress is not None:
            progress(place.name, min(at, count), count)
    if not rows:
        first = f", {skipped[0].name} to begin with" if skipped else ""
        what = f"none of its {len(skipped)} pictures exists{first}"
        raise FileError(source.label, what, "paths are relative to the manifest")
    return _corpus(rows, str(place.parent), source, place.stem, skipped)


def _numbered(source: Source, form: Format) -> tuple[int, Iterator[tuple[int, dict[str, Any]]]]:
    """How many rows there are, at most, and every row with its line (Parquet: its number)."""
    if form == "parquet":
        frame = rows_of(source, form)[0]
        return frame.height, enumerate(frame.iter_rows(named=True), start=1)
    text = text_of(source)
    lines = sum(1 for line in text.split(b"\n") if line.strip())
    return max(lines - (form != "jsonl"), 1), _rows_of_text(source, text, form)


def _rows_of_text(source: Source, text: bytes, form: Format) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    for line, row in lines_of(source, text, form):
        if isinstance(row, FileError):
            raise row
        yield line, row
    if not line:
        raise FileError(source.label, "contains no rows", "expected column names and one picture per line")


def _text(value: Any) -> str | None:
    """A cell as stripped text; None if it is empty."""
    return None if value is None else _shown(str(value)).strip() or None


def _inside(source: Source, path: str | None, line: int) -> str:
    """A normalised path within the folder of the manifest."""
    if path is None:
        raise FileError(source.label, "a row has no path", "name the picture, or remove the row", line)
    normal = posixpath.normpath(path)
    strange = "\0" in path or bool(PureWindowsPath(path).drive) or path.startswith(("/", "\\", "~"))
    if strange or normal == ".." or normal.startswith("../"):
        what = f"{path!r} leads out of the manifest's folder"
        raise FileError(source.label, what, "use paths relative to it, below it", line)
    return normal


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:  # missing, or its name is too long
        return False


def _words(source: Source, value: Any, line: int) -> list[str] | None:
    if value is None:
        return None  # the caption gives them
    if isinstance(value, str):
        return list(words_of(_shown(value)))
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        folded = (" ".join(normalize("NFKC", _shown(word)).casefold().split()) for word in value)
        return [word for word in folded if word]
    raise FileError(source.label, f"words are {value!r:.60}", "expected a text, or a list of texts", line)


def _corpus(rows: list[dict[str, Any]], root: str, source: Source, name: str, skipped: list[Skipped]) -> Corpus:
    """The corpus of these rows; two pictures with the same name are an error with its place."""
    named = items_of(pl.Series("path", [row["path"] for row in rows], dtype=pl.String))
    first: dict[str, dict[str, Any]] = {}
    for row, own in zip(rows, named, strict=True):
        row["item"] = "_".join((row.get("item") or own).split())  # as in items_of: runs are split at white space
        other = first.setdefault(row["item"], row)
        if other is not row:
            what = f"{other['path']} and {row['path']} are both called {row['item']!r}"
            raise FileError(source.label, what, "rename one of them", row.get("line"))
    columns = {column: [row.get(column) for row in rows] for column in COLUMNS}
    try:
        return Corpus.of(pl.DataFrame(columns, schema=COLUMNS), root, name=name, skipped=skipped)
    except TableError as error:
        raise FileError.of(error, source.label) from None
