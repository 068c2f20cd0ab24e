"""Names in a text by a rule, without a model: runs of capitalised words.

- The text is in Unicode's composed form, and words that a line break has hyphenated are joined.
- A name is a run of capitalised words of two letters or more; `of` may stand inside it. Punctuation ends a run, and so
  does a word such as `The` or `My`, which is capitalised for its place only.
- A title (`Mr.`, `Captain`) is no part of a name; the word that follows it is a name even where it is alone.
- A single word at the beginning of a sentence is a name only if the text has it capitalised within a sentence too.

Misleads: it finds headings and every word of a text in capitals. It is a rule for comparing pipelines, which all meet
the same one, and not for finding all names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from endoxa.frozen import dataclass

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
HYPHENATED = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t]*(?=[^\W\d_])")
POSSESSIVE = re.compile(r"['’]s$")
ENDS = re.compile(r"[.!?]|\n\s*\n")  # of a sentence
TITLES = frozenset(
    "Mr Mrs Ms Miss Messrs Dr Doctor Prof Professor Rev Reverend Hon Sir Madam Lord Lady Capt Captain Col Colonel Gen "
    "General Lt Lieut Lieutenant Maj Major Sgt Serjeant Sergeant".split()
)
COMMON = frozenset(
    "The An And As At But By For From He Her Here His How If In Into It Its My No Nor Not Now Of On Or Our Over She "
    "So Such Than That Their Then There These They This Those Though To Under Until Upon We What When Where Which "
    "While Who Why With Within Without You Your Dear".split()
)


@dataclass(frozen=True)
class _Token:
    word: str
    first: bool  # of its sentence
    joined: bool  # to the word before, without punctuation between them
    titled: bool  # right after a title

    @property
    def is_name(self) -> bool:
        """Whether it is capitalised and may be part of a name."""
        return len(self.word) > 1 and self.word[0].isupper() and self.word not in COMMON


def joined(text: str) -> str:
    """The text in composed form, with words that were hyphenated at the end of a line joined."""
    return HYPHENATED.sub("", unicodedata.normalize("NFC", text))


def entities(text: str) -> list[str]:
    """The names in a text, in order.

    >>> entities("Mr. Adams wrote from New York on Monday. The Board of War met John Reed; Boston was quiet.")
    ['Adams', 'New York', 'Monday', 'Board of War', 'John Reed', 'Boston']
    """
    tokens = list(_tokens(joined(text)))
    within = {token.word for token in tokens if token.is_name and not token.first}
    found = []
    for run in _runs(tokens):
        alone = len(run) == 1 and run[0].first and not run[0].titled
        if not alone or run[0].word in within:
            found.append(" ".join(token.word for token in run))
    return found


def _tokens(text: str) -> Iterator[_Token]:
    """The words of the text with what stands before each; titles are left out."""
    end, first, before = 0, True, ""
    for match in WORD.finditer(text):
        between = text[end : match.start()]
        after_title = before in TITLES
        if after_title or len(before) == 1:  # the full stop of `Mr.` and `J.` ends no sentence
            between = between.removeprefix(".")
        ends = bool(ENDS.search(between))
        close = not ends and not between.strip()
        first = not end or ends or (first and after_title)
        end, before = match.end(), POSSESSIVE.sub("", match[0])
        if before not in TITLES:
            yield _Token(before, first, close and not after_title, close and after_title)


def _runs(tokens: list[_Token]) -> Iterator[list[_Token]]:
    """Names, longest runs: capitalised words, and `of` between two of them."""
    run: list[_Token] = []
    inner: _Token | None = None  # an `of` that is part of the name if another word follows
    for token in tokens:
        goes_on = bool(run) and token.joined
        if goes_on and token.word == "of" and inner is None:
            inner = token
        elif token.is_name and goes_on:
            run += [inner, token] if inner is not None else [token]
            inner = None
        else:
            if run:
                yield run
            run, inner = [token] if token.is_name else [], None
    if run:
        yield run
