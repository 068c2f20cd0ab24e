"""Texts that systems produced, as votes: what OCR engines, taggers or transcribers found, without a true text.

Outputs are {system: {document: words in order}}. A document is a query, a word in its place is an item, and a
system votes for what it produced:

    bag_of_words   an item is the j-th occurrence of a word, wherever it stands. Order is not looked at: "Paris met
                   John" and "John met Paris" are one output. Right for named entities, keywords, sets of answers.
    aligned        an item is a word in a column of the outputs aligned with one another. A word in the wrong place
                   is another item. Right for running text. Like every progressive alignment it may misplace a word
                   that is repeated, and block moves look like errors.

A system that has an item has a row with grade 1. One that produced other words for the document does not: no row
is a no. One whose output is empty says no to every item of the document in rows with grade 0, for without them it
could not be told from one that lacks the document, which does not vote there at all. Words are compared as they
are: bring letter case, punctuation and Unicode to one form first.
Source: Lamiroy & Sun, GREC 2011, section 2.3.2, methods I and II; they do not say how they aligned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import polars as pl

from endoxa.errors import TableError
from endoxa.tables import Ints, Opinions

Outputs = Mapping[str, Mapping[str, Sequence[str]]]
Column = tuple[str | None, ...]

GAP = -1  # in a profile, where a system has no word
# The score 1 as a whole number: a similarity with a denominator up to 22 (a word of 22 letters) is exact, so that
# equal scores are equal and ties are broken by rule, not by rounding.
UNIT = math.lcm(*range(1, 23))
BLOCK = 1 << 18  # pairs of columns that are weighed at once: 2 MB, which a cache holds
ROWS = {"source": pl.String, "query": pl.String, "item": pl.String, "grade": pl.Float64}


def bag_of_words(outputs: Outputs) -> Opinions:
    """Votes for words regardless of their order: item `word#j` is the j-th occurrence of a word in a document.

    A system has `word#j` if it produced the word j times or more: three systems that saw "Paris" once, once and
    twice all vote for `Paris#1`, and the third for `Paris#2`.
    Misleads: a word from one end of the page confirms the same word at the other end; frequent words agree by
    chance. Linear in the number of words.
    Source: Lamiroy & Sun 2011, method I.
    """
    _check(outputs)
    texts = [(system, document, list(words)) for system, found in outputs.items() for document, words in found.items()]
    frame = pl.DataFrame(
        texts, schema={"source": pl.String, "query": pl.String, "word": pl.List(pl.String)}, orient="row"
    )
    frame = frame.explode("word", empty_as_null=False)
    occurrence = pl.col("word").cum_count().over("source", "query", "word")
    return _opinions(outputs, frame.with_columns(item=pl.format("{}#{}", "word", occurrence)))


def aligned(outputs: Outputs, *, near: float | None = None) -> Opinions:
    """Votes for words in their places: item `3:Paris` is the word in column 3 of the aligned outputs.

    Two words in a column score 1 if equal, -1 if not, and a word over a gap -1. With `near` (0.8 is usual) words
    of which at least that share is the same, sim = 1 - Levenshtein/longer length, score 2·sim - 1: misread words
    then stand over what they should be. They remain different items.
    The outputs of a document are joined two at a time, the most alike first: UPGMA on 1 - equal words/longer
    length of their pairwise alignments, ties in the order given. Columns of what is joined score the mean over
    pairs of their words (two gaps: 0), and Needleman & Wunsch's optimum is taken; of equal scores a pair of
    columns goes before a gap in the later output, and that before a gap in the earlier one, from the end.
    Misleads: what is joined is never parted again, so early mistakes stay; the order of the systems decides ties.
    Time grows as systems² · words², memory as words²/4 bytes; 5 outputs of 2,000 words take one or two
    seconds. The search for near words is quick at 0.8 and slow at 0.6, where most short words are compared.
    Source: Lamiroy & Sun 2011, method II; Needleman & Wunsch 1970; Feng & Doolittle 1987.
    """
    _check(outputs)
    words, alike = _vocabulary(outputs, near)
    number = {word: place for place, word in enumerate(words)}
    spelt = pl.Series(words, dtype=pl.String)
    frames = []
    for document in dict.fromkeys(document for found in outputs.values() for document in found):
        having = [system for system, found in outputs.items() if document in found]
        profile = _profile([[number[word] for word in outputs[system][document]] for system in having], alike)
        voter, column = np.nonzero(profile.T != GAP)
        rows = pl.DataFrame(
            {"voter": voter, "column": column + 1, "word": spelt.gather(profile[column, voter])},
            schema={"voter": pl.Int64, "column": pl.Int64, "word": pl.String},
        )
        names = pl.Series(having, dtype=pl.String)
        frames.append(
            rows.select(
                source=names.gather(rows["voter"]), query=pl.lit(document), item=pl.format("{}:{}", "column", "word")
            )
        )
    return _opinions(outputs, pl.concat(frames) if frames else pl.DataFrame(schema=ROWS))


def columns(texts: Mapping[str, Sequence[str]], *, near: float | None = None) -> list[Column]:
    """The outputs of one document, {system: words}, one under the other: each column has a word or None (a gap)
    for every system, in the order given. These are the columns that `aligned` counts from 1.
    """
    outputs = {system: {"": words} for system, words in texts.items()}
    _check(outputs)
    words, alike = _vocabulary(outputs, near)
    number = {word: place for place, word in enumerate(words)}
    profile = _profile([[number[word] for word in text] for text in texts.values()], alike)
    return [tuple(None if cell == GAP else words[cell] for cell in column) for column in profile.tolist()]


def _check(outputs: Outputs) -> None:
    if not outputs:
        raise TableError("there are no outputs; expected {system: {document: [word, word, …]}}")
    for system, found in outputs.items():
        if not isinstance(system, str):
            raise TableError(f"system {system!r} is not called by a text; name it, say {str(system)!r}")
        if not isinstance(found, Mapping):
            raise TableError(f"output {system!r} is a {type(found).__name__}; expected {{document: [word, word, …]}}")
        for document, words in found.items():
            if not isinstance(document, str):
                raise TableError(
                    f"document {document!r} of {system!r} is not called by a text; name it, say {str(document)!r}"
                )
            if isinstance(words, str) or not isinstance(words, Sequence):
                raise TableError(
                    f"the output of {system!r} for {document!r} is a {type(words).__name__}; "
                    "expected a list of words: split the text first"
                )
            if odd := [word for word in words if not isinstance(word, str)]:
                raise TableError(
                    f"the output of {system!r} for {document!r} holds {odd[0]!r}; expected words, as texts"
                )


def _opinions(outputs: Outputs, yes: pl.DataFrame) -> Opinions:
    """A row of grade 1 per system and item that it has, and noes of the systems whose output is empty."""
    if yes.is_empty():
        raise TableError("no system has a word for any document; there is nothing to vote on")
    yes = yes.select("source", "query", "item", grade=pl.lit(1.0))
    silent = [
        (system, document) for system, found in outputs.items() for document, words in found.items() if not len(words)
    ]
    empty = pl.DataFrame(silent, schema={"source": pl.String, "query": pl.String}, orient="row")
    items = yes.select("query", "item").unique(maintain_order=True)
    no = empty.join(items, on="query", how="inner", maintain_order="left_right")
    return Opinions.of(pl.concat([yes, no.with_columns(grade=pl.lit(0.0))]), kind="system")


# ---- alignment ----------------------------------------------------------------------------------------
# Words are numbers. A profile is a matrix [column, text] of words and gaps; a text is a profile of one.


def _profile(texts: list[list[int]], near: Any | None) -> Ints:
    """All texts in one profile, in the order given. `near` is over the whole vocabulary."""
    used, flat = np.unique(
        np.concatenate([np.empty(0, np.int64), *(np.array(text, dtype=np.int64) for text in texts)]),
        return_inverse=True,
    )
    near = near[used][:, used] if near is not None else None
    ends = np.cumsum([len(text) for text in texts])
    profiles = {place: part[:, None] for place, part in enumerate(np.split(flat.astype(np.int64), ends[:-1]))}
    members = {place: [place] for place in profiles}
    distance = {
        (a, b): _distance(profiles[a], profiles[b], near) if len(profiles) > 2 else Fraction(0)
        for a, b in combinations(profiles, 2)
    }
    while distance:  # sums over pairs of texts; the mean is UPGMA's. A cluster is called by its first text.
        a, b = min(distance, key=lambda pair: (distance[pair] / (len(members[pair[0]]) * len(members[pair[1]])), pair))
        profiles[a] = _joined(profiles[a], profiles.pop(b), near)
        members[a] += members.pop(b)
        del distance[a, b]
        for other in profiles.keys() - {a}:
            distance[min(a, other), max(a, other)] += distance.pop((min(b, other), max(b, other)))
    ((place, profile),) = profiles.items()
    profile = np.where(profile == GAP, GAP, used[profile]) if len(used) else profile
    return profile[:, np.argsort(members[place])]


def _distance(first: Ints, second: Ints, near: Any | None) -> Fraction:
    """1 - equal words/longer length of two texts; two empty texts are alike. Exact, so that ties are ties."""
    pair = _joined(first, second, near)
    matches = np.count_nonzero((pair[:, 0] == pair[:, 1]) & (pair[:, 0] != GAP))
    longer = max(len(first), len(second))
    return 1 - Fraction(int(matches), longer) if longer else Fraction(0)


def _joined(first: Ints, second: Ints, near: Any | None) -> Ints:
    """Two profiles in one, their columns paired by the best score."""
    above, below = _path(first, second, near)
    wide = np.full((len(above), first.shape[1] + second.shape[1]), GAP, dtype=np.int64)
    wide[above != GAP, : first.shape[1]] = first[above[above != GAP]]
    wide[below != GAP, first.shape[1] :] = second[below[below != GAP]]
    return wide


def _path(first: Ints, second: Ints, near: Any | None) -> tuple[Ints, Ints]:
    """Which column of either profile stands in each column of the alignment; GAP where a gap was put in.

    Needleman & Wunsch, on sums over pairs (the number of pairs is the same everywhere, so sums order as means do).
    Every word has to be paid for with a gap unless it is paired, so all gaps are paid in advance: a gap then costs
    nothing, and pairing a word with a word earns sim - (-1) - (-1) = sim + 2. What is left is
    H[i,j] = max(H[i-1,j-1] + earned[i,j], H[i-1,j], H[i,j-1]), whose last term is a running maximum: a row at a
    time. Two bits per cell are kept for the way back.
    """
    n, m = len(first), len(second)
    diagonal, up = (np.empty((n, (m + 7) // 8), dtype=np.uint8) for _ in range(2))
    before = np.zeros(m + 1, dtype=np.int64)
    step = max(1, BLOCK // max(m, 1))
    for start in range(0, n, step):
        earned = _earned(first[start : start + step], second, near)
        for row, earning in enumerate(earned, start):
            paired = earning + before[:-1]
            best = np.maximum.accumulate(np.maximum(paired, before[1:]))
            diagonal[row] = np.packbits(best == paired)
            up[row] = np.packbits(best == before[1:])
            before[1:] = best
    return _way_back(diagonal, up, n, m)


def _earned(first: Ints, second: Ints, near: Any | None) -> Ints:
    """What pairing columns earns over leaving both to gaps: sim + 2, summed over pairs of words; [column, column]."""
    words = (first != GAP).sum(1)[:, None] * (second != GAP).sum(1)
    equal = np.zeros_like(words)
    for above, below in product(first.T, np.where(second == GAP, GAP - 1, second).T):  # a gap is no match for a gap
        equal += above[:, None] == below
    earned: Ints = UNIT * (words + 2 * equal)
    if near is not None:
        size = near.shape[0]
        earned += (_counts(first, size) @ near @ _counts(second, size).T).toarray()
    return earned


def _counts(profile: Ints, size: int) -> Any:
    """How often each word stands in each column: a sparse matrix [column, word]."""
    from scipy.sparse import csr_array

    column, text = np.nonzero(profile != GAP)
    ones = np.ones(len(column), dtype=np.int64)
    return csr_array((ones, (column, profile[column, text])), shape=(len(profile), size))


def _way_back(diagonal: Any, up: Any, n: int, m: int) -> tuple[Ints, Ints]:
    """From the last cell to the first: diagonal if it is one of the best, else up, else left."""
    i, j = n, m
    way: list[tuple[int, int]] = []
    while i and j:
        byte, bit = (j - 1) >> 3, 7 - ((j - 1) & 7)
        if diagonal[i - 1, byte] >> bit & 1:
            i, j = i - 1, j - 1
            way.append((i, j))
        elif up[i - 1, byte] >> bit & 1:
            i -= 1
            way.append((i, GAP))
        else:
            j -= 1
            way.append((GAP, j))
    way += [(row, GAP) for row in range(i - 1, -1, -1)] + [(GAP, column) for column in range(j - 1, -1, -1)]
    path = np.array(way[::-1], dtype=np.int64).reshape(-1, 2)
    return path[:, 0], path[:, 1]


# ---- likeness of words --------------------------------------------------------------------------------


def _vocabulary(outputs: Outputs, near: float | None) -> tuple[list[str], Any | None]:
    """Every word once, and what near words earn over strangers, sim + 1 in units: a sparse matrix [word, word]."""
    words = list(dict.fromkeys(word for found in outputs.values() for text in found.values() for word in text))
    if near is None:
        return words, None
    if not 0.5 <= near <= 1:  # below one half a near word would score less than 0
        raise TableError(f"near is a share of letters between 0.5 and 1, not {near}; 0.8 is usual")
    from scipy.sparse import csr_array

    pairs = np.array(list(_near_pairs(words, near)), dtype=np.int64).reshape(-1, 3)
    one, other, more = pairs.T
    both = np.concatenate([one, other]), np.concatenate([other, one])
    return words, csr_array((np.concatenate([more, more]), both), shape=(len(words), len(words)))


def _near_pairs(words: list[str], near: float) -> Iterator[tuple[int, int, int]]:
    """Pairs of different words with sim = 1 - Levenshtein/longer length ≥ near, and 2·sim - 1 + 1 in units.

    With at most k edits, one of any k+1 pieces of the shorter word stands unharmed in the longer one, moved by k
    places at the most; so only words that share a piece are compared.
    Source: the pieces are Li, Deng, Wang & Feng's (Pass-Join, VLDB 2011).
    """
    order = sorted(range(len(words)), key=lambda place: len(words[place]))
    by_length: dict[int, list[int]] = {}
    for place in order:
        by_length.setdefault(len(words[place]), []).append(place)
    pieces: dict[tuple[int, int], list[dict[str, list[int]]]] = {}
    for place in order:
        word = words[place]
        limit = math.floor((1 - near) * len(word) + 1e-9)  # 1 - 0.8 is a little less than 0.2
        if not limit:
            continue
        found: set[int] = set()
        for length in range(len(word) - limit, len(word) + 1):
            cuts = [length * piece // (limit + 1) for piece in range(limit + 2)]
            if (length, limit) not in pieces:
                pieces[length, limit] = _pieces(words, by_length.get(length, []), cuts)
            for index, (begin, end) in zip(pieces[length, limit], pairwise(cuts), strict=True):
                for at in range(max(0, begin - limit), min(begin + limit, len(word) - (end - begin)) + 1):
                    found.update(index.get(word[at : at + end - begin], ()))
        for other in sorted(found):
            if (len(words[other]), other) < (len(word), place):
                edits = _levenshtein(words[other], word, limit)
                if edits <= limit:
                    yield other, place, 2 * UNIT * (len(word) - edits) // len(word)


def _pieces(words: list[str], places: list[int], cuts: list[int]) -> list[dict[str, list[int]]]:
    """Which words have which text in their first, second, … piece."""
    indexes: list[dict[str, list[int]]] = []
    for begin, end in pairwise(cuts):
        index: dict[str, list[int]] = {}
        for place in places:
            index.setdefault(words[place][begin:end], []).append(place)
        indexes.append(index)
    return indexes


def _levenshtein(one: str, other: str, limit: int) -> int:
    """Letters to put in, take out or change; any number above `limit` where there are more."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        corner, row[0] = row[0], i
        for j, against in enumerate(other, 1):
            corner, row[j] = row[j], min(corner + (letter != against), row[j] + 1, row[j - 1] + 1)
        if min(row) > limit:
            break
    return min(row) if min(row) > limit else row[-1]
