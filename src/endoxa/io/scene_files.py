"""Scenes in a folder: a corpus with known truth and without a download.

    folder/scenes.json           the settings; another seed, size or kind is refused
    folder/manifest.jsonl        one line per scene: path, words, category, mask, caption, regions
    folder/sea/boats/000007.jpg  a scene, below its category
    folder/masks/000007.png      the label of each pixel; `regions` says the word of each label

A scene is listed after its files have been written, and every file appears completely or not at all, so that an
interrupted folder is continued and ends with the same bytes as one that was written without interruption.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from endoxa.errors import FileError, TableError, TextError
from endoxa.images import LabelMap
from endoxa.images.corpus import STOP, Corpus, words_of
from endoxa.io import faults
from endoxa.io.missing_files import unreadable

if TYPE_CHECKING:
    from endoxa.images.scenes import Cutout, Scene

SETTINGS, MANIFEST, MASKS = "scenes.json", "manifest.jsonl", "masks"
QUALITY = 92
MOST = 4  # cut-outs in a scene
SIDE = 256  # cut-outs are decoded at this size; scenes do not show them larger
AMOUNTS = frozenset("bunch kind pair piece set slice".split())
TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")  # a word of a caption, or a sign
NOT_IN_NAMES = re.compile(r"[^\w-]+")
CACHED = 256  # decoded cut-outs in memory; 67 MB at most


def write_scenes(
    folder: Path, count: int, *, seed: int = 0, size: tuple[int, int] = (256, 384), form: Literal["jpg", "png"] = "jpg",
    cutouts: Corpus | None = None, progress: Callable[[int, int], None] | None = None,
) -> Path:  # fmt: skip
    """Write the first `count` scenes of series `seed`, drawn or composed of cut-outs; the path of the manifest.

    A folder with fewer scenes is continued, and missing files are written again. A cut-out is the opaque part of a
    picture of the corpus, named after its caption. Two processes must not write into one folder.
    """
    if count < 0:
        raise TextError(f"the number of scenes is 0 or more, not {count}")
    make = _maker(seed, size, cutouts)
    manifest = folder / MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _settle(folder, _settings(seed, size, form, cutouts))
        listed = _mend(manifest)
        if listed > count:
            what = f"lists {listed:,} scenes, more than the requested {count:,}"
            raise FileError(str(manifest), what, f"ask for {listed:,} or more, or name another folder")
        with manifest.open("a+", encoding="utf-8", newline="\n") as lines:
            lines.seek(0)
            for number in range(count):
                if number < listed:
                    _restore(folder, lines.readline(), number, form, make)
                else:
                    row = _keep(folder, make(number), number, form)
                    lines.write(json.dumps(row, ensure_ascii=False) + "\n")
                    lines.flush()
                if progress:
                    progress(number + 1, count)
    except OSError as error:
        raise FileError(str(error.filename or folder), f"cannot be written: {error.strerror or error}") from None
    return manifest


def truth(path: Path) -> LabelMap:
    """The label of each pixel, from a mask that `write_scenes` wrote."""
    return numbers_of(path).astype(np.int32)


def numbers_of(path: Path) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The numbers in a grey PNG of 8 or 16 bits, one for each pixel."""
    import cv2

    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(str(path), error) from None
    try:
        labels = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_UNCHANGED) if raw else None
    except cv2.error:  # more pixels than OpenCV takes
        labels = None
    if labels is None or labels.ndim != 2 or labels.dtype not in {np.dtype(np.uint8), np.dtype(np.uint16)}:
        raise FileError(str(path), "is not a label map", "expected a grey PNG of 8 or 16 bits")
    return np.asarray(labels)


def named(caption: str) -> str | None:
    """The word for the thing in a caption: the last word before the first stop word or punctuation mark.

    Misleads if a verb or a name comes first ("Covered in snow"). A pair, a bunch, … of a thing is that thing.

    >>> named("An Adelaide Rosella, on a branch."), named("A cup of coffee.")
    ('rosella', 'cup')
    """
    found: str | None = None
    for word in TOKEN.findall(caption.casefold()):
        known = () if re.split("['’]", word)[0] in STOP else words_of(word)
        if known:
            found = known[-1]
        elif found and not (word == "of" and found in AMOUNTS):
            break
    return found


def _settings(seed: int, size: tuple[int, int], form: str, cutouts: Corpus | None) -> dict[str, Any]:
    from endoxa.images.scenes import SERIES

    settings: dict[str, Any] = {"series": SERIES, "kind": "drawn", "seed": seed, "size": list(size), "form": form}
    if cutouts is not None:
        rows = cutouts.frame.select("path", "words", "category", "caption").rows()
        settings |= {"kind": "composed", "cutouts": sha256(json.dumps(rows).encode()).hexdigest()[:16]}
    return settings


def _settle(folder: Path, settings: dict[str, Any]) -> None:
    """Record the settings of a new folder; refuse a folder with other settings or other content."""
    path = folder / SETTINGS
    if not path.exists():
        stranger = next((one.name for one in folder.iterdir() if not one.name.endswith(".part")), None)
        if stranger is not None:
            what = f"contains {stranger!r} but no {SETTINGS}"
            raise FileError(str(folder), what, "name a folder that is new, empty or of scenes")
        _whole(path, (json.dumps(settings, indent=1) + "\n").encode())
        return
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except faults.JSON:
        raise FileError(str(path), "is not JSON", "remove the folder, or name another") from None
    if not isinstance(known, dict):
        raise FileError(str(path), "does not contain settings", "remove the folder, or name another")
    for name in settings | known:
        was, now = known.get(name), settings.get(name)
        if was != now:
            what = f"the scenes here have {name} {json.dumps(was)}, not {json.dumps(now)}"
            raise FileError(str(path), what, "use the same settings, or name another folder")


def _mend(manifest: Path) -> int:
    """The number of listed scenes; an incomplete last line is removed."""
    if not manifest.exists():
        return 0
    listed = whole = 0
    with manifest.open("r+b") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                listed, whole = listed + 1, whole + len(line)
        lines.truncate(whole)
    return listed


def _restore(folder: Path, line: str, number: int, form: str, make: Callable[[int], Scene]) -> None:
    """Write a listed scene again if one of its files is missing."""
    try:
        row = json.loads(line)
        path, mask = str(row["path"]), str(row["mask"])
    except (*faults.JSON, *faults.CONTENT):
        path, mask = "", ""
    if Path(path).name != f"{number:06d}.{form}" or mask != f"{MASKS}/{number:06d}.png":
        what, remedy = f"does not list scene {number}", "remove the folder, or name another"
        raise FileError(str(folder / MANIFEST), what, remedy, number + 1)
    if not ((folder / path).is_file() and (folder / mask).is_file()):
        _keep(folder, make(number), number, form)


def _keep(folder: Path, scene: Scene, number: int, form: str) -> dict[str, Any]:
    """Write the two files of a scene; its line in the manifest."""
    import cv2

    below = [NOT_IN_NAMES.sub("_", part) for part in scene.category.split("/") if part] or ["scenes"]
    if below[0] == MASKS:
        below[0] += "_"
    path, mask = "/".join([*below, f"{number:06d}.{form}"]), f"{MASKS}/{number:06d}.png"
    quality = [cv2.IMWRITE_JPEG_QUALITY, QUALITY] if form == "jpg" else []
    pixels = np.ascontiguousarray(scene.picture.pixels[..., ::-1])
    labels: npt.NDArray[Any] = scene.labels.astype(np.uint8 if len(scene.names) <= 256 else np.uint16)
    _whole(folder / path, cv2.imencode(f".{form}", pixels, quality)[1].tobytes())
    _whole(folder / mask, cv2.imencode(".png", labels)[1].tobytes())
    return {
        "path": path, "words": list(scene.words), "category": scene.category, "mask": mask, "caption": scene.caption,
        "regions": list(scene.names),
    }  # fmt: skip


def _whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")  # always the same, so that a later call replaces what was left behind
    part.write_bytes(content)
    part.replace(path)


def _maker(seed: int, size: tuple[int, int], cutouts: Corpus | None) -> Callable[[int], Scene]:
    """A function that makes scene `number`, independently of other scenes."""
    from endoxa.images.scenes import Cutout, compose, draw
    from endoxa.io.decoding import decode

    if cutouts is None:
        return lambda number: draw(number, seed, size=size)
    rows = [row for row in cutouts.frame.iter_rows(named=True) if _word(row)]
    if not rows:
        raise TableError("no cut-out of the corpus has a word", remedy="give each a caption, words or a category")
    root = Path(cutouts.root)

    @lru_cache(maxsize=CACHED)
    def cutout(place: int) -> Cutout:
        row = rows[place]
        return Cutout(decode(root / row["path"], side=SIDE), _word(row) or "", row["category"] or "")

    def composed(number: int) -> Scene:
        rng = np.random.default_rng([seed, number, 0, 1])
        chosen = rng.integers(0, len(rows), int(rng.integers(1, MOST + 1)))
        return compose([cutout(int(place)) for place in chosen], number=number, seed=seed, size=size)

    return composed


def _word(row: dict[str, Any]) -> str | None:
    """The name of a cut-out: from its caption, or the last of its words, or the leaf of its category."""
    leaf = (row["category"] or "").rsplit("/", 1)[-1]
    return named(row["caption"] or "") or (row["words"][-1] if row["words"] else leaf) or None
