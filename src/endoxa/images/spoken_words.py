"""Words by which a picture can be asked for: those of its caption, and those in the names of its file and folders.

The words of names serve queries only. Systems that learn from words do not get them: a contest takes folders as labels,
and a system that reads them in a name would be told the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from endoxa.images.corpus import words_of

CAMERAS = frozenset("dsc dscf dscn dscs image images img imgp mvimg pict pxl screenshot".split())  # name no content
JOINTS = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
YEAR = re.compile(r"1[89]\d\d|20\d\d")
NEAR = 3  # near words that are listed
OFTEN = 8  # frequent words that are listed
SOURCES = (
    "words come from the names of files and folders, from a caption beside a picture (beach.txt beside beach.jpg), and "
    "from the column words or caption of a manifest"
)


def name_words(item: str) -> tuple[str, ...]:
    """The words in the name of a picture, which is the path of its file.

    Words are split at changes between letters and digits and before a capital letter. Single letters, numbers other
    than years, and what cameras write are left out.

    >>> name_words("Holidays 2019/beachParty_IMG_0042")
    ('holidays', '2019', 'beach', 'party')
    """
    words = words_of(JOINTS.sub(" ", item))
    return tuple(word for word in words if len(word) > 1 and word not in CAMERAS and _says(word))


def _says(word: str) -> bool:
    return not word.isdigit() or YEAR.fullmatch(word) is not None


def spoken(items: Sequence[str], words: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The words of each picture, and those of its name."""
    known = words or ((),) * len(items)
    return tuple(tuple(dict.fromkeys((*own, *name_words(item)))) for item, own in zip(items, known, strict=True))


def unknown_words(words: Iterable[str], known: Sequence[Sequence[str]]) -> list[str]:
    """A sentence about each word that no picture has, with the nearest words; if none is known, where words come from.

    known   the words of each picture
    """
    counts: dict[str, int] = {}
    for own in known:
        for word in own:
            counts[word] = counts.get(word, 0) + 1
    asked = list(words)
    missing = [word for word in asked if word not in counts]
    sentences = [f"no picture has the word {word!r}{_nearest(word, counts)}" for word in missing]
    if sentences and len(missing) == len(asked):
        often = sorted(counts, key=lambda word: (-counts[word], word))[:OFTEN]
        some = f"; frequent words here: {', '.join(often)}" if often else "; no picture has any word here"
        sentences[-1] += f"{'' if any('nearest' in one for one in sentences) else some}; {SOURCES}"
    return sentences


def _nearest(word: str, known: Iterable[str]) -> str:
    alike = [one for one in known if abs(len(one) - len(word)) <= 3]
    near = get_close_matches(word, alike, n=NEAR, cutoff=0.6)
    return f" (nearest: {', '.join(near)})" if near else ""
