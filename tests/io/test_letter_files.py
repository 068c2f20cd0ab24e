"""Letters in a folder: the same bytes from the same seed, continued, never mixed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from endoxa.errors import FileError, TextError
from endoxa.io.letter_files import drawn, write_letters
from endoxa.io.page_folders import pages_of, text_of


def test_letters_are_written_with_their_text_and_continued(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    paths = write_letters(tmp_path / "one", 2, seed=3, progress=lambda *now: told.append(now))
    assert told == [("composing letters", 1, 2), ("composing letters", 2, 2)]
    before = {path.name: path.read_bytes() for path in paths}
    write_letters(tmp_path / "one", 3, seed=3)
    write_letters(tmp_path / "two", 3, seed=3)
    one, two = (sorted(path for path in (tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert all((tmp_path / "one" / name).read_bytes() == raw for name, raw in before.items())
    pages = pages_of(tmp_path / "one")
    assert [page.name for page in pages] == ["letter-0001", "letter-0002", "letter-0003"]
    lines, grey = drawn(1, 3, (0.2, 0.75))
    assert pages[0].transcription is not None and text_of(pages[0].transcription) == "\n".join(lines) + "\n"
    assert (np.array(Image.open(paths[0])) == grey).all()


def test_letters_of_other_settings_and_other_pictures_are_not_mixed(tmp_path: Path) -> None:
    write_letters(tmp_path / "one", 1, seed=3)
    for other in ({"seed": 4}, {"seed": 3, "level": (0.5, 0.5)}):
        with pytest.raises(FileError, match="holds letters of another seed or level"):
            write_letters(tmp_path / "one", 1, **other)
    (tmp_path / "two").mkdir()
    Image.new("L", (3, 3)).save(tmp_path / "two" / "scan.png")
    with pytest.raises(FileError, match=r"holds other pictures \(scan.png\)"):
        write_letters(tmp_path / "two", 1)


@pytest.mark.parametrize("level", [(-0.1, 0.5), (0.5, 0.2), (0.5, 1.5)])
def test_levels_that_are_none(tmp_path: Path, level: tuple[float, float]) -> None:
    with pytest.raises(TextError, match="the level of damage goes from 0 to 1"):
        write_letters(tmp_path, 1, level=level)
    with pytest.raises(TextError, match="1 or more, not 0"):
        write_letters(tmp_path, 0)
