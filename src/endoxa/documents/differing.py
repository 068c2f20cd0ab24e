"""Where texts of a page differ: the words of all of them aligned, and what each has in every place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from endoxa.beliefs.alignment import columns
from endoxa.documents.defaults import NEAR
from endoxa.documents.findings import plain
from endoxa.frozen import dataclass


@dataclass(frozen=True)
class Box:
    """Where a word stands on the page, in pixels from the top left."""

    left: int
    top: int
    width: int
    height: int


@dataclass(frozen=True)
class Word:
    """A word that was read, and where, if the OCR says so."""

    text: str
    box: Box | None = None


@dataclass(frozen=True)
class Place:
    """A place on the page: the word of each text, None where it has none."""

    words: Mapping[str, Word | None]

    def differs(self, among: Collection[str]) -> bool:
        """Whether not all of these texts have the same word here, punctuation aside."""
        return len({self.bare(name) for name in among}) > 1

    def bare(self, name: str) -> str:
        """The word of a text without punctuation around it; empty where it has none."""
        word = self.words[name]
        return "" if word is None else plain(word.text)

    def majority(self, among: Sequence[str]) -> str | None:
        """The word that more than half of these texts have here (empty: none); None if no word has a majority."""
        word, count = Counter(self.bare(name) for name in among).most_common(1)[0]
        return word if 2 * count > len(among) else None

    def reader(self, among: Sequence[str]) -> str | None:
        """Of these texts, one whose box stands for the place: it has the word that most have, or else any word."""
        common = Counter(self.bare(name) for name in among).most_common()
        rank = {word: place for place, (word, _) in enumerate(common)}
        known = [name for name in among if (word := self.words[name]) is not None and word.box is not None]
        return min(known, key=lambda name: rank[self.bare(name)], default=None)


def places(readings: Mapping[str, Sequence[Word]]) -> list[Place]:
    """The places of a page in order. Words without a letter or a digit are left out."""
    kept = {name: [word for word in words if plain(word.text)] for name, words in readings.items()}
    aligned = columns({name: [plain(word.text) for word in words] for name, words in kept.items()}, near=NEAR)
    at = dict.fromkeys(kept, 0)
    found = []
    for column in aligned:
        here: dict[str, Word | None] = {}
        for name, word in zip(kept, column, strict=True):
            here[name] = None if word is None else kept[name][at[name]]
            at[name] += word is not None
        found.append(Place(here))
    return found
