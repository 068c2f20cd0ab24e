"""Compose captioned scenes whose regions and words are known."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from endoxa.images.corpus import Corpus, Progress
from endoxa.io.opening import open_corpus
from endoxa.io.scene_files import write_scenes


def compose(
    folder: str | Path,
    count: int = 200,
    *,
    cutouts: str | Path | Corpus | None = None,
    size: tuple[int, int] = (256, 384),
    form: Literal["jpg", "png"] = "jpg",
    seed: int = 0,
    progress: Progress | None = None,
) -> Path:
    """Write scenes to a folder, drawn, or pasted from the cut-outs of a corpus; the path of their manifest.

    A folder that holds fewer scenes of the same settings is continued. `size` is height and width in pixels.
    """
    corpus = None if cutouts is None else open_corpus(cutouts, progress=progress)
    report = None if progress is None else lambda done, whole: progress("composing", done, whole)
    return write_scenes(Path(folder), count, seed=seed, size=size, form=form, cutouts=corpus, progress=report)
