"""Compose captioned scenes whose regions and words are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from endoxa.declared import argument, option
from endoxa.verbs.parameters import PathLike, Seed

if TYPE_CHECKING:
    from endoxa.images.corpus import Corpus, Progress
else:
    Corpus = Path  # its module is slow to load


def compose(
    folder: Annotated[PathLike, argument("Folder of the scenes.", "DIR")],
    count: Annotated[int, option("Number of scenes.", "--count", "-n", least=1)] = 200,
    *,
    cutouts: Annotated[
        PathLike | Corpus | None,
        option("Cut-outs to paste: stamps, or pictures with alpha.", "--from", metavar="CORPUS"),
    ] = None,
    size: tuple[int, int] = (256, 384),
    form: Literal["jpg", "png"] = "jpg",
    seed: Seed = 0,
    progress: Progress | None = None,
) -> Path:
    """Make captioned scenes whose regions and words are known exactly. They are drawn, or pasted from cut-outs.

    Returns the path of their manifest. A folder that holds fewer scenes of the same settings is continued. `size` is
    height and width in pixels.

    Examples:
        endoxa images compose scenes --count 500
        endoxa images compose collage --count 500 --from stamps
    """
    from endoxa.io.opening import open_corpus
    from endoxa.io.scene_files import write_scenes

    corpus = None if cutouts is None else open_corpus(cutouts, progress=progress)
    report = None if progress is None else lambda done, whole: progress("composing", done, whole)
    return write_scenes(Path(folder), count, seed=seed, size=size, form=form, cutouts=corpus, progress=report)
